"""A node and its fallback: who is asked, and what is believed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from farebox.kernel.addresses import Address, account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.rpc import (
    AccountState,
    FeeStats,
    InclusionFees,
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
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
    TransfersFound,
    TransferWindow,
)
from farebox.stellar.rpc_nodes import RpcNodes
from support.manual_clock import START, ManualClock

HASH = "ab" * 32
SOMEBODY = account_address(bytes(32))
Outage = Callable[[], RpcUnavailable]


def outage(
    *, unsent: bool = False, code: int | None = None, pause: float | None = None
) -> RpcUnavailable:
    return RpcUnavailable(
        Network.TESTNET, "away", certainly_not_sent=unsent, code=code, retry_after_s=pause
    )


@dataclass
class Node:
    """Answers as of `ledger`, or not at all."""

    ledger: int = 100
    fault: RpcUnavailable | None = None
    passphrase: str = Network.TESTNET.passphrase
    sends: SendStatus = SendStatus.PENDING
    asked: list[str] = field(default_factory=list)
    envelopes: list[str] = field(default_factory=list)
    is_closed: bool = False

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.fault is not None:
            raise self.fault

    async def close(self) -> None:
        self.is_closed = True

    async def simulate(self, envelope: str) -> RawSimulation:
        self._ask("simulate")
        return RawSimulation({"latestLedger": self.ledger}, 10)

    async def send(self, envelope: str) -> SendAnswer:
        self.envelopes.append(envelope)
        self._ask("send")
        return SendAnswer(self.sends, HASH, self.ledger)

    def _absence(self) -> TransactionNotFound:
        return TransactionNotFound(self.ledger, START, 1, START)

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        self._ask("get_transaction")
        return self._absence()

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        self._ask("transactions")
        return TransactionsPage((), 0, cursor, self._absence())

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        self._ask("transfers")
        return TransfersFound(("ab" * 32,)[:limit], self.ledger)

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        self._ask("landed_envelope")
        return LandedEnvelope(bytes.fromhex(tx_hash))

    async def latest_ledger(self) -> LatestLedger:
        self._ask("latest_ledger")
        return LatestLedger(self.ledger, START)

    async def fee_stats(self) -> FeeStats:
        self._ask("fee_stats")
        return FeeStats(InclusionFees(1, 2, 3, 4, 5, 6, 7, 8, 9), self.ledger)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self._ask("ledger_entries")
        return LedgerEntries((), self.ledger)

    async def network(self) -> NodeNetwork:
        self._ask("network")
        return NodeNetwork(self.passphrase, 30)

    async def version(self) -> NodeVersion:
        self._ask("version")
        return NodeVersion("30.0.0", 30)

    async def health(self) -> NodeHealth:
        self._ask("health")
        return NodeHealth(self.ledger, START, 1, START)

    async def gives_events(self, *, from_ledger: int) -> bool | None:
        self._ask("gives_events")
        return True

    async def account(self, address: Address) -> AccountState | None:
        self._ask("account")
        return AccountState(6, Stroops(1), self.ledger)

    async def account_sequence(self, address: Address) -> int | None:
        raise AssertionError("asked for the account")


@asynccontextmanager
async def nodes(clock: ManualClock, *given: Node) -> AsyncIterator[RpcNodes]:
    async with RpcNodes(Network.TESTNET, given, clock, relayer=SOMEBODY, wait_s=0) as rpc:
        await rpc.check()
        for each in given:
            each.asked.clear()
        yield rpc
    assert all(each.is_closed for each in given)


CALLS: list[Callable[[RpcNodes], Awaitable[object]]] = [
    lambda rpc: rpc.simulate("AAAA"),
    lambda rpc: rpc.get_transaction(HASH),
    lambda rpc: rpc.transactions(frozenset(), from_ledger=1, limit=100),
    lambda rpc: rpc.latest_ledger(),
    lambda rpc: rpc.fee_stats(),
    lambda rpc: rpc.ledger_entries([]),
    lambda rpc: rpc.account(SOMEBODY),
    lambda rpc: rpc.account_sequence(SOMEBODY),
    lambda rpc: rpc.health(),
    lambda rpc: rpc.network(),
    lambda rpc: rpc.version(),
    lambda rpc: rpc.gives_events(from_ledger=1),
]


@pytest.mark.parametrize("call", CALLS)
async def test_a_read_costs_one_call_and_goes_on_to_the_fallback_at_once(
    clock: ManualClock, call: Callable[[RpcNodes], Awaitable[object]]
) -> None:
    primary, fallback = Node(), Node()
    async with nodes(clock, primary, fallback) as rpc:
        told = await call(rpc)
        assert (len(primary.asked), fallback.asked) == (1, [])
        primary.fault = outage()
        assert await call(rpc) == told
        assert (len(primary.asked), len(fallback.asked)) == (2, 1)
        fallback.fault = outage()
        with pytest.raises(RpcUnavailable):
            await call(rpc)


async def test_after_three_outages_the_primary_is_left_alone_until_it_is_back(
    clock: ManualClock,
) -> None:
    primary, fallback = Node(fault=None), Node()
    async with nodes(clock, primary, fallback) as rpc:
        primary.fault = outage()
        for _ in range(10):
            await rpc.latest_ledger()
        assert (len(primary.asked), len(fallback.asked)) == (3, 10)
        assert list(rpc.warnings) == ["primary_rpc_unavailable"]
        await rpc.look_after()
        assert len(primary.asked) == 3, "its pause is not over"
        clock.turn(2)
        await rpc.look_after()
        assert len(primary.asked) == 4
        primary.fault = None
        clock.turn(4)
        await rpc.look_after()
        assert list(rpc.warnings) == []
        await rpc.latest_ledger()
        assert len(fallback.asked) == 10


async def test_nodes_that_are_all_out_are_asked_all_the_same(clock: ManualClock) -> None:
    primary, fallback = Node(), Node()
    async with nodes(clock, primary, fallback) as rpc:
        primary.fault = fallback.fault = outage()
        for _ in range(5):
            with pytest.raises(RpcUnavailable):
                await rpc.latest_ledger()
        fallback.fault = None
        await rpc.latest_ledger()
        primary.fault, fallback.fault = None, outage()
        await rpc.latest_ledger()


async def test_a_single_node_is_never_left_alone_but_for_the_pause_it_asks_for(
    clock: ManualClock,
) -> None:
    node = Node()
    async with nodes(clock, node) as rpc:
        node.fault = outage()
        for _ in range(10):
            with pytest.raises(RpcUnavailable):
                await rpc.send("AAAA")
        assert len(node.asked) == 10
        assert list(rpc.warnings) == []
        node.fault = outage(pause=5)
        with pytest.raises(RpcUnavailable):
            await rpc.send("AAAA")
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
        assert len(node.asked) == 11
        assert caught.value.certainly_not_sent
        node.fault = None
        clock.turn(5)
        await rpc.latest_ledger()


async def test_what_any_node_would_refuse_says_nothing_of_the_node(clock: ManualClock) -> None:
    primary, fallback = Node(), Node()
    async with nodes(clock, primary, fallback) as rpc:
        primary.fault = fallback.fault = outage(code=-32602)
        for _ in range(5):
            with pytest.raises(RpcUnavailable):
                await rpc.simulate("AAAA")
        assert list(rpc.warnings) == []


@pytest.mark.parametrize(
    ("first", "second", "is_unsent"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
async def test_an_envelope_was_certainly_not_sent_only_if_no_node_can_have_it(
    clock: ManualClock, *, first: bool, second: bool, is_unsent: bool
) -> None:
    primary, fallback = Node(), Node()
    async with nodes(clock, primary, fallback) as rpc:
        primary.fault, fallback.fault = outage(unsent=first), outage(unsent=second)
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
    assert caught.value.certainly_not_sent is is_unsent
    assert primary.envelopes == fallback.envelopes == ["AAAA"]


@pytest.mark.parametrize("is_unsent", [True, False])
@pytest.mark.parametrize("status", list(SendStatus))
async def test_an_answer_to_an_envelope_tells_whether_another_node_may_have_it(
    clock: ManualClock, status: SendStatus, *, is_unsent: bool
) -> None:
    primary, fallback = Node(), Node(sends=status)
    async with nodes(clock, primary, fallback) as rpc:
        primary.fault = outage(unsent=is_unsent)
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.may_be_out) == (status, not is_unsent)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (SendStatus.PENDING, SendStatus.PENDING),
        (SendStatus.DUPLICATE, SendStatus.DUPLICATE),
        (SendStatus.ERROR, SendStatus.PENDING),
        (SendStatus.TRY_AGAIN_LATER, SendStatus.PENDING),
    ],
)
async def test_what_a_node_behind_the_others_took_goes_to_the_next_one_as_well(
    clock: ManualClock, second: SendStatus, told: SendStatus
) -> None:
    primary, fallback = Node(), Node(sends=second)
    async with nodes(clock, primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger -= 10
        assert (await rpc.send("AAAA")).status is told
    assert primary.envelopes == fallback.envelopes == ["AAAA"]


async def test_what_only_a_node_behind_the_others_answers_stands(clock: ManualClock) -> None:
    primary, fallback = Node(), Node()
    async with nodes(clock, primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger -= 10
        fallback.fault = outage(unsent=False)
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.may_be_out) == (SendStatus.PENDING, True)


async def test_an_envelope_goes_to_one_node_while_that_one_answers(clock: ManualClock) -> None:
    primary, fallback = Node(sends=SendStatus.ERROR), Node()
    async with nodes(clock, primary, fallback) as rpc:
        assert (await rpc.send("AAAA")).status is SendStatus.ERROR
    assert fallback.envelopes == []


@pytest.mark.parametrize(
    ("lag", "goes_on"), [(0, False), (3, False), (4, True)], ids=["now", "within", "beyond"]
)
async def test_an_old_answer_is_asked_for_again_elsewhere(
    clock: ManualClock, lag: int, *, goes_on: bool
) -> None:
    primary, fallback = Node(), Node()
    async with nodes(clock, primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger -= lag
        state = await rpc.account(SOMEBODY)
        assert state is not None
        assert (state.as_of_ledger == 100) is (goes_on or lag == 0)
        assert rpc.warnings == (("primary_rpc_behind",) if goes_on else ())


async def test_where_nobody_has_a_newer_answer_history_may_be_old_and_balances_may_not(
    clock: ManualClock,
) -> None:
    node = Node()
    async with nodes(clock, node) as rpc:
        await rpc.latest_ledger()
        node.ledger = 90
        assert isinstance(await rpc.get_transaction(HASH), TransactionNotFound)
        assert (await rpc.transactions(frozenset(), from_ledger=1, limit=1)).listed == 0
        assert (await rpc.simulate("AAAA")).result["latestLedger"] == 90
        for call in (rpc.account(SOMEBODY), rpc.ledger_entries([])):
            with pytest.raises(RpcUnavailable):
                await call
        clock.turn(31)  # nobody has shown ledger 100 for so long: the network was set back
        assert await rpc.account_sequence(SOMEBODY) == 6


async def test_a_simulations_ledger_does_not_say_how_far_the_network_is(
    clock: ManualClock,
) -> None:
    node = Node()
    async with nodes(clock, node) as rpc:
        node.ledger = 10**9
        await rpc.simulate("AAAA")
        node.ledger = 100
        assert await rpc.account(SOMEBODY) is not None


async def test_what_a_node_that_is_behind_refuses_is_offered_to_the_other(
    clock: ManualClock,
) -> None:
    primary, fallback = Node(sends=SendStatus.ERROR), Node()
    async with nodes(clock, primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger = 90
        answer = await rpc.send("AAAA")
        assert (answer.status, answer.may_be_out) == (SendStatus.PENDING, False)
        fallback.fault = outage()
        answer = await rpc.send("AAAA")
        assert (answer.status, answer.may_be_out) == (SendStatus.ERROR, True)


async def test_a_node_is_used_only_after_its_start_check(clock: ManualClock) -> None:
    primary, fallback = Node(), Node(passphrase=Network.PUBNET.passphrase)
    async with nodes(clock, primary, fallback) as rpc:
        assert rpc.faults == ()
        assert list(rpc.warnings) == ["fallback_wrong_network"]
        primary.fault = outage()
        for _ in range(5):
            with pytest.raises(RpcUnavailable):
                await rpc.latest_ledger()
        assert fallback.asked == []
        fallback.passphrase = Network.TESTNET.passphrase
        await rpc.check()
        await rpc.latest_ledger()
        assert fallback.asked[-1] == "latest_ledger"


async def test_without_a_fit_node_nothing_leaves_and_each_fault_is_told(
    clock: ManualClock,
) -> None:
    primary, fallback = Node(passphrase="another"), Node(fault=outage())
    async with nodes(clock, primary, fallback) as rpc:
        assert rpc.faults == ("wrong_network", "rpc_unavailable")
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
        assert caught.value.certainly_not_sent
    assert primary.envelopes == fallback.envelopes == []


async def test_calls_at_the_start_wait_for_the_check(clock: ManualClock) -> None:
    async with RpcNodes(Network.TESTNET, [Node()], clock, relayer=SOMEBODY, wait_s=5) as rpc:
        asked = asyncio.create_task(rpc.latest_ledger())
        await asyncio.sleep(0)
        assert not asked.done()
        await rpc.check()
        assert (await asked).sequence == 100


async def test_a_fallback_nobody_asks_is_asked_how_it_is(clock: ManualClock) -> None:
    primary, fallback = Node(), Node()
    async with nodes(clock, primary, fallback) as rpc:
        fallback.fault = outage()
        for _ in range(20):
            clock.turn(2)
            await rpc.latest_ledger()
            await rpc.look_after()
        assert list(rpc.warnings) == ["fallback_rpc_unavailable"]
        assert primary.asked == ["latest_ledger"] * 20
        assert len(fallback.asked) < 10
