"""What may happen to a plan: each move as a process makes it, with the service's own use cases."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from farebox.automation.credits.pay_for_runs import RunOrder, RunPayments
from farebox.automation.credits.quotes import RunQuotes
from farebox.automation.credits.run_payment import make_sale
from farebox.automation.execution.execute_run import RunExecution, RunExecutor
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.execution.resolve_run import RunResolver
from farebox.automation.execution.run_channels import RunChannels
from farebox.automation.execution.scheduler import BATCH, LEASE
from farebox.automation.execution.send_run import RunSender, RunSending
from farebox.automation.lifecycle.change_plan import PlanChanges
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.lifecycle.operator_plans import resume_plans
from farebox.automation.lifecycle.operator_store import OperatorFilter
from farebox.automation.lifecycle.repeat_run import RunRepeat
from farebox.automation.lifecycle.stop_plans import PausedPlans, pause_plans
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import PauseReason, ProposalState
from farebox.automation.plans.quote import FreshFees, PriceList
from farebox.automation.proposing.availability import Availability
from farebox.automation.runs import claim_store, unresolved_runs
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_journal import PLAN_STOPPED, RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from prove.plan_chain import GameLedger, GameNode, RunFate
from prove.plan_gate import GameClock, Gate, GatedDatabase, ProcessClock
from prove.world import NETWORK

ASSET: Final = contract_address(bytes(32))
_REVENUE: Final = account_address(bytes([7]) * 32)
_PRICES: Final = PriceList(ASSET, BaseUnits(1_000), BaseUnits(0), units_per_xlm=2_500_000)
SALES: Final = MappingProxyType({NETWORK: make_sale(_PRICES, _REVENUE)})
_EVERY: Final = OperatorFilter(network=NETWORK)
_REQUEST: Final = "req_of_a_game"
_LONG: Final = timedelta(days=1)
_AFTER: Final = timedelta(seconds=1)


class Move(StrEnum):
    """What a process does to the plans of a game."""

    RUN = "claim and execute"
    RECOVER = "recover and execute"
    LATE = "recover after the leases"
    PAUSE = "owner pauses"
    RESUME = "owner resumes"
    CANCEL = "owner cancels"
    STOP_ALL = "operator pauses"
    RELEASE = "operator releases"
    END_SEARCH = "operator ends the search"
    PAY = "owner pays for a run"
    REPEAT = "owner repeats a run"
    UPKEEP = "upkeep"
    OVERDUE = "upkeep when the plan is overdue"
    WAIT = "the leases pass"


@dataclass(eq=False, slots=True)
class GameBoard:
    """What all processes of a game share; `plans` are the ids of its plans, the first is played."""

    database: Database
    clock: GameClock
    ledger: GameLedger
    budgets: AutomationBudgets
    rng: random.Random
    plans: dict[str, OwnerId] = field(default_factory=dict)
    grants: dict[str, set[datetime]] = field(default_factory=dict)  # of leases, by holder
    paid_at: dict[str, datetime] = field(default_factory=dict)

    @property
    def plan(self) -> str:
        """The id of the plan that the owner changes."""
        return next(iter(self.plans))


class _Journal(RunJournal):
    """A journal that notes until when its process has leases."""

    granted: set[datetime]

    async def look_later(self, run: Run, pause: timedelta) -> Run | None:
        self.granted.add(self._clock.now() + pause)
        return await super().look_later(run, pause)


class _Unsealed:
    """Seals nothing: no envelope of a game is a secret."""

    def seal(self, secret: Secret[bytes], **_: object) -> bytes:
        return secret.reveal()

    def open(self, sealed: bytes, **_: object) -> Secret[bytes]:
        return Secret(sealed)


class _NoSigner:
    """Signs no receipt."""

    def sign(self, plan: object, digest: bytes) -> bytes | None:
        del plan, digest
        return None


@dataclass(eq=False, slots=True)
class Process:
    """A process of the service in a game, with its own clock, and the fates of what it sends."""

    board: GameBoard
    name: str
    gate: Gate
    fates: Sequence[RunFate] = (RunFate.LANDS,)
    behind_s: float = 0.0
    run_index: int = 0  # of a repetition
    plan: str = ""  # which the owner changes
    database: Database = field(init=False)
    clock: ProcessClock = field(init=False)
    node: GameNode = field(init=False)
    journal: _Journal = field(init=False)
    paused: PausedPlans | None = None
    active_before: dict[str, int] = field(default_factory=dict)  # with the number of its events

    def __post_init__(self) -> None:
        self.plan = self.plan or self.board.plan
        self.database = GatedDatabase(self.board.database, self.gate)
        self.clock = ProcessClock(self.board.clock, self.gate, behind_s=self.behind_s)
        self.node = GameNode(self.board.ledger, self.clock, self.fates)
        self.journal = _Journal(self.database, self.clock, _NoSigner(), self.board.budgets)
        self.journal.granted = self.board.grants.setdefault(self.name, set())

    @property
    def caller(self) -> Caller:
        """The owner of the plan."""
        return Caller(self.board.plans[self.plan], CallerKind.SESSION)

    def executor(self) -> RunExecutor:
        """What executes runs in this process."""
        node: Any = self.node
        sealer: Any = _Unsealed()
        nothing: Any = None
        failures = RunFailures(self.journal, self.clock)
        failures._draw = self.board.rng.random  # a game is the same each time
        resolver = RunResolver(node, node, self.journal, failures, self.clock)
        channels = RunChannels(self.database, self.clock)
        sending = RunSending(
            node, channels, self.journal, failures, resolver, node, sealer, node,
            node.account_sequence,
        )  # fmt: skip
        sender = RunSender(sending, self.clock)
        steps = RunExecution(
            self.journal, nothing, node, sender, failures, resolver, node, node, nothing
        )
        return RunExecutor(steps, self.clock)

    def network(self) -> Mapping[Network, LifecycleNetwork]:
        """The network as the owner's changes need it."""
        node: Any = self.node
        nothing: Any = None
        available = Availability(outages=tuple, is_funded=lambda: True)
        found = LifecycleNetwork(
            NETWORK, available, nothing, node, nothing, node, node, Secret(bytes(32))
        )
        return {NETWORK: found}

    def changes(self) -> PlanChanges:
        """The owner's changes of plans."""
        return PlanChanges(self.database, self.clock, self.network(), {})

    def payments(self) -> RunPayments:
        """The payments for runs, which the owner's credit covers."""
        settler: Any = None
        return RunPayments(
            self.database,
            RunQuotes(self.database, SALES),
            settler,
            self.clock,
            _NoFees(),
            is_available=lambda _: True,
        )


