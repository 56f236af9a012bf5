"""The settlement of one payment: its identity, row, final status and outcomes.

The state of the row only goes forward.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import SHARED, OwnerId
from farebox.kernel.networks import Network
from farebox.submission.fate import Dead, Fate, SentEnvelope, Unproven
from farebox.x402.reasons import Reason


@dataclass(frozen=True, slots=True)
class PaymentIdentity:
    """Network, payer and authorization nonce, which the ledger itself accepts only once.

    Envelope bytes and base64 text are malleable and so are no identity.
    """

    network: Network
    payer: Address
    nonce: int

    @property
    def row_key(self) -> tuple[str, str, int]:
        """The key columns of the payment's row."""
        return self.network.value, self.payer, self.nonce


def list_row_keys(identities: Sequence[PaymentIdentity]) -> tuple[list[str], list[str], list[int]]:
    """List the key columns of many payments' rows, one list a column."""
    return (
        [identity.network.value for identity in identities],
        [identity.payer for identity in identities],
        [identity.nonce for identity in identities],
    )


class SettlementState(StrEnum):
    """The state of a settlement, recorded before the side effect that it announces."""

    CLAIMED = "claimed"  # nothing is signed yet
    SENDING = "sending"  # signed and stored; may be with the network
    SUBMITTED = "submitted"  # a node took it
    CONFIRMED = "confirmed"  # on the ledger, and the transfer was read back
    FAILED = "failed"  # on the ledger, without the transfer
    DEAD = "dead"  # can never land
    UNPROVEN = "unproven"  # whether it landed cannot be proved by the nodes at hand


FINAL_STATES: Final = frozenset(
    (
        SettlementState.CONFIRMED,
        SettlementState.FAILED,
        SettlementState.DEAD,
        SettlementState.UNPROVEN,
    )
)

# The transitions. SENDING follows SENDING when another envelope replaces one that is proven dead.
# UNPROVEN ends a call, and gives way to a proof that is found later.
TRANSITIONS: Final = {
    SettlementState.CLAIMED: frozenset((SettlementState.SENDING,)),
    SettlementState.SENDING: frozenset((SettlementState.SENDING, SettlementState.SUBMITTED))
    | FINAL_STATES,
    SettlementState.SUBMITTED: frozenset((SettlementState.SENDING,)) | FINAL_STATES,
    SettlementState.CONFIRMED: frozenset[SettlementState](),
    SettlementState.FAILED: frozenset[SettlementState](),
    SettlementState.DEAD: frozenset[SettlementState](),
    SettlementState.UNPROVEN: frozenset(
        (SettlementState.CONFIRMED, SettlementState.FAILED, SettlementState.DEAD)
    ),
}


class Recording(StrEnum):
    """The result of recording an envelope; only one that is `WRITTEN` may be sent."""

    WRITTEN = "written"
    CLAIM_LOST = "claim lost"  # another claim has the row, or another lease the source
    SOURCE_BUSY = "source busy"  # another envelope of the source is unresolved


LANDED_ELSEWHERE: Final = (Reason.FOREIGN_LANDING, Reason.DUPLICATE_SETTLEMENT)


@dataclass(frozen=True, slots=True)
class Claim:
    """The row that an accepted payment inserts to claim its identity."""

    identity: PaymentIdentity
    claim_id: UUID
    request_digest: bytes
    asset: Address
    amount: BaseUnits
    pay_to: Address
    expires_at_ledger: int
    claimed_at: datetime
    ends_by: datetime  # the end of its call, which may replace a dead envelope until then
    max_timeout_s: int  # of the terms, as every listing shows them
    token_is_verified: bool = True  # the token is a Stellar Asset Contract
    caller: OwnerId | None = None  # None for an anonymous one
    budget_owner: OwnerId = SHARED  # the owner whose key budget it uses
    discovery: bytes | None = None  # `DiscoveryText`, unless there is none or too much of it
    is_purchase: bool = False  # of goods or runs of this service, which alone gets its success


@dataclass(frozen=True, slots=True)
class Settlement:
    """A row of the journal; `reason` is None unless it failed, `sent` while nothing is signed."""

    identity: PaymentIdentity
    state: SettlementState
    claim_id: UUID
    claimed_at: datetime
    ends_by: datetime  # the end of the call that claimed it, by the deadline of its own process
    request_digest: bytes
    asset: Address
    amount: BaseUnits
    pay_to: Address
    sent: SentEnvelope | None
    reason: Reason | None
    is_answered: bool
    token_is_verified: bool = True
    landed_hash: bytes | None = None  # of the transaction that landed, where it is another one
    is_purchase: bool = False  # made by this service, for its own goods or runs

    @property
    def tx_hash(self) -> str:
        """The hash in every response, in hex; empty while nothing is signed."""
        if self.landed_hash is not None:
            return self.landed_hash.hex()
        return self.sent.tx_hash.hex() if self.sent else ""

    @property
    def has_landed_elsewhere(self) -> bool:
        """Whether another transaction is proven to have made the payment.

        A `landed_hash` alone is none: it may be that of an envelope of ours that was replaced, or
        the one by which a node resolves ours inside a stranger's fee bump.
        """
        return self.landed_hash is not None and self.reason in LANDED_ELSEWHERE

    def may_be_replaced(self, fate: Fate, *, now: datetime) -> bool:
        """Whether the call that claimed the payment may yet replace its envelope, which seems dead.

        No other process ends its payment before, since then nothing of it would land.
        """
        return now < self.ends_by and isinstance(fate, Dead | Unproven)

    def is_paid_elsewhere(self, digest: bytes | None) -> bool:
        """Whether another transaction has made the payment of the request of this digest."""
        return self.has_landed_elsewhere and self.request_digest == digest

    def has_paid(self, digest: bytes | None) -> bool:
        """Whether the payment of the request of this digest is proven to have landed."""
        is_confirmed = self.state is SettlementState.CONFIRMED and self.request_digest == digest
        return is_confirmed or self.is_paid_elsewhere(digest)

    def may_have_paid(self, digest: bytes | None) -> bool:
        """Whether it has landed, may land, or cannot be proven not to have landed."""
        is_open = self.state not in FINAL_STATES or self.state is SettlementState.UNPROVEN
        return (is_open and self.request_digest == digest) or self.has_paid(digest)


