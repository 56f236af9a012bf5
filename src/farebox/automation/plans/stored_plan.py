"""A plan as its row has it: what a scheduler needs of it for a run."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.plan_credit import NO_CREDIT, PlanCredit
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import OnLegError, PlanKind
from farebox.automation.schedules.missed_runs import LatenessRule, RunSlot, next_slots
from farebox.automation.schedules.schedule import Schedule
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret

TIME_TO_START: Final = timedelta(minutes=2)  # in which a plan can be paid, signed and installed


@dataclass(frozen=True, slots=True)
class PlanTerms:
    """The part of a plan that never changes after the proposal.

    `account` is None only for an open plan of an operator. `calls` and `session_spec` are encoded:
    `authority/stored_calls.py` and the XDR of the session spec. `legs` are the transactions of one
    run, `max_fee` is the most that one of them may cost.
    """

    id: str
    owner: OwnerId
    network: Network
    account: Address | None
    kind: PlanKind
    mode: AuthorityMode
    policy_id: PolicyId
    delegate: bytes  # 32: its public key
    calls: str = field(repr=False)
    schedule: Schedule
    window: PlanWindow
    rule: LatenessRule
    max_fee: Stroops
    run_limit: int
    auth_limit: int
    session_spec: bytes | None = field(default=None, repr=False)
    target_wasm_hash: bytes | None = None
    session_interval_s: int = 1
    legs: int = 1
    on_leg_error: OnLegError = OnLegError.STOP

    def next_slot(self, now: datetime) -> RunSlot | None:
        """The first run, of a plan that has none yet, that may land at `now` or later."""
        slots = next_slots(self.schedule, self.window, self.rule, after=None, now=now, count=1)
        return slots[0] if slots else None


@dataclass(frozen=True, slots=True)
class PlanCounters:
    """What of a plan was paid and used, and how its last runs went.

    `credit` is the money that the plan holds for `runs_left`, and for its installation.
    """

    runs_credited: int = 0
    runs_consumed: int = 0
    runs_succeeded: int = 0
    auths_used: int = 0
    failures_in_row: int = 0
    ceilings_hit: int = 0
    credit: PlanCredit = NO_CREDIT

    @property
    def runs_left(self) -> int:
        """Paid runs that were not used."""
        return self.runs_credited - self.runs_consumed

    def use_run(self) -> "PlanCounters":
        """The counters after one of the paid runs was used."""
        credit = self.credit.use_run(runs_left=self.runs_left)
        return replace(self, runs_consumed=self.runs_consumed + 1, credit=credit)


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan's row; `delegate_key` is sealed, None once it was shredded.

    `client` is the site that a free account proposed it from; None for other owners.
    """

    terms: PlanTerms
    state: ProposalState
    counters: PlanCounters
    is_cancelling: bool = False
    reason: str | None = None
    delegate_key: Secret[bytes] | None = None
    client: str | None = None

    @property
    def share(self) -> str:
        """The name whose share its polls take: wallets are free, and those of a site have one."""
        return self.client or self.terms.owner

    @property
    def may_run(self) -> bool:
        """Whether a run may begin, or an attempt may be sent."""
        return self.may_make(is_charged=False)

    def may_make(self, *, is_charged: bool) -> bool:
        """Whether a run may go on; `is_charged`: it has used its credit, and needs none."""
        is_active = self.state is ProposalState.ACTIVE and not self.is_cancelling
        return is_active and (is_charged or self.counters.runs_left > 0)


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A plan with what its owner wrote and reads; `spec` is the payload's JSON.

    `is_executing`: a run of it is in progress.
    """

    plan: StoredPlan
    title: str
    account_kind: str
    spec: str
    created_at: datetime
    updated_at: datetime
    overdue_at: datetime | None = None
    is_executing: bool = False
