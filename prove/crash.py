"""Run one case: settle a payment, crash at a boundary, recover, and judge; or many, in a loop."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

from farebox.kernel.secret import Secret
from farebox.local.faults import LocalFault
from prove import replacement
from prove.accounting import judge_all, read_balances
from prove.boundaries import NOWHERE, labels_when_idle
from prove.caller import Caller
from prove.case import CallerBehaviour, CrashCase, Topology
from prove.environment import Environment, Replica, SignedPayment, open_environment
from prove.interceptor import Boundary, CrashPoint, CrashTiming
from prove.ledger_closer import LIFE_S, Landing
from prove.outcome import Outcome, findings_of
from prove.payment_check import (
    Answer,
    PaymentFinding,
    SettlementViolation,
    group_by_payment,
    is_answer_cut,
    judge,
    read_ledger,
    read_row,
    wait_until_final,
)
from prove.run_cases import play_until_reached
from prove.world import World

UNRESOLVED_AFTER_S: Final = 120.0
_REACHED_WITHIN_S: Final = 8.0
_REPLACED_WITHIN_S: Final = 16.0
_LAG_S: Final = 0.15
_IDLE_S: Final = 12.0  # longer than the interval of any background loop
_LOOK_S: Final = 0.05
_LATER_S: Final = 0.5
_MAX_RUNS: Final = 3  # of a case, until its boundary is reached


@dataclass(frozen=True, kw_only=True)
class CrashOutcome(Outcome[CrashCase, SettlementViolation]):
    """The outcome of a case; `answer_cut` counts the successes that did not arrive."""

    answer_cut: int = 0

    def followed_by(self, again: Self) -> Self:
        """See `Outcome`."""
        both = super().followed_by(again)
        return replace(both, answer_cut=self.answer_cut + again.answer_cut)


async def record(
    world: World,
    topology: Topology,
    *,
    headers: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> list[Boundary]:
    """Settle one payment without faults; return its calls in order."""
    async with open_environment(world, settings or _settings_of(topology)) as environment:
        replicas = await _start_replicas(environment, topology)
        caller = Caller(environment, await environment.payment())
        caller.headers |= headers or {}
        for replica in replicas:
            replica.interceptor.start_counting()
        await asyncio.gather(
            *await _send_requests(environment, caller, replicas, topology, lag_s=_LAG_S)
        )
        for replica in replicas:  # calls after the answer belong to the settlement as well
            await replica.interceptor.wait_until_quiet(0.1)
        if sum(answer.is_success for answer in caller.answers) != 1:
            raise LocalFault(f"a settlement without faults was answered {caller.answers}")
        if topology is Topology.REPLACED:
            return replacement.calls_since_sending(replicas)
        return [boundary for replica in replicas for boundary in replica.interceptor.calls]


async def record_idle(world: World, *, settings: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the labels of the calls that an idle replica makes."""
    async with open_environment(world, settings) as environment:
        return await labels_when_idle(environment, for_s=_IDLE_S)


async def _start_replicas(environment: Environment, topology: Topology) -> list[Replica]:
    """Start the replicas; return those that get the request at once."""
    if topology is Topology.ONE:
        return [await environment.start("a")]
    of_second = replacement.OF_WATCHER if topology is Topology.REPLACED else None
    both = list(await asyncio.gather(environment.start("a"), environment.start("b", of_second)))
    return both[:1] if topology is Topology.TWO_AFTER else both


def _settings_of(topology: Topology) -> Mapping[str, str] | None:
    return replacement.SETTINGS if topology is Topology.REPLACED else None


async def _send_requests(
    environment: Environment,
    caller: Caller,
    replicas: list[Replica],
    topology: Topology,
    *,
    lag_s: float,
) -> list[asyncio.Task[Answer]]:
    """Send the first requests; return their tasks."""
    if topology is not Topology.REPLACED:
        return [asyncio.create_task(caller.ask(replica)) for replica in replicas]
    await replacement.drop_first_envelope(environment)
    return replacement.send_in_turn(environment, caller, replicas, lag_s=lag_s)


