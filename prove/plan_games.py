"""Games: processes act on a plan at each other's statements; afterwards the books are right.

A game plays a script (`plan_script.py`) with the service's own code on a real database, and then
brings its plans to their end, as an honest scheduler and their owners do.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import asyncpg
from structlog.testing import capture_logs

from farebox.automation.paymaster import channel_store
from farebox.automation.paymaster.budget_store import UNLIMITED, AutomationBudgets
from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from prove.outcome import Outcome
from prove.plan_chain import GameLedger
from prove.plan_gate import (
    GameClock,
    GameDatabase,
    Gate,
    Player,
    ProcessDied,
    play_together,
)
from prove.plan_moves import MOVES, GameBoard, Move, Process
from prove.plan_opening import open_plan
from prove.plan_rows import GameRows, read_game_rows
from prove.plan_script import Game, GameEnd, Opening, Step
from prove.plan_verdict import GameFinding, GameViolation, judge_books, judge_end
from prove.world import NETWORK, Server

# later than the database's own clock, by which runs have ended: the pause after one has passed
START: Final = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(2)
_CONNECTIONS: Final = 6
_CHANNELS: Final = 12
_TIGHT: Final = AutomationBudgets(total=Stroops(1_000), owner=Stroops(1_000))  # one envelope
_MOST_STEPS: Final = 120  # to the end of a game
_ALARMS: Final = (
    "automation.plan_not_expired",
    "automation.plan_not_paused",
    "automation.attempt_missing",
    "automation.attempt_refused",
    "automation.channel_missing",
    "automation.receipt_not_signed",
)
_CLEAR: Final = """
    DELETE FROM automation_leases; DELETE FROM automation_spend; DELETE FROM automation_events;
    DELETE FROM automation_attempts; DELETE FROM run_credits; DELETE FROM automation_payments;
    UPDATE automation_channels SET run_id = NULL, used_sequence = NULL WHERE run_id IS NOT NULL;
    DELETE FROM automation_runs; DELETE FROM automation_sponsored; DELETE FROM automation_sessions;
    DELETE FROM automation_presigned; DELETE FROM automation_proposals;
    DELETE FROM automation_owners;
"""
_NEXT: Final = """
    SELECT min(at) FROM (
        SELECT due_at AS at FROM automation_runs
        WHERE due_at IS NOT NULL AND state IN ('scheduled', 'deferred', 'retry_wait')
        UNION ALL SELECT until + interval '1 second' FROM automation_leases
        UNION ALL SELECT overdue_at + interval '1 second' FROM automation_proposals
    ) every WHERE at > $1
"""
_DUE: Final = """
    SELECT min(due_at) FROM automation_runs
    WHERE due_at IS NOT NULL AND state IN ('scheduled', 'deferred', 'retry_wait')
"""
_STATE: Final = """
    SELECT md5(coalesce(string_agg(line, ';'), '')) FROM (
        SELECT concat_ws(',', id, status, is_cancelling, overdue_at, version, events) AS line
        FROM automation_proposals
        UNION ALL SELECT concat_ws(',', id, state, due_at, lease_epoch) FROM automation_runs
        UNION ALL SELECT concat_ws(',', run_id, until) FROM automation_leases
        ORDER BY line) every
"""


@dataclass(frozen=True, kw_only=True)
class GameOutcome(Outcome[Game, GameViolation]):
    """What a game has found; `answers` are what each process did."""

    def __str__(self) -> str:
        return f"{self.case} -> {self.why}"


@dataclass(frozen=True, slots=True)
class GameTable:
    """The database of the games."""

    database: Database
    observer: "asyncpg.Connection[asyncpg.Record]"


@asynccontextmanager
async def open_game_table(server: Server, name: str = "games") -> AsyncIterator[GameTable]:
    """A database of the games' own on a server, dropped at the end."""
    await server.execute(f"CREATE DATABASE {name}")
    try:
        url = Secret(server.url_of(name))
        await migrate(url, packaged_migrations())
        observer = await asyncpg.connect(url.reveal())
        try:
            async with GameDatabase(url, connections=_CONNECTIONS) as database:
                channels = [
                    (account_address(bytes([9, number]) + bytes(30)), number)
                    for number in range(_CHANNELS)
                ]
                async with database.connection() as db:
                    await channel_store.add_channels(db, NETWORK, channels, at=START)
                yield GameTable(database, observer)
        finally:
            await observer.close()
    finally:
        await server.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def play_game(table: GameTable, game: Game) -> GameOutcome:
    """Play a game; what it finds is in the outcome."""
    began = time.monotonic()
    await table.observer.execute(_CLEAR)
    with capture_logs() as logs:
        played = _Play(table, game, logs)
        await played.play()
    took_s = time.monotonic() - began
    return GameOutcome(case=game, findings=played.findings, answers=played.told, took_s=took_s)


