"""Reads for strangers are bounded in number and time."""

import asyncio
from collections.abc import Sequence
from typing import Final

import pytest

from farebox.explorer.ledger_reads import FoundEntries, LedgerReads, ReadLimits, ReadUnavailable
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LedgerEntries, LedgerEntry, RawSimulation, RpcUnavailable
from support.fake_rpc import FakeRpc
from testing.waiting import until

KEY: Final = b"key"
_SHORT: Final = ReadLimits(entries=2, simulations=1, slot_wait_s=0.01, deadline_s=0.05)


class SlowNode(FakeRpc):
    """A node that answers once it is told to."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.running = self.most = 0
        self.fails = False

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """Answer later."""
        await self._wait()
        return LedgerEntries((LedgerEntry(KEY, b"data", None),), 7)

    async def simulate(self, envelope: str) -> RawSimulation:
        """Answer later."""
        await self._wait()
        return RawSimulation({})

    async def _wait(self) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.release.wait()
            if self.fails:
                raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=True)
        finally:
            self.running -= 1


async def test_reads_wait_for_a_slot_and_no_more_run_at_once() -> None:
    node = SlowNode()
    limits = ReadLimits(entries=2, simulations=1, slot_wait_s=20)
    reads = LedgerReads(Network.TESTNET, node, limits)
    running = [asyncio.create_task(reads.entries([KEY])) for _ in range(6)]
    await until(lambda: node.running == 2)
    node.release.set()
    for found in await asyncio.gather(*running):
        assert found.data(KEY) == b"data"
    assert node.most == 2


async def test_simulations_have_slots_of_their_own() -> None:
    node = SlowNode()
    reads = LedgerReads(Network.TESTNET, node, ReadLimits(1, 1, slot_wait_s=20))
    running = [
        asyncio.create_task(reads.entries([KEY])),
        asyncio.create_task(reads.simulate("AAAA")),
    ]
    await until(lambda: node.running == 2)
    node.release.set()
    await asyncio.gather(*running)


async def test_read_without_a_free_slot_in_time_is_an_outage() -> None:
    node = SlowNode()
    reads = LedgerReads(Network.TESTNET, node, _SHORT)
    running = [asyncio.create_task(reads.entries([KEY])) for _ in range(2)]
    await until(lambda: node.running == 2)
    with pytest.raises(ReadUnavailable):
        await reads.entries([KEY])
    node.release.set()
    await asyncio.gather(*running)


async def test_slot_is_free_again_after_an_outage() -> None:
    node = SlowNode()
    node.fails = True
    node.release.set()
    reads = LedgerReads(Network.TESTNET, node, _SHORT)
    for _ in range(5):
        with pytest.raises(RpcUnavailable):
            await reads.simulate("AAAA")
    node.fails = False
    assert (await reads.entries([KEY])).latest_ledger == 7


async def test_reads_of_one_request_end_at_the_deadline() -> None:
    node = SlowNode()
    reads = LedgerReads(Network.TESTNET, node, _SHORT)
    with pytest.raises(ReadUnavailable):
        async with reads.within_deadline():
            await reads.entries([KEY])
    await until(lambda: node.running == 0)


@pytest.mark.parametrize(
    ("live_until", "is_archived"), [(None, False), (7, False), (6, True), (0, True)]
)
def test_entry_is_archived_once_its_last_ledger_has_closed(
    live_until: int | None, *, is_archived: bool
) -> None:
    found = FoundEntries({KEY: LedgerEntry(KEY, b"", live_until)}, 7)
    assert found.is_archived(KEY) is is_archived
    assert not found.is_archived(b"other")
