"""Prepared authorizations: exactly one transfer, within the facilitator's rules."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest
from stellar_sdk import xdr
from stellar_sdk.auth import authorization_payload_hash, build_authorization_preimage

from farebox.buyer.authorization import CredentialForm
from farebox.buyer.authorization import unsigned_entry as sdk_entry
from farebox.facilitator.verification.operator_rules import AssetRule
from farebox.facilitator.verification.verdict import Rejected, judge_expiry
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.signing.authorization import UnsignedAuthorization
from farebox.stellar.auth_entries import read_entry
from farebox.stellar.known_tokens import NATIVE
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason
from support.accepted_payment import RULES
from support.signing import CHANNEL, PAY_TO, PAYER, READING, TERMS, USDC, FixedLedgers, Signing

WALLET: Final = contract_address(bytes([9]) * 32)
OTHER: Final = contract_address(bytes([8]) * 32)


def prepared(terms: PaymentTerms = TERMS, payer: Address = PAYER) -> UnsignedAuthorization:
    """A prepared authorization."""
    authorization = Signing().preparation().prepare(terms, payer)
    assert isinstance(authorization, UnsignedAuthorization), authorization
    return authorization


@pytest.mark.parametrize("payer", [PAYER, WALLET])
@pytest.mark.parametrize("network", list(Network))
def test_prepared_entry_and_hash_are_those_of_the_sdk(payer: Address, network: Network) -> None:
    terms = replace(TERMS, network=network)
    authorization = prepared(terms, payer)
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(authorization.entry)
    credentials = entry.credentials.address
    assert credentials is not None
    nonce = credentials.nonce.int64
    wanted = sdk_entry(terms, payer=payer, nonce=nonce, form=CredentialForm.ADDRESS)
    assert wanted.credentials.address is not None
    wanted.credentials.address.signature_expiration_ledger = xdr.Uint32(1_012)
    assert authorization.entry == wanted.to_xdr_bytes()
    preimage = build_authorization_preimage(entry, 1_012, network.passphrase)
    assert authorization.preimage == preimage.to_xdr_bytes()
    assert authorization.digest == authorization_payload_hash(preimage)


def test_prepared_authorizations_have_different_nonces() -> None:
    nonces = {read_entry(prepared().entry).nonce for _ in range(20)}
    assert len(nonces) == 20


def test_statements_name_amount_token_parties_network_and_end() -> None:
    authorization = prepared()
    what = (
        f"Transfer 10000 base units of the token {USDC} (0.001 USDC)"
        f" from {PAYER} to {PAY_TO} on stellar:testnet, once."
    )
    assert authorization.statements == (
        what,
        "This is allowed until ledger 1012 closes, at about 2026-11-23 09:31:00 UTC.",
        "Nothing else is allowed: no other amount, token or recipient, no second transfer.",
    )
    assert authorization.expires_at == datetime(2026, 11, 23, 9, 31, tzinfo=UTC)


def test_statement_about_an_unknown_token_has_base_units_alone() -> None:
    first, *_ = prepared(replace(TERMS, asset=OTHER)).statements
    assert f"Transfer 10000 base units of the token {OTHER} from" in first
    native = NATIVE[Network.TESTNET].contract
    assert "(0.001 XLM)" in prepared(replace(TERMS, asset=native)).statements[0]


@pytest.mark.parametrize("timeout_s", [30, 60, 300, 86_400])
def test_expiry_is_within_the_window_of_a_facilitator_that_measures_a_slower_network(
    timeout_s: int,
) -> None:
    terms = replace(TERMS, max_timeout_s=timeout_s)
    for cadence_s in (0.1, 0.2, 1.0, 2.0, 4.9, 5.0, 6.0, 30.0):
        ledgers = FixedLedgers(LedgerReading(1_000, READING.close_at, cadence_s, 0.0))
        authorization = Signing(ledgers=ledgers).preparation().prepare(terms, PAYER)
        assert isinstance(authorization, UnsignedAuthorization), cadence_s
        for slower in (1.0, 1.1, 1.2):
            now = LedgerReading(1_000, READING.close_at, cadence_s * slower, 0.0)
            judged = judge_expiry(read_entry(authorization.entry), terms, RULES, now)
            assert judged is None, (cadence_s, slower)


@pytest.mark.parametrize(
    ("terms", "payer", "reason"),
    [
        (replace(TERMS, pay_to=RULES.relayer), PAYER, Reason.FACILITATOR_IS_RECIPIENT),
        (replace(TERMS, pay_to=CHANNEL), PAYER, Reason.FACILITATOR_IS_RECIPIENT),
        (TERMS, RULES.relayer, Reason.FACILITATOR_IS_PAYER),
        (TERMS, CHANNEL, Reason.FACILITATOR_IS_PAYER),
        (replace(TERMS, network=Network.PUBNET), PAY_TO, Reason.PAYER_IS_RECIPIENT),
        (replace(TERMS, max_timeout_s=10), PAYER, Reason.EXPIRES_TOO_SOON),
    ],
)
def test_payment_that_breaks_a_rule_of_the_facilitator_is_not_prepared(
    terms: PaymentTerms, payer: Address, reason: Reason
) -> None:
    refused = Signing().preparation().prepare(terms, payer)
    assert isinstance(refused, Rejected)
    assert refused.reason is reason


def test_payer_may_be_recipient_on_testnet() -> None:
    assert prepared(payer=PAY_TO).payer == PAY_TO


def test_asset_that_is_not_listed_is_not_prepared() -> None:
    signing = Signing(assets=frozenset({USDC}))
    refused = signing.preparation().prepare(replace(TERMS, asset=OTHER), PAYER)
    assert refused == Rejected(Reason.UNSUPPORTED_ASSET, PAYER)
    assert not isinstance(signing.preparation().prepare(TERMS, PAYER), Rejected)


def test_token_whose_kind_is_not_known_is_prepared_where_asset_contracts_are_settled() -> None:
    signing = Signing(assets=AssetRule.ASSET_CONTRACTS)
    assert not isinstance(
        signing.preparation().prepare(replace(TERMS, asset=OTHER), PAYER), Rejected
    )


def test_network_that_is_not_served_is_not_prepared() -> None:
    refused = Signing().preparation(Network.PUBNET).prepare(TERMS, PAYER)
    assert refused == Rejected(Reason.INVALID_NETWORK)


def test_preparation_raises_while_the_ledger_is_not_known() -> None:
    with pytest.raises(ClockStale):
        Signing(ledgers=FixedLedgers(None)).preparation().prepare(TERMS, PAYER)


@pytest.mark.parametrize("timeout_s", [10, 60])
def test_preparation_raises_while_a_single_look_has_named_the_ledger(timeout_s: int) -> None:
    """Control: an expiry beyond the window, or a final refusal, by a node that is ahead."""
    ledgers = FixedLedgers(replace(READING, sequence=1_099, is_confirmed=False))
    terms = replace(TERMS, max_timeout_s=timeout_s)
    with pytest.raises(ClockStale):
        Signing(ledgers=ledgers).preparation().prepare(terms, PAYER)


@pytest.mark.parametrize("amount", [1, 2**64, 2**127 - 1])
def test_every_amount_of_an_i128_is_prepared(amount: int) -> None:
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(
        prepared(replace(TERMS, amount=BaseUnits(amount))).entry
    )
    call = entry.root_invocation.function.contract_fn
    assert call is not None
    value = call.args[2].i128
    assert value is not None
    assert (value.hi.int64 << 64) + value.lo.uint64 == amount
