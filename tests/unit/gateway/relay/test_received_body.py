"""The room that the bodies of a process share, and a body in it."""

import errno
from typing import Final

import pytest

from farebox.gateway.relay import received_body
from farebox.gateway.relay.received_body import (
    MEMORY_BYTES,
    SMALL_BYTES,
    SPOOL_BYTES,
    BodyPlace,
    BodySpool,
    SpoolFull,
)
from farebox.gateway.wrapper import WrapperLimits
from farebox.kernel.errors import TooManyRequests
from farebox.kernel.slots import Share, SharedRoom

MB: Final = 1024 * 1024
MOST: Final = 10_485_760  # of any wrapper's requests
LARGE: Final = SPOOL_BYTES * 7 // 8


def upload(spool: BodySpool, client: str, length: int) -> None:
    """Take room for a body as its parts arrive.

    Raises:
        TooManyRequests, SpoolFull: there is no room for a part; what was taken stays taken.
    """
    place = BodyPlace(Share(client))
    for start in range(0, length, SMALL_BYTES):
        place = spool.take(place, min(SMALL_BYTES, length - start))


def fill(spool: BodySpool, client: str, length: int) -> int:
    """Begin such bodies until there is no room for another; return the bytes that are taken."""
    before = spool.taken_bytes
    with pytest.raises((TooManyRequests, SpoolFull)):
        for _ in range(100_000):
            upload(spool, client, length)
    return spool.taken_bytes - before


def test_client_that_is_alone_takes_half_of_the_room_at_most() -> None:
    spool = BodySpool()
    taken = fill(spool, "one", 3 * MB)
    assert LARGE // 2 - SMALL_BYTES <= taken <= LARGE // 2 + 2 * SMALL_BYTES
    with pytest.raises(TooManyRequests) as refused:
        upload(spool, "one", MB)
    assert refused.value.retry_after_s >= 1


def refused_uploads(spool: BodySpool) -> list[str]:
    """Upload bodies of honest clients while hostile ones hold what they may; what was refused."""
    for number in range(4):
        fill(spool, f"hostile {number}", MOST - 1)
    refused = []
    for name, length in {"default": WrapperLimits().max_request_bytes, "large": 4 * MB}.items():
        try:
            upload(spool, name, length)
        except SpoolFull:
            refused.append(name)
    return refused


def test_four_clients_with_unfinished_bodies_leave_room_to_others() -> None:
    assert refused_uploads(BodySpool()) == []


def test_constant_quarters_are_closed_by_four_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""

    def has_room_for(self: SharedRoom, share: Share, units: int = 1) -> bool:
        quarter = (self.free + self.taken) // 4
        return self.held_by(share) + units <= quarter and units <= self.free

    monkeypatch.setattr(SharedRoom, "has_room_for", has_room_for)
    assert refused_uploads(BodySpool()) == ["default", "large"]


def test_large_bodies_of_any_number_of_clients_leave_the_room_of_small_ones() -> None:
    """Control: a body of one byte more than a small one finds no room."""
    spool = BodySpool()
    for number in range(64):
        fill(spool, f"hostile {number}", MOST)
    for number in range(64):
        upload(spool, f"honest {number}", SMALL_BYTES)
    with pytest.raises(SpoolFull):
        upload(spool, "honest 0", SMALL_BYTES + 1)


def test_small_bodies_leave_the_room_of_large_ones() -> None:
    spool = BodySpool()
    for _ in range(SPOOL_BYTES // 16 // SMALL_BYTES):
        upload(spool, "one", SMALL_BYTES)
    assert fill(spool, "honest", MOST) >= LARGE // 2 - MOST
    assert fill(spool, "other", SMALL_BYTES) >= LARGE // 4


def test_body_that_grows_is_counted_once_and_gives_all_back() -> None:
    spool = BodySpool()
    with spool.open("one") as body:
        for length in range(1_000, 100 * SMALL_BYTES, 50_000):
            body.add(b"x" * (length - body.length))
            assert spool.taken_bytes == body.length == length
        body.add(b"")
    with spool.open("one") as body:
        body.add(b"x" * SMALL_BYTES)
    assert spool.taken_bytes == 0
    assert fill(spool, "one", SMALL_BYTES) == SPOOL_BYTES // 2


def test_end_of_a_body_needs_no_room() -> None:
    spool = BodySpool(800)
    with spool.open("one") as body, spool.open("two") as other:
        body.add(b"x" * 700)
        other.add(b"x" * 100)
        with pytest.raises(TooManyRequests):
            body.add(b"x")
        body.add(b"")


class FullDisk:
    """A file for whose bytes there is no room: at once, or when they are flushed."""

    def __init__(self, *, at: str) -> None:
        self._at = at

    def __getattr__(self, name: str) -> "FullDisk":
        return FullDisk(at="" if name not in (self._at, "close") else "call")

    def __call__(self, *_: object, **__: object) -> int:
        if self._at == "call":
            raise OSError(errno.ENOSPC, "No space left on device")
        return 0


@pytest.mark.parametrize("at", ["write", "flush"])
def test_body_that_the_disk_does_not_take_is_an_outage_and_gives_its_room_back(
    monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.setattr(received_body, "SpooledTemporaryFile", lambda **_: FullDisk(at=at))
    spool = BodySpool()
    for _ in range(3):
        with spool.open("one") as body, pytest.raises(SpoolFull):
            body.add(b"x" * SMALL_BYTES)
        assert spool.taken_bytes == 0


async def test_body_on_disk_is_counted_and_given_back_in_parts() -> None:
    spool = BodySpool()
    with spool.open("one") as body:
        for _ in range(3):
            body.add(b"x" * MEMORY_BYTES)
        content = body.content
        assert content is not None
        assert not isinstance(content, bytes)
        assert sum([len(part) async for part in content]) == spool.taken_bytes == 3 * MEMORY_BYTES