class _NoFees:
    """A node that tells no fee: a quote is made of the one before."""

    async def read(self, plan: object, now: datetime) -> FreshFees:
        del plan, now
        return FreshFees(None)


async def claim_and_execute(process: Process) -> None:
    """Claim the run that is due the longest, and execute it as the scheduler does."""
    now, until = process.clock.now(), process.clock.now() + LEASE
    process.journal.granted.add(until)
    async with process.database.connection() as db:
        claimed = await claim_store.claim_due(
            db, NETWORK, count=1, holder=process.name, now=now, until=until
        )
    for run in claimed:
        if process.fates[0] is RunFate.UPGRADED:
            await _stop_upgraded(process, run)
        else:
            await process.executor().execute(run)


async def _stop_upgraded(process: Process, claimed: Run) -> None:
    """Execute a run whose target has other code, as `RunExecutor` does."""
    begun = await process.journal.begin(claimed)
    if begun is None:
        return
    run, plan = begun
    upgraded = PauseReason.TARGET_UPGRADED
    if process.clock.now() > run.deadline_at:
        await process.journal.move(run, RunTrigger.MISS, replace(run, reason="deadline"))
    elif not plan.may_make(is_charged=run.is_charged):
        await process.journal.stop(run, PLAN_STOPPED)
    else:
        await process.journal.stop(run, upgraded.value, upgraded)


