"""One network through a node and its fallback: who is asked, and what their answers are worth."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.breaker import BreakerState
from farebox.stellar.high_water_mark import LedgerHighWaterMark
from farebox.stellar.node_standing import Node, NodeStanding, Role
from farebox.stellar.rpc import (
    AccountState,
    FeeStats,
    LandedEnvelope,
    LatestLedger,
    LedgerEntries,
    NodeHealth,
    NodeNetwork,
    NodeVersion,
    NoEnvelope,
    RawSimulation,
    RpcUnavailable,
    SendAnswer,
    SendStatus,
    SorobanRpc,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
    TransfersFound,
    TransferWindow,
)

T = TypeVar("T")


class RpcNodes:
    """`SorobanRpc` over the nodes of one network, the first preferred.

    A node is used once it passed the start check. Reads go on to the next node at once; so does
    an envelope, the same bytes, and what one node may have taken is not forgotten when another
    refuses it. An answer from far behind the newest ledger seen counts for less than anybody's
    newer one. No call takes longer than the deadlines of its nodes together. Until `wait_s` after
    the start a call waits for the start check.
    """

    def __init__(
        self,
        network: Network,
        nodes: Sequence[Node],
        clock: Clock,
        *,
        relayer: Address,
        wait_s: float,
    ) -> None:
        self._network, self._clock = network, clock
        self._standings = tuple(
            NodeStanding(network, role, node, clock, relayer)
            for role, node in zip(Role, nodes, strict=False)
        )
        self._wait_until = clock.monotonic() + wait_s
        self._mark = LedgerHighWaterMark()
        self._is_fit = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in self._standings:
            await each.node.close()

    @property
    def faults(self) -> tuple[str, ...]:
        """Why no node may be used, as readiness names it; empty as soon as one may."""
        if self._is_fit.is_set():
            return ()
        return tuple(dict.fromkeys(code for each in self._standings for code in each.faults))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which node is out while another one serves; a node alone is told of by its faults."""
        if len(self._standings) == 1:
            return ()
        return tuple(code for each in self._standings for code in each.warnings)

    async def check(self) -> None:
        """Ask every node that may not be used yet whether it is fit."""
        await asyncio.gather(*(self._check(each) for each in self._standings))

    async def look_after(self) -> None:
        """Ask those how they are whom nobody asked lately, or whose pause is over."""
        for each in self._standings:
            await each.ask_how_it_is(self._mark.newest(self._clock.monotonic()))

    async def _check(self, each: NodeStanding) -> None:
        await each.check()
        if not each.faults:
            self._is_fit.set()

    async def _candidates(self) -> list[NodeStanding]:
        """Whom to ask, in which order; those that are out come last, but they come.

        Raises:
            RpcUnavailable: nobody may be asked; nothing has left.
        """
        if not self._is_fit.is_set():
            await self._until_fit()
        standing = [(each.state, each) for each in self._standings if not each.faults]
        able = [(state, each) for state, each in standing if state < BreakerState.FORBIDDEN]
        if not able:
            raise self._unavailable("each asked for a pause")
        return [each for _, each in sorted(able, key=lambda pair: pair[0])]

    async def _until_fit(self) -> None:
        """The start check has some time before the first calls fail."""
        try:
            async with asyncio.timeout(max(0.0, self._wait_until - self._clock.monotonic())):
                await self._is_fit.wait()
        except TimeoutError:
            raise self._unavailable("none is known to be fit") from None

    def _unavailable(self, why: str, *, certainly_not_sent: bool = True) -> RpcUnavailable:
        text = f"the nodes of {self._network} were not asked: {why}"
        return RpcUnavailable(self._network, text, certainly_not_sent=certainly_not_sent)

    async def _read(
        self,
        call: Callable[[SorobanRpc], Awaitable[T]],
        ledger_of: Callable[[T], int | None],
        *,
        takes_old: bool,
        shows: bool = True,
    ) -> T:
        """The first answer that is about now; an old one where there is none and it may be old.

        `shows`: its ledger tells how far the network is.
        """
        newest = self._mark.newest(self._clock.monotonic())
        outage: RpcUnavailable | None = None
        old: list[T] = []
        for each in await self._candidates():
            try:
                answer = await call(each.node)
            except RpcUnavailable as missed:
                each.failed(missed)
                outage = missed
                continue
            ledger = ledger_of(answer)
            if each.answered(ledger, newest):
                if ledger is not None and shows:
                    self._mark.report(ledger, self._clock.monotonic())
                return answer
            old.append(answer)
        if old and takes_old:
            return old[0]
        raise outage or self._unavailable("it is behind", certainly_not_sent=False)

    async def send(self, envelope: str) -> SendAnswer:
        """Hand the signed base64 `envelope` to the network: once to each node until one has it.

        A node that is behind may queue it and never pass it on, so the next one gets it as well.
        """
        newest = self._mark.newest(self._clock.monotonic())
        may_be_out = False
        words = ""
        behind: SendAnswer | None = None
        for each in await self._candidates():
            try:
                answer = await each.node.send(envelope)
            except RpcUnavailable as missed:
                each.failed(missed)
                may_be_out = may_be_out or not missed.certainly_not_sent
                words = missed.message
                continue
            if each.answered(answer.latest_ledger, newest):
                if behind is None or _is_queued(answer) or not _is_queued(behind):
                    return replace(answer, may_be_out=may_be_out)
                return replace(behind, may_be_out=may_be_out)  # one of them has it
            if behind is None or not _is_queued(behind):
                behind = answer  # what a node that is behind refuses, another may take
        if behind is not None:
            return replace(behind, may_be_out=may_be_out)
        raise RpcUnavailable(self._network, words, certainly_not_sent=not may_be_out)

    async def simulate(self, envelope: str) -> RawSimulation:
        """Run the base64 `envelope` without effect; how old an answer may be is the caller's."""
        return await self._read(
            lambda node: node.simulate(envelope), _ledger_of_simulation, takes_old=True, shows=False
        )

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        """Look for a transaction; an absence says itself as of which ledgers."""
        return await self._read(
            lambda node: node.get_transaction(tx_hash),
            lambda answer: (
                answer.latest_ledger if isinstance(answer, TransactionNotFound) else None
            ),
            takes_old=True,
        )

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        """A page of what landed from `from_ledger` on, or after `cursor` where one is given."""
        return await self._read(
            lambda node: node.transactions(
                wanted, from_ledger=from_ledger, cursor=cursor, limit=limit
            ),
            lambda page: page.absence.latest_ledger,
            takes_old=True,
        )

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        """The first `limit` transactions that say they made such a transfer."""
        return await self._read(
            lambda node: node.transfers(window, limit=limit),
            lambda found: found.latest_ledger,
            takes_old=True,
        )

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        """The envelope of a transaction that succeeded."""
        return await self._read(
            lambda node: node.landed_envelope(tx_hash), _no_ledger, takes_old=True
        )

    async def latest_ledger(self) -> LatestLedger:
        """The newest ledger a node has applied."""
        return await self._read(
            lambda node: node.latest_ledger(), lambda latest: latest.sequence, takes_old=True
        )

    async def fee_stats(self) -> FeeStats:
        """What contract calls paid lately to be included."""
        return await self._read(
            lambda node: node.fee_stats(), lambda stats: stats.latest_ledger, takes_old=True
        )

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries under `keys` (XDR of ledger keys, 200 at most)."""
        return await self._read(
            lambda node: node.ledger_entries(keys),
            lambda found: found.latest_ledger,
            takes_old=False,
        )

    async def account(self, address: Address) -> AccountState | None:
        """The account as of a newest ledger; None when it does not exist."""
        return await self._read(
            lambda node: node.account(address),
            lambda state: None if state is None else state.as_of_ledger,
            takes_old=False,
        )

    async def account_sequence(self, address: Address) -> int | None:
        """The last sequence number the account used; None when it does not exist."""
        state = await self.account(address)
        return None if state is None else state.sequence

    async def health(self) -> NodeHealth:
        """What a node remembers that serves now."""
        return await self._read(
            lambda node: node.health(), lambda health: health.latest_ledger, takes_old=True
        )

    async def network(self) -> NodeNetwork:
        """The network a node follows that serves now, by its own word."""
        return await self._read(lambda node: node.network(), _no_ledger, takes_old=True)

    async def version(self) -> NodeVersion:
        """The software of a node that serves now."""
        return await self._read(lambda node: node.version(), _no_ledger, takes_old=True)

    async def gives_events(self, *, from_ledger: int) -> bool | None:
        """Whether transactions come with their events; None when there is none to look at."""
        return await self._read(
            lambda node: node.gives_events(from_ledger=from_ledger), _no_ledger, takes_old=True
        )


def _is_queued(answer: SendAnswer) -> bool:
    """Whether the node has the envelope in its queue."""
    return answer.status in (SendStatus.PENDING, SendStatus.DUPLICATE)


def _ledger_of_simulation(answer: RawSimulation) -> int | None:
    latest = answer.result.get("latestLedger")
    return latest if type(latest) is int else None


def _no_ledger(answer: object) -> None:
    del answer
