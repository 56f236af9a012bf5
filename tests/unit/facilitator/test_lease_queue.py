"""Which waiter gets a lease, and to which one a pending lease is announced."""

import asyncio
import itertools
from collections import Counter

import pytest

from farebox.facilitator.channels.channel import ChannelLease
from farebox.facilitator.channels.lease_queue import LeaseQueue, NoChannelFree, Ticket, Waiter
from farebox.kernel.addresses import account_address


def lease(tag: int, *, used: int = 40) -> ChannelLease:
    return ChannelLease(account_address(bytes([tag]) * 32), tag, 3, used, pass_on_until=10)


def join(
    queue: LeaseQueue, client: str = "one", *, until: float = 10, ticket: Ticket | None = None
) -> tuple[Waiter, list[ChannelLease]]:
    """A waiter, and the leases announced to it."""
    announced: list[ChannelLease] = []
    ticket = ticket or queue.issue_ticket(client, until)
    return queue.join(ticket, announced.append), announced


async def test_waiters_are_served_in_the_order_they_joined() -> None:
    queue = LeaseQueue()
    waiters = [join(queue)[0] for _ in range(3)]
    for tag, waiter in enumerate(waiters, start=1):
        assert queue.hand_out(lease(tag))
        assert waiter.lease.result() == lease(tag)
    assert not queue.hand_out(lease(9)), "no waiter is left"


async def test_client_that_comes_alone_is_served_before_the_many_of_another() -> None:
    queue = LeaseQueue()
    many = [join(queue, "many")[0] for _ in range(20)]
    for tag in (1, 2, 3):
        queue.hand_out(lease(tag))
    alone, _ = join(queue, "alone")
    queue.hand_out(lease(4))
    assert alone.lease.done()
    assert [each.lease.done() for each in many] == [True] * 3 + [False] * 17


async def test_clients_with_many_waiters_are_served_alternately_and_each_in_order() -> None:
    queue = LeaseQueue()
    first = [join(queue, "first")[0] for _ in range(6)]
    second = [join(queue, "second")[0] for _ in range(3)]
    for tag in range(1, 7):
        queue.hand_out(lease(tag))
    assert [each.lease.done() for each in first] == [True] * 3 + [False] * 3
    assert [each.lease.done() for each in second] == [True] * 3
    late = join(queue, "second")[0]
    queue.hand_out(lease(7))
    queue.hand_out(lease(8))
    assert late.lease.done()
    assert [each.lease.done() for each in first] == [True] * 4 + [False] * 2


@pytest.mark.parametrize("names", [4, 1_000], ids=["one after another", "once each"])
async def test_client_that_always_waits_is_not_starved_by_those_that_come_alone(names: int) -> None:
    queue, comers = LeaseQueue(), itertools.count()
    waiting = [join(queue, "steady")[0] for _ in range(10)]
    waiting += [join(queue, f"alone {next(comers) % names}")[0] for _ in range(4)]
    served: Counter[str] = Counter()
    for _ in range(50):
        assert queue.hand_out(lease(1))
        (done,) = (each for each in waiting if each.lease.done())
        waiting.remove(done)
        client = done.ticket.client
        served[client.split()[0]] += 1
        again = client if client == "steady" else f"alone {next(comers) % names}"
        waiting.append(join(queue, again)[0])
    assert served["steady"] >= 10, "each of five callers that always wait is served as often"


async def test_lease_is_not_given_to_a_waiter_whose_caller_gives_up() -> None:
    queue = LeaseQueue()
    first, _ = join(queue)
    second, _ = join(queue)
    first.lease.cancel()
    assert queue.pass_on(lease(1))
    assert second.lease.result() == lease(1)
    third, _ = join(queue)
    third.lease.cancel()
    assert not queue.hand_out(lease(2)), "no waiter is left"


async def test_client_without_a_waiter_starts_at_the_virtual_time_and_leaves_no_tag() -> None:
    queue = LeaseQueue()
    for client in ("a", "b", "a", "c"):
        join(queue, client)
        queue.hand_out(lease(1))
    left, _ = join(queue, "d")
    queue.leave(left)
    assert {queue.issue_ticket(each, 10).start_tag for each in "abcde"} == {0}
    assert queue._last_tags == {}


