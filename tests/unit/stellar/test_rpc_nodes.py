"""A node and its fallback: selection, failover, breakers and stale responses."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from farebox.kernel.networks import Network
from farebox.stellar.rpc import RpcUnavailable, TransactionNotFound, TransferWindow
from farebox.stellar.rpc_nodes import RpcNodes
from support.manual_clock import ManualClock
from support.rpc_nodes import ACCOUNT, HASH, Node, nodes, outage

Outage = Callable[[], RpcUnavailable]
WINDOW = TransferWindow(ACCOUNT, ACCOUNT, ACCOUNT, 1, 2)
CALLS: list[Callable[[RpcNodes], Awaitable[object]]] = [
    lambda rpc: rpc.simulate("AAAA"),
    lambda rpc: rpc.get_transaction(HASH),
    lambda rpc: rpc.landed_envelope(HASH),
    lambda rpc: rpc.transactions(frozenset(), from_ledger=1, limit=100),
    lambda rpc: rpc.transfers(WINDOW, limit=1),
    lambda rpc: rpc.latest_ledger(),
    lambda rpc: rpc.fee_stats(),
    lambda rpc: rpc.ledger_entries([]),
    lambda rpc: rpc.account(ACCOUNT),
    lambda rpc: rpc.account_sequence(ACCOUNT),
    lambda rpc: rpc.health(),
    lambda rpc: rpc.network(),
    lambda rpc: rpc.version(),
    lambda rpc: rpc.gives_events(from_ledger=1),
]


@pytest.mark.parametrize("call", CALLS)
async def test_read_costs_one_call_and_fails_over_at_once(
    call: Callable[[RpcNodes], Awaitable[object]],
) -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        result = await call(rpc)
        assert (len(primary.calls), fallback.calls) == (1, [])
        primary.fault = outage()
        assert await call(rpc) == result
        assert (len(primary.calls), len(fallback.calls)) == (2, 1)
        fallback.fault = outage()
        with pytest.raises(RpcUnavailable):
            await call(rpc)


async def test_health_reads_close_times_from_a_transaction_when_the_node_omits_them() -> None:
    primary, fallback = Node(has_close_times=False), Node()
    async with nodes(primary, fallback) as rpc:
        dated = await rpc.health()
        assert await rpc.health() == dated
        assert (await rpc.latest_ledger()).close_at == dated.latest_close_at
        assert primary.calls == ["getHealth", "getTransaction", "getHealth", "getHealth"]
        primary.ledger += 1
        assert (await rpc.health()).latest_ledger == 101
        assert primary.calls[-2:] == ["getHealth", "getTransaction"]
        primary.fault = outage()
        assert (await rpc.health()).latest_ledger == 100
    assert fallback.calls == ["getHealth"]


async def test_primary_is_not_called_after_three_outages_until_a_probe_succeeds(
    clock: ManualClock,
) -> None:
    primary, fallback = Node(fault=None), Node()
    async with nodes(primary, fallback, clock=clock) as rpc:
        primary.fault = outage()
        for _ in range(10):
            await rpc.latest_ledger()
        assert (len(primary.calls), len(fallback.calls)) == (3, 10)
        assert list(rpc.warnings) == ["primary_rpc_unavailable"]
        await rpc.probe()
        assert len(primary.calls) == 3, "its pause is not over"
        clock.turn(2)
        await rpc.probe()
        assert len(primary.calls) == 4
        primary.fault = None
        clock.turn(4)
        await rpc.probe()
        assert list(rpc.warnings) == []
        await rpc.latest_ledger()
        assert len(fallback.calls) == 10


async def test_nodes_are_called_all_the_same_when_every_breaker_is_open() -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        primary.fault = fallback.fault = outage()
        for _ in range(5):
            with pytest.raises(RpcUnavailable):
                await rpc.latest_ledger()
        fallback.fault = None
        await rpc.latest_ledger()
        primary.fault, fallback.fault = None, outage()
        await rpc.latest_ledger()


async def test_single_node_is_always_called_except_during_its_requested_pause(
    clock: ManualClock,
) -> None:
    node = Node()
    async with nodes(node, clock=clock) as rpc:
        node.fault = outage()
        for _ in range(10):
            with pytest.raises(RpcUnavailable):
                await rpc.send("AAAA")
        assert len(node.calls) == 10
        assert list(rpc.warnings) == []
        node.fault = outage(pause=5)
        with pytest.raises(RpcUnavailable):
            await rpc.send("AAAA")
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
        assert len(node.calls) == 11
        assert caught.value.certainly_not_sent
        node.fault = None
        clock.turn(5)
        await rpc.latest_ledger()


async def test_refusal_of_the_request_opens_no_breaker() -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        primary.fault = fallback.fault = outage(code=-32602)
        for _ in range(5):
            with pytest.raises(RpcUnavailable):
                await rpc.simulate("AAAA")
        assert list(rpc.warnings) == []


async def test_call_refused_by_the_own_limit_opens_no_breaker() -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        primary.fault = fallback.fault = RpcUnavailable(
            Network.TESTNET, "full", certainly_not_sent=True, node_was_called=False
        )
        for _ in range(5):
            with pytest.raises(RpcUnavailable):
                await rpc.get_transaction(HASH)
        assert list(rpc.warnings) == []
        primary.fault = fallback.fault = None
        await rpc.get_transaction(HASH)
        assert primary.calls[-1] == "getTransaction"


@pytest.mark.parametrize(
    ("lag", "fails_over"), [(0, False), (3, False), (4, True)], ids=["now", "within", "beyond"]
)
async def test_stale_response_is_read_again_from_the_fallback(
    lag: int, *, fails_over: bool
) -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger -= lag
        state = await rpc.account(ACCOUNT)
        assert state is not None
        assert (state.as_of_ledger == 100) is (fails_over or lag == 0)
        assert rpc.warnings == (("primary_rpc_behind",) if fails_over else ())


async def test_stale_history_is_accepted_from_the_only_node_and_stale_balances_are_not(
    clock: ManualClock,
) -> None:
    node = Node()
    async with nodes(node, clock=clock) as rpc:
        await rpc.latest_ledger()
        node.ledger = 90
        assert isinstance(await rpc.get_transaction(HASH), TransactionNotFound)
        assert (await rpc.transactions(frozenset(), from_ledger=1, limit=1)).listed == 0
        assert (await rpc.simulate("AAAA")).result["latestLedger"] == 90
        for call in (rpc.account(ACCOUNT), rpc.ledger_entries([])):
            with pytest.raises(RpcUnavailable):
                await call
        clock.turn(31)  # no node reported ledger 100 for so long: the network was set back
        assert await rpc.account_sequence(ACCOUNT) == 6


async def test_node_is_used_only_after_its_start_check() -> None:
    primary, fallback = Node(), Node(passphrase=Network.PUBNET.passphrase)
    async with nodes(primary, fallback) as rpc:
        assert rpc.faults == ()
        assert list(rpc.warnings) == ["fallback_wrong_network"]
        primary.fault = outage()
        for _ in range(5):
            with pytest.raises(RpcUnavailable):
                await rpc.latest_ledger()
        assert fallback.calls == []
        fallback.passphrase = Network.TESTNET.passphrase
        await rpc.check()
        await rpc.latest_ledger()
        assert fallback.calls[-1] == "getHealth"


async def test_calls_at_the_start_wait_for_the_start_check(clock: ManualClock) -> None:
    async with RpcNodes(Network.TESTNET, [Node()], clock, relayer=ACCOUNT, wait_s=5) as rpc:
        calls = asyncio.create_task(rpc.latest_ledger())
        await asyncio.sleep(0)
        assert not calls.done()
        await rpc.check()
        assert (await calls).sequence == 100


async def test_idle_fallback_is_probed(clock: ManualClock) -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback, clock=clock) as rpc:
        fallback.fault = outage()
        for _ in range(20):
            clock.turn(2)
            await rpc.latest_ledger()
            await rpc.probe()
        assert list(rpc.warnings) == ["fallback_rpc_unavailable"]
        assert primary.calls == ["getHealth"] * 20
        assert len(fallback.calls) < 10
