"""A run, or one leg of it, as its row has it, and the envelopes that were made for it."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from farebox.automation.runs.receipt import ExecutedBy
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run_state import FINAL_RUN_STATES, WAITING_STATES, RunState
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.submission.fate import SentEnvelope

_WITHOUT_LEASE: Final = WAITING_STATES | FINAL_RUN_STATES


@dataclass(frozen=True, slots=True)
class Run:
    """One row of `automation_runs`.

    `due_at` is None for a final run, and for one that waits for an earlier one of its plan. The
    lease of `lease_epoch` is needed for every change. `channel` and `channel_sequence` are kept by
    all attempts until the run is resolved. In `checked_ledger` a condition held last. `is_charged`:
    the run used its credit before this leg was made: it was paused, or its owner repeats the leg.
    `charged_fee` is the quoted fee of a run that has used its credit and has several legs.
    """

    id: str
    proposal_id: str
    run_index: int
    leg_index: int
    network: Network
    owner: OwnerId
    account: Address | None
    scheduled_for: datetime
    deadline_at: datetime
    state: RunState
    due_at: datetime | None
    lease_epoch: int = 0
    attempts: int = 0
    reason: str | None = None
    error_class: ErrorClass | None = None
    error_code: str | None = None
    checked_ledger: int | None = None
    auth_nonce: int | None = None
    channel: Address | None = None
    channel_sequence: int | None = None
    tx_hash: bytes | None = None
    ledger: int | None = None
    fee_charged: Stroops = NO_STROOPS
    effects: str | None = None
    result: bytes | None = field(default=None, repr=False)
    executed_by: ExecutedBy | None = None
    receipt: str | None = field(default=None, repr=False)
    is_charged: bool = False
    charged_fee: Stroops | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing follows."""
        return self.state in FINAL_RUN_STATES

    @property
    def keeps_lease(self) -> bool:
        """Whether a process works on it."""
        return self.state not in _WITHOUT_LEASE

    @property
    def has_happened(self) -> bool:
        """Whether it took effect on the ledger."""
        return self.state is RunState.SUCCEEDED

    def without_channel(self) -> "Run":
        """The run after its channel was released."""
        return replace(self, channel=None, channel_sequence=None)


class AttemptOutcome(StrEnum):
    """The outcome of an attempt's envelope."""

    PREPARED = "prepared"  # its row is committed; it may be with the network
    SENT = "sent"  # a node took it
    SUCCESS = "success"
    FAILED = "failed"  # on the ledger, and without effect
    DEAD = "dead"  # it can never land
    UNKNOWN = "unknown"  # whether it landed cannot be proven any more


OPEN_OUTCOMES: Final = frozenset((AttemptOutcome.PREPARED, AttemptOutcome.SENT))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One envelope of a run; `number` counts from 1 within the run.

    `authorized_until` is the last ledger of its authorization, None without one. The fee limit of
    `sent` is reserved from the owner's and the network's budget of `budget_on` (UTC). `uses_before`
    is how often the guard had counted the session; None where there is none.
    """

    run_id: str
    number: int
    sent: SentEnvelope
    authorized_until: int | None
    simulated_ledger: int
    budget_on: date
    outcome: AttemptOutcome = AttemptOutcome.PREPARED
    uses_before: int | None = None
