"""Cases 1.4: authorization entries and their signatures."""

from typing import Final

import pytest
from stellar_sdk import Keypair, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support import payment_rules as rules
from support.accounts import Multisig
from support.envelopes import spliced
from support.payments import Draft
from support.promises import case, promise
from support.stage import Stage, service
from testing.contract_calls import address, invocation, invoke
from testing.entries import Credentials, unsigned_entry
from testing.waiting import until

STRANGER: Final = Keypair.random()


_INT64: Final = 8


@case("PV-061")
@promise("verify:checks-signature", "verify:checks-authorization")
def test_unsigned_entry_is_a_missing_signature() -> None:
    draft = rules.draft()
    rules.assert_refused(
        draft.request(draft.envelope(_unsigned(draft, draft.payer))),
        Reason.MISSING_PAYER_SIGNATURE,
        payer=draft.payer,
    )


async def test_call_without_authorization_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    await stage.assert_refused(
        draft.request(draft.without_entries()), Reason.NO_AUTH_ENTRIES, payer=draft.payer
    )


@case("PV-062")
def test_unsigned_entry_of_another_address_is_a_pending_signature() -> None:
    draft = rules.draft()
    other = _unsigned(draft, STRANGER.public_key)
    for entries in ((draft.entry(), other), (other, draft.entry())):
        rules.assert_refused(
            draft.request(draft.envelope(*entries)),
            Reason.UNEXPECTED_PENDING_SIGNATURES,
            payer=draft.payer,
        )


@case("PV-062")
def test_entry_signed_by_another_address_is_refused() -> None:
    draft = rules.draft()
    other = draft.but(payer=STRANGER.public_key, signers=(STRANGER,))
    envelope = draft.envelope(draft.entry(), other.entry(invocation(draft.call())))
    rules.assert_refused(draft.request(envelope), Reason.UNEXPECTED_AUTH_ENTRY)


@case("PV-063")
@pytest.mark.parametrize("kind", [Credentials.SOURCE_ACCOUNT, Credentials.WITH_DELEGATES])
@pytest.mark.parametrize("is_alone", [True, False])
def test_other_credential_types_are_unsupported(kind: Credentials, is_alone: bool) -> None:
    draft = rules.draft()
    odd = draft.but(kind=kind).entry()
    entries = (odd,) if is_alone else (draft.entry(), odd)
    rules.assert_refused(
        draft.request(draft.envelope(*entries)),
        Reason.UNSUPPORTED_CREDENTIAL_TYPE,
        payer=draft.payer,
    )


@case("PV-064")
@promise("signature:binds-the-call")
@pytest.mark.parametrize("below", ["the same call", "another contract", "two levels"])
def test_authorization_beyond_the_transfer_is_refused(below: str) -> None:
    draft = rules.draft()
    again = invocation(draft.call())
    other = invocation(invoke(address(draft.asset), "approve", *draft.call().args))
    branch = {
        "the same call": again,
        "another contract": other,
        "two levels": invocation(draft.call(), again),
    }[below]
    entry = draft.entry(invocation(draft.call(), branch))
    rules.assert_refused(
        draft.request(draft.envelope(entry)), Reason.HAS_SUBINVOCATIONS, payer=draft.payer
    )


@promise("signature:binds-the-call", "signature:binds-the-contract")
@pytest.mark.parametrize(
    "change",
    [{"amount": 9_999}, {"pay_to": STRANGER.public_key}, {"asset": "native"}],
    ids=lambda change: next(iter(change)),
)
def test_authorization_of_another_transfer_is_refused(change: dict[str, object]) -> None:
    draft = rules.draft()
    if "asset" in change:
        change = {"asset": rules.native()}
    entry = draft.but(**change).entry()
    rules.assert_refused(draft.request(draft.envelope(entry)), Reason.AUTH_NOT_FOR_TRANSFER)


@case("PV-065")
@pytest.mark.parametrize("is_signed", [True, False])
def test_entry_of_the_facilitator_is_refused(is_signed: bool) -> None:
    draft = rules.draft()
    relayer = rules.RELAYER
    theirs = draft.but(payer=relayer.public_key, signers=(relayer,))
    root = invocation(draft.call())
    entry = theirs.entry(root) if is_signed else _unsigned(draft, relayer.public_key)
    rules.assert_refused(
        draft.request(draft.envelope(draft.entry(), entry)),
        Reason.FACILITATOR_IN_AUTH,
        payer=draft.payer,
    )


@case("PV-072")
@promise("signature:binds-the-expiry", "error:tampering-fails", "signature:classic-accounts")
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
@pytest.mark.parametrize("field", ["nonce", "expiration"])
def test_nonce_or_expiration_changed_after_signing_is_a_bad_signature(
    kind: Credentials, field: str
) -> None:
    draft = rules.draft(kind=kind)
    raw = draft.envelope().to_xdr_bytes()
    nonce = draft.nonce.to_bytes(_INT64, signed=True)
    expiry = draft.expires_at_ledger.to_bytes(4)
    if field == "nonce":
        changed = (draft.nonce ^ 1).to_bytes(_INT64, signed=True) + expiry
    else:
        changed = nonce + (draft.expires_at_ledger - 1).to_bytes(4)
    rules.assert_refused(
        draft.request(spliced(raw, nonce + expiry, changed)),
        Reason.INVALID_SIGNATURE,
        payer=draft.payer,
    )


