"""Payments claimed and envelopes sealed for them, as a journal is given them."""

from datetime import timedelta
from typing import Final
from uuid import uuid4

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import Claim
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.submission.fate import SentEnvelope
from support.manual_clock import START

NET: Final = Network.TESTNET
PAYER_1: Final = account_address(bytes([1]) * 32)
PAY_TO: Final = account_address(bytes([200]) * 32)
ASSET: Final = contract_address(bytes(32))


def claim(nonce: int, *, payer: int = 1, network: Network = NET) -> Claim:
    """A payment of one of 255 payers, to `PAY_TO`."""
    return Claim(
        identity=PaymentIdentity(network, account_address(bytes([payer]) * 32), nonce),
        claim_id=uuid4(),
        request_digest=bytes(32),
        asset=ASSET,
        amount=BaseUnits(1),
        pay_to=PAY_TO,
        expires_at_ledger=200,
        claimed_at=START,
        max_timeout_s=60,
    )


def sealed(tag: int, *, source: Address, fee: int = 1) -> SentEnvelope:
    """An envelope that is told from others by its tag; `fee` in stroops."""
    return SentEnvelope(
        tx_hash=tag.to_bytes(32),
        inner_hash=None,
        envelope=Secret(b"signed"),
        source=source,
        source_sequence=7,
        max_time=START + timedelta(seconds=45),
        fee_limit=Stroops(fee),
        sent_after_ledger=100,
    )
