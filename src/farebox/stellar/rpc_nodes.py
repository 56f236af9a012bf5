"""One network through a primary and a fallback node."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import structlog

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.rpc import RawSimulation, RpcUnavailable, SendResponse, SendStatus
from farebox.stellar.rpc_node import BreakerState, LedgerHighWaterMark, NodeRole, RpcNode
from farebox.stellar.simulation import Simulated, UnreadableSimulation, read_simulation
from farebox.stellar.soroban_rpc import RpcCall, SorobanRpc

AGREEMENTS: Final = 20  # in a row; then one node is enough again
_REMEMBERED: Final = 10_000  # envelopes; another process concludes some of them

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class SimulationTrust:
    """The distrusted node of one network, and the nodes that approved each envelope.

    An envelope is sent because a simulation of it succeeded. If its call then fails on the ledger,
    either the state changed in between (a payer spent the balance) or the node's simulation is
    wrong. One landing does not show which, so the node is distrusted until a second node agrees
    with it 20 times in a row. Each process keeps its own record.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._agreements = 0
        self._approvals: dict[bytes, tuple[str, ...]] = {}
        self.distrusted: str | None = None  # the node's role

    def remember(self, tx_hash: bytes, nodes: tuple[str, ...]) -> None:
        """Record the nodes that approved an envelope about to be sent."""
        self._approvals[tx_hash] = nodes
        while len(self._approvals) > _REMEMBERED:
            del self._approvals[next(iter(self._approvals))]

    def forget(self, tx_hash: bytes) -> tuple[str, ...]:
        """Remove and return the nodes that approved the envelope; empty where not known."""
        return self._approvals.pop(tx_hash, ())

    def distrust(self, node: str) -> None:
        """Distrust `node`: the ledger refused an envelope that it alone had approved."""
        self._agreements = 0
        if self.distrusted != node:
            self.distrusted = node
            log.warning("rpc.simulations", network=self._network, node=node, is_distrusted=True)

    def resolve(self, answers: Sequence[RawSimulation]) -> RawSimulation:
        """Choose among the simulations of the same envelope by several nodes.

        Where they agree it is that of the node that is not distrusted. Where they differ, that
        node's refusal is chosen; a refusal of the distrusted node alone is no verdict.

        Raises:
            RpcUnavailable: only the distrusted node refuses.
        """
        read = [(each, read_simulation(each.result)) for each in answers]
        readable = [
            (each, isinstance(simulation, Simulated))
            for each, simulation in read
            if not isinstance(simulation, UnreadableSimulation)
        ]
        if len(readable) < 2:
            return readable[0][0] if readable else answers[0]
        readable.sort(key=lambda pair: pair[0].nodes == (self.distrusted,))
        (trusted, approves), *others = readable
        if all(other == approves for _, other in others):
            self._agree()
            nodes = tuple(node for each, _ in readable for node in each.nodes)
            return RawSimulation(trusted.result, nodes)
        self._agreements = 0
        log.warning("rpc.simulations_differ", network=self._network, node=self.distrusted)
        if approves:
            text = f"the nodes of {self._network} do not agree about a simulation"
            raise RpcUnavailable(self._network, text, certainly_not_sent=False)
        return trusted

    def _agree(self) -> None:
        self._agreements += 1
        if self._agreements >= AGREEMENTS and self.distrusted is not None:
            node, self.distrusted = self.distrusted, None
            log.warning("rpc.simulations", network=self._network, node=node, is_distrusted=False)


A = TypeVar("A")


