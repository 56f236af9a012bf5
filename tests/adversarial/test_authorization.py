"""Cases 1.4: the authorization entries, who signed them and how."""

from typing import Final

import pytest
from stellar_sdk import Keypair, MuxedAccount, StrKey, scval, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node
from support.accounts import ContractAccount, Multisig, entry_signed_as
from support.calls import address, invocation, invoke
from support.entries import Credentials, unsigned_entry
from support.envelopes import spliced
from support.payments import Draft
from support.promises import case, promise
from support.stage import Stage, service

STRANGER: Final = Keypair.random()
UNABLE: Final = [
    MuxedAccount(STRANGER.public_key, 7).account_muxed or "",
    StrKey.encode_claimable_balance(b"\0" + bytes(32)),
    StrKey.encode_liquidity_pool(bytes(32)),
]
_INT64: Final = 8


@case("PV-061")
@promise("verify:checks-signature", "verify:checks-authorization")
async def test_an_entry_nobody_signed_is_a_missing_signature(stage: Stage) -> None:
    draft = await stage.draft()
    await stage.refused(
        draft.request(draft.envelope(_unsigned(draft, draft.payer))),
        Reason.MISSING_PAYER_SIGNATURE,
        payer=draft.payer,
        by_rule=True,
    )


async def test_a_call_nobody_authorized_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    await stage.refused(
        draft.request(draft.without_entries()), Reason.NO_AUTH_ENTRIES, payer=draft.payer
    )


@case("PV-062")
async def test_an_unsigned_entry_for_somebody_else_is_a_pending_signature(stage: Stage) -> None:
    draft = await stage.draft()
    other = _unsigned(draft, STRANGER.public_key)
    for entries in ((draft.entry(), other), (other, draft.entry())):
        await stage.refused(
            draft.request(draft.envelope(*entries)),
            Reason.UNEXPECTED_PENDING_SIGNATURES,
            payer=draft.payer,
            by_rule=True,
        )


@case("PV-062")
async def test_an_entry_somebody_else_signed_is_unexpected_too(stage: Stage) -> None:
    draft = await stage.draft()
    other = draft.but(payer=STRANGER.public_key, signers=(STRANGER,))
    envelope = draft.envelope(draft.entry(), other.entry(invocation(draft.call())))
    await stage.refused(draft.request(envelope), Reason.UNEXPECTED_AUTH_ENTRY, by_rule=True)


@case("PV-063")
@pytest.mark.parametrize("kind", [Credentials.SOURCE_ACCOUNT, Credentials.WITH_DELEGATES])
@pytest.mark.parametrize("is_alone", [True, False])
async def test_other_credentials_are_unsupported_alone_and_beside_good_ones(
    stage: Stage, kind: Credentials, is_alone: bool
) -> None:
    draft = await stage.draft()
    odd = draft.but(kind=kind).entry()
    entries = (odd,) if is_alone else (draft.entry(), odd)
    await stage.refused(
        draft.request(draft.envelope(*entries)),
        Reason.UNSUPPORTED_CREDENTIAL_TYPE,
        payer=draft.payer,
        by_rule=True,
    )


@case("PV-064")
@promise("signature:binds-the-call")
@pytest.mark.parametrize("below", ["the same call", "another contract", "two levels"])
async def test_an_authorization_of_more_than_the_transfer_is_refused(
    stage: Stage, below: str
) -> None:
    draft = await stage.draft()
    again = invocation(draft.call())
    other = invocation(invoke(address(draft.asset), "approve", *draft.call().args))
    branch = {
        "the same call": again,
        "another contract": other,
        "two levels": invocation(draft.call(), again),
    }[below]
    entry = draft.entry(invocation(draft.call(), branch))
    await stage.refused(
        draft.request(draft.envelope(entry)),
        Reason.HAS_SUBINVOCATIONS,
        payer=draft.payer,
        by_rule=True,
    )


@promise("signature:binds-the-call", "signature:binds-the-contract")
@pytest.mark.parametrize(
    "change",
    [{"amount": 9_999}, {"pay_to": STRANGER.public_key}, {"asset": "native"}],
    ids=lambda change: next(iter(change)),
)
async def test_an_authorization_of_another_transfer_is_refused(
    stage: Stage, change: dict[str, object]
) -> None:
    draft = await stage.draft()
    if "asset" in change:
        change = {"asset": stage.networks[draft.network].scene.native}
    entry = draft.but(**change).entry()
    await stage.refused(
        draft.request(draft.envelope(entry)), Reason.AUTH_NOT_FOR_TRANSFER, by_rule=True
    )


