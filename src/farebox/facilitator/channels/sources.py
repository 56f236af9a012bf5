"""Who may sign next: the relayer alone, one at a time, or a pool of channels it pays for."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

import structlog

from farebox.facilitator.channels import store
from farebox.facilitator.channels.channel import Lease, channel_signer
from farebox.facilitator.channels.ledger_room import LedgerRoom
from farebox.facilitator.channels.source_line import HeldSource, NoSourceFree, Prepare, SourceLine
from farebox.facilitator.channels.store import LeasedRow, Returned
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.signers import Relayer
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_LOOK_AGAIN_S: Final = 0.2  # for a channel that another replica gave back
_LEFT_TO_OTHERS_S: Final = 1.5 * _LOOK_AGAIN_S  # every replica that starves looks within it
PASS_ON_S: Final = 10.0  # how long a lease stays in one process while others may be starving
_SPREAD: Final = 0.5  # leases taken together do not all go back together

log = structlog.get_logger(__name__)


class Room(Protocol):
    """How many settlements one ledger takes."""

    def room(self) -> LedgerRoom | None: ...


class SourcePool:
    """Leases channels; or the relayer itself where a network has no channels.

    Waiters are served in the order they came, as many as are free by one statement. A channel
    whose last envelope is known to have used its number passes straight to the next waiter, who
    may have prepared for it; after `PASS_ON_S` at most it goes back to the pool all the same, so
    that waiters of another replica get it. No more are out together, of all replicas, than one
    ledger has room for: the rest waits here, in its order, and not in the network's queue, which
    drops what waits for long. A lease has to last until an envelope is written down, which then
    protects the channel itself. One whose last envelope is unresolved is not leased
    to anybody, in this process or another.
    """

    def __init__(
        self,
        network: Network,
        relayer: Relayer,
        database: Database,
        clock: Clock,
        *,
        lease_s: float,
        room: Room | None = None,
    ) -> None:
        self._network, self._relayer, self._room = network, relayer, room
        self._database, self._clock, self._lease_s = database, clock, lease_s
        self._line = SourceLine()
        self._look_now = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._returned: list[Returned] = []
        self._returning: asyncio.Task[None] | None = None
        self._relayers_lease: Lease | None = Lease(relayer, 0, None)  # None while it is held
        self._left_to_others: set[Address] = set()
        self._is_closed = False

    @asynccontextmanager
    async def source(
        self, *, wait_s: float, prepare: Prepare | None = None, place: int = 0
    ) -> AsyncIterator[HeldSource]:
        """A source account for the length of the block.

        `prepare` makes an envelope ahead of its turn; `place` is that of a source held before
        which was of no use.

        Raises:
            NoSourceFree: none was free for `wait_s` seconds, though looked for once at least.
            DatabaseUnavailable: the leases cannot be read now.
        """
        held = await self._turn(wait_s, prepare, place)
        try:
            yield held
        finally:
            await self._leave(held)

    def close(self) -> None:
        """Whoever waits, or comes later, gets no source."""
        self._is_closed = True
        self._line.turn_away(NoSourceFree)

    async def _turn(self, wait_s: float, prepare: Prepare | None, place: int) -> HeldSource:
        if self._is_closed:
            raise NoSourceFree
        waiter = self._line.join(self._clock.monotonic() + wait_s, prepare, place=place)
        self._look_now.set()
        if self._looking is None:
            self._looking = asyncio.create_task(self._serve_the_line())
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            self._line.leave(waiter)
            if waiter.turn.done() and not waiter.turn.cancelled() and not waiter.turn.exception():
                await self._leave(waiter.turn.result())
            raise

    async def _serve_the_line(self) -> None:
        """Look for free sources until nobody waits."""
        try:
            while self._line:
                self._look_now.clear()
                await self._look()
                late = self._line.turn_away(NoSourceFree, late_at=self._clock.monotonic())
                if late:
                    log.info("source.none_free", network=self._network, turned_away=late)
                if self._line:
                    await self._rest()
        except DatabaseUnavailable as away:
            self._line.turn_away(partial(DatabaseUnavailable, away.message))
        except Exception as fault:
            log.exception("sources.fault", network=self._network)
            self._line.turn_away(partial(RuntimeError, type(fault).__name__))
        finally:
            self._looking = None

    async def _look(self) -> None:
        now, began = self._clock.now(), self._clock.monotonic()
        room = None if self._room is None else self._room.room()
        async with self._database.connection() as db:
            rows = await store.lease_channels(
                db,
                self._network,
                count=len(self._line),
                now=now,
                until=now + timedelta(seconds=self._lease_s),
                most=None if room is None else room.settlements,
                leaving=self._left_to_others,
            )
            has_channels = bool(rows) or await store.count_active(db, self._network) > 0
        for row in rows:
            held = self._held(row, began)
            if not self._line.serve(held):  # who waited has gone meanwhile
                self._returned.append(_returned(held))
        self._flush()
        if not has_channels and self._relayers_lease is not None:
            held = HeldSource(
                self._relayers_lease, self._line, is_relayer=True, pass_on_until=began + PASS_ON_S
            )
            if self._line.serve(held):
                self._relayers_lease = None

    def _held(self, row: LeasedRow, leased_at: float) -> HeldSource:
        signer = channel_signer(self._relayer, self._network, row.derivation_index)
        share = 1 - _SPREAD * random.random()
        return HeldSource(
            Lease(signer, row.epoch, row.used_sequence),
            self._line,
            is_relayer=False,
            pass_on_until=leased_at + PASS_ON_S * share,
        )

    async def _rest(self) -> None:
        left_s = self._line.next_until - self._clock.monotonic()
        try:
            async with asyncio.timeout(max(0.0, min(left_s, _LOOK_AGAIN_S))):
                await self._look_now.wait()
        except TimeoutError:
            return

    async def _leave(self, held: HeldSource) -> None:
        """The source passes to the next waiter, or goes back to the pool of all replicas.

        Raises nothing: what became of the payment is known by now and must not be lost over it.
        """
        is_young = self._clock.monotonic() < held.pass_on_until
        if held.is_settled and is_young and not self._is_closed and self._line.pass_on(held):
            return
        self._line.end(held)
        if held.is_relayer:
            # another replica may use it meanwhile: its number is only known from hand to hand
            self._relayers_lease = Lease(self._relayer, 0, None)
            self._look_now.set()
            return
        if not is_young:  # whoever asks here next would be quicker than any other replica
            self._leave_to_others(held.lease.source.address)
        self._returned.append(_returned(held))
        await asyncio.shield(self._flush())
        if is_young:
            self._look_now.set()

    def _leave_to_others(self, address: Address) -> None:
        self._left_to_others.add(address)
        loop = asyncio.get_running_loop()
        loop.call_later(_LEFT_TO_OTHERS_S, self._left_to_others.discard, address)

    def _flush(self) -> "asyncio.Task[None]":
        """What is to be given back is written down together; what comes meanwhile is next."""
        if self._returning is None or self._returning.done():
            self._returning = asyncio.create_task(self._give_back())
        return self._returning

    async def _give_back(self) -> None:
        while self._returned:
            batch, self._returned = self._returned, []
            try:
                async with self._database.connection() as db:
                    await store.release_leases(db, self._network, batch)
            except DatabaseUnavailable:
                log.warning("channel.not_given_back", channels=len(batch))


def _returned(held: HeldSource) -> Returned:
    return Returned(held.lease.source.address, held.lease.epoch, held.used_sequence)