@promise("signature:binds-the-network")
def test_signature_for_other_network_is_a_bad_signature() -> None:
    draft = rules.draft()
    elsewhere = draft.entry(network=Network.PUBNET)
    rules.assert_refused(draft.request(draft.envelope(elsewhere)), Reason.INVALID_SIGNATURE)


@promise("signature:classic-accounts")
async def test_signature_by_non_signer_is_refused_by_simulation(
    stage: Stage,
) -> None:
    draft = await stage.draft(signers=(STRANGER,))
    await stage.assert_refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


@case("PV-075")
def test_thousand_entries_are_refused() -> None:
    draft = rules.draft()
    small = unsigned_entry(
        invocation(invoke(address(draft.asset), "")),
        address(draft.payer),
        nonce=0,
        expires_at_ledger=0,
        kind=Credentials.SOURCE_ACCOUNT,
    )
    envelope = draft.envelope(draft.entry(), *[small] * 999)
    rules.assert_refused(draft.request(envelope))


@case("PV-076")
@promise("signature:classic-accounts")
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
async def test_multisig_account_pays_without_its_own_key(
    stage: Stage, multisig: Multisig, kind: Credentials
) -> None:
    draft = await stage.draft(payer=multisig.address, signers=multisig.signers, kind=kind)
    await stage.assert_settles(draft.request())


@case("PV-076")
async def test_one_signer_of_two_is_refused_by_simulation(stage: Stage, multisig: Multisig) -> None:
    draft = await stage.draft(payer=multisig.address, signers=multisig.signers[:1])
    await stage.assert_refused(draft.request(), Reason.SIMULATION_FAILED, payer=multisig.address)


@case("PV-076")
async def test_zero_weight_master_key_does_not_count(stage: Stage, multisig: Multisig) -> None:
    draft = await stage.draft(payer=multisig.address, signers=(multisig.master,))
    await stage.assert_refused(draft.request(), Reason.SIMULATION_FAILED, payer=multisig.address)


@case("PV-077")
def test_unsorted_or_repeated_signatures_are_refused() -> None:
    draft, keys = rules.draft(), (Keypair.random(), Keypair.random())
    backwards = tuple(sorted(keys, key=Keypair.raw_public_key, reverse=True))
    twice = (keys[0],) * 2
    for signers in (backwards, twice):
        entry = draft.but(signers=signers).entry(is_sorted=False)
        rules.assert_refused(draft.request(draft.envelope(entry)), Reason.INVALID_SIGNATURE)


@case("PV-085")
async def test_any_64_bit_nonce_settles(stage: Stage) -> None:
    draft = await stage.draft()
    for nonce in (0, -1, -(2**63), 2**63 - 1):
        await stage.assert_settles(draft.but(nonce=nonce).request())


@promise("error:expired-fails-closed", "verify:checks-expiry")
async def test_expired_authorization_is_refused(stage: Stage) -> None:
    latest = await stage.ledger().latest()
    await stage.until_seen(latest)
    for left in (-1_000, 0):
        draft = await stage.draft(expires_at_ledger=max(latest + left, 0))
        await stage.assert_refused(draft.request(), Reason.EXPIRED, payer=draft.payer, by_rule=True)


@promise("verify:checks-expiry")
async def test_authorization_is_refused_when_too_few_ledgers_remain(stage: Stage) -> None:
    careful = stage.environment | {"FAREBOX_MIN_LIFE_LEDGERS": "60"}
    async with service(careful) as client:
        other = Stage(client, stage.networks, careful)
        draft = await other.draft(expires_at_ledger=await stage.ledger().latest() + 40)
        reasons = (Reason.EXPIRES_TOO_SOON,)
        await other.assert_refused(draft.request(), *reasons, payer=draft.payer, by_rule=True)


@promise("verify:checks-expiry")
async def test_authorization_too_short_for_ledger_cadence_is_refused_by_both_routes(
    stage: Stage,
) -> None:
    """Control: six ledgers are enough by number, and the node refuses their envelope."""
    held = node_proxy.HeldLedger()  # six ledgers are a second, and the four calls may take longer
    stage.node().on("getHealth", held)
    await until(lambda: held.sequence)
    draft = await stage.draft(expires_at_ledger=held.sequence + 6)
    await stage.assert_refused(
        draft.request(), Reason.EXPIRES_TOO_SOON, payer=draft.payer, by_rule=True
    )


@case("PV-136")
@promise("terms:timeout-bounds-expiry", "verify:checks-expiry")
async def test_authorization_is_refused_when_it_outlives_the_timeout(stage: Stage) -> None:
    latest = await stage.ledger().latest()
    for left in (100_000, 2**32 - 1 - latest):
        draft = await stage.draft(expires_at_ledger=latest + left)
        await stage.assert_refused(
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
