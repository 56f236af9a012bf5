"""One payment's way through settlement, as a record whose state only goes forward."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from farebox.facilitator.identity import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason


class SettlementState(StrEnum):
    """Where a settlement stands; written before the side effect it announces."""

    CLAIMED = "claimed"  # nothing is signed yet
    SENDING = "sending"  # signed and stored; may be with the network
    SUBMITTED = "submitted"  # a node took it
    CONFIRMED = "confirmed"  # on the ledger, and the transfer was read back
    FAILED = "failed"  # on the ledger, without the transfer
    DEAD = "dead"  # can never land
    UNPROVEN = "unproven"  # neither can be shown any more


FINAL: Final = frozenset(
    (
        SettlementState.CONFIRMED,
        SettlementState.FAILED,
        SettlementState.DEAD,
        SettlementState.UNPROVEN,
    )
)

# What may follow what. SENDING begins again when an envelope proven dead gives way to another.
NEXT: Final = {
    SettlementState.CLAIMED: frozenset((SettlementState.SENDING,)),
    SettlementState.SENDING: frozenset((SettlementState.SENDING, SettlementState.SUBMITTED))
    | FINAL,
    SettlementState.SUBMITTED: frozenset((SettlementState.SENDING,)) | FINAL,
    SettlementState.CONFIRMED: frozenset[SettlementState](),
    SettlementState.FAILED: frozenset[SettlementState](),
    SettlementState.DEAD: frozenset[SettlementState](),
    SettlementState.UNPROVEN: frozenset[SettlementState](),
}


class Recording(StrEnum):
    """What came of writing an envelope down; only one that is `WRITTEN` may be sent."""

    WRITTEN = "written"
    CLAIM_LOST = "claim lost"  # the row is another's by now, or the source's lease is
    SOURCE_BUSY = "source busy"  # another envelope of the source is unresolved


@dataclass(frozen=True, slots=True)
class Claim:
    """What is written when an accepted payment takes its identity."""

    identity: PaymentIdentity
    claim_id: UUID
    request_digest: bytes
    asset: Address
    amount: BaseUnits
    pay_to: Address
    expires_at_ledger: int
    claimed_at: datetime
    max_timeout_s: int  # of the terms, as every listing shows them
    token_is_verified: bool = True  # the token is a Stellar Asset Contract
    caller: OwnerId | None = None  # who asked, where that is known
    discovery: bytes | None = None  # `DiscoveryText`, unless there is none or too much of it


@dataclass(frozen=True, slots=True)
class Settlement:
    """A row of the journal."""

    identity: PaymentIdentity
    state: SettlementState
    claim_id: UUID
    request_digest: bytes
    asset: Address
    amount: BaseUnits
    pay_to: Address
    sent: SentEnvelope | None
    reason: Reason | None
    is_answered: bool
    token_is_verified: bool = True
    landed_hash: bytes | None = None  # what used the authorization, where it is not `sent`

    @property
    def tx_hash(self) -> str:
        """The hash that is answered, in hex; empty while nothing is signed."""
        if self.landed_hash is not None:
            return self.landed_hash.hex()
        return self.sent.tx_hash.hex() if self.sent else ""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a settlement ended, as it is written into its row."""

    state: SettlementState  # one of FINAL
    reason: Reason | None = None  # None for a confirmed one
    detail: str | None = None  # the network's own result code
    ledger: int | None = None
    fee_charged: int | None = None  # stroops
    landed_hash: bytes | None = None  # what used the authorization, where it is not the envelope
    moved_more: bool = False  # tokens moved beside the payment

    @property
    def cost_for_nothing(self) -> bool:
        """Whether its fee counts as a loss that the payer brought about."""
        return self.state is SettlementState.FAILED or self.moved_more
