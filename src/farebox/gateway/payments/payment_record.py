"""A payment as `/v1/payments` shows it: its settlement, and its sale where the gateway made one."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId


class RecordState(StrEnum):
    """The state of a payment; the last four are those of a sale at the gateway."""

    PENDING = "pending"  # sent; its outcome is not known yet
    FAILED = "failed"
    UNPROVEN = "unproven"  # whether it landed cannot be proven any more
    SETTLED = "settled"
    PAID = "paid"  # landed; the response is not delivered yet
    DELIVERED = "delivered"
    OWED = "owed"
    REFUNDED = "refunded"


class PartyRole(StrEnum):
    """The part that a caller has in a payment."""

    RECEIVED = "received"  # the wallet is `payTo`
    PAID = "paid"  # the wallet is the payer
    SETTLED = "settled"  # the caller, or a wrapper of the caller, had it settled


@dataclass(frozen=True, slots=True)
class GatewaySale:
    """The part of a payment that its wrapper's owner alone sees."""

    wrapper_id: str
    owner: OwnerId
    slug: str
    method: str
    path: str
    attempts: int
    status: int | None  # of the upstream's last response
    paid_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class PaymentRecord:
    """A payment that was sent to its network; `refund_hash` is empty without a refund."""

    identity: PaymentIdentity
    tx_hash: str
    sent_hash: str  # of our own envelope; it names the place in a list
    asset: Address
    amount: BaseUnits
    pay_to: Address
    state: RecordState
    reason: str | None
    claimed_at: datetime
    settled_at: datetime | None
    ledger: int | None  # None while it is not known
    attempts_left: int = 0
    refund_hash: str = ""
    sale: GatewaySale | None = None

    @property
    def is_landed(self) -> bool:
        """Whether the payment is on the ledger, as far as is known."""
        return self.state not in (RecordState.PENDING, RecordState.FAILED, RecordState.UNPROVEN)
