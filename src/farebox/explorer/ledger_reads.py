"""Reads of one network for callers without a credential: a bounded number at once."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LedgerEntry, RawSimulation
from farebox.stellar.soroban_rpc import SorobanRpc


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of one network's reads: how many at once, and how long they may take."""

    entries: int = 8  # of the connections to a node, which settlements share
    simulations: int = 2  # each runs a stranger's code
    slot_wait_s: float = 2.0
    deadline_s: float = 10.0  # of all reads of one request


DEFAULT_LIMITS: Final = ReadLimits()


class ReadUnavailable(Outage):
    """The network cannot be read now; nothing follows about what was asked for."""

    def __init__(self, network: Network, why: str) -> None:
        super().__init__(network.value, f"{network} cannot be read now: {why}")


@dataclass(frozen=True, slots=True)
class FoundEntries:
    """Ledger entries by their keys, as of `latest_ledger`; a key that is absent has none."""

    entries: Mapping[bytes, LedgerEntry]
    latest_ledger: int

    def data(self, key: bytes) -> bytes | None:
        """The entry under a key (XDR); None where there is none."""
        entry = self.entries.get(key)
        return None if entry is None else entry.data

    def is_archived(self, key: bytes) -> bool:
        """Whether the entry under a key has to be restored before a transaction can use it."""
        entry = self.entries.get(key)
        live_until = None if entry is None else entry.live_until_ledger
        return live_until is not None and live_until < self.latest_ledger


class LedgerReads:
    """Reads ledger entries and simulates calls; those over the limits wait for a slot."""

    def __init__(
        self, network: Network, node: SorobanRpc, limits: ReadLimits = DEFAULT_LIMITS
    ) -> None:
        self._network, self._node, self._limits = network, node, limits
        self._entry_slots = asyncio.Semaphore(limits.entries)
        self._simulation_slots = asyncio.Semaphore(limits.simulations)

    @asynccontextmanager
    async def within_deadline(self) -> AsyncIterator[None]:
        """Bound the time of the reads of one request.

        Raises:
            ReadUnavailable: they took too long together.
        """
        try:
            async with asyncio.timeout(self._limits.deadline_s):
                yield
        except TimeoutError:
            raise ReadUnavailable(self._network, "it took too long") from None

    async def entries(self, keys: Collection[bytes]) -> FoundEntries:
        """Read the entries under some keys, 200 at most.

        Raises:
            Outage: the node gives no current response, or too many reads are under way.
        """
        async with self._slot(self._entry_slots):
            found = await self._node.ledger_entries(tuple(keys))
        return FoundEntries({entry.key: entry for entry in found.entries}, found.latest_ledger)

    async def simulate(self, envelope: str) -> RawSimulation:
        """Simulate a base64 envelope; raises as `entries`."""
        async with self._slot(self._simulation_slots):
            return await self._node.simulate(envelope)

    def unreadable(self, what: str) -> ReadUnavailable:
        """The outage of a response in a form that is not known."""
        return ReadUnavailable(self._network, f"{what} has a form that is not known")

    @asynccontextmanager
    async def _slot(self, slots: asyncio.Semaphore) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._limits.slot_wait_s):
                await slots.acquire()
        except TimeoutError:
            raise ReadUnavailable(self._network, "too many reads are under way") from None
        try:
            yield
        finally:
            slots.release()
