"""Run one case: two schedulers, a plan with two due runs, a fault at one call, and a verdict."""

import asyncio
import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from farebox.local.faults import LocalFault
from prove.automation_case import UNDISTURBED, RunCase, Scenario
from prove.automation_faults import EnvelopeFate, RunFault, let_all_claim, pass_leases, pass_waits
from prove.automation_plans import FACTORIES, Author, ProvenPlan, open_plan
from prove.automation_verdict import RunViolation, judge_case, read_rows
from prove.automation_world import AutomationWorld
from prove.boundaries import NOWHERE, labels_when_idle
from prove.environment import Environment, Replica
from prove.interceptor import Boundary, CrashPoint, CrashTiming
from prove.outcome import Outcome
from prove.run_cases import ends_within, play_until_reached
from prove.run_envelopes import EnvelopeWatch
from prove.run_interceptor import run_interceptor_of

UNRESOLVED_AFTER_S: Final = 120.0
_HIT_WITHIN_S: Final = 25.0
_IDLE_S: Final = 20.0  # longer than the interval of a scheduler's loops
_STILL_S: Final = 6.0  # without a change: then a minute passes for the leases
_LOOK_S: Final = 0.25
_MAX_PLAYS: Final = 2
_LONGEST_S: Final = 400.0  # of a play, however busy the machine is
_FINAL: Final = ("completed", "cancelled", "failed", "expired", "paused")


@dataclass(frozen=True, kw_only=True)
class RunOutcome(Outcome[RunCase, RunViolation]):
    """The outcome of a case: the states of its runs, and how many envelopes were made."""

    states: list[str]
    attempts: int

    def __str__(self) -> str:
        return f"{self.case} -> {', '.join(self.states)}: {self.why}"


async def record(world: AutomationWorld, scenario: Scenario) -> list[Boundary]:
    """Play a scenario without a fault; return the calls of the replica that executes it."""
    case = replace(UNDISTURBED, scenario=scenario, both_claim=False)
    async with world.environment() as environment:
        played = _PlayedRun(world, environment, case)
        await played.start()
        await played.wait_until_final()
        outcome = await played.judge(is_reached=True)
        if outcome.findings:
            raise LocalFault(f"runs without a fault are wrong: {outcome}")
        return played.replicas[0].interceptor.calls


async def record_idle(world: AutomationWorld) -> frozenset[str]:
    """Return the labels of the calls that an idle replica makes."""
    async with world.environment() as environment:
        return await labels_when_idle(environment, for_s=_IDLE_S)


async def run_case(world: AutomationWorld, case: RunCase) -> RunOutcome:
    """Run one case once; plans that have not ended after two minutes are unresolved.

    Raises:
        RunFailed: it did not end, or a replica has.
    """
    async with ends_within(case, _LONGEST_S):
        return await _run_case(world, case)


async def _run_case(world: AutomationWorld, case: RunCase) -> RunOutcome:
    async with world.environment() as environment:
        played = _PlayedRun(world, environment, case)
        await played.start()
        is_reached = await played.wait_until_hit()
        await played.recover()
        await played.wait_until_final()
        return await played.judge(is_reached=is_reached)


async def run_until_reached(world: AutomationWorld, case: RunCase) -> RunOutcome:
    """Run a case until its fault happens, twice at most; all findings count."""
    simpler = replace(case, jitter_ms=0, both_claim=False, has_bystander=False)
    return await play_until_reached(partial(run_case, world), case, simpler, most=_MAX_PLAYS)


