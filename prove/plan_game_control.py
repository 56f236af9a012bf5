"""Controls of the games: the service with one lock or one look less, which games must find."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from unittest.mock import patch

from farebox.automation.lifecycle import stop_plans
from farebox.automation.paymaster import budget_store
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import PauseReason, ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.runs import held_legs, run_store
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_end import RunEnd
from farebox.automation.runs.run_journal import RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.kernel.clock import Clock
from farebox.storage.pool import Connection, Database
from prove.plan_games import GameTable, play_game
from prove.plan_script import Game, Opening, draw_games
from testing.machine import say

_MOST_GAMES: Final = 300  # in which a control is caught
_SEED: Final = -3  # of the games of all controls
_AFTER_DEADLINE: Final = timedelta(seconds=1)


async def _find_due_run(db: Connection, proposal_id: str) -> bool:
    found = await db.fetchval(
        "SELECT state IN ('claimed', 'checking', 'building', 'submitted', 'reconciling')"
        " FROM automation_runs WHERE proposal_id = $1 AND due_at IS NOT NULL",
        proposal_id,
    )
    return found is True


async def _hold_all(db: Connection, proposal_id: str) -> None:
    await held_legs.release_held(db, proposal_id)
    await db.execute(
        "UPDATE automation_runs SET channel = NULL, channel_sequence = NULL, error_class = NULL,"
        " error_code = NULL, due_at = deadline_at + $2::interval WHERE proposal_id = $1"
        " AND state IN ('scheduled', 'deferred', 'retry_wait')",
        proposal_id,
        _AFTER_DEADLINE,
    )


async def _stop_stale(
    self: RunJournal, run: Run, reason: str, pause: PauseReason | None = None
) -> Run | None:
    """Decide by the plan as it is before the lock."""
    own: Any = self
    now: datetime = own._clock.now()
    async with own._database.connection() as db:
        plan = await proposal_store.find_plan(db, run.proposal_id)
        if plan is None:
            return None
        due_at = await held_legs.find_due_at(db, plan, run, pause=pause, now=now)
    after = replace(run.without_channel(), reason=reason)
    if due_at is None:
        return await self.move(run, RunTrigger.WITHDRAW, after, RunEnd(pause=pause))
    after = replace(after, due_at=due_at, error_class=None, error_code=None)
    return await self.move(run, RunTrigger.DEFER, after, RunEnd(pause=pause))


async def _pause_again(
    database: Database, clock: Clock, proposal_id: str, reason: PauseReason
) -> bool:
    """Pause a plan whether or not it is being cancelled."""
    async with database.transaction() as db:
        plan = await proposal_store.lock_plan(db, proposal_id)
        facts = ProposalFacts()
        if plan is None or not may_move(plan.state, ProposalTrigger.PAUSE, facts):
            return False
        pause = ProposalTrigger.PAUSE
        await move_plan(db, plan, pause, facts, now=clock.now(), reason=reason.value)
    return True


async def _answer_yes(*_: object, **__: object) -> bool:
    return True


async def _answer_no(*_: object, **__: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class GameControl:
    """What must be found: the openings of the games that find it, and what is patched."""

    name: str
    defect: str
    openings: tuple[Opening, ...]
    patches: tuple[tuple[Any, str, object], ...]

    def __str__(self) -> str:
        return f"control ({self.defect})"


GAME_CONTROLS: Final = (
    GameControl(
        "unlocked", "a run can be claimed in the middle of a change of its plan",
        (Opening.BEGUN, Opening.DIED), ((run_store, "lock_due_run", _find_due_run),),
    ),
    GameControl(
        "all_due", "all legs that wait are due",
        (Opening.BEGUN,), ((held_legs, "hold_waiting", _hold_all),),
    ),
    GameControl(
        "stale", "the journal stops a run by a plan that it has not locked",
        (Opening.RETRIED,), ((RunJournal, "stop", _stop_stale),),
    ),
    GameControl(
        "cut", "a run that a pause has cut short is sent",
        (Opening.FRESH, Opening.DIED_PAUSED),
        ((run_store, "was_withdrawn", _answer_no), (held_legs, "was_withdrawn", _answer_no)),
    ),
    GameControl(
        "overdue", "the upkeep does not look again once it has the plan",
        (Opening.UNPAID,), ((proposal_store, "is_overdue", _answer_yes),),
    ),
    GameControl(
        "waits", "nobody looks again at a budget once it has refused",
        (Opening.BUDGET,), ((budget_store, "has_room", _answer_no),),
    ),
    GameControl(
        "undone", "the operator's pause undoes a cancellation",
        (Opening.DIED,), ((stop_plans, "_pause", _pause_again),),
    ),
)  # fmt: skip


@contextmanager
def broken_by(control: GameControl) -> Iterator[None]:
    """Break the service in this process while the block is executed."""
    with ExitStack() as stack:
        for owner, name, broken in control.patches:
            stack.enter_context(patch.object(owner, name, broken))
        yield


async def are_game_controls_caught(table: GameTable) -> bool:
    """Whether games find every control, none of them in more than a few hundred."""
    caught = [await _is_caught(table, control) for control in GAME_CONTROLS]
    return all(caught)


async def _is_caught(table: GameTable, control: GameControl) -> bool:
    for number, game in enumerate(list_games(control), start=1):
        with broken_by(control):
            outcome = await play_game(table, game)
        if outcome.is_failed:
            say(f"{control}: found by game {number}: {outcome.findings[0]}")
            return not (await play_game(table, game)).is_failed  # without the defect
    say(f"{control}: NOT found by {_MOST_GAMES} games")
    return False


def list_games(control: GameControl) -> Sequence[Game]:
    """The games in which a control must be found, of all its openings in turn."""
    each = _MOST_GAMES // len(control.openings)
    drawn = [draw_games(_SEED, opening=opening, count=each) for opening in control.openings]
    return [game for games in zip(*drawn, strict=True) for game in games]
