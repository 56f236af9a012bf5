"""Builders for the claims and signed envelopes that a journal records."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

from farebox.facilitator.settlement import Claim, PaymentIdentity
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.submission.fate import SentEnvelope
from support.manual_clock import START

NET: Final = Network.TESTNET
PAYER_1: Final = account_address(bytes([1]) * 32)
SOURCE: Final = account_address(bytes([3]) * 32)
PAY_TO: Final = account_address(bytes([200]) * 32)
ASSET: Final = contract_address(bytes(32))
CALL_S: Final = 50.0  # the longest that the call of a claim lasts
DIGEST: Final = bytes([9]) * 32  # of the request


def claim(nonce: int = 5, *, payer: int = 1, network: Network = NET, **changes: Any) -> Claim:
    """The claim of a payment of one of 255 payers to `PAY_TO`; `changes` are other fields."""
    built = Claim(
        identity=PaymentIdentity(network, account_address(bytes([payer]) * 32), nonce),
        claim_id=uuid4(),
        request_digest=DIGEST,
        asset=ASSET,
        amount=BaseUnits(1),
        pay_to=PAY_TO,
        expires_at_ledger=200,
        claimed_at=START,
        ends_by=changes.get("claimed_at", START) + timedelta(seconds=CALL_S),
        max_timeout_s=60,
    )
    return replace(built, **changes)


def signed_envelope(
    tag: int = 7, *, source: Address = SOURCE, fee: int = 30_000, **changes: Any
) -> SentEnvelope:
    """An envelope with its own hash for each tag; `fee` in stroops, `changes` are other fields."""
    built = SentEnvelope(
        tx_hash=tag.to_bytes(32),
        inner_hash=None,
        envelope=Secret(b"signed"),
        source=source,
        source_sequence=7,
        max_time=START + timedelta(seconds=45),
        fee_limit=Stroops(fee),
        sent_after_ledger=100,
    )
    return replace(built, **changes)