async def test_announced_lease_goes_to_the_one_that_is_served_earlier() -> None:
    queue = LeaseQueue()
    waiters = [join(queue, "many")[0] for _ in range(3)]
    queue.hand_out(lease(1))
    queue.expect(lease(2))
    alone, announced = join(queue, "alone")
    assert announced == []
    assert queue.pass_on(lease(2))
    assert alone.lease.result() == lease(2)
    assert not waiters[1].lease.done()
    assert queue.pass_on(lease(3))
    assert waiters[1].lease.result() == lease(3), "its announcement is no longer counted on"


async def test_a_pending_lease_is_announced_to_the_oldest_waiter_and_passed_on_to_it() -> None:
    queue = LeaseQueue()
    first, announced = join(queue)
    second, not_announced = join(queue)
    after = lease(1).with_landed(41)
    queue.expect(after)
    assert announced == [after]
    assert not_announced == [], "a lease is announced once"
    assert queue.pass_on(after)
    assert first.lease.result() == after
    assert not second.lease.done()


async def test_a_pending_lease_is_announced_to_a_waiter_that_comes_later() -> None:
    queue = LeaseQueue()
    queue.expect(lease(1, used=41))
    _, announced = join(queue)
    assert announced == [lease(1, used=41)]


async def test_a_lease_is_announced_again_when_another_envelope_is_pending() -> None:
    queue = LeaseQueue()
    _, announced = join(queue)
    queue.expect(lease(1, used=41))
    queue.expect(lease(1, used=55))
    assert [each.used_sequence for each in announced] == [41, 55]


async def test_a_lease_that_becomes_free_elsewhere_goes_to_the_oldest_waiter() -> None:
    queue = LeaseQueue()
    first, _ = join(queue)
    second, announced = join(queue)
    queue.expect(lease(1))
    assert queue.hand_out(lease(2))
    assert first.lease.result() == lease(2)
    assert announced == [lease(1)], "the next waiter expects the pending one instead"
    assert queue.pass_on(lease(1))
    assert second.lease.done()


async def test_unexpected_lease_passes_to_the_oldest_waiter_that_expects_none() -> None:
    queue = LeaseQueue()
    first, _ = join(queue)
    second, _ = join(queue)
    queue.expect(lease(1))
    assert queue.pass_on(lease(2))
    assert second.lease.done()
    assert not first.lease.done(), "it expects another"


async def test_a_withdrawn_lease_leaves_its_waiter_free_for_another_announcement() -> None:
    queue = LeaseQueue()
    waiter, announced = join(queue)
    queue.expect(lease(1))
    queue.withdraw(lease(1))
    assert (waiter.lease.done(), waiter.expected) == (False, None)
    queue.expect(lease(2))
    assert announced == [lease(1), lease(2)]


async def test_the_announcements_of_waiters_that_left_go_to_the_next_ones_oldest_first() -> None:
    queue = LeaseQueue()
    first, _ = join(queue)
    queue.expect(lease(1))
    queue.expect(lease(2))
    queue.leave(first)
    queue.leave(first)
    assert [join(queue)[1] for _ in "123"] == [[lease(1)], [lease(2)], []]


async def test_a_ticket_keeps_its_position_when_its_lease_was_unusable() -> None:
    queue = LeaseQueue()
    first, _ = join(queue)
    second, _ = join(queue)
    queue.hand_out(lease(1))
    again, _ = join(queue, ticket=first.ticket)
    queue.hand_out(lease(2))
    assert again.lease.done()
    assert not second.lease.done()


async def test_only_waiters_whose_time_is_over_are_rejected() -> None:
    queue = LeaseQueue()
    early, _ = join(queue, until=5)
    late, _ = join(queue, until=6)
    assert queue.first_deadline == 5
    assert queue.reject(NoChannelFree, late_at=5) == 1
    with pytest.raises(NoChannelFree):
        early.lease.result()
    assert not late.lease.done()
    assert queue.reject(NoChannelFree) == 1
    assert len(queue) == 0
    with pytest.raises(NoChannelFree):
        await asyncio.wait_for(late.lease, 1)
