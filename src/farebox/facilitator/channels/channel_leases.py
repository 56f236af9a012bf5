"""Leases of channel accounts, or of the relayer itself where a network has none."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from farebox.facilitator.channels import store
from farebox.facilitator.channels.channel import ChannelLease
from farebox.facilitator.channels.lease_queue import (
    LeaseQueue,
    NoChannelFree,
    OnExpected,
    Ticket,
)
from farebox.facilitator.channels.ledger_capacity import LedgerCapacity
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_POLL_S: Final = 0.2  # for a channel that another replica released
_YIELD_S: Final = 1.5 * _POLL_S  # every replica with waiters polls within it
PASS_ON_S: Final = 10.0  # how long a lease stays in one process while others may wait
_SPREAD: Final = 0.5  # leases acquired together do not all go back together

log = structlog.get_logger(__name__)


class ChannelLeases:
    """Leases channel accounts from the pool that all replicas share in the database.

    Waiters are served in the order of their tickets, fairly by client, as many as there are free
    channels by one statement. A lease whose last envelope has landed passes straight to the next
    waiter; after `PASS_ON_S` at most it goes back to the pool, so that waiters of another replica
    get it (docs/decisions/0014). All replicas together lease no more channels than one ledger has
    room for: the other settlements wait here, in order, and not in the network's queue, which drops
    transactions that wait for long. A lease has to last until an envelope is recorded, which then
    protects the channel: one whose last envelope is unresolved is not leased.

    `capacity` returns the capacity of one ledger, None while it is unknown.
    """

    def __init__(
        self,
        network: Network,
        relayer: Address,
        database: Database,
        clock: Clock,
        *,
        lease_s: float,
        capacity: Callable[[], LedgerCapacity | None] = lambda: None,
    ) -> None:
        self._network, self._relayer, self._capacity = network, relayer, capacity
        self._database, self._clock, self._lease_s = database, clock, lease_s
        self._queue = LeaseQueue()
        self._poll_now = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._released: list[ChannelLease] = []
        self._releasing: asyncio.Task[None] | None = None
        self._relayer_is_leased = False
        self._yielded: set[Address] = set()
        self._is_closed = False

    def issue_ticket(self, client: str, *, wait_s: float) -> Ticket:
        """Issue a ticket behind the client's others, for a holder that waits `wait_s` seconds."""
        return self._queue.issue_ticket(client, self._clock.monotonic() + wait_s)

    async def acquire(
        self, ticket: Ticket, on_expected: OnExpected = lambda expected: None
    ) -> ChannelLease:
        """Wait for a lease, which the caller must release.

        `on_expected` is called with each lease that the caller is likely to get, with the value it
        will have then; it must not raise.

        Raises:
            NoChannelFree: none was free in the ticket's time, in one poll at least.
            DatabaseUnavailable: the leases cannot be read now.
        """
        if self._is_closed:
            raise NoChannelFree
        waiter = self._queue.join(ticket, on_expected)
        self._poll_now.set()
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve_waiters())
        try:
            return await waiter.lease
        except asyncio.CancelledError:
            self._queue.leave(waiter)
            is_served = waiter.lease.done() and not waiter.lease.cancelled()
            if is_served and waiter.lease.exception() is None:
                await self.release(waiter.lease.result())
            raise

    def expect(self, lease: ChannelLease) -> None:
        """Announce to the next waiter a lease as it will be once its envelope has landed."""
        self._queue.expect(lease)

    async def release(self, lease: ChannelLease) -> None:
        """Pass a lease on to the next waiter, or return it to the pool of all replicas.

        It raises nothing: the settlement's outcome is known by now and must not be lost.
        """
        is_young = self._clock.monotonic() < lease.pass_on_until
        may_pass = lease.is_settled and is_young and not self._is_closed
        if may_pass and self._queue.pass_on(replace(lease, is_settled=False)):
            return
        self._queue.withdraw(lease)
        if lease.is_relayer:
            self._relayer_is_leased = False
            self._poll_now.set()
            return
        if not is_young:  # the next waiter here would be quicker than any other replica
            self._yield_to_others(lease.address)
        self._released.append(lease)
        await asyncio.shield(self._write_released())
        if is_young:
            self._poll_now.set()

    def close(self) -> None:
        """Reject every waiter, present and later."""
        self._is_closed = True
        self._queue.reject(NoChannelFree)

    async def _serve_waiters(self) -> None:
        """Poll for free channels until no waiter is left."""
        try:
            while self._queue:
                self._poll_now.clear()
                await self._lease_free()
                late = self._queue.reject(NoChannelFree, late_at=self._clock.monotonic())
                if late:
                    log.info("channel.none_free", network=self._network, rejected=late)
                if self._queue:
                    await self._pause()
        except DatabaseUnavailable as outage:
            self._queue.reject(partial(DatabaseUnavailable, outage.message))
        except Exception as fault:
            log.exception("channel.lease_failed", network=self._network)
            self._queue.reject(partial(RuntimeError, type(fault).__name__))
        finally:
            self._serving = None

    async def _lease_free(self) -> None:
        now, began = self._clock.now(), self._clock.monotonic()
        capacity = self._capacity()
        async with self._database.connection() as db:
            leases = await store.lease_channels(
                db,
                self._network,
                count=len(self._queue),
                now=now,
                until=now + timedelta(seconds=self._lease_s),
                max_leased=None if capacity is None else capacity.settlements,
                excluded=self._yielded,
            )
            has_channels = bool(leases) or await store.count_active(db, self._network) > 0
        for leased in leases:
            share = 1 - _SPREAD * random.random()
            lease = replace(leased, pass_on_until=began + PASS_ON_S * share)
            if not self._queue.hand_out(lease):  # the waiter has left meanwhile
                self._released.append(lease)
        self._write_released()
        if not has_channels and not self._relayer_is_leased:
            # another replica may use it too: its number is only known while it is passed on
            lease = ChannelLease(self._relayer, None, 0, None, pass_on_until=began + PASS_ON_S)
            self._relayer_is_leased = self._queue.hand_out(lease)

    async def _pause(self) -> None:
        left_s = self._queue.first_deadline - self._clock.monotonic()
        try:
            async with asyncio.timeout(max(0.0, min(left_s, _POLL_S))):
                await self._poll_now.wait()
        except TimeoutError:
            return

    def _yield_to_others(self, address: Address) -> None:
        self._yielded.add(address)
        loop = asyncio.get_running_loop()
        loop.call_later(_YIELD_S, self._yielded.discard, address)

    def _write_released(self) -> "asyncio.Task[None]":
        """Record released leases in one statement; those released meanwhile are the next batch."""
        if self._releasing is None or self._releasing.done():
            self._releasing = asyncio.create_task(self._release_batches())
        return self._releasing

    async def _release_batches(self) -> None:
        while self._released:
            batch, self._released = self._released, []
            try:
                async with self._database.connection() as db:
                    await store.release_leases(db, self._network, batch)
            except DatabaseUnavailable:
                log.warning("channel.not_released", channels=len(batch))
