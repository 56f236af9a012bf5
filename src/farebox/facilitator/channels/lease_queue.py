"""The queue of settlements that wait for a channel lease in this process."""

import asyncio
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from farebox.facilitator.channels.channel import ChannelLease
from farebox.kernel.addresses import Address

OnExpected = Callable[[ChannelLease], object]


class NoChannelFree(Exception):
    """No channel account became free before the deadline."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A position in the queue: lower start tags are served first, and of one tag lower numbers.

    A holder that could not use a lease waits again with the same ticket. It stops waiting at
    `deadline` (monotonic seconds).
    """

    client: str
    start_tag: int
    number: int
    deadline: float

    @property
    def position(self) -> tuple[int, int]:
        """What tickets are ordered by."""
        return self.start_tag, self.number


@dataclass(eq=False, slots=True)
class Waiter:
    """One settlement in the queue; `lease` is resolved when it is served.

    `expected` is the lease that `on_expected` was last called with, while it is still expected.
    """

    ticket: Ticket
    on_expected: OnExpected
    lease: asyncio.Future[ChannelLease]
    expected: ChannelLease | None = None


class LeaseQueue:
    """Serves waiters in the order of their tickets, by start-time fair queueing.

    A ticket's start tag follows that of the client's last ticket, and is never below the virtual
    time, the tag that is served (Goyal, Vin and Cheng, 1996). So a client with one ticket waits for
    one lease, however many wait for another client, and the tickets of one client keep their order.
    The virtual time also rises when a ticket is served before an older one: clients that wait one
    after another, or once each, do not starve a client that always waits.

    A lease whose envelope is pending is announced to the first waiter that expects none, as the
    value it will have once that envelope has landed. An announcement reserves nothing: a lease that
    becomes free elsewhere goes to the first waiter.
    """

    def __init__(self) -> None:
        self._waiters: list[Waiter] = []
        self._unannounced: dict[Address, ChannelLease] = {}  # expected, and no waiter is left
        self._numbers = count(1)
        self._virtual_time = 0
        self._last_tags: dict[str, int] = {}  # of the clients that wait

    def __len__(self) -> int:
        return len(self._waiters)

    @property
    def first_deadline(self) -> float:
        """The earliest deadline of a waiter (monotonic seconds)."""
        return min(each.ticket.deadline for each in self._waiters)

    def issue_ticket(self, client: str, deadline: float) -> Ticket:
        """Issue a ticket behind the client's others; `deadline` in monotonic seconds."""
        start_tag = max(self._virtual_time, self._last_tags.get(client, -1) + 1)
        return Ticket(client, start_tag, next(self._numbers), deadline)

    def join(self, ticket: Ticket, on_expected: OnExpected) -> Waiter:
        """Add a waiter; `on_expected` is called with each lease it is likely to get."""
        waiter = Waiter(ticket, on_expected, asyncio.get_running_loop().create_future())
        insort(self._waiters, waiter, key=lambda each: each.ticket.position)
        last = self._last_tags.get(ticket.client, ticket.start_tag)
        self._last_tags[ticket.client] = max(last, ticket.start_tag)
        self._announce()
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """Remove a waiter; the lease it expected is announced to the next one."""
        if waiter not in self._waiters:
            return
        self._waiters.remove(waiter)
        client = waiter.ticket.client
        if all(each.ticket.client != client for each in self._waiters):
            del self._last_tags[client]
        if waiter.expected is not None:
            self._unannounced = {waiter.expected.address: waiter.expected} | self._unannounced
        self._announce()

    def expect(self, lease: ChannelLease) -> None:
        """Announce a lease as it will be once its pending envelope has landed."""
        self._withdraw(lease.address)
        self._unannounced[lease.address] = lease
        self._announce()

    def withdraw(self, lease: ChannelLease) -> None:
        """Withdraw the announcement of a lease that is not passed on."""
        self._withdraw(lease.address)
        self._announce()

    def hand_out(self, lease: ChannelLease) -> bool:
        """Give a lease to the first waiter; False when there is none."""
        self._drop_cancelled()
        if not self._waiters:
            return False
        self._give(self._waiters[0], lease)
        return True

    def pass_on(self, lease: ChannelLease) -> bool:
        """Give a lease to the first waiter that expects none or this one; False: nobody waits.

        A waiter that joined after the announcement, with a lower start tag, gets it.
        """
        self._drop_cancelled()
        self._withdraw(lease.address)
        if not self._waiters:
            return False
        without = (each for each in self._waiters if each.expected is None)
        self._give(next(without, self._waiters[0]), lease)
        return True

    def reject(self, reason: Callable[[], Exception], *, late_at: float | None = None) -> int:
        """Fail every waiter, or those with a deadline up to `late_at` (monotonic seconds).

        Returns their number.
        """
        rejected = [
            each for each in self._waiters if late_at is None or each.ticket.deadline <= late_at
        ]
        for waiter in rejected:
            self.leave(waiter)
            waiter.lease.set_exception(reason())
        return len(rejected)

    def _drop_cancelled(self) -> None:
        """Remove the waiters whose callers give up."""
        for waiter in [each for each in self._waiters if each.lease.cancelled()]:
            self.leave(waiter)

    def _give(self, waiter: Waiter, lease: ChannelLease) -> None:
        self.leave(waiter)
        served = waiter.ticket
        has_overtaken = any(each.ticket.number < served.number for each in self._waiters)
        self._virtual_time = max(self._virtual_time, served.start_tag + has_overtaken)
        waiter.lease.set_result(lease)

    def _withdraw(self, address: Address) -> None:
        if self._unannounced.pop(address, None) is not None:
            return
        for waiter in self._waiters:
            if waiter.expected is not None and waiter.expected.address == address:
                waiter.expected = None
                return

    def _announce(self) -> None:
        for waiter in self._waiters:
            if not self._unannounced:
                return
            if waiter.expected is None:
                waiter.expected = self._unannounced.pop(next(iter(self._unannounced)))
                waiter.on_expected(waiter.expected)
