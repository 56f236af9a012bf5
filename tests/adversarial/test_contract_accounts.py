"""Cases 1.4 of payers that are contracts, and of addresses that cannot authorize."""

from typing import Final

import pytest
from stellar_sdk import Keypair, MuxedAccount, StrKey, scval, xdr

from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support import payment_rules as rules
from support.accounts import ContractAccount, entry_signed_as
from support.payments import Draft
from support.promises import case, promise
from support.stage import Stage
from testing.contract_calls import address, invocation
from testing.entries import Credentials, unsigned_entry

STRANGER: Final = Keypair.random()


UNABLE: Final = [
    MuxedAccount(STRANGER.public_key, 7).account_muxed or "",
    StrKey.encode_claimable_balance(b"\0" + bytes(32)),
    StrKey.encode_liquidity_pool(bytes(32)),
]


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
async def test_contract_account_pays_with_its_own_signature_type(
    stage: Stage, silent: ContractAccount, signature: xdr.SCVal, kind: Credentials
) -> None:
    draft = await stage.draft(payer=silent.address, kind=kind)
    await stage.assert_settles(draft.request(draft.envelope(entry_signed_as(draft, signature))))


@case("PV-079")
async def test_contract_account_may_emit_other_events(
    stage: Stage, announcing: ContractAccount
) -> None:
    draft = await stage.draft(payer=announcing.address)
    signature = scval.to_vec([scval.to_symbol("spend_cap"), scval.to_uint32(3)])
    await stage.assert_settles(draft.request(draft.envelope(entry_signed_as(draft, signature))))


@case("PV-080")
@pytest.mark.parametrize("topic", ["approve", "mint", "burn", "clawback", "transfer"])
async def test_contract_account_emitting_token_events_is_refused(
    stage: Stage, announcing: ContractAccount, topic: str
) -> None:
    draft = await stage.draft(payer=announcing.address)
    who = scval.to_address(draft.payer)
    signature = scval.to_vec([scval.to_symbol(topic), who, scval.to_address(draft.pay_to)])
    await stage.assert_refused(
        draft.request(draft.envelope(entry_signed_as(draft, signature))),
        Reason.EVENT_NOT_TRANSFER,
        Reason.MULTIPLE_TRANSFERS,
        payer=draft.payer,
    )


@case("PV-080")
@pytest.mark.parametrize("function", ["transfer", "approve"])
async def test_contract_account_moving_or_approving_another_token_is_refused(
    stage: Stage, spending: ContractAccount, function: str
) -> None:
    draft = await stage.draft(payer=spending.address)
    native = stage.networks[draft.network].scene.native
    await stage.assert_refused(
        draft.request(draft.envelope(_ordering(draft, native, function))),
        Reason.EVENT_NOT_TRANSFER,
        Reason.MULTIPLE_TRANSFERS,
        payer=draft.payer,
    )


@case("PV-080")
@pytest.mark.parametrize("function", ["transfer", "approve"])
async def test_contract_account_check_cannot_reenter_the_token(
    stage: Stage, spending: ContractAccount, function: str
) -> None:
    draft = await stage.draft(payer=spending.address)
    await stage.assert_refused(
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
async def test_contract_account_is_refused_when_not_deployed(stage: Stage) -> None:
    draft = await stage.draft(payer=StrKey.encode_contract(bytes(31) + b"\7"))
    await stage.assert_refused(
        draft.request(draft.envelope(entry_signed_as(draft, scval.to_vec([])))),
        Reason.ENTRY_MISSING,
        payer=draft.payer,
    )


@case("PV-082")
async def test_archived_contract_account_is_refused_as_retryable(
    stage: Stage, silent: ContractAccount
) -> None:
    draft = await stage.draft(payer=silent.address)

    def archived(result: node_proxy.Json) -> None:
        result["restorePreamble"] = {
            "minResourceFee": "1000",
            "transactionData": result["transactionData"],
        }

    stage.node().on("simulateTransaction", node_proxy.result(archived))
    body = draft.request(draft.envelope(entry_signed_as(draft, scval.to_vec([]))))
    reason = await stage.assert_refused(body, Reason.RESTORE_REQUIRED, payer=draft.payer)
    assert REGISTRY[reason].retry is Retry.LATER


@case("PV-083")
@pytest.mark.parametrize("who", UNABLE, ids=["muxed", "balance", "pool"])
def test_entry_of_address_that_cannot_authorize_is_refused(who: str) -> None:
    draft = rules.draft()
    for signature in (scval.to_void(), scval.to_vec([])):
        entry = unsigned_entry(
            invocation(draft.call()),
            address(who),
            nonce=draft.nonce,
            expires_at_ledger=draft.expires_at_ledger,
            signature=signature,
        )
        rules.assert_refused(draft.request(draft.envelope(entry)))
        rules.assert_refused(draft.request(draft.envelope(draft.entry(), entry)))


@case("PV-083")
@pytest.mark.parametrize("who", UNABLE, ids=["muxed", "balance", "pool"])
def test_payer_that_cannot_authorize_is_refused(who: str) -> None:
    draft = rules.draft(payer=who)
    entry = entry_signed_as(draft, scval.to_vec([]))
    rules.assert_refused(draft.request(draft.envelope(entry)))
