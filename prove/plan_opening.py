"""Brings the plans of a game into being: proposed, paid from credit, and active."""

from datetime import timedelta
from typing import Any, Final

from farebox.automation.authority.planned_calls import ACTOR, PlannedCall, PlannedCalls
from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.credits.pay_for_runs import RunOrder
from farebox.automation.credits.quotes import RunQuotes
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans import proposal_store
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_store import NewProposal
from farebox.automation.plans.quote import QuotedFees
from farebox.automation.plans.session_spec import AuthorityMode, SessionCall
from farebox.automation.plans.stored_plan import TIME_TO_START, PlanTerms
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.move_plan import UNPAID_LIFE, move_plan
from farebox.automation.schedules.missed_runs import LatenessRule
from farebox.automation.schedules.schedule import IntervalSchedule, OnceSchedule, Schedule
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import ALPHABET
from farebox.storage.pool import Connection
from prove.plan_gate import Gate
from prove.plan_moves import ASSET, SALES, GameBoard, Process
from prove.plan_script import Game, Opening
from prove.world import NETWORK

_RUN_FEE: Final = QuotedFees(Stroops(100_000))
_GRANT: Final = 100_000_000  # base units: an owner never runs out of credit
_EVERY_S: Final = 60
_SOON: Final = timedelta(seconds=_EVERY_S)
_LONG: Final = timedelta(hours=2)
_LATE: Final = timedelta(hours=1)
_UNPAID_LONG: Final = timedelta(days=30)
_MORE: Final = 3  # runs that may be paid besides
_ID: Final = 22  # characters
_NEIGHBOUR_RUNS: Final = 2
_TARGET: Final = contract_address(bytes([9]) * 32)
_CALL: Final = PlannedCall(SessionCall(_TARGET, "autolayer_run", ()), (ACTOR,))


async def open_plan(board: GameBoard, game: Game) -> None:
    """Open the plan of a game, and that of a neighbour whose run is due before."""
    rng = board.rng
    name = "auto_" + "".join(rng.choice(ALPHABET) for _ in range(_ID))
    plan = _terms(board, game, name, number=1)
    is_paid = game.opening is not Opening.UNPAID
    await _open(board, plan, game.runs if is_paid else 0, runs=game.runs)
    if game.has_neighbour:
        other = "auto_" + "".join(rng.choice(ALPHABET) for _ in range(_ID))
        start = board.clock.now() - timedelta(seconds=1)
        schedule = IntervalSchedule(every_seconds=_EVERY_S, start_at=start)
        terms = _terms(board, game, other, number=2, schedule=schedule, legs=1)
        await _open(board, terms, _NEIGHBOUR_RUNS, runs=_NEIGHBOUR_RUNS)


def _terms(board: GameBoard, game: Game, name: str, *, number: int, **changes: Any) -> PlanTerms:
    now, rng = board.clock.now(), board.rng
    schedule: Schedule = IntervalSchedule(every_seconds=_EVERY_S, start_at=now)
    if game.is_once:
        schedule = OnceSchedule(now + TIME_TO_START + _SOON)
    end = now + (_LONG if game.opening is not Opening.UNPAID else _UNPAID_LONG)
    given: dict[str, Any] = {
        "id": name,
        "owner": OwnerId(f"user_{number}"),
        "network": NETWORK,
        "account": account_address(bytes([number]) * 32),
        "kind": PlanKind.CONTRACT_CALL,
        "mode": AuthorityMode.OPEN,
        "policy_id": PolicyId(rng.randbytes(32)),
        "delegate": bytes(32),
        "calls": encode_calls(RunCalls(PlannedCalls((_CALL,)))),
        "schedule": schedule,
        "window": PlanWindow(now - _SOON, end),
        "rule": LatenessRule(game.missed, _LATE if game.is_once else _SOON / 2),
        "max_fee": Stroops(5_000_000),
        "run_limit": game.runs + _MORE,
        "auth_limit": (game.runs + _MORE) * game.legs,
        "legs": game.legs,
        "on_leg_error": game.on_leg_error,
    }
    return PlanTerms(**(given | changes))


async def _open(board: GameBoard, terms: PlanTerms, paid: int, *, runs: int) -> None:
    board.plans[terms.id] = terms.owner
    async with board.database.transaction() as db:
        await _propose(db, board, terms, runs)
    if not paid:
        return
    gate = Gate()
    gate.may_go.set()
    owner = Process(board, "owner", gate, plan=terms.id)
    await owner.payments().offer(RunOrder(owner.caller, terms.id, "", runs=paid))
    async with board.database.transaction() as db:
        plan = await proposal_store.lock_plan(db, terms.id)
        if plan is None:
            raise ValueError("the plan was just proposed")
        facts = ProposalFacts(runs_left=plan.counters.runs_left)
        await move_plan(db, plan, ProposalTrigger.ACTIVATE, facts, now=board.clock.now())


async def _propose(db: Connection, board: GameBoard, terms: PlanTerms, runs: int) -> None:
    now = board.clock.now()
    new = NewProposal(
        title="a game",
        account_kind="g",
        spec="{}",
        intent_hash=bytes(32),
        delegate_key=b"sealed",
        overdue_at=now + UNPAID_LIFE,
    )
    await proposal_store.add_proposal(db, terms, new)
    await db.execute(
        "INSERT INTO run_credits (owner, network, kind, asset, amount)"
        " VALUES ($1, $2, 'grant', $3, $4)",
        terms.owner,
        NETWORK.value,
        ASSET,
        _GRANT,
    )
    await RunQuotes(board.database, SALES).issue(db, terms, runs=runs, fees=_RUN_FEE, now=now)
