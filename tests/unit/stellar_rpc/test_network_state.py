"""Fees and settings kept fresh."""

from collections.abc import Sequence

import pytest

from farebox.kernel.networks import Network
from farebox.stellar.network_settings import setting_keys
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc import (
    FeeStats,
    InclusionFees,
    LedgerEntries,
    LedgerEntry,
    RpcUnavailable,
)
from support.manual_clock import ManualClock

_SIZES = {1: 28, 2: 84, 3: 8, 4: 12, 5: 16, 11: 4, 14: 4, 15: 12, 16: 20}


def settings(*, filler: int) -> dict[bytes, bytes]:
    """Every setting with each byte pair the same: only equal or different matters here."""
    return {key: key + bytes([0, filler]) * (_SIZES[key[-1]] // 2) for key in setting_keys()}


class OverNow(Exception):
    """Ends a background task from inside."""


class Node:
    def __init__(self) -> None:
        self.told = settings(filler=1)
        self.is_away = False
        self.fails_settings = False
        self.settings_asked = 0

    async def fee_stats(self) -> FeeStats:
        self._answer()
        return FeeStats(InclusionFees(1, 2, 3, 4, 5, 6, 7, 8, 9), latest_ledger=10)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self._answer()
        self.settings_asked += 1
        if self.fails_settings:
            raise RpcUnavailable(Network.PUBNET, "away", certainly_not_sent=True)
        found = tuple(LedgerEntry(key, self.told[key], None) for key in keys if key in self.told)
        return LedgerEntries(found, latest_ledger=10)

    def _answer(self) -> None:
        if self.is_away:
            raise RpcUnavailable(Network.PUBNET, "away", certainly_not_sent=True)


def state_on(node: Node) -> tuple[NetworkState, ManualClock]:
    time = ManualClock()
    return NetworkState(Network.PUBNET, node, time), time


async def test_nothing_is_known_until_the_node_answers() -> None:
    node = Node()
    state, _ = state_on(node)
    node.is_away = True
    await state.refresh()
    assert (state.fees, state.settings, state.settings_are_understood) == (None, None, True)
    node.is_away = False
    await state.refresh()
    assert state.fees is not None
    assert state.settings is not None


async def test_settings_are_asked_for_seldom_and_a_vote_is_seen() -> None:
    node = Node()
    state, time = state_on(node)
    for _ in range(3):
        await state.refresh()
        time.turn(9)
    before = state.settings
    node.told = settings(filler=2)
    time.turn(3)
    await state.refresh()
    assert node.settings_asked == 2
    assert state.settings is not None
    assert state.settings != before


async def test_an_outage_leaves_the_last_good_values() -> None:
    node = Node()
    state, time = state_on(node)
    await state.refresh()
    known = (state.fees, state.settings)
    node.is_away = True
    time.turn(1_000)
    await state.refresh()
    assert (state.fees, state.settings) == known


async def test_settings_of_an_unknown_form_are_reported_and_the_last_good_ones_stay() -> None:
    node = Node()
    state, time = state_on(node)
    await state.refresh()
    known = state.settings
    node.told = {key: data + bytes(4) for key, data in node.told.items()}
    time.turn(301)
    await state.refresh()
    assert (state.settings, state.settings_are_understood) == (known, False)
    node.told = settings(filler=3)
    time.turn(301)
    await state.refresh()
    assert state.settings_are_understood
    assert state.settings != known


async def test_the_task_asks_again_and_again_and_ends_only_by_a_bug() -> None:
    node = Node()
    state, time = state_on(node)
    asked = node.fee_stats

    async def fee_stats() -> FeeStats:
        if len(time.slept) == 30:
            raise OverNow
        return await asked()

    node.fee_stats = fee_stats  # type: ignore[method-assign] # the script of this one test
    with pytest.raises(OverNow):
        await state.run()
    assert (len(time.slept), time.monotonic()) == (30, 30)
    assert node.settings_asked == 1


async def test_a_suspicion_reads_the_settings_again_within_a_second() -> None:
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


async def test_settings_never_understood_leave_none() -> None:
    node = Node()
    node.told = {}
    state, time = state_on(node)
    for _ in range(2):
        await state.refresh()
        time.turn(301)
    assert (state.settings, state.settings_are_understood) == (None, False)
    assert state.fees is not None


async def test_settings_that_did_not_change_stay_as_they_are() -> None:
    node = Node()
    state, time = state_on(node)
    await state.refresh()
    known = state.settings
    time.turn(301)
    await state.refresh()
    assert state.settings == known
    assert node.settings_asked == 2


async def test_a_doubt_about_the_settings_outlives_an_outage() -> None:
    node = Node()
    state, _ = state_on(node)
    await state.refresh()
    state.suspect()
    node.fails_settings = True
    await state.refresh()
    node.fails_settings = False
    await state.refresh()
    assert node.settings_asked == 3, "asked, failed while in doubt, asked again"
