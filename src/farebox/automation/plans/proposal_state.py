"""The state machine of a proposal (3.5 of the design): states × triggers as one table.

A pair that is not in the table is refused. The facts that a trigger depends on are read before it
and passed as `ProposalFacts`; nothing here reads or writes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class ProposalState(StrEnum):
    """The state of a proposal's row."""

    PROPOSED = "proposed"
    PAYMENT_PENDING = "payment_pending"  # its payment was sent and is not final
    PAID = "paid"
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    EXPIRED = "expired"


TERMINAL_STATES: Final = frozenset(
    (
        ProposalState.COMPLETED,
        ProposalState.CANCELLED,
        ProposalState.FAILED,
        ProposalState.EXPIRED,
    )
)
EXECUTING: Final = "executing"  # an active plan with an unresolved run, as responses show it


class ProposalTrigger(StrEnum):
    """What happens to a proposal; the number is its row in 3.5."""

    CREATE = "create"  # 1
    SUBMIT_PAYMENT = "submit_payment"  # 2: the payment was sent and is not final
    REFUTE_PAYMENT = "refute_payment"  # 3: proven failed or dead
    CONFIRM_PAYMENT = "confirm_payment"  # 4
    WAIVE_PAYMENT = "waive_payment"  # 5: the price is 0
    ACTIVATE = "activate"  # 6
    PAUSE = "pause"  # 9
    RESUME = "resume"  # 10
    COMPLETE = "complete"  # 11
    CANCEL = "cancel"  # 12
    EXPIRE = "expire"  # 13: the plan or its session has ended
    FAIL = "fail"  # 14
    EXPIRE_UNPAID = "expire_unpaid"  # 15
    EXPIRE_INACTIVE = "expire_inactive"  # 16: paid, and not activated in time
    OFFER_TOP_UP = "offer_top_up"  # 17: before more runs are charged
    CONFIRM_TOP_UP = "confirm_top_up"  # 17: they are paid
    SHRED = "shred"  # 18


class ProposalEffect(StrEnum):
    """What the same transaction does besides the change of state."""

    ISSUE_MATERIAL = "issue_material"  # delegate key, policy id, quote, session material
    RECORD_PAYMENT = "record_payment"  # its identifier and hash; a second one is refused
    REVISE_QUOTE = "revise_quote"
    CREDIT_RUNS = "credit_runs"  # to the plan
    CREDIT_OWNER = "credit_owner"  # the paid runs become credit: the plan cannot use them
    INSTALL_SESSION = "install_session"  # the session's row becomes `installed`
    MATERIALISE_RUNS = "materialise_runs"  # the next two, by the missed-run policy
    STOP_RUNS = "stop_runs"  # no more are materialised; those that wait are withdrawn
    MARK_CANCELLING = "mark_cancelling"  # CANCEL comes again when the run is resolved
    RETURN_RUNS = "return_runs"  # the unused ones become credit of the owner
    CLOSE_SESSION = "close_session"  # the service signs `close` of the guard or mandate
    OFFER_REVOCATION = "offer_revocation"  # the owner gets the unsigned revocation
    RESET_FAILURES = "reset_failures"
    SHRED_KEY = "shred_key"  # overwrite the sealed delegate key and the pre-signed entries


class ProposalGuard(StrEnum):
    """A condition of a trigger besides the state."""

    QUOTE_CURRENT = "quote_current"
    PRICE_ZERO = "price_zero"
    SESSION_MATCHES = "session_matches"
    CODE_UNCHANGED = "code_unchanged"
    SESSION_OUTLIVES = "session_outlives"
    PREFLIGHT_PASSES = "preflight_passes"
    NOT_CANCELLING = "not_cancelling"
    RUNS_LEFT = "runs_left"
    CAUSE_GONE = "cause_gone"
    MAY_RESUME = "may_resume"
    NOTHING_LEFT = "nothing_left"
    NO_UNRESOLVED_RUN = "no_unresolved_run"
    FITS_LIMITS = "fits_limits"
    OVERDUE = "overdue"
    AUTHORITY_GONE = "authority_gone"


