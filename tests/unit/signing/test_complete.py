"""Completed payments: the signature in its place, judged by the facilitator's own rules."""

from dataclasses import replace
from typing import Final

import pytest
from nacl.signing import SigningKey
from stellar_sdk import Keypair, scval, xdr

from farebox.facilitator.verification.operator_rules import AssetRule
from farebox.facilitator.verification.verdict import Rejected
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.signing.authorization import UnsignedAuthorization
from farebox.signing.complete import SignedAuthorization
from farebox.stellar.auth_entries import AuthEntry, authorization_digest, read_entry
from farebox.stellar.entry_writer import key_signature
from farebox.stellar.ledger_clock import LedgerReading
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason
from support.promises import case
from support.signing import (
    CHANNEL,
    PAY_TO,
    PAYER,
    PAYER_KEY,
    READING,
    TERMS,
    USDC,
    FixedLedgers,
    Signing,
)
from testing.contract_calls import address, invocation, invoke, transfer
from testing.entries import Credentials, unsigned_entry

STRANGER: Final = SigningKey(bytes([77]) * 32)
WALLET: Final = contract_address(bytes([9]) * 32)
OTHER: Final = contract_address(bytes([8]) * 32)
BOB: Final = Address(Keypair.from_raw_ed25519_seed(bytes([66]) * 32).public_key)


def prepared(terms: PaymentTerms = TERMS, payer: Address = PAYER) -> UnsignedAuthorization:
    """A prepared authorization."""
    authorization = Signing().preparation().prepare(terms, payer)
    assert isinstance(authorization, UnsignedAuthorization), authorization
    return authorization


def signed(
    authorization: UnsignedAuthorization,
    key: SigningKey = PAYER_KEY,
    *,
    as_key: SigningKey | None = None,
) -> SignedAuthorization:
    """It with the signature of a key, said to be of another one where that is given."""
    signature = key.sign(authorization.digest).signature
    signer = account_address(bytes((as_key or key).verify_key))
    return SignedAuthorization(read_entry(authorization.entry), key_signature(signer, signature))


def complete(
    authorization: SignedAuthorization, terms: PaymentTerms = TERMS, signing: Signing | None = None
) -> Payment | Rejected:
    """Complete it."""
    return (signing or Signing()).completion().complete(authorization, terms)


def reason_of(refused: Payment | Rejected) -> Reason:
    """The reason of a refusal."""
    assert isinstance(refused, Rejected)
    return refused.reason


def entry_for(
    call: xdr.InvokeContractArgs,
    *below: xdr.InvokeContractArgs,
    payer: str = PAYER,
    expires: int = 1_010,
    kind: Credentials = Credentials.ADDRESS,
) -> AuthEntry:
    """An unsigned entry for any call, by the SDK."""
    root = invocation(call, *(invocation(each) for each in below))
    entry = unsigned_entry(root, address(payer), nonce=5, expires_at_ledger=expires, kind=kind)
    return read_entry(entry.to_xdr_bytes())


def by_payer(entry: AuthEntry) -> SignedAuthorization:
    """The entry with the payer's good signature."""
    signature = PAYER_KEY.sign(authorization_digest(entry, Network.TESTNET.id)).signature
    return SignedAuthorization(entry, key_signature(PAYER, signature))


TRANSFER: Final = transfer(USDC, PAYER, PAY_TO, 10_000)


def test_completed_payment_is_one_unsigned_transfer_of_the_zero_account() -> None:
    payment = complete(signed(prepared()))
    assert isinstance(payment, Payment)
    assert payment.terms == TERMS
    envelope = xdr.TransactionEnvelope.from_xdr_bytes(payment.transaction.reveal())
    assert envelope.v1 is not None
    assert envelope.v1.signatures == []
    transaction = envelope.v1.tx
    assert transaction.source_account.ed25519 == xdr.Uint256(bytes(32))
    assert (transaction.fee.uint32, transaction.memo.type, transaction.ext.v) == (100, 0, 0)
    (operation,) = transaction.operations
    invoked = operation.body.invoke_host_function_op
    assert invoked is not None
    assert invoked.host_function.invoke_contract == TRANSFER
    (entry,) = invoked.auth
    assert entry.root_invocation.function.contract_fn == TRANSFER
    assert entry.root_invocation.sub_invocations == []


@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
def test_entry_of_both_kinds_of_credentials_is_completed(kind: Credentials) -> None:
    assert isinstance(complete(by_payer(entry_for(TRANSFER, kind=kind))), Payment)


def test_signature_of_another_signer_is_accepted_under_its_own_key() -> None:
    assert isinstance(complete(signed(prepared(), STRANGER)), Payment)


