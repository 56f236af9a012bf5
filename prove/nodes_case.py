"""Run one case: settle payments before, during and after faults of the nodes, and judge them."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from farebox.kernel.secret import Secret
from farebox.local.faults import LocalFault
from prove.accounting import Balances, audit_balances, read_balances
from prove.caller import NodesCaller
from prove.environment import Environment, Replica, SignedPayment, open_environment
from prove.ledger_closer import LIFE_S
from prove.nodes_faults import FaultPlan, NodeKind, plan_of
from prove.nodes_interceptor import NO_FAULTS, FaultSet, FaultSwitch, LedgerTimer, NodeInterceptor
from prove.outcome import Finding, Outcome
from prove.payment_check import (
    PaymentFinding,
    SettlementViolation,
    group_by_payment,
    read_ledger,
    read_row,
    wait_until_final,
)
from prove.rpc_proxy import RpcProxy
from prove.seller_verdict import judge_at_nodes
from prove.world import World
from testing.machine import RunFailed, tail

RECOVERED_MS: Final = 10_000
UNRESOLVED_AFTER_S: Final = 60.0
NEVER_MS: Final = 20_000  # the longest wait for a recovery, and the figure when there is none
_BEFORE: Final = 2
_DURING: Final = 5
_MOST: Final = 5  # landed payments of the seven
_REPLICAS: Final = ("a", "b")
_NODES: Final = ("FAREBOX_RPC_URL_TESTNET", "FAREBOX_FALLBACK_RPC_URL_TESTNET")
_PATIENT_S: Final = 8.0  # after the fault, until the time bounds of open settlements pass
_STARTED_S: Final = 0.8  # by then all payments have started
_LANDED_WITHIN_S: Final = 12.0
_LOOK_S: Final = 0.3
_SETTINGS: Final = {
    "FAREBOX_RPC_TIMEOUT_S": "4",
    "FAREBOX_CHANNEL_WAIT_S": "3",
    "FAREBOX_SETTLE_DEADLINE_S": "15",  # a blind watch must not recover by a timeout
}
_SHORT: Final = {"FAREBOX_SETTLE_DEADLINE_S": "2"}  # shorter than an envelope's life


@dataclass(frozen=True, slots=True)
class NodesCase:
    """One kind of fault, with one node or two; the seed decides the rest."""

    seed: int
    kind: NodeKind

    @property
    def nodes(self) -> int:
        """How many nodes the service has."""
        return 1 + (self.seed + list(NodeKind).index(self.kind)) % 2

    @property
    def plan(self) -> FaultPlan:
        """The faults, and when they are set."""
        return plan_of(self.kind, self.seed, nodes=self.nodes)

    def __str__(self) -> str:
        nodes = "one node" if self.nodes == 1 else "two nodes"
        return f"SEED={self.seed} KIND={self.kind.name.lower()}, {nodes}: {self.plan}"


@dataclass(frozen=True, kw_only=True)
class NodesOutcome(Outcome[NodesCase, SettlementViolation]):
    """The result of a case."""

    recovered_ms: int = NEVER_MS
    settled_during: int = 0  # payments started during the fault that succeeded before its end

    @property
    def is_failed(self) -> bool:
        """Whether there is a finding, or a replica did not recover in time."""
        return bool(self.findings) or self.recovered_ms > RECOVERED_MS

    def __str__(self) -> str:
        return (
            f"{self.case} -> {self.settled_during} of {_DURING} settled during the fault, "
            f"recovered after {self.recovered_ms} ms: {self.why}"
        )


async def run_case(world: World, case: NodesCase) -> NodesOutcome:
    """Run one case."""
    plan = case.plan
    settings = _SETTINGS | (_SHORT if plan.outlives else {})
    async with open_environment(world, settings) as environment:
        await _check_faults(environment, plan)
        payments = [
            await environment.payment(turn) for turn in range(_BEFORE + _DURING + len(_REPLICAS))
        ]
        before = await read_balances(environment)
        timer = LedgerTimer(environment.devnet)
        environment.ledger_closer.pause()  # the timer closes the ledgers
        environment.later.append(asyncio.create_task(timer.run()))
        switch = FaultSwitch(environment.devnet)
        interceptors = [NodeInterceptor(name, switch, timer) for name in _NODES[: case.nodes]]
        urls = await _open_proxies(environment, interceptors, plan)
        try:
            replicas = [await environment.start(name, urls) for name in _REPLICAS]
        except RunFailed as error:
            why = str(error).partition("\n")[0]
            found = Finding(SettlementViolation.UNRESOLVED, why)
            return NodesOutcome(case=case, findings=[found])
        return await _NodesRun(
            environment, case, plan, switch, interceptors, replicas, payments
        ).run(before)


async def _check_faults(environment: Environment, plan: FaultPlan) -> None:
    """Set every fault once, to detect one that the devnet does not know.

    Raises:
        LocalFault: the devnet does not know a fault.
    """
    fault_sets = [each.first for each in plan.phases] + [each.second for each in plan.phases]
    for fault in {id(fault): fault for each in fault_sets for fault in each.faults}.values():
        await environment.devnet.fault(fault.effect, **fault.rule)
    await environment.devnet.clear_faults()


async def _open_proxies(
    environment: Environment, interceptors: Sequence[NodeInterceptor], plan: FaultPlan
) -> Mapping[str, str]:
    """Open a proxy for each node; return the settings that name the proxies."""
    urls = {}
    for interceptor in interceptors:
        interceptor.fault_set = plan.lasting
        proxy = await environment.stack.enter_async_context(
            RpcProxy(interceptor, environment.devnet.rpc_url)
        )
        urls[interceptor.name] = proxy.url
    return urls


@dataclass(eq=False, slots=True)
class _NodesRun:
    environment: Environment
    case: NodesCase
    plan: FaultPlan
    switch: FaultSwitch
    interceptors: list[NodeInterceptor]
    replicas: Sequence[Replica]
    payments: Sequence[SignedPayment]
    callers: list[NodesCaller] = field(default_factory=list)
    payers: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(self, before: Balances) -> NodesOutcome:
        loop = asyncio.get_running_loop()
        rng = random.Random(f"callers {self.case.seed} {self.case.kind.name}")
        until = loop.time() + self._fault_s + UNRESOLVED_AFTER_S
        for turn in range(_BEFORE):
            self._start_caller(turn, rng, after_s=0.1 * turn, until=until)
        await asyncio.sleep(rng.uniform(0.1, 0.9))
        for turn in range(_DURING):
            self._start_caller(
                _BEFORE + turn, rng, after_s=self._draw_start(rng, turn), until=until
            )
        await self._inject_faults()
        settled_during = sum(each.is_settled for each in self.callers[_BEFORE:])
        recovered = await self._recover(until)
        await self._settle_down(until)
        return NodesOutcome(
            case=self.case,
            findings=await self._judge(before, until),
            recovered_ms=recovered,
            settled_during=settled_during,
            answers=[str(answer) for caller in self.callers for answer in caller.answers],
        )

    @property
    def _fault_s(self) -> float:
        return sum(each.seconds for each in self.plan.phases)

    def _draw_start(self, rng: random.Random, turn: int) -> float:
        """Draw the seconds from the start of the fault until a payment starts."""
        if self.plan.outlives:
            return 0.1 * turn
        began, faulty = 0.0, []
        for each in self.plan.phases:
            if each.first != NO_FAULTS:
                faulty.append((began, each.seconds))
            began += each.seconds
        start, seconds = faulty[turn % len(faulty)]
        return start + rng.uniform(0.0, seconds)

    def _start_caller(self, turn: int, rng: random.Random, *, after_s: float, until: float) -> None:
        """Start a caller: some verify first, use both replicas at once or never repeat."""
        caller = NodesCaller(self.environment, self.payments[turn])
        self.callers.append(caller)
        order = rng.sample(self.replicas, len(self.replicas))
        work = caller.pay(
            order,
            after_s=after_s,
            until=until,
            verifies=rng.random() < 0.4,
            at_both=rng.random() < 0.2,
            gives_up=rng.random() < 0.3,
        )
        self.payers.append(asyncio.create_task(work))

    async def _inject_faults(self) -> None:
        for each in self.plan.phases:
            for interceptor, fault_set in zip(
                self.interceptors, (each.first, each.second), strict=False
            ):
                interceptor.fault_set = _join(self.plan.lasting, fault_set)
            if self.plan.outlives:
                await self._pass_time_bound()
            await asyncio.sleep(each.seconds)
        for interceptor in self.interceptors:
            interceptor.fault_set = self.plan.lasting

    async def _pass_time_bound(self) -> None:
        """Wait until most payments landed, for twelve ledgers at most; then pass the time bound."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LANDED_WITHIN_S):
                await asyncio.sleep(_STARTED_S)
                while True:
                    if await self._landed() >= _MOST:
                        break
                    await asyncio.sleep(_LOOK_S)
        await self.environment.devnet.jump(LIFE_S + 1)

    async def _landed(self) -> int:
        """Count the payments on the ledger, read without faults."""
        async with self.switch.under(()):
            return len(group_by_payment(await read_ledger(self.environment)))

    async def _recover(self, until: float) -> int:
        """Measure the milliseconds until each replica has settled a new payment."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        new_callers = [
            NodesCaller(self.environment, payment) for payment in self.payments[_BEFORE + _DURING :]
        ]
        self.callers += new_callers
        paying = (
            caller.pay([replica], after_s=0, until=min(until, began + NEVER_MS / 1000))
            for caller, replica in zip(new_callers, self.replicas, strict=True)
        )
        await asyncio.gather(*paying)
        if not all(each.is_settled for each in new_callers):
            return NEVER_MS
        return round((max(each.settled_at for each in new_callers) - began) * 1000)

    async def _settle_down(self, until: float) -> None:
        """Wait for every answer and final state; pass the time bound of late ones."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENT_S):
                await asyncio.gather(*map(asyncio.shield, self.payers))
                await self._wait_until_all_final(until)
                return
        await self.environment.devnet.jump(LIFE_S + 1, ledgers=2)
        await asyncio.gather(*self.payers)
        await self._wait_until_all_final(until)

    async def _wait_until_all_final(self, until: float) -> list[bool]:
        return [
            await wait_until_final(self.environment, each.payment, until=until)
            for each in self.callers
        ]

    async def _judge(self, before: Balances, until: float) -> list[PaymentFinding]:
        """Send once more each payment without a success, then judge all of them."""
        are_final = await self._wait_until_all_final(until)
        for caller in self.callers:
            if not caller.is_settled and not caller.is_refused:
                await caller.pay(self.replicas, after_s=0, until=max(until, _deadline()))
        async with self.switch.under(()):
            by_payment = group_by_payment(await read_ledger(self.environment))
            findings = await audit_balances(self.environment, before)
        for caller, is_final in zip(self.callers, are_final, strict=True):
            own = by_payment[caller.payment.payer, caller.payment.nonce]
            row = await read_row(self.environment, caller.payment)
            findings += judge_at_nodes(own, row, caller, is_final=is_final)
        return [*findings, *await self._find_resurrected(), *self._find_ended_replicas()]

    async def _find_resurrected(self) -> list[PaymentFinding]:
        """Find envelopes in state `dead` that the network still accepts."""
        findings = []
        for caller in self.callers:
            row = await read_row(self.environment, caller.payment)
            if row is not None and row.state == "dead" and row.envelope is not None:
                with suppress(LocalFault):
                    await self.environment.devnet.land(Secret(row.envelope))
                    why = f"{row.tx_hash} is in state dead and can still land"
                    findings.append(Finding(SettlementViolation.LOST, why))
        return findings

    def _find_ended_replicas(self) -> list[PaymentFinding]:
        """Find the replicas that ended by themselves, with the end of their logs."""
        findings = []
        for replica in self.replicas:
            if not Path(f"/proc/{replica.process_id}").exists():
                replica.is_alive = False
                log_tail = tail(self.environment.folder / f"{replica.name}.err", 40)
                why = f"replica {replica.name} ended: {log_tail}"
                findings.append(Finding(SettlementViolation.UNRESOLVED, why))
        return findings


def _deadline() -> float:
    return asyncio.get_running_loop().time() + _PATIENT_S


def _join(one: FaultSet, other: FaultSet) -> FaultSet:
    return replace(other, faults=(*one.faults, *other.faults))