@case("PV-065")
@pytest.mark.parametrize("is_signed", [True, False])
async def test_an_entry_the_facilitator_would_have_to_sign_is_refused(
    stage: Stage, is_signed: bool
) -> None:
    draft = await stage.draft()
    relayer = stage.relayer()
    theirs = draft.but(payer=relayer.public_key, signers=(relayer,))
    root = invocation(draft.call())
    entry = theirs.entry(root) if is_signed else _unsigned(draft, relayer.public_key)
    await stage.refused(
        draft.request(draft.envelope(draft.entry(), entry)),
        Reason.FACILITATOR_IN_AUTH,
        payer=draft.payer,
        by_rule=True,
    )


@case("PV-072")
@promise("signature:binds-the-expiry", "error:tampering-fails", "signature:classic-accounts")
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
@pytest.mark.parametrize("field", ["nonce", "expiration"])
async def test_a_nonce_or_expiration_changed_after_signing_is_a_bad_signature(
    stage: Stage, kind: Credentials, field: str
) -> None:
    draft = await stage.draft(kind=kind)
    raw = draft.envelope().to_xdr_bytes()
    nonce = draft.nonce.to_bytes(_INT64, signed=True)
    expiry = draft.expires_at_ledger.to_bytes(4)
    if field == "nonce":
        changed = (draft.nonce ^ 1).to_bytes(_INT64, signed=True) + expiry
    else:
        changed = nonce + (draft.expires_at_ledger - 1).to_bytes(4)
    await stage.refused(
        draft.request(spliced(raw, nonce + expiry, changed)),
        Reason.INVALID_SIGNATURE,
        payer=draft.payer,
        by_rule=True,
    )


@promise("signature:binds-the-network")
async def test_a_signature_for_the_other_network_is_a_bad_signature(stage: Stage) -> None:
    draft = await stage.draft()
    elsewhere = draft.entry(network=Network.PUBNET)
    await stage.refused(
        draft.request(draft.envelope(elsewhere)), Reason.INVALID_SIGNATURE, by_rule=True
    )


@promise("signature:classic-accounts")
async def test_a_signature_by_a_key_that_is_no_signer_is_the_networks_to_refuse(
    stage: Stage,
) -> None:
    draft = await stage.draft(signers=(STRANGER,))
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


@case("PV-075")
async def test_a_thousand_entries_are_refused_by_rule(stage: Stage) -> None:
    draft = await stage.draft()
    small = unsigned_entry(
        invocation(invoke(address(draft.asset), "")),
        address(draft.payer),
        nonce=0,
        expires_at_ledger=0,
        kind=Credentials.SOURCE_ACCOUNT,
    )
    envelope = draft.envelope(draft.entry(), *[small] * 999)
    await stage.refused(draft.request(envelope), by_rule=True)


@case("PV-076")
@promise("signature:classic-accounts")
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
async def test_an_account_of_several_signers_pays_without_its_own_key(
    stage: Stage, multisig: Multisig, kind: Credentials
) -> None:
    draft = await stage.draft(payer=multisig.address, signers=multisig.signers, kind=kind)
    await stage.settled(draft.request())


@case("PV-076")
async def test_one_signer_of_two_is_too_few_for_the_network(
    stage: Stage, multisig: Multisig
) -> None:
    draft = await stage.draft(payer=multisig.address, signers=multisig.signers[:1])
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=multisig.address)


@case("PV-076")
async def test_an_own_key_worth_nothing_counts_for_nothing(
    stage: Stage, multisig: Multisig
) -> None:
    draft = await stage.draft(payer=multisig.address, signers=(multisig.master,))
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=multisig.address)


@case("PV-077")
async def test_unsorted_or_repeated_signatures_are_refused(
    stage: Stage, multisig: Multisig
) -> None:
    draft = await stage.draft(payer=multisig.address, signers=multisig.signers)
    backwards = tuple(sorted(multisig.signers, key=Keypair.raw_public_key, reverse=True))
    twice = (multisig.signers[0],) * 2
    for signers in (backwards, twice):
        entry = draft.but(signers=signers).entry(is_sorted=False)
        await stage.refused(
            draft.request(draft.envelope(entry)), Reason.INVALID_SIGNATURE, by_rule=True
        )