class _PlayedRun:
    """One play of a case in its environment."""

    def __init__(self, world: AutomationWorld, environment: Environment, case: RunCase) -> None:
        self._world, self._environment, self._case = world, environment, case
        self._began = asyncio.get_running_loop().time()
        rng = random.Random(f"{case.seed} {case.number}")
        self._rng = rng
        self._watch = EnvelopeWatch(environment)
        stranger = world.scenery.stranger
        fate = EnvelopeFate(environment, case.scenario.fate, stranger, rng)
        self._watch.before, self._watch.after = fate.before, fate.after
        self._watch.again = fate.again
        self._fault = RunFault(environment, case)
        self._plans: list[ProvenPlan] = []
        self.replicas: Sequence[Replica] = ()

    async def start(self) -> None:
        """Start both replicas and then the plans, whose first runs are due at once."""
        environment, case = self._environment, self._case
        self.replicas = await asyncio.gather(environment.start("a"), environment.start("b"))
        for replica in self.replicas:
            self._prepare(replica)
            replica.interceptor.start_counting()
        if not case.both_claim:
            run_interceptor_of(self.replicas[1]).may_claim.clear()
        self._fault.install(self.replicas)
        author = Author(self._world, environment)
        self._watch.target = author.target_of(case.scenario.mode, 0)
        self._plans.append(await FACTORIES[case.scenario.mode](author, 0))
        if case.has_bystander:
            self._plans.append(await open_plan(author, 1))

    def _prepare(self, replica: Replica) -> None:
        interceptor = run_interceptor_of(replica)
        interceptor.send_watch = self._watch
        if self._case.jitter_ms:
            interceptor.pause = lambda: self._rng.random() * self._case.jitter_ms / 1000

    async def wait_until_hit(self) -> bool:
        """Wait until the fault has happened; False when it did not."""
        if self._case.boundary == NOWHERE:
            return True
        is_hit = await self._fault.wait_until_hit(self._is_over, within_s=_HIT_WITHIN_S)
        self._fault.spend()
        return is_hit

    async def recover(self) -> None:
        """Let the other replica go on, and start the dead one again if the case says so."""
        environment, case = self._environment, self._case
        if case.second_kill and len(environment.running) > 1:
            self._kill_again()
        let_all_claim(environment)
        if len(environment.running) < len(self.replicas):
            await pass_leases(environment)
        if case.restarts and len(environment.running) < len(self.replicas):
            self._prepare(await environment.start("c"))
        await self._fault.deliver_held_call()

    def _kill_again(self) -> None:
        """Kill the second replica at a call of its recovery, and start another."""
        environment, (_, other) = self._environment, self.replicas
        made = len(other.interceptor.calls)
        crash = CrashPoint(made + self._case.second_kill, CrashTiming.AFTER, environment.kill)
        other.interceptor.crash_point = crash

        async def replace_it() -> None:
            await crash.crashed.wait()
            self._prepare(await environment.start("d"))
            await pass_leases(environment)

        environment.waiting.append(asyncio.create_task(replace_it()))

    async def wait_until_final(self) -> None:
        """Let time pass for what waits until every plan has ended."""
        loop = asyncio.get_running_loop()
        until, seen, since = loop.time() + UNRESOLVED_AFTER_S, "", loop.time()
        while not await self._is_over() and loop.time() < until:
            await pass_waits(self._environment)
            now = await self._fingerprint()
            if now != seen:
                seen, since = now, loop.time()
            elif loop.time() - since > _STILL_S:
                await pass_leases(self._environment)
                await self._start_if_none_is_left()
                since = loop.time()
            await asyncio.sleep(_LOOK_S)
        await self._environment.devnet.clear_faults()
        await asyncio.gather(*self._environment.later)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STILL_S):
                await self._wait_until_released()

    async def _start_if_none_is_left(self) -> None:
        if not self._environment.running:
            self._prepare(await self._environment.start(f"e{len(self._environment.replicas)}"))

    async def _is_over(self) -> bool:
        rows = await self._environment.query("SELECT status FROM automation_proposals")
        return all(row["status"] in _FINAL for row in rows)

    async def _fingerprint(self) -> str:
        rows = await self._environment.query(
            "SELECT id, state, lease_epoch, attempts FROM automation_runs ORDER BY id"
        )
        return str([tuple(row) for row in rows])

    async def _wait_until_released(self) -> None:
        """Wait for what a late replica still does with a run that has ended."""
        while True:
            (row,) = await self._environment.query("SELECT count(*) AS n FROM automation_leases")
            if not row["n"]:
                return
            await asyncio.sleep(_LOOK_S)

    async def judge(self, *, is_reached: bool) -> RunOutcome:
        """Judge rows and ledger once late envelopes had their chance to land."""
        environment = self._environment
        await environment.devnet.close(2)
        rows = await read_rows(environment, self._plans, self._watch.deliveries)
        paymaster = self._world.scenery.paymaster.public_key
        findings = judge_case(self._plans, rows, paymaster)
        return RunOutcome(
            case=self._case,
            is_reached=is_reached,
            findings=findings,
            states=[str(run["state"]) for run in rows.runs],
            attempts=len(rows.attempts),
            took_s=asyncio.get_running_loop().time() - self._began,
            connections_max=environment.connections_max,
        )
