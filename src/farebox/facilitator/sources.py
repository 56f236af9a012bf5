"""Who may sign next: the relayer alone, one at a time, or a pool of channels it pays for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import structlog

from farebox.facilitator import channel_store
from farebox.facilitator.channels import Lease, channel_signer
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.signers import Relayer
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_LOOK_AGAIN_S: Final = 0.2  # for a channel that another replica gave back

log = structlog.get_logger(__name__)


class NoSourceFree(Exception):
    """Every source account was taken for as long as was waited."""


class SourcePool:
    """Leases a channel; or the relayer itself where a network has no channels.

    Waiters are served in the order they came. A channel whose last envelope is unresolved is not
    leased to anybody, in this process or another.
    """

    def __init__(
        self,
        network: Network,
        relayer: Relayer,
        database: Database,
        clock: Clock,
        *,
        lease_s: float,
    ) -> None:
        self._network, self._relayer = network, relayer
        self._database, self._clock, self._lease_s = database, clock, lease_s
        self._queue = asyncio.Lock()  # the first in it looks for a channel, the rest wait
        self._relayers_turn = asyncio.Lock()
        self._given_back = asyncio.Event()
        self._has_channels = False

    @asynccontextmanager
    async def source(self, *, wait_s: float) -> AsyncIterator["HeldSource"]:
        """A source account for the length of the block.

        Raises:
            NoSourceFree: none was free for `wait_s` seconds.
            DatabaseUnavailable: the leases cannot be read now.
        """
        until = self._clock.monotonic() + wait_s
        lease = await self._lease(until)
        if lease is None:
            async with self._turn(until):
                yield HeldSource(Lease(self._relayer, 0, None), is_relayer=True)
            return
        held = HeldSource(lease, is_relayer=False)
        try:
            yield held
        finally:
            await self._give_back(held)

    async def _lease(self, until: float) -> Lease | None:
        """A channel; None where the network has none."""
        try:
            async with asyncio.timeout(max(0.0, until - self._clock.monotonic())):
                await self._queue.acquire()
        except TimeoutError as error:
            raise NoSourceFree from error
        try:
            while True:
                self._given_back.clear()
                async with self._database.connection() as db:
                    now = self._clock.now()
                    row = await channel_store.lease_channel(
                        db, self._network, now=now, until=now + timedelta(seconds=self._lease_s)
                    )
                    if row is not None:
                        signer = channel_signer(self._relayer, self._network, row.derivation_index)
                        return Lease(signer, row.epoch, row.used_sequence)
                    if not await channel_store.count_active(db, self._network):
                        return None
                await self._wait(until)
        finally:
            self._queue.release()

    async def _wait(self, until: float) -> None:
        left_s = until - self._clock.monotonic()
        if left_s <= 0:
            raise NoSourceFree
        try:
            async with asyncio.timeout(min(left_s, _LOOK_AGAIN_S)):
                await self._given_back.wait()
        except TimeoutError:
            return

    @asynccontextmanager
    async def _turn(self, until: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(max(0.0, until - self._clock.monotonic())):
                await self._relayers_turn.acquire()
        except TimeoutError as error:
            raise NoSourceFree from error
        try:
            yield
        finally:
            self._relayers_turn.release()

    async def _give_back(self, held: "HeldSource") -> None:
        """The channel is free; where that cannot be written its lease ends by itself.

        Raises nothing: what became of the payment is known by now and must not be lost over it.
        """
        lease = held.lease
        try:
            async with self._database.connection() as db:
                await channel_store.release_lease(
                    db,
                    self._network,
                    lease.source.address,
                    lease.epoch,
                    used_sequence=held.used_sequence,
                )
        except DatabaseUnavailable:
            log.warning("channel.not_given_back", channel=lease.source.address)
        self._given_back.set()


class HeldSource:
    """A leased source, and what its holder learnt about its sequence number."""

    def __init__(self, lease: Lease, *, is_relayer: bool) -> None:
        self.lease, self.is_relayer = lease, is_relayer
        self.used_sequence = lease.used_sequence

    def landed(self, sequence: int) -> None:
        """The number is used up, whether its transaction succeeded or not."""
        self.used_sequence = sequence

    def forget(self) -> None:
        """The number is read from the ledger before it is used again."""
        self.used_sequence = None