@dataclass(frozen=True, slots=True)
class ProposalFacts:
    """What holds when a trigger comes; the defaults refuse nothing that is not asked for.

    `runs_left`: paid and not used. `has_paid_legs`: legs of a run that is paid wait, or may be
    repeated before their deadline. `is_overdue`: the time that an expiry waits for has passed.
    `authority_is_gone`: the revocation or expiry was seen on the chain, or nothing was installed.
    """

    quote_is_current: bool = True
    price_is_zero: bool = False
    session_matches: bool = True
    code_is_unchanged: bool = True
    session_outlives_first_run: bool = True
    preflight_passes: bool = True
    is_cancelling: bool = False
    has_unresolved_run: bool = False
    runs_left: int = 0
    has_paid_legs: bool = False
    schedule_is_exhausted: bool = False
    cause_is_gone: bool = True
    caller_may_resume: bool = True
    top_up_fits_limits: bool = True
    is_overdue: bool = False
    authority_is_gone: bool = False

    def hold(self, guard: ProposalGuard) -> bool:
        """Whether the condition holds."""
        return _HOLDS[guard](self)


_HOLDS: Final[Mapping[ProposalGuard, Callable[[ProposalFacts], bool]]] = MappingProxyType(
    {
        ProposalGuard.QUOTE_CURRENT: lambda facts: facts.quote_is_current,
        ProposalGuard.PRICE_ZERO: lambda facts: facts.price_is_zero,
        ProposalGuard.SESSION_MATCHES: lambda facts: facts.session_matches,
        ProposalGuard.CODE_UNCHANGED: lambda facts: facts.code_is_unchanged,
        ProposalGuard.SESSION_OUTLIVES: lambda facts: facts.session_outlives_first_run,
        ProposalGuard.PREFLIGHT_PASSES: lambda facts: facts.preflight_passes,
        ProposalGuard.NOT_CANCELLING: lambda facts: not facts.is_cancelling,
        ProposalGuard.RUNS_LEFT: lambda facts: facts.runs_left > 0 or facts.has_paid_legs,
        ProposalGuard.CAUSE_GONE: lambda facts: facts.cause_is_gone,
        ProposalGuard.MAY_RESUME: lambda facts: facts.caller_may_resume,
        ProposalGuard.NOTHING_LEFT: lambda facts: (
            not facts.has_paid_legs and (facts.runs_left <= 0 or facts.schedule_is_exhausted)
        ),
        ProposalGuard.NO_UNRESOLVED_RUN: lambda facts: not facts.has_unresolved_run,
        ProposalGuard.FITS_LIMITS: lambda facts: facts.top_up_fits_limits,
        ProposalGuard.OVERDUE: lambda facts: facts.is_overdue,
        ProposalGuard.AUTHORITY_GONE: lambda facts: facts.authority_is_gone,
    }
)


class PauseReason(StrEnum):
    """Why a plan is paused; its owner resumes every one but the operator's."""

    OWNER = "owner"
    FAILED_RUNS = "failed_runs"  # three in a row
    LOW_BALANCE = "low_balance"  # three in a row, the last one because the account holds too little
    FEE_CEILING = "fee_ceiling"  # hit twice
    NEW_QUOTE = "new_quote"  # a transaction costs more than its price covers
    TARGET_UPGRADED = "target_upgraded"
    SESSION_DRIFT = "session_drift"
    NETWORK_UNHEALTHY = "network_unhealthy"  # for more than an hour
    OUTCOME_UNKNOWN = "outcome_unknown"  # a run was abandoned
    OPERATOR = "operator"


def shown_state(state: ProposalState, *, has_unresolved_run: bool) -> str:
    """The state as responses show it: an active plan with an unresolved run is `executing`."""
    return EXECUTING if state is ProposalState.ACTIVE and has_unresolved_run else state.value