@dataclass(frozen=True, slots=True)
class FinalStatus:
    """The final status of a settlement, as its row records it."""

    state: SettlementState  # one of FINAL_STATES
    reason: Reason | None = None  # None when confirmed
    detail: str | None = None  # the network's own result code
    ledger: int | None = None
    fee_charged: int | None = None  # stroops
    landed_hash: bytes | None = None  # of the transaction that landed, where it is another one
    landed_at: datetime | None = None  # the close of that one's ledger, where it is another party's
    has_extra_movement: bool = False  # tokens moved besides the payment

    @property
    def is_payer_loss(self) -> bool:
        """Whether the fee counts as a loss that the payer caused."""
        return self.state is SettlementState.FAILED or self.has_extra_movement


@dataclass(frozen=True, slots=True)
class Settled:
    """The payment is confirmed; its one success is taken just before the response is written."""

    identity: PaymentIdentity
    request_digest: bytes
    tx_hash: str  # 64 lower-case hex digits
    token_is_verified: bool = True


@dataclass(frozen=True, slots=True)
class NotSettled:
    """A final failure. `tx_hash` is empty when nothing reached the network."""

    reason: Reason
    network: Network
    payer: Address | None = None
    tx_hash: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """The payment may have been sent; repeating the same body leads to the final outcome."""

    network: Network
    payer: Address
    tx_hash: str


SettleOutcome = Settled | NotSettled | Pending


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The final response body stored under the request's idempotency key, replayed as it is."""

    body: bytes


def build_duplicate(identity: PaymentIdentity, tx_hash: str) -> NotSettled:
    """Build the outcome of a settled payment for a request that does not have its success."""
    return NotSettled(Reason.DUPLICATE_SETTLEMENT, identity.network, identity.payer, tx_hash)


def build_outcome(
    final: FinalStatus, payment: Claim | Settlement, tx_hash: str
) -> Settled | NotSettled:
    """Build the outcome of a final settlement, the same for every repeat of its request.

    `tx_hash` is the newest envelope's; the hash of another transaction that landed goes before it.
    """
    identity = payment.identity
    if final.landed_hash is not None:
        tx_hash = final.landed_hash.hex()
    if final.state is SettlementState.CONFIRMED:
        verified = payment.token_is_verified
        return Settled(identity, payment.request_digest, tx_hash, token_is_verified=verified)
    reason = final.reason or Reason.TRANSACTION_FAILED
    return NotSettled(reason, identity.network, identity.payer, tx_hash)


def read_outcome(row: Settlement) -> Settled | NotSettled | Pending:
    """Read the outcome off a row: final in a final state, pending before."""
    if row.state in FINAL_STATES:
        return build_outcome(FinalStatus(row.state, row.reason), row, row.tx_hash)
    return Pending(row.identity.network, row.identity.payer, row.tx_hash)


def read_outcome_for(row: Settlement, digest: bytes | None) -> Settled | NotSettled | Pending:
    """Read the outcome for the request of this digest: of another one that has landed, a duplicate.

    Another request may be for another transfer with the same nonce.
    """
    outcome = read_outcome(row)
    has_landed = isinstance(outcome, Settled) or row.has_landed_elsewhere
    if has_landed and row.request_digest != digest:
        return build_duplicate(row.identity, row.tx_hash)
    return outcome


def read_repeat(row: Settlement, digest: bytes) -> Settled | NotSettled | Pending:
    """Read what a repeat of a payment gets off its row; `digest` is that of the repeated request.

    `Settled` only where the success was not given. Another request may be for another transfer with
    the same nonce: that this one landed elsewhere is no payment of that one.
    """
    is_same_request = row.request_digest == digest
    if row.state not in FINAL_STATES:
        return read_outcome(row) if is_same_request else build_duplicate(row.identity, row.tx_hash)
    has_failed = row.state is not SettlementState.CONFIRMED
    is_told = is_same_request or not row.has_landed_elsewhere
    if (has_failed and is_told) or (is_same_request and not row.is_answered):
        return read_outcome(row)
    return build_duplicate(row.identity, row.tx_hash)


class NothingSent(Exception):
    """Nothing was sent, since the service could not act; the same body may be repeated."""

    def __init__(self, network: Network, payer: Address, *, retry_after_s: int) -> None:
        super().__init__("nothing was sent")
        self.network, self.payer, self.retry_after_s = network, payer, retry_after_s


class KeyConflict(Exception):
    """An idempotency key of the request is reserved by another request; nothing was done."""

    def __init__(self, reason: Reason, network: Network, payer: Address) -> None:
        super().__init__(reason)
        self.reason, self.network, self.payer = reason, network, payer
