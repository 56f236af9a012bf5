"""Play one case: settle payments before, during and after faults of the nodes, and judge them."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from e2e.machine import RunFailed, tail
from farebox.kernel.secret import Secret
from farebox.local.faults import LocalFault
from prove.arena import Arena, Replica, SignedPayment, opened_arena
from prove.books import Opening, audit, opening
from prove.ledgers import LIFE_S
from prove.nodes_caller import NodesCaller
from prove.nodes_faults import FaultPlan, Kind, plan_of
from prove.nodes_gate import NO_FAULTS, FaultSet, FaultSwitch, LedgerTimer, NodeGate
from prove.nodes_verdict import Finding, Violation, judge_payment
from prove.rpc_gate import RpcGate
from prove.truth import grouped, read_ledger, read_row, settled_down
from prove.world import World

RECOVERED_MS: Final = 10_000
UNRESOLVED_AFTER_S: Final = 60.0
NEVER_MS: Final = 20_000  # the longest wait for a recovery, and the figure when there is none
_BEFORE: Final = 2
_DURING: Final = 5
_MOST: Final = 5  # of the seven
_REPLICAS: Final = ("a", "b")
_NODES: Final = ("FAREBOX_RPC_URL_TESTNET", "FAREBOX_FALLBACK_RPC_URL_TESTNET")
_PATIENT_S: Final = 8.0  # after the fault, until the time bounds of open settlements pass
_BEGUN_S: Final = 0.8  # by then all payments have begun
_LANDED_WITHIN_S: Final = 12.0
_LOOK_S: Final = 0.3
_SETTINGS: Final = {
    "FAREBOX_RPC_TIMEOUT_S": "4",
    "FAREBOX_CHANNEL_WAIT_S": "3",
    "FAREBOX_SETTLE_DEADLINE_S": "15",  # a blind watch must not recover when its waiters time out
}
_SHORT: Final = {"FAREBOX_SETTLE_DEADLINE_S": "2"}  # shorter than an envelope's life


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of fault, with one node or two; the seed decides the rest."""

    seed: int
    kind: Kind

    @property
    def nodes(self) -> int:
        """How many nodes the service has."""
        return 1 + (self.seed + list(Kind).index(self.kind)) % 2

    @property
    def plan(self) -> FaultPlan:
        """The faults, and when they are set."""
        return plan_of(self.kind, self.seed, nodes=self.nodes)

    def __str__(self) -> str:
        nodes = "one node" if self.nodes == 1 else "two nodes"
        return f"SEED={self.seed} KIND={self.kind.name.lower()}, {nodes}: {self.plan}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a case."""

    case: Case
    findings: list[Finding] = field(default_factory=list)
    recovered_ms: int = NEVER_MS
    settled_during: int = 0  # payments begun during the fault that succeeded before its end
    answers: list[str] = field(default_factory=list)

    @property
    def is_failed(self) -> bool:
        """Whether there is a finding, or a replica did not recover in time."""
        return bool(self.findings) or self.recovered_ms > RECOVERED_MS

    def __str__(self) -> str:
        why = (
            "; ".join(f"{each.violation}: {each.why}" for each in self.findings)
            or "as it should be"
        )
        return (
            f"{self.case} -> {self.settled_during} of {_DURING} settled meanwhile, "
            f"again after {self.recovered_ms} ms: {why}"
        )


async def play(world: World, case: Case) -> Outcome:
    """The outcome of one case."""
    plan = case.plan
    settings = _SETTINGS | (_SHORT if plan.outlives else {})
    async with opened_arena(world, settings) as arena:
        await _check(arena, plan)
        payments = [await arena.payment(turn) for turn in range(_BEFORE + _DURING + len(_REPLICAS))]
        before = await opening(arena)
        timer = LedgerTimer(arena.devnet)
        arena.hand.wait()  # the timer closes the ledgers
        arena.later.append(asyncio.create_task(timer.run()))
        switch = FaultSwitch(arena.devnet)
        gates = [NodeGate(name, switch, timer) for name in _NODES[: case.nodes]]
        urls = await _fronts(arena, gates, plan)
        try:
            replicas = [await arena.start(name, urls) for name in _REPLICAS]
        except RunFailed as never:
            return Outcome(case, [Finding(Violation.UNRESOLVED, str(never).partition("\n")[0])])
        return await _Play(arena, case, plan, switch, gates, replicas, payments).run(before)