async def recover(process: Process) -> None:
    """Take over what dead processes left, as the scheduler does before each claim."""
    now, until = process.clock.now(), process.clock.now() + LEASE
    process.journal.granted.add(until)
    async with process.database.connection() as db:
        await claim_store.release_lost(db, NETWORK, now=now, limit=BATCH)
        unresolved = await claim_store.claim_unresolved(
            db, NETWORK, count=BATCH, holder=process.name, now=now, until=until
        )
    for run in unresolved:
        async with process.database.connection() as db:
            plan = await proposal_store.find_plan(db, run.proposal_id)
        if plan is not None:
            await process.executor().resume(run, plan)


async def recover_and_execute(process: Process) -> None:
    """A step of a scheduler."""
    await recover(process)
    await claim_and_execute(process)


async def wait_for_leases(process: Process) -> None:
    """Nothing happens until the leases of now have passed."""
    process.board.clock.turn((LEASE + _AFTER).total_seconds())


async def recover_late(process: Process) -> None:
    """The same, once the leases of now have passed."""
    await wait_for_leases(process)
    await recover_and_execute(process)


async def pause(process: Process) -> None:
    """The owner pauses the plan."""
    await process.changes().pause(process.caller, _REQUEST, process.plan, None)


async def resume(process: Process) -> None:
    """The owner resumes the plan."""
    await process.changes().resume(process.caller, _REQUEST, process.plan, None)


async def cancel(process: Process) -> None:
    """The owner cancels the plan."""
    await process.changes().cancel(process.caller, _REQUEST, process.plan, None)


async def stop_all(process: Process) -> None:
    """The operator pauses every plan of the network."""
    async with process.board.database.connection() as db:
        active = await db.fetch(
            "SELECT id, events FROM automation_proposals"
            " WHERE status = 'active' AND NOT is_cancelling"
        )
    process.active_before = {row["id"]: row["events"] for row in active}
    process.paused = await pause_plans(
        process.database, process.clock, NETWORK, reason=PauseReason.OPERATOR
    )


async def release(process: Process) -> None:
    """The operator lets owners resume their plans."""
    await resume_plans(process.database, _EVERY)


async def end_search(process: Process) -> None:
    """The operator ends the search for a run of the plan, long after its bound."""
    async with process.database.connection() as db:
        runs = await unresolved_runs.list_unresolved(db, NETWORK, limit=BATCH)
    for each in runs:
        async with process.database.transaction() as db:
            at = process.clock.now() + _LONG
            await unresolved_runs.end_search(db, each.run_id, now=at)


async def pay(process: Process) -> None:
    """The owner pays for one more run, or for the plan, from credit."""
    async with process.database.connection() as db:
        found = await proposal_store.find_plan(db, process.plan)
    is_top_up = found is not None and found.state is not ProposalState.PROPOSED
    order = RunOrder(process.caller, process.plan, "", runs=1, is_top_up=is_top_up)
    at = process.clock.now()
    await process.payments().offer(order)
    process.board.paid_at[process.plan] = at


async def repeat(process: Process) -> None:
    """The owner repeats a run."""
    use_case = RunRepeat(process.database, process.clock, process.network())
    await use_case.repeat(process.caller, _REQUEST, process.plan, process.run_index)


async def upkeep(process: Process) -> None:
    """A pass of the upkeep."""
    await PlanUpkeep(NETWORK, process.database, process.clock).run_once()


async def upkeep_when_overdue(process: Process) -> None:
    """A pass of the upkeep when the state of the plan has expired."""
    async with process.database.connection() as db:
        at: datetime | None = await db.fetchval(
            "SELECT overdue_at FROM automation_proposals WHERE id = $1", process.plan
        )
    if at is not None:
        process.board.clock.turn_to(at + _AFTER)
    await upkeep(process)


MOVES: Final[Mapping[Move, Callable[[Process], Awaitable[None]]]] = MappingProxyType(
    {
        Move.RUN: claim_and_execute,
        Move.RECOVER: recover_and_execute,
        Move.LATE: recover_late,
        Move.PAUSE: pause,
        Move.RESUME: resume,
        Move.CANCEL: cancel,
        Move.STOP_ALL: stop_all,
        Move.RELEASE: release,
        Move.END_SEARCH: end_search,
        Move.PAY: pay,
        Move.REPEAT: repeat,
        Move.UPKEEP: upkeep,
        Move.OVERDUE: upkeep_when_overdue,
        Move.WAIT: wait_for_leases,
    }
)