async def run_case(world: World, case: CrashCase) -> CrashOutcome:
    """Run one case."""
    began = asyncio.get_running_loop().time()
    async with open_environment(world, _settings_of(case.topology)) as environment:
        first = await _start_replicas(environment, case.topology)
        payment = await environment.payment()
        crash_point = CrashPoint(case.boundary, case.timing, environment.kill)
        rng = random.Random(f"{case.seed} {case.number}")
        for replica in first:
            replica.interceptor.crash_point = crash_point
            replica.interceptor.pause = lambda: rng.random() * case.jitter_ms / 1000
            replica.interceptor.start_counting()
        if case.fault is not None:
            await environment.devnet.fault(case.fault.effect, **case.fault.rule)
        caller = Caller(environment, payment)
        requests = await _send_requests(
            environment, caller, first, case.topology, lag_s=case.lag_ms / 1000
        )
        is_crashed = await _wait_until_crashed(crash_point, requests, case.topology)
        is_reached = is_crashed or case.boundary == NOWHERE
        crash_point.is_spent = True
        await _continue_after_crash(environment, case, crash_point)
        until = asyncio.get_running_loop().time() + UNRESOLVED_AFTER_S
        await asyncio.gather(*requests)
        if case.behaviour is CallerBehaviour.REPEATS and not caller.is_answered:
            await caller.repeat_until_final(until=until)
        await asyncio.gather(*environment.later)
        is_final = await wait_until_final(environment, payment, until=until)
        await environment.devnet.clear_faults()
        return await _outcome(environment, case, payment, caller, is_reached, is_final, began)


async def run_until_reached(world: World, case: CrashCase) -> CrashOutcome:
    """Run a case until its boundary is reached, three times at most.

    Repetitions run without the node's fault and the delays, which may end the settlement before its
    boundary. The findings of all runs count.
    """
    simpler = replace(case, fault=None, jitter_ms=0)
    return await play_until_reached(partial(run_case, world), case, simpler, most=_MAX_RUNS)


