"""The transitions of a proposal: the table of 3.5, and the decision about one trigger."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from farebox.automation.plans.proposal_state import (
    TERMINAL_STATES,
    ProposalEffect,
    ProposalFacts,
    ProposalGuard,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode

_State = ProposalState
_On = ProposalTrigger
_Do = ProposalEffect
_If = ProposalGuard


@dataclass(frozen=True, slots=True)
class ProposalTransition:
    """The next state, and the effects that the same transaction has."""

    to: ProposalState
    effects: tuple[ProposalEffect, ...] = ()


_UNPAID: Final = (_State.PROPOSED, _State.PAYMENT_PENDING)
_LIVE: Final = (_State.ACTIVE, _State.PAUSED)
_OPEN: Final = (_State.PAID, *_LIVE)
_REVOKED: Final = (_Do.STOP_RUNS, _Do.RETURN_RUNS, _Do.OFFER_REVOCATION)
_SAME: Final = None
# the rows of 3.5: states, trigger, next state (None: the same), effects
_ROWS: Final[
    tuple[
        tuple[
            tuple[ProposalState | None, ...],
            ProposalTrigger,
            ProposalState | None,
            tuple[ProposalEffect, ...],
        ],
        ...,
    ]
] = (
    ((None,), _On.CREATE, _State.PROPOSED, (_Do.ISSUE_MATERIAL,)),
    (
        (_State.PROPOSED,),
        _On.SUBMIT_PAYMENT,
        _State.PAYMENT_PENDING,
        (_Do.RECORD_PAYMENT,),
    ),
    (
        (_State.PAYMENT_PENDING,),
        _On.REFUTE_PAYMENT,
        _State.PROPOSED,
        (_Do.REVISE_QUOTE,),
    ),
    (_UNPAID, _On.CONFIRM_PAYMENT, _State.PAID, (_Do.CREDIT_RUNS,)),
    ((_State.PROPOSED,), _On.WAIVE_PAYMENT, _State.PAID, (_Do.CREDIT_RUNS,)),
    (
        (_State.PAID,),
        _On.ACTIVATE,
        _State.ACTIVE,
        (_Do.INSTALL_SESSION, _Do.MATERIALISE_RUNS),
    ),
    ((_State.ACTIVE,), _On.PAUSE, _State.PAUSED, (_Do.STOP_RUNS,)),
    (
        (_State.PAUSED,),
        _On.RESUME,
        _State.ACTIVE,
        (_Do.RESET_FAILURES, _Do.MATERIALISE_RUNS),
    ),
    (_LIVE, _On.COMPLETE, _State.COMPLETED, _REVOKED),
    (_UNPAID, _On.CANCEL, _State.CANCELLED, (_Do.OFFER_REVOCATION,)),
    (
        _OPEN,
        _On.CANCEL,
        _State.CANCELLED,
        (_Do.STOP_RUNS, _Do.RETURN_RUNS, _Do.CLOSE_SESSION, _Do.OFFER_REVOCATION),
    ),
    (_LIVE, _On.EXPIRE, _State.EXPIRED, (_Do.STOP_RUNS, _Do.RETURN_RUNS)),
    (_LIVE, _On.FAIL, _State.FAILED, _REVOKED),
    ((_State.PROPOSED,), _On.EXPIRE_UNPAID, _State.EXPIRED, (_Do.SHRED_KEY,)),
    (
        (_State.PAID,),
        _On.EXPIRE_INACTIVE,
        _State.EXPIRED,
        (_Do.RETURN_RUNS, _Do.OFFER_REVOCATION),
    ),
    (_OPEN, _On.OFFER_TOP_UP, _SAME, ()),
    (_OPEN, _On.CONFIRM_TOP_UP, _SAME, (_Do.CREDIT_RUNS,)),
    (tuple(TERMINAL_STATES), _On.CONFIRM_TOP_UP, _SAME, (_Do.CREDIT_OWNER,)),
    # money that arrives after the plan has been paid, or has ended, is never lost
    ((*_OPEN, *TERMINAL_STATES), _On.CONFIRM_PAYMENT, _SAME, (_Do.CREDIT_OWNER,)),
    (tuple(TERMINAL_STATES), _On.SHRED, _SAME, (_Do.SHRED_KEY,)),
)


def _transitions() -> dict[tuple[ProposalState | None, ProposalTrigger], ProposalTransition]:
    found = {}
    for states, trigger, to, effects in _ROWS:
        for state in states:
            following = to or state
            if following is None:
                raise ValueError("a proposal that is not there stays so by no trigger")
            found[state, trigger] = ProposalTransition(following, effects)
    return found


PROPOSAL_TRANSITIONS: Final = MappingProxyType(_transitions())
_CANCELLING: Final = (_Do.MARK_CANCELLING, _Do.STOP_RUNS)

# the conditions of a trigger, in the order in which they are judged
PROPOSAL_GUARDS: Final = MappingProxyType(
    {
        _On.SUBMIT_PAYMENT: (_If.QUOTE_CURRENT,),
        _On.WAIVE_PAYMENT: (_If.PRICE_ZERO,),
        _On.ACTIVATE: (
            _If.RUNS_LEFT,
            _If.SESSION_MATCHES,
            _If.CODE_UNCHANGED,
            _If.SESSION_OUTLIVES,
            _If.PREFLIGHT_PASSES,
        ),
        _On.PAUSE: (_If.NOT_CANCELLING,),
        _On.RESUME: (
            _If.NOT_CANCELLING,
            _If.MAY_RESUME,
            _If.CAUSE_GONE,
            _If.SESSION_MATCHES,
            _If.SESSION_OUTLIVES,
            _If.RUNS_LEFT,
        ),
        _On.COMPLETE: (_If.NO_UNRESOLVED_RUN, _If.NOTHING_LEFT),
        _On.EXPIRE: (_If.NO_UNRESOLVED_RUN, _If.OVERDUE),
        _On.FAIL: (_If.NO_UNRESOLVED_RUN,),
        _On.EXPIRE_UNPAID: (_If.OVERDUE,),
        _On.EXPIRE_INACTIVE: (_If.OVERDUE,),
        _On.OFFER_TOP_UP: (_If.NOT_CANCELLING, _If.NO_UNRESOLVED_RUN, _If.FITS_LIMITS),
        _On.SHRED: (_If.NO_UNRESOLVED_RUN, _If.AUTHORITY_GONE),
    }
)
_REFUSALS: Final = MappingProxyType(
    {
        _If.QUOTE_CURRENT: (ErrorCode.QUOTE_EXPIRED, "The price is out of date: ask for it again."),
        _If.PRICE_ZERO: (ErrorCode.ILLEGAL_TRANSITION, "The plan has a price."),
        _If.SESSION_MATCHES: (
            ErrorCode.SESSION_MISMATCH,
            "What is installed is not the session of this plan.",
        ),
        _If.CODE_UNCHANGED: (
            ErrorCode.SESSION_MISMATCH,
            "The contract's code has changed since the plan was proposed.",
        ),
        _If.SESSION_OUTLIVES: (
            ErrorCode.SESSION_EXPIRES_TOO_SOON,
            "The session ends before the next run and its margin.",
        ),
        _If.PREFLIGHT_PASSES: (ErrorCode.PREFLIGHT_FAILED, "The first run would fail as of now."),
        _If.NOT_CANCELLING: (ErrorCode.ILLEGAL_TRANSITION, "The plan is being cancelled."),
        _If.RUNS_LEFT: (ErrorCode.ILLEGAL_TRANSITION, "No paid run is left: pay for more first."),
        _If.CAUSE_GONE: (ErrorCode.PREFLIGHT_FAILED, "The reason of the pause still holds."),
        _If.MAY_RESUME: (ErrorCode.ILLEGAL_TRANSITION, "The operator has paused it."),
        _If.NOTHING_LEFT: (ErrorCode.ILLEGAL_TRANSITION, "Runs are left."),
        _If.NO_UNRESOLVED_RUN: (ErrorCode.ILLEGAL_TRANSITION, "A run is not resolved yet."),
        _If.FITS_LIMITS: (
            ErrorCode.LIMIT_EXCEEDED,
            "The session does not authorize so many runs.",
        ),
        _If.OVERDUE: (ErrorCode.ILLEGAL_TRANSITION, "Its time has not passed."),
        _If.AUTHORITY_GONE: (
            ErrorCode.ILLEGAL_TRANSITION,
            "The session was not seen to be revoked or expired.",
        ),
    }
)
_FIELDS: Final = MappingProxyType({_If.FITS_LIMITS: "runs"})  # members of the trigger's body


def move_proposal(
    state: ProposalState | None, trigger: ProposalTrigger, facts: ProposalFacts
) -> ProposalTransition:
    """The next state and the effects of a trigger; `state` is None before the proposal exists.

    CANCEL of a plan with an unresolved run marks it, stops its runs and leaves its state: the same
    trigger comes again once the run is resolved.

    Raises:
        AutomationRefused: the state does not take the trigger, or a condition does not hold.
    """
    found = PROPOSAL_TRANSITIONS.get((state, trigger))
    if found is None:
        why = f"A plan that is {state or 'not there'} does not take {trigger}."
        if trigger is ProposalTrigger.SUBMIT_PAYMENT and state is ProposalState.PAYMENT_PENDING:
            raise AutomationRefused(
                ErrorCode.PAYMENT_IN_FLIGHT, ErrorCode.PAYMENT_IN_FLIGHT.sentence
            )
        raise AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)
    for guard in PROPOSAL_GUARDS.get(trigger, ()):
        if not facts.hold(guard):
            code, why = _REFUSALS[guard]
            raise AutomationRefused(code, why, field=_FIELDS.get(guard, ""))
    if trigger is ProposalTrigger.CANCEL and state is not None and facts.has_unresolved_run:
        return ProposalTransition(state, _CANCELLING)
    return found


def may_move(state: ProposalState | None, trigger: ProposalTrigger, facts: ProposalFacts) -> bool:
    """Whether `move_proposal` refuses nothing; for triggers that no caller waits for."""
    guards = PROPOSAL_GUARDS.get(trigger, ())
    return (state, trigger) in PROPOSAL_TRANSITIONS and all(facts.hold(each) for each in guards)