async def _check(arena: Arena, plan: FaultPlan) -> None:
    """Set every fault once, so that one the devnet does not know ends the case at once.

    Raises:
        LocalFault: the devnet does not know it.
    """
    fault_sets = [each.first for each in plan.phases] + [each.second for each in plan.phases]
    for fault in {id(fault): fault for each in fault_sets for fault in each.faults}.values():
        await arena.devnet.fault(fault.effect, **fault.rule)
    await arena.devnet.clear_faults()


async def _fronts(arena: Arena, gates: Sequence[NodeGate], plan: FaultPlan) -> Mapping[str, str]:
    """The settings by which the service reaches each node through its gate."""
    urls = {}
    for gate in gates:
        gate.fault_set = plan.lasting
        front = await arena.opened.enter_async_context(RpcGate(gate, arena.devnet.rpc_url))
        urls[gate.name] = front.url
    return urls


@dataclass(eq=False, slots=True)
class _Play:
    arena: Arena
    case: Case
    plan: FaultPlan
    switch: FaultSwitch
    gates: list[NodeGate]
    replicas: Sequence[Replica]
    payments: Sequence[SignedPayment]
    callers: list[NodesCaller] = field(default_factory=list)
    asking: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(self, before: Opening) -> Outcome:
        loop = asyncio.get_running_loop()
        dice = random.Random(f"callers {self.case.seed} {self.case.kind.name}")
        until = loop.time() + self._fault_s + UNRESOLVED_AFTER_S
        for turn in range(_BEFORE):
            self._begin(turn, dice, after_s=0.1 * turn, until=until)
        await asyncio.sleep(dice.uniform(0.1, 0.9))
        for turn in range(_DURING):
            self._begin(_BEFORE + turn, dice, after_s=self._moment(dice, turn), until=until)
        await self._inject_faults()
        settled_during = sum(each.is_settled for each in self.callers[_BEFORE:])
        recovered = await self._recover(until)
        await self._settle_down(until)
        return Outcome(
            self.case,
            await self._judge(before, until),
            recovered,
            settled_during,
            [str(answer) for caller in self.callers for answer in caller.answers],
        )

    @property
    def _fault_s(self) -> float:
        return sum(each.seconds for each in self.plan.phases)

    def _moment(self, dice: random.Random, turn: int) -> float:
        """Seconds from the beginning of the fault until a payment begins."""
        if self.plan.outlives:
            return 0.1 * turn
        began, wrong = 0.0, []
        for each in self.plan.phases:
            if each.first != NO_FAULTS:
                wrong.append((began, each.seconds))
            began += each.seconds
        start, seconds = wrong[turn % len(wrong)]
        return start + dice.uniform(0.0, seconds)

    def _begin(self, turn: int, dice: random.Random, *, after_s: float, until: float) -> None:
        """Start a caller: some verify first, some ask both replicas at once, some never repeat."""
        caller = NodesCaller(self.arena, self.payments[turn])
        self.callers.append(caller)
        order = dice.sample(self.replicas, len(self.replicas))
        work = caller.pay(
            order,
            after_s=after_s,
            until=until,
            verifies=dice.random() < 0.4,
            at_both=dice.random() < 0.2,
            gives_up=dice.random() < 0.3,
        )
        self.asking.append(asyncio.create_task(work))

    async def _inject_faults(self) -> None:
        for each in self.plan.phases:
            for gate, fault_set in zip(self.gates, (each.first, each.second), strict=False):
                gate.fault_set = _joined(self.plan.lasting, fault_set)
            if self.plan.outlives:
                await self._pass_time_bound()
            await asyncio.sleep(each.seconds)
        for gate in self.gates:
            gate.fault_set = self.plan.lasting

    async def _pass_time_bound(self) -> None:
        """Wait until most payments landed, for twelve ledgers at most; then pass the time bound."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LANDED_WITHIN_S):
                await asyncio.sleep(_BEGUN_S)
                while True:
                    if await self._landed() >= _MOST:
                        break
                    await asyncio.sleep(_LOOK_S)
        await self.arena.devnet.jump(LIFE_S + 1)

    async def _landed(self) -> int:
        """How many payments are on the ledger, read without faults."""
        async with self.switch.under(()):
            return len(grouped(await read_ledger(self.arena)))

    async def _recover(self, until: float) -> int:
        """Milliseconds from now until each replica has answered success to a new payment."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        fresh = [NodesCaller(self.arena, payment) for payment in self.payments[_BEFORE + _DURING :]]
        self.callers += fresh
        paying = (
            caller.pay([replica], after_s=0, until=min(until, began + NEVER_MS / 1000))
            for caller, replica in zip(fresh, self.replicas, strict=True)
        )
        await asyncio.gather(*paying)
        if not all(each.is_settled for each in fresh):
            return NEVER_MS
        return round((max(each.settled_at for each in fresh) - began) * 1000)

    async def _settle_down(self, until: float) -> None:
        """Wait for every answer and final state; pass the time bound of late ones."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENT_S):
                await asyncio.gather(*map(asyncio.shield, self.asking))
                await self._all_down(until)
                return
        await self.arena.devnet.jump(LIFE_S + 1, ledgers=2)
        await asyncio.gather(*self.asking)
        await self._all_down(until)

    async def _all_down(self, until: float) -> list[bool]:
        return [await settled_down(self.arena, each.payment, until=until) for each in self.callers]

    async def _judge(self, before: Opening, until: float) -> list[Finding]:
        """Ask once more for each payment without a success, then judge all of them."""
        are_down = await self._all_down(until)
        for caller in self.callers:
            if not caller.is_settled and not caller.is_refused:
                await caller.pay(self.replicas, after_s=0, until=max(until, _soon()))
        async with self.switch.under(()):
            by_payment = grouped(await read_ledger(self.arena))
            drift = await audit(self.arena, before)
        findings = [Finding(Violation.LOST, each.why) for each in drift]
        for caller, is_down in zip(self.callers, are_down, strict=True):
            own = by_payment[caller.payment.payer, caller.payment.nonce]
            row = await read_row(self.arena, caller.payment)
            findings += judge_payment(own, row, caller, is_settled_down=is_down)
        return [*findings, *await self._resurrected(), *self._ended()]

    async def _resurrected(self) -> list[Finding]:
        """Envelopes of rows in state `dead` that the network still takes."""
        findings = []
        for caller in self.callers:
            row = await read_row(self.arena, caller.payment)
            if row is not None and row.state == "dead" and row.envelope is not None:
                with suppress(LocalFault):
                    await self.arena.devnet.land(Secret(row.envelope))
                    findings.append(
                        Finding(Violation.LOST, f"{row.tx_hash} is called dead and can still land")
                    )
        return findings

    def _ended(self) -> list[Finding]:
        """The replicas that ended by themselves, each with the end of its log."""
        findings = []
        for replica in self.replicas:
            if not Path(f"/proc/{replica.process_id}").exists():
                replica.is_alive = False
                words = tail(self.arena.folder / f"{replica.name}.err", 40)
                findings.append(
                    Finding(Violation.UNRESOLVED, f"replica {replica.name} ended: {words}")
                )
        return findings


def _soon() -> float:
    return asyncio.get_running_loop().time() + _PATIENT_S


def _joined(one: FaultSet, other: FaultSet) -> FaultSet:
    return replace(other, faults=(*one.faults, *other.faults))