async def _wait_until_crashed(
    crash_point: CrashPoint, requests: list[asyncio.Task[Answer]], topology: Topology
) -> bool:
    """Wait for the crash; False when every request was answered without it."""
    answered = asyncio.gather(*requests)
    crashed = asyncio.ensure_future(crash_point.crashed.wait())
    try:
        ends: set[asyncio.Future[Any]] = {crashed, answered}
        timeout_s = _REPLACED_WITHIN_S if topology is Topology.REPLACED else _REACHED_WITHIN_S
        await asyncio.wait(ends, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if crash_point.is_spent:  # the connection may break before the process has ended
            await crashed
    finally:
        crashed.cancel()
    return crash_point.crashed.is_set()


async def _continue_after_crash(
    environment: Environment, case: CrashCase, crash_point: CrashPoint
) -> None:
    """Let the network continue and restart a replica, in the order of the case."""
    if case.landing is Landing.NEVER:
        environment.ledger_closer.pause()
    if case.timing is CrashTiming.BEFORE and case.landing is Landing.LANDS and _is_sending(case):
        await crash_point.deliver_held_call()  # the bytes were sent before the crash
    if case.is_landing_first:
        await _continue_network(environment, case)
    if not environment.alive:
        await _restart(environment, case)
    if not case.is_landing_first:
        environment.later.append(asyncio.create_task(_land_later(environment, case)))
    if case.timing is CrashTiming.LATE:
        await crash_point.deliver_held_call()


async def _restart(environment: Environment, case: CrashCase) -> None:
    """Start a replacement of the dead replica, which may crash once as well."""
    replica = await environment.start("c")
    if case.second_kill:
        crash_point = CrashPoint(case.second_kill, CrashTiming.AFTER, environment.kill)
        replica.interceptor.crash_point = crash_point
        replica.interceptor.start_counting()
        environment.waiting.append(
            asyncio.create_task(_replace_when_crashed(environment, crash_point))
        )


async def _replace_when_crashed(environment: Environment, crash_point: CrashPoint) -> None:
    await crash_point.crashed.wait()
    await environment.start("d")


def _is_sending(case: CrashCase) -> bool:
    return case.boundary.label == replacement.SEND


async def _land_later(environment: Environment, case: CrashCase) -> None:
    await asyncio.sleep(_LATER_S)
    await _continue_network(environment, case)


async def _continue_network(environment: Environment, case: CrashCase) -> None:
    if case.landing is Landing.NEVER:
        await environment.ledger_closer.drop_pending()
        return
    await environment.ledger_closer.speed_up()
    if case.topology is Topology.REPLACED:  # pass the time bound of the lost envelope
        await environment.devnet.jump(LIFE_S + 1, ledgers=2)


async def _outcome(
    environment: Environment,
    case: CrashCase,
    payment: SignedPayment,
    caller: Caller,
    is_reached: bool,
    is_final: bool,
    began: float,
) -> CrashOutcome:
    """Judge ledger, journal and answers, after a last attempt to provoke a change."""
    if case.behaviour is CallerBehaviour.REPEATS and is_final:
        await _repeat_after_final(environment, caller)
    await environment.ledger_closer.resume()
    row = await read_row(environment, payment)
    findings: list[PaymentFinding] = []
    if row is not None and row.state == "dead" and row.envelope is not None:
        findings += await _find_resurrected(environment, row.envelope)
    own = group_by_payment(await read_ledger(environment))[payment.payer, payment.nonce]
    findings += judge(own, row, caller.answers, is_final=is_final)
    return CrashOutcome(
        case=case,
        is_reached=is_reached,
        findings=findings,
        answer_cut=int(is_answer_cut(row, caller.answers)),
        answers=[str(answer) for answer in caller.answers],
        state=row.state if row is not None else "free",
        connections_max=environment.connections_max,
        took_s=asyncio.get_running_loop().time() - began,
    )


async def _repeat_after_final(environment: Environment, caller: Caller) -> None:
    """Repeat the request after the final answer, which must not change."""
    for replica in environment.running:
        if replica.interceptor.crash_point is not None:
            replica.interceptor.crash_point.is_spent = True
    while True:
        if environment.alive:
            await caller.ask(environment.alive[0])
            return
        await asyncio.sleep(_LOOK_S)


async def _find_resurrected(environment: Environment, envelope: bytes) -> list[PaymentFinding]:
    """Submit an envelope in state `dead` once more: it must not land."""
    try:
        await environment.devnet.land(Secret(envelope))
    except LocalFault:
        return []
    why = "the journal says dead, and the envelope can still land"
    return findings_of({SettlementViolation.LOST: [why]})


@dataclass(frozen=True, slots=True)
class Loop:
    """The size and the seed of a crash loop."""

    seed: int
    payments: int
    kills: int
    replicas: int

    @property
    def number(self) -> int:
        """The number of the loop of every seed."""
        return 0

    def __str__(self) -> str:
        return (
            f"SEED={self.seed} CASE={self.number}: {self.kills} kills, {self.payments} payments, "
            f"{self.replicas} replicas"
        )


@dataclass(frozen=True, kw_only=True)
class LoopOutcome(Outcome[Loop, SettlementViolation]):
    """The outcome of a crash loop."""

    answer_cut: int = 0
    settled: int = 0

    def __str__(self) -> str:
        return f"{self.case} -> {self.settled} settled: {self.why}"


def loop_of(seed: int) -> Loop:
    """Plan the crash loop of a seed; twenty seeds make 200 payments and 40 kills."""
    return Loop(seed, payments=10, kills=2, replicas=1 + seed % 2)


async def run_loop(world: World, loop: Loop) -> LoopOutcome:
    """Run one crash loop."""
    rng = random.Random(f"loop {loop.seed}")
    async with open_environment(world, {"FAREBOX_SETTLE_DEADLINE_S": "5"}) as environment:
        for number in range(loop.replicas):
            await environment.start(f"first-{number}")
        payments = [await environment.payment(turn) for turn in range(loop.payments)]
        before = await read_balances(environment)
        await environment.ledger_closer.speed_up()
        until = asyncio.get_running_loop().time() + UNRESOLVED_AFTER_S
        callers = [Caller(environment, payment) for payment in payments]
        requests = [
            asyncio.create_task(caller.repeat_until_final(until=until)) for caller in callers
        ]
        for number in range(loop.kills):
            await asyncio.sleep(rng.uniform(0.02, 0.8))
            await rng.choice(environment.alive).kill()
            await environment.start(f"next-{number}")
        await asyncio.gather(*requests)
        verdict = await judge_all(environment, callers, before, until=until)
        return LoopOutcome(
            case=loop,
            findings=verdict.findings,
            answer_cut=verdict.answer_cut,
            settled=verdict.settled,
            connections_max=environment.connections_max,
        )
