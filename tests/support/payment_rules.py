"""The rules that need no ledger, node or journal, as both payment routes apply them to a body."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from stellar_sdk import Asset, Keypair

from farebox.facilitator.verification.verdict import (
    Accepted,
    Rejected,
    SignedTransfer,
    judge_effect,
    judge_simulation,
)
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.simulation import read_simulation
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment
from support.accepted_payment import RULES
from support.manual_clock import START
from support.payments import Draft
from support.sdk_ledger_keys import resource_data
from support.signing import Signing

RELAYER: Final = Keypair.from_raw_ed25519_seed(bytes([7]) * 32)  # the one of RULES
PAYER: Final = Keypair.from_raw_ed25519_seed(bytes([2]) * 32)
PAYEE: Final = account_address(bytes([3]) * 32)
ASSET: Final = contract_address(bytes([4]) * 32)
_LEDGER: Final = 100
_VERIFIER: Final = Signing().verifier(*Network)


def draft(network: Network = Network.TESTNET, **changes: Any) -> Draft:
    """Draft a payment that meets every rule, with `changes` to its fields."""
    honest = Draft(
        network=network,
        asset=ASSET,
        payer=PAYER.public_key,
        signers=(PAYER,),
        pay_to=PAYEE,
        expires_at_ledger=1_000,
    )
    return honest.but(**changes)


def native(network: Network = Network.TESTNET) -> str:
    """The contract of the network's own coin."""
    return Asset.native().contract_id(network.passphrase)


def judge(body: object) -> SignedTransfer | Rejected | Unacceptable:
    """Judge the bytes of a body, or the JSON of an object, as far as the rules alone can."""
    payment = read_payment(body if isinstance(body, bytes) else msgspec.json.encode(body))
    if isinstance(payment, Unacceptable):
        return payment
    return _VERIFIER.examine(payment)


def judge_events(payment: Draft, events: Sequence[str]) -> Accepted | Reason:
    """Judge a payment by the events of its simulation, as a node gives them."""
    transfer = judge(payment.request())
    assert isinstance(transfer, SignedTransfer), transfer
    resources = resource_data(read_only=[], read_write=[]).to_xdr()
    response = {"latestLedger": _LEDGER, "transactionData": resources, "events": list(events)}
    now = LedgerReading(_LEDGER, START, cadence_s=5.0, age_s=0.0)
    simulated = judge_simulation(read_simulation(response), now)
    if isinstance(simulated, Reason):
        return simulated
    return judge_effect(simulated, transfer, RULES, market=None)


def assert_refused(body: object, *reasons: Reason, payer: str | None = None) -> Reason:
    """Assert that the rules refuse the body, for one of `reasons` if any is given; return it."""
    verdict = judge(body)
    assert isinstance(verdict, Rejected | Unacceptable), verdict
    assert not reasons or verdict.reason in reasons, (verdict.reason, reasons)
    if payer is not None:
        assert isinstance(verdict, Rejected)
        assert verdict.payer == payer
    return verdict.reason


def assert_all_refused(bodies: Iterable[object], reason: Reason) -> None:
    """Assert that the rules refuse each body for this reason."""
    told = [(judge(each), each) for each in bodies]
    assert told
    assert [each for verdict, each in told if getattr(verdict, "reason", None) != reason] == []