@dataclass(eq=False, slots=True)
class _Play:
    """A game while it is played."""

    table: GameTable
    game: Game
    logs: Sequence[MutableMapping[str, Any]]
    findings: list[GameFinding] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    board: GameBoard = field(init=False)
    slow: set[str] = field(default_factory=set)  # processes for which a statement took too long
    processes: int = 0

    def __post_init__(self) -> None:
        game, clock = self.game, GameClock(START)
        self.board = GameBoard(
            database=self.table.database,
            clock=clock,
            ledger=GameLedger(clock),
            budgets=_TIGHT if game.opening is Opening.BUDGET else UNLIMITED,
            rng=random.Random(f"board {game.seed} {game.number}"),
        )

    async def play(self) -> None:
        """Play the script, judge, bring the plans to their end, and judge again."""
        await open_plan(self.board, self.game)
        for step in self.game.before:
            await self._wait_until_due(step)
            await self._alone(step)
        if self.game.is_due:
            for step in self.game.together:
                await self._wait_until_due(step)
        acting = await self._together()
        rows = await self._read()
        self.findings += judge_books(rows)
        for each in acting:
            self.findings += _judge_pause(each, rows)
        if self.findings:
            return  # what follows from a wrong state says no more
        await self._end()
        rows = await self._read()
        self.findings += [*judge_books(rows), *judge_end(rows)]
        self._judge_logs()

    async def _read(self) -> GameRows:
        board = self.board
        return await read_game_rows(
            self.table.observer,
            board.clock.now(),
            landed=tuple(board.ledger.landed),
            granted=board.grants,
            paid_at=board.paid_at,
            budgets=board.budgets,
        )

    def _process(self, step: Step, *, plan: str = "") -> Process:
        self.processes += 1
        gate = Gate(step.stops, step.dies_at, step.stumbles_at)
        return Process(
            self.board,
            f"process {self.processes}",
            gate,
            step.fates,
            float(step.behind_s),
            step.run_index,
            plan,
        )

    async def _alone(self, step: Step, *, plan: str = "") -> None:
        process = self._process(step, plan=plan)
        process.gate.may_go.set()
        await self._act(process, step)

    async def _act(self, process: Process, step: Step) -> None:
        """Make a move; a refusal is an answer, and any other exception is a finding."""
        gate = process.gate
        await gate.may_go.wait()
        came_of_it = "done"
        try:
            await MOVES[step.move](process)
        except ProcessDied:
            came_of_it = f"died after {gate.last}"
        except Refusal as refusal:
            came_of_it = f"refused: {refusal}"
        except Exception as error:  # noqa: BLE001 - it is what the game looks for
            came_of_it = f"{type(error).__name__}: {error}"
            if not (gate.has_stumbled and isinstance(error, DatabaseUnavailable)):
                fault = f"{step.move} after {gate.last}: {came_of_it} ({error.__cause__})"
                self.findings.append(GameFinding(GameViolation.FAULT, fault))
        if gate.has_stumbled:
            self.slow.add(process.name)
        at = f"{self.board.clock.now():%H:%M:%S}"
        self.told.append(f"{at} {process.name}: {step} [{gate.passed} points] -> {came_of_it}")

    async def _together(self) -> list[Process]:
        acting, players = list[Process](), list[Player]()
        for step in self.game.together:
            process = self._process(step)
            task = asyncio.create_task(self._act(process, step))
            acting.append(process)
            players.append(Player(process.name, process.gate, task))
        await play_together(players, self.table.observer)
        await asyncio.gather(*(each.task for each in players))
        return acting

    async def _wait_until_due(self, step: Step) -> None:
        """Let the time pass until a run can be claimed."""
        if step.move in (Move.RUN, Move.RECOVER, Move.LATE):
            due_at = await self.table.observer.fetchval(_DUE)
            if due_at is not None:
                self.board.clock.turn_to(due_at)

    async def _end(self) -> None:
        """Bring every plan to its end."""
        works = (Step(Move.RECOVER), Step(Move.UPKEEP))
        for _ in range(_MOST_STEPS):
            if self.findings or not await self._list_open():
                return
            before = await self.table.observer.fetchval(_STATE)
            for step in works:
                await self._alone(step)
            if await self.table.observer.fetchval(_STATE) != before:
                continue
            if await self._decide_paused():
                continue
            at = await self.table.observer.fetchval(_NEXT, self.board.clock.now())
            if at is None:
                return
            self.board.clock.turn_to(at)

    async def _list_open(self) -> Sequence[asyncpg.Record]:
        return await self.table.observer.fetch(
            "SELECT id, status, is_cancelling FROM automation_proposals WHERE status NOT IN"
            " ('completed', 'cancelled', 'failed', 'expired') ORDER BY id"
        )

    async def _decide_paused(self) -> bool:
        """Let the operator and the owner decide about plans that are paused; whether one moved."""
        paused = [
            each["id"]
            for each in await self._list_open()
            if each["status"] == "paused" and not each["is_cancelling"]
        ]
        if not paused or self.game.end is GameEnd.WAIT:
            return False
        before = await self.table.observer.fetchval(_STATE)
        await self._alone(Step(Move.RELEASE))
        if self.game.opening is not Opening.BUDGET:  # what is not known stays reserved
            await self._alone(Step(Move.END_SEARCH))
        move = Move.RESUME if self.game.end is GameEnd.RESUME else Move.CANCEL
        for plan in paused:
            await self._alone(Step(move), plan=plan)
        return bool(await self.table.observer.fetchval(_STATE) != before)

    def _judge_logs(self) -> None:
        """An alarm of the service is a finding, apart from what the script has made too slow."""
        for line in self.logs:
            if line["event"] in _ALARMS and not self.slow:
                self.findings.append(GameFinding(GameViolation.FAULT, str(line)))


def _judge_pause(process: Process, rows: GameRows) -> list[GameFinding]:
    """Whether the operator's pause has left a plan active, and does not say so."""
    if process.paused is None:
        return []
    found = []
    for plan in rows.plans:
        known = process.active_before.get(plan["id"])
        if known is None or plan["id"] in process.paused.failed:
            continue
        after = {kind for kind, _ in rows.events_of(plan)[known:]}
        if plan["status"] == "active" and not plan["is_cancelling"] and "plan.resume" not in after:
            found.append(GameFinding(GameViolation.STOPPED, f"{plan['id']} is active"))
    return found