class RpcNodes(SorobanRpc):
    """`SorobanRpc` over the nodes of one network, the first preferred.

    A node is used once it passed the start check. A read falls back to the next node at once. So
    does an envelope, the same bytes, and a refusal by one node does not hide that another may have
    taken it. A stale response, from far behind the newest ledger seen, is used only where no node
    has a newer one. No call takes longer than the deadlines of its nodes together. Until `wait_s`
    after the start a call waits for the start check.
    """

    def __init__(
        self,
        network: Network,
        nodes: Sequence[SorobanRpc],
        clock: Clock,
        *,
        relayer: Address,
        wait_s: float,
    ) -> None:
        self._network, self._clock = network, clock
        self._nodes = tuple(
            RpcNode(network, role, node, clock, relayer)
            for role, node in zip(NodeRole, nodes, strict=False)
        )
        self._wait_until = clock.monotonic() + wait_s
        self._mark = LedgerHighWaterMark()
        self.trust = SimulationTrust(network)
        self._is_fit = asyncio.Event()

    async def close(self) -> None:
        """Close the connections to every node."""
        for each in self._nodes:
            await each.client.close()

    @property
    def faults(self) -> tuple[str, ...]:
        """The readiness codes that keep every node out; empty as soon as one node is fit."""
        if self._is_fit.is_set():
            return ()
        return tuple(dict.fromkeys(code for each in self._nodes for code in each.faults))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The readiness warnings for nodes that are out while another serves; none for one node."""
        if len(self._nodes) == 1:
            return ()
        return tuple(code for each in self._nodes for code in each.warnings)

    async def check(self) -> None:
        """Run the start check of every node that may not be used yet."""
        await asyncio.gather(*(self._check(each) for each in self._nodes))

    async def probe(self) -> None:
        """Probe the nodes without a call lately, and those whose pause is over."""
        for each in self._nodes:
            await each.probe(self._newest_ledger())

    async def _check(self, each: RpcNode) -> None:
        await each.check()
        if not each.faults:
            self._is_fit.set()

    def _newest_ledger(self) -> int:
        return self._mark.newest(self._clock.monotonic())

    async def _candidates(self) -> list[RpcNode]:
        """The nodes to call, in order; those whose circuit breaker is open come last.

        Raises:
            RpcUnavailable: no node may be called; nothing was sent.
        """
        if not self._is_fit.is_set():
            await self._wait_until_fit()
        fit = [(each.state, each) for each in self._nodes if not each.faults]
        able = [(state, each) for state, each in fit if state < BreakerState.FORBIDDEN]
        if not able:
            raise self._unavailable("each has requested a pause")
        return [each for _, each in sorted(able, key=lambda pair: pair[0])]

    async def _wait_until_fit(self) -> None:
        """Wait for the start check until a while after the start."""
        try:
            async with asyncio.timeout(max(0.0, self._wait_until - self._clock.monotonic())):
                await self._is_fit.wait()
        except TimeoutError:
            raise self._unavailable("none is known to be fit") from None

    def _unavailable(self, why: str, *, certainly_not_sent: bool = True) -> RpcUnavailable:
        text = f"no node of {self._network} can be used: {why}"
        return RpcUnavailable(self._network, text, certainly_not_sent=certainly_not_sent)

    async def call(self, call: RpcCall[Any, A]) -> A:
        """Make one reading call and return the first response that is not stale."""
        return await self._first(
            lambda each: each.client.call(call), call.ledger_of, accepts_stale=call.accepts_stale
        )

    async def _first(
        self,
        ask: Callable[[RpcNode], Awaitable[A]],
        ledger_of: Callable[[A], int | None],
        *,
        accepts_stale: bool = True,
        reports: bool = True,
    ) -> A:
        """The first current response; a stale one where there is none and it is accepted.

        `reports`: its ledger moves the high-water mark.
        """
        newest = self._newest_ledger()
        outage: RpcUnavailable | None = None
        stale: list[A] = []
        for each in await self._candidates():
            try:
                answer = await ask(each)
            except RpcUnavailable as missed:
                each.record_outage(missed)
                outage = missed
                continue
            ledger = ledger_of(answer)
            if each.record_response(ledger, newest):
                if ledger is not None and reports:
                    self._mark.report(ledger, self._clock.monotonic())
                return answer
            stale.append(answer)
        if stale and accepts_stale:
            return stale[0]
        raise outage or self._unavailable("it is behind", certainly_not_sent=False)

    async def send(self, envelope: str) -> SendResponse:
        """Send the signed base64 `envelope` once to each node until one has it.

        A node that is behind may queue it and never pass it on, so the next one gets it as well.
        """
        newest = self._newest_ledger()
        may_be_sent = False
        words = ""
        stale: SendResponse | None = None
        for each in await self._candidates():
            try:
                answer = await each.client.send(envelope)
            except RpcUnavailable as missed:
                each.record_outage(missed)
                may_be_sent = may_be_sent or not missed.certainly_not_sent
                words = missed.message
                continue
            is_current = each.record_response(answer.latest_ledger, newest)
            if stale is None:
                chosen, other = answer, None
            elif _is_queued(stale) and not _is_queued(answer):
                chosen, other = stale, answer  # one of them has it
            else:
                chosen, other = answer, stale
            may_be_sent = may_be_sent or (other is not None and not other.is_invalid)
            if is_current:
                return replace(chosen, may_be_sent=may_be_sent)
            stale = chosen  # another node may take it
        if stale is not None:
            return replace(stale, may_be_sent=may_be_sent)
        raise RpcUnavailable(self._network, words, certainly_not_sent=not may_be_sent)

    async def simulate(self, envelope: str) -> RawSimulation:
        """Simulate the base64 `envelope`; the caller judges how old a response may be."""
        return await self._first(
            lambda each: each.client.simulate(envelope),
            lambda answer: answer.latest_ledger,
            reports=False,
        )

    async def simulate_to_send(self, envelope: str) -> RawSimulation:
        """Simulate an `envelope` to be sent; on every node in service, while one is distrusted.

        The result names the nodes that gave it.

        Raises:
            RpcUnavailable: no node gave a current response, or they do not agree.
        """
        able = [each for each in await self._candidates() if each.state < BreakerState.OPEN]
        if self.trust.distrusted is None or len(able) < 2:
            return await self._first(
                lambda each: _simulate_on(each, envelope),
                lambda answer: answer.latest_ledger,
                reports=False,
            )
        newest = self._newest_ledger()

        async def current(each: RpcNode) -> RawSimulation | None:
            try:
                answer = await _simulate_on(each, envelope)
            except RpcUnavailable as missed:
                each.record_outage(missed)
                return None
            return answer if each.record_response(answer.latest_ledger, newest) else None

        answers = [each for each in await asyncio.gather(*map(current, able)) if each is not None]
        if not answers:
            raise self._unavailable("none gave a current simulation", certainly_not_sent=False)
        return self.trust.resolve(answers)


async def _simulate_on(each: RpcNode, envelope: str) -> RawSimulation:
    """The node's simulation, with the role of the node."""
    return replace(await each.client.simulate(envelope), nodes=(each.role,))


def _is_queued(answer: SendResponse) -> bool:
    """Whether the node has the envelope in its queue."""
    return answer.status in (SendStatus.PENDING, SendStatus.DUPLICATE)