def test_signature_of_a_contract_account_is_not_judged() -> None:
    authorization = prepared(payer=WALLET)
    value = scval.to_vec([scval.to_uint32(7)]).to_xdr_bytes()
    entry = read_entry(authorization.entry)
    assert isinstance(complete(SignedAuthorization(entry, value)), Payment)


def test_void_signature_of_a_contract_account_is_none() -> None:
    entry = read_entry(prepared(payer=WALLET).entry)
    void = scval.to_void().to_xdr_bytes()
    assert reason_of(complete(SignedAuthorization(entry, void))) is Reason.MISSING_PAYER_SIGNATURE


def test_signature_under_another_key_is_refused() -> None:
    wrong = signed(prepared(), STRANGER, as_key=PAYER_KEY)
    assert reason_of(complete(wrong)) is Reason.INVALID_SIGNATURE


@case("WA-007")
def test_signature_of_another_payment_or_network_is_refused() -> None:
    first, second = prepared(), prepared()
    mixed = SignedAuthorization(read_entry(first.entry), signed(second).signature)
    assert reason_of(complete(mixed)) is Reason.INVALID_SIGNATURE
    elsewhere = replace(TERMS, network=Network.PUBNET)
    assert reason_of(complete(signed(first), elsewhere)) is Reason.INVALID_SIGNATURE


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (replace(TERMS, asset=OTHER), Reason.WRONG_ASSET),
        (replace(TERMS, amount=BaseUnits(10_001)), Reason.WRONG_AMOUNT),
        (replace(TERMS, pay_to=BOB), Reason.WRONG_RECIPIENT),
        (replace(TERMS, pay_to=CHANNEL), Reason.FACILITATOR_IS_RECIPIENT),
        (replace(TERMS, max_timeout_s=40), Reason.EXPIRATION_TOO_FAR),
    ],
)
def test_entry_of_other_terms_is_refused(terms: PaymentTerms, reason: Reason) -> None:
    assert reason_of(complete(signed(prepared()), terms)) is reason


@case("WA-006")
@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (entry_for(transfer(USDC, BOB, PAY_TO, 10_000)), Reason.MISSING_PAYER_SIGNATURE),
        (entry_for(TRANSFER, TRANSFER), Reason.HAS_SUBINVOCATIONS),
        (entry_for(invoke(address(USDC), "approve")), Reason.WRONG_FUNCTION_NAME),
        (entry_for(invoke(address(USDC), "transfer")), Reason.WRONG_FUNCTION_NAME),
        (entry_for(TRANSFER, payer=CHANNEL), Reason.FACILITATOR_IN_AUTH),
        (entry_for(transfer(USDC, CHANNEL, PAY_TO, 10_000)), Reason.FACILITATOR_IS_PAYER),
        (entry_for(TRANSFER, expires=1_002), Reason.EXPIRES_TOO_SOON),
        (entry_for(TRANSFER, expires=1_000), Reason.EXPIRED),
        (entry_for(TRANSFER, expires=2**32 - 1), Reason.EXPIRATION_TOO_FAR),
    ],
)
def test_entry_for_anything_but_the_transfer_in_time_is_refused(
    entry: AuthEntry, reason: Reason
) -> None:
    assert reason_of(complete(by_payer(entry))) is reason


def test_asset_that_left_the_list_is_refused() -> None:
    signing = Signing(assets=frozenset({OTHER}))
    assert reason_of(complete(signed(prepared()), signing=signing)) is Reason.UNSUPPORTED_ASSET
    strict = Signing(assets=AssetRule.ASSET_CONTRACTS)
    assert isinstance(complete(signed(prepared()), signing=strict), Payment)


@case("WA-010")
def test_entry_is_refused_once_its_time_is_over() -> None:
    late = FixedLedgers(LedgerReading(1_012, READING.close_at, 5.0, 0.0))
    refused = complete(signed(prepared()), signing=Signing(ledgers=late))
    assert reason_of(refused) is Reason.EXPIRED


def test_signature_with_more_items_than_an_entry_may_have_is_refused() -> None:
    entry = read_entry(prepared(payer=WALLET).entry)
    wide = scval.to_vec([scval.to_void()] * 2_001).to_xdr_bytes()
    assert reason_of(complete(SignedAuthorization(entry, wide))) is Reason.MALFORMED


def test_network_that_is_not_served_is_refused() -> None:
    completion = Signing().completion(Network.PUBNET)
    assert completion.complete(signed(prepared()), TERMS) == Rejected(Reason.INVALID_NETWORK)