@case("PV-078")
@promise("signature:contract-accounts")
@pytest.mark.parametrize(
    "signature",
    [
        scval.to_bytes(b"passkey" * 40),
        scval.to_map({scval.to_symbol("policy"): scval.to_vec([scval.to_uint32(7)])}),
        scval.to_string(b"\xff\xfe"),
        scval.to_vec([]),
    ],
    ids=["bytes", "map", "text", "empty"],
)
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
async def test_a_contract_account_pays_with_a_signature_of_its_own_kind(
    stage: Stage, silent: ContractAccount, signature: xdr.SCVal, kind: Credentials
) -> None:
    draft = await stage.draft(payer=silent.address, kind=kind)
    await stage.settled(draft.request(draft.envelope(entry_signed_as(draft, signature))))


@case("PV-079")
async def test_a_contract_account_may_announce_what_it_does(
    stage: Stage, announcing: ContractAccount
) -> None:
    draft = await stage.draft(payer=announcing.address)
    said = scval.to_vec([scval.to_symbol("spend_cap"), scval.to_uint32(3)])
    await stage.settled(draft.request(draft.envelope(entry_signed_as(draft, said))))


@case("PV-080")
@pytest.mark.parametrize("topic", ["approve", "mint", "burn", "clawback", "transfer"])
async def test_a_contract_account_that_says_tokens_move_is_refused(
    stage: Stage, announcing: ContractAccount, topic: str
) -> None:
    draft = await stage.draft(payer=announcing.address)
    who = scval.to_address(draft.payer)
    said = scval.to_vec([scval.to_symbol(topic), who, scval.to_address(draft.pay_to)])
    await stage.refused(
        draft.request(draft.envelope(entry_signed_as(draft, said))),
        Reason.EVENT_NOT_TRANSFER,
        Reason.MULTIPLE_TRANSFERS,
        payer=draft.payer,
    )


@case("PV-080")
@pytest.mark.parametrize("function", ["transfer", "approve"])
async def test_a_contract_account_that_moves_another_token_or_lets_others_is_refused(
    stage: Stage, spending: ContractAccount, function: str
) -> None:
    draft = await stage.draft(payer=spending.address)
    native = stage.networks[draft.network].scene.native
    await stage.refused(
        draft.request(draft.envelope(_ordering(draft, native, function))),
        Reason.EVENT_NOT_TRANSFER,
        Reason.MULTIPLE_TRANSFERS,
        payer=draft.payer,
    )


@case("PV-080")
@pytest.mark.parametrize("function", ["transfer", "approve"])
async def test_the_network_lets_no_check_call_the_token_it_is_asked_by(
    stage: Stage, spending: ContractAccount, function: str
) -> None:
    draft = await stage.draft(payer=spending.address)
    await stage.refused(
        draft.request(draft.envelope(_ordering(draft, draft.asset, function))),
        Reason.SIMULATION_FAILED,
        payer=draft.payer,
    )


def _ordering(draft: Draft, token: str, function: str) -> xdr.SorobanAuthorizationEntry:
    """The entry of an account whose check calls the token's function with five units."""
    arguments = [scval.to_address(draft.payer), scval.to_address(draft.pay_to)]
    arguments.append(scval.to_int128(5))
    if function == "approve":
        arguments.append(scval.to_uint32(draft.expires_at_ledger))
    order = (scval.to_address(token), scval.to_symbol(function), scval.to_vec(arguments))
    return entry_signed_as(draft, scval.to_vec(list(order)))


@case("PV-082")
async def test_a_contract_account_that_is_not_deployed_is_refused(stage: Stage) -> None:
    draft = await stage.draft(payer=StrKey.encode_contract(bytes(31) + b"\7"))
    await stage.refused(
        draft.request(draft.envelope(entry_signed_as(draft, scval.to_vec([])))),
        Reason.SIMULATION_FAILED,
        payer=draft.payer,
    )


@case("PV-082")
async def test_an_archived_contract_account_is_refused_and_may_be_tried_again(
    stage: Stage, silent: ContractAccount
) -> None:
    draft = await stage.draft(payer=silent.address)

    def archived(result: node.Json) -> None:
        result["restorePreamble"] = {
            "minResourceFee": "1000",
            "transactionData": result["transactionData"],
        }

    stage.node().on("simulateTransaction", node.result(archived))
    body = draft.request(draft.envelope(entry_signed_as(draft, scval.to_vec([]))))
    reason = await stage.refused(body, Reason.RESTORE_REQUIRED, payer=draft.payer)
    assert REGISTRY[reason].retry is Retry.LATER


