"""The network state: fee statistics and settings, refreshed in the background."""

from collections.abc import Sequence

import pytest

from farebox.kernel.networks import Network
from farebox.stellar.network_settings import setting_keys
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc import FeeStats, LedgerEntries, LedgerEntry, NodeNetwork, RpcUnavailable
from support.fake_rpc import FakeRpc
from support.manual_clock import ManualClock

_SIZES = {1: 28, 2: 84, 3: 8, 4: 12, 5: 16, 11: 4, 14: 4, 15: 12, 16: 20}


def settings(*, filler: int) -> dict[bytes, bytes]:
    """Every setting with each byte pair the same: only equal or different matters here."""
    return {key: key + bytes([0, filler]) * (_SIZES[key[-1]] // 2) for key in setting_keys()}


class OverNow(Exception):
    """Ends a background task from inside."""


class Node(FakeRpc):
    def __init__(self) -> None:
        self.settings = settings(filler=1)
        self.is_away = False
        self.fails_settings = False
        self.settings_reads = 0
        self.protocol_version = 29

    async def fee_stats(self) -> FeeStats:
        self._answer()
        return FeeStats(p99=7, maximum=2, latest_ledger=10)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self._answer()
        self.settings_reads += 1
        if self.fails_settings:
            raise RpcUnavailable(Network.PUBNET, "away", certainly_not_sent=True)
        found = tuple(
            LedgerEntry(key, self.settings[key], None) for key in keys if key in self.settings
        )
        return LedgerEntries(found, latest_ledger=10)

    async def network(self) -> NodeNetwork:
        self._answer()
        return NodeNetwork(Network.PUBNET.passphrase, self.protocol_version)

    def _answer(self) -> None:
        if self.is_away:
            raise RpcUnavailable(Network.PUBNET, "away", certainly_not_sent=True)


def state_on(node: Node) -> tuple[NetworkState, ManualClock]:
    time = ManualClock()
    return NetworkState(Network.PUBNET, node, time), time


async def test_network_state_is_unknown_until_the_node_responds() -> None:
    node = Node()
    state, _ = state_on(node)
    node.is_away = True
    await state.refresh()
    assert (state.fees, state.settings, state.settings_are_understood) == (None, None, True)
    node.is_away = False
    await state.refresh()
    assert state.fees is not None
    assert state.settings is not None


async def test_settings_are_read_at_their_interval_and_a_change_is_seen() -> None:
    node = Node()
    state, time = state_on(node)
    for _ in range(3):
        await state.refresh()
        time.turn(9)
    before = state.settings
    node.settings = settings(filler=2)
    time.turn(3)
    await state.refresh()
    assert node.settings_reads == 2
    assert state.settings is not None
    assert state.settings != before


async def test_protocol_is_read_with_the_settings_and_an_upgrade_is_seen() -> None:
    node = Node()
    state, time = state_on(node)
    seen = [state.protocol_version]
    for turned_s, protocol in ((0, 29), (29, 30), (1, 30)):
        time.turn(turned_s)
        node.protocol_version = protocol
        await state.refresh()
        seen.append(state.protocol_version)
    assert seen == [None, 29, 29, 30]


async def test_network_state_keeps_the_last_values_through_an_outage() -> None:
    node = Node()
    state, time = state_on(node)
    await state.refresh()
    known = (state.fees, state.settings, state.protocol_version)
    node.is_away = True
    time.turn(1_000)
    await state.refresh()
    assert (state.fees, state.settings, state.protocol_version) == known


async def test_network_state_keeps_the_last_settings_when_new_ones_are_not_understood() -> None:
    node = Node()
    state, time = state_on(node)
    await state.refresh()
    known = state.settings
    node.settings = {key: data + bytes(4) for key, data in node.settings.items()}
    time.turn(301)
    await state.refresh()
    assert (state.settings, state.settings_are_understood) == (known, False)
    node.settings = settings(filler=3)
    time.turn(301)
    await state.refresh()
    assert state.settings_are_understood
    assert state.settings != known


async def test_network_state_refreshes_until_a_bug_ends_it() -> None:
    node = Node()
    state, time = state_on(node)
    read_fee_stats = node.fee_stats

    async def fee_stats() -> FeeStats:
        if len(time.slept) == 30:
            raise OverNow
        return await read_fee_stats()

    node.fee_stats = fee_stats  # type: ignore[method-assign] # the script of this one test
    with pytest.raises(OverNow):
        await state.run()
    assert (len(time.slept), time.monotonic()) == (30, 30)
    assert node.settings_reads == 1


async def test_suspected_settings_are_read_again_within_a_second() -> None:
    node = Node()
    state, time = state_on(node)
    read_at: list[float] = []
    sleep, ledger_entries = time.sleep, node.ledger_entries

    async def suspecting_sleep(seconds: float) -> None:
        await sleep(seconds)
        if time.monotonic() == 4:
            state.suspect()

    async def entries(keys: Sequence[bytes]) -> LedgerEntries:
        read_at.append(time.monotonic())
        if len(read_at) == 3:
            raise OverNow
        return await ledger_entries(keys)

    time.sleep = suspecting_sleep  # type: ignore[method-assign] # the script of this one test
    node.ledger_entries = entries  # type: ignore[method-assign] # likewise
    with pytest.raises(OverNow):
        await state.run()
    assert read_at == [0, 4, 34]


async def test_settings_are_none_when_never_understood() -> None:
    node = Node()
    node.settings = {}
    state, time = state_on(node)
    for _ in range(2):
        await state.refresh()
        time.turn(301)
    assert (state.settings, state.settings_are_understood) == (None, False)
    assert state.fees is not None


async def test_unchanged_settings_are_kept() -> None:
    node = Node()
    state, time = state_on(node)
    await state.refresh()
    known = state.settings
    time.turn(301)
    await state.refresh()
    assert state.settings == known
    assert node.settings_reads == 2


async def test_suspected_settings_are_read_again_after_an_outage() -> None:
    node = Node()
    state, _ = state_on(node)
    await state.refresh()
    state.suspect()
    node.fails_settings = True
    await state.refresh()
    node.fails_settings = False
    await state.refresh()
    assert node.settings_reads == 3, "read, failed while suspected, read again"
