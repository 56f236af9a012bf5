"""The receipt of a run: what happened, in bytes that the service signs and anyone can check."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from farebox.automation.runs.run_state import RunState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network

_LABEL: Final = b"x402.automation.receipt.v1"


class ExecutedBy(StrEnum):
    """Whose transaction the run is."""

    SERVICE = "service"
    THIRD_PARTY = "third_party"  # another one that used the run's authorization


class TokenChange(msgspec.Struct, frozen=True, rename="camel"):
    """The account's net change in a token, in base units; negative for what it paid."""

    token: str
    amount: str


class RunReceipt(msgspec.Struct, frozen=True, rename="camel"):
    """What is known of a run that is over; times are UTC, amounts are base units as text.

    `transaction`, `ledger` and `closedAt` are null for a run that reached no ledger, `feeStroops`
    is what the paymaster paid, `reason` says why a run did not succeed.
    """

    version: int
    proposal: str
    policy_id: str  # hex
    network: Network
    account: str
    run_index: int
    leg_index: int
    scheduled_for: datetime
    state: RunState
    attempts: int
    executed_by: ExecutedBy | None
    transaction: str | None
    ledger: int | None
    closed_at: datetime | None
    changes: tuple[TokenChange, ...]
    fee_stroops: str
    reason: str | None


def list_changes(changes: Sequence[tuple[Address, int]]) -> tuple[TokenChange, ...]:
    """The measured effects of a run as a receipt has them."""
    return tuple(TokenChange(token, str(amount)) for token, amount in changes)


def receipt_bytes(receipt: RunReceipt) -> bytes:
    """The one encoding of a receipt: JSON with its members in the order of their names."""
    return msgspec.json.encode(receipt, order="sorted")


def receipt_digest(encoded: bytes) -> bytes:
    """The 32 bytes that are signed: SHA-256 of a label, a zero byte and the receipt's bytes."""
    return hashlib.sha256(_LABEL + b"\0" + encoded).digest()