@case("PV-083")
@pytest.mark.parametrize("who", UNABLE, ids=["muxed", "balance", "pool"])
async def test_an_entry_for_an_address_that_cannot_authorize_is_refused(
    stage: Stage, who: str
) -> None:
    draft = await stage.draft()
    for signature in (scval.to_void(), scval.to_vec([])):
        entry = unsigned_entry(
            invocation(draft.call()),
            address(who),
            nonce=draft.nonce,
            expires_at_ledger=draft.expires_at_ledger,
            signature=signature,
        )
        await stage.refused(draft.request(draft.envelope(entry)), by_rule=True)
        await stage.refused(draft.request(draft.envelope(draft.entry(), entry)), by_rule=True)


@case("PV-083")
@pytest.mark.parametrize("who", UNABLE, ids=["muxed", "balance", "pool"])
async def test_a_payer_that_cannot_authorize_is_refused(stage: Stage, who: str) -> None:
    draft = await stage.draft(payer=who)
    entry = entry_signed_as(draft, scval.to_vec([]))
    await stage.refused(draft.request(draft.envelope(entry)), by_rule=True)


@case("PV-084")
async def test_a_nonce_spent_by_somebody_else_is_refused_at_verify_and_settle(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    stranger = await stage.ledger().account()
    landed = await stage.ledger().submit(
        stranger,
        lambda builder: builder.append_invoke_contract_function_op(
            draft.asset, "transfer", draft.call().args, auth=[draft.entry()]
        ),
    )
    verdict = await stage.verify(draft.request())
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, Reason.SIMULATION_FAILED)
    outcome = await stage.settle(draft.request())
    assert (outcome["success"], outcome["errorReason"]) == (False, Reason.FOREIGN_LANDING)
    assert (outcome["transaction"], outcome["payer"]) == (landed.transaction_hash, draft.payer)
    assert await stage.rows() == 0
    assert stage.node().counts()["sendTransaction"] == 0


@case("PV-084")
async def test_a_nonce_we_spent_ourselves_is_refused_at_verify(stage: Stage) -> None:
    draft = await stage.draft()
    await stage.settled(draft.request())
    verdict = await stage.verify(draft.request())
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, Reason.SIMULATION_FAILED)


@case("PV-085")
@pytest.mark.parametrize("nonce", [0, -1, -(2**63), 2**63 - 1])
async def test_any_nonce_of_64_bits_settles(stage: Stage, nonce: int) -> None:
    draft = (await stage.draft()).but(nonce=nonce)
    await stage.settled(draft.request())


@promise("error:expired-fails-closed", "verify:checks-expiry")
async def test_an_expired_authorization_is_refused(stage: Stage) -> None:
    latest = await stage.ledger().latest()
    for left in (-1_000, -20):
        draft = await stage.draft(expires_at_ledger=max(latest + left, 0))
        await stage.refused(draft.request(), Reason.EXPIRED, payer=draft.payer, by_rule=True)


@promise("verify:checks-expiry")
async def test_an_authorization_with_too_little_left_to_land_is_refused(stage: Stage) -> None:
    careful = stage.environment | {"FAREBOX_MIN_LIFE_LEDGERS": "60"}
    async with service(careful) as client:
        other = Stage(client, stage.networks, careful)
        draft = await other.draft(expires_at_ledger=await stage.ledger().latest() + 40)
        reasons = (Reason.EXPIRES_TOO_SOON,)
        await other.refused(draft.request(), *reasons, payer=draft.payer, by_rule=True)


@promise("terms:timeout-bounds-expiry", "verify:checks-expiry")
async def test_an_authorization_that_outlives_the_timeout_is_refused(stage: Stage) -> None:
    latest = await stage.ledger().latest()
    for left in (100_000, 2**32 - 1 - latest):
        draft = await stage.draft(expires_at_ledger=latest + left)
        await stage.refused(
            draft.request(), Reason.EXPIRATION_TOO_FAR, payer=draft.payer, by_rule=True
        )


def _unsigned(draft: Draft, who: str) -> xdr.SorobanAuthorizationEntry:
    return unsigned_entry(
        invocation(draft.call()),
        address(who),
        nonce=draft.nonce,
        expires_at_ledger=draft.expires_at_ledger,
        kind=draft.kind,
    )
