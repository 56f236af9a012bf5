"""The room that the bodies of a process share, and a body in it."""

import pytest

from farebox.gateway.relay.received_body import MEMORY_BYTES, BodySpool, SpoolFull
from farebox.kernel.errors import TooManyRequests


def test_client_takes_a_quarter_of_the_room_at_most() -> None:
    spool = BodySpool(400)
    with spool.open("one") as first, spool.open("one") as second:
        first.add(b"x" * 60)
        with pytest.raises(TooManyRequests) as refused:
            second.add(b"x" * 41)
        assert refused.value.retry_after_s >= 1
        second.add(b"x" * 40)
        with spool.open("two") as other:
            other.add(b"x" * 100)
            assert spool.taken_bytes == 200
    assert spool.taken_bytes == 0


def test_bodies_of_many_clients_take_no_more_than_the_room() -> None:
    """Control: once one of them is closed, its room is given to the next."""
    spool = BodySpool(400)
    others = ("one", "two", "three", "four")
    for name in others:
        spool.take(name, 100)
    with spool.open("five") as late:
        with pytest.raises(SpoolFull):
            late.add(b"x")
        spool.release("one", 100)
        late.add(b"x" * 100)
    assert spool.taken_bytes == 300


async def test_body_on_disk_is_counted_and_given_back_in_parts() -> None:
    spool = BodySpool()
    with spool.open("one") as body:
        for _ in range(3):
            body.add(b"x" * MEMORY_BYTES)
        content = body.content
        assert content is not None
        assert not isinstance(content, bytes)
        assert sum([len(part) async for part in content]) == spool.taken_bytes == 3 * MEMORY_BYTES
