"""The body of a buyer's request: received whole and counted before anything is paid.

All bodies of a process share one room, so that uploads use up neither memory nor disk.
"""

import hashlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Final, Self

from farebox.kernel.errors import Outage, TooManyRequests
from farebox.kernel.slots import Share, SharedRoom

MEMORY_BYTES: Final = 256 * 1024  # a longer body is on disk
SPOOL_BYTES: Final = 256 * 1024 * 1024  # of all bodies of a process, in memory and on disk
SMALL_BYTES: Final = 64 * 1024  # a body that has more leaves the part of the small ones
_SMALL_PART: Final = 8  # one of so many parts of the room is for small bodies alone
_PART_BYTES: Final = 64 * 1024
_RETRY_S: Final = 5


class SpoolFull(Outage):
    """There is no room for the body, in that of all bodies or on the disk; nothing was charged."""

    def __init__(self) -> None:
        super().__init__("gateway bodies", "there is no room for the body of the request")


class BodySpool:
    """The room for the bodies of requests in this process, which clients divide (`SharedRoom`).

    A part of it is for small bodies alone, which take of the rest only where that part is full:
    large bodies, however many, leave it free.
    """

    def __init__(self, limit_bytes: int = SPOOL_BYTES) -> None:
        of_small = limit_bytes // _SMALL_PART
        self._small, self._large = SharedRoom(of_small), SharedRoom(limit_bytes - of_small)

    @property
    def taken_bytes(self) -> int:
        """The bytes of all bodies that are open."""
        return self._small.taken + self._large.taken

    def open(self, client: str) -> "ReceivedBody":
        """Open an empty body of a client's request."""
        return ReceivedBody(self, client)

    def take(self, place: "BodyPlace", size: int) -> "BodyPlace":
        """Take room for `size` more bytes of a body; return its new place.

        Raises:
            TooManyRequests: the client's bodies take more room than those of all others.
            SpoolFull: the bodies of others leave no room for it.
        """
        share, room, length = place.share, place.room, place.length + size
        is_small = length <= SMALL_BYTES and room is not self._large
        for each in (self._small, self._large) if is_small else (self._large,):
            units = size if each is room else length
            if each.has_room_for(share, units):
                each.take(share, units)
                if room is not None and room is not each:
                    room.release(share, place.length)
                return BodyPlace(share, each, length)
        own = self._large.held_by(share) + size
        if own > self._large.taken + size - own:
            raise TooManyRequests("Too many bodies of yours are open.", retry_after_s=_RETRY_S)
        raise SpoolFull


@dataclass(frozen=True, slots=True)
class BodyPlace:
    """The part of the room that a body has, and its bytes there."""

    share: Share
    room: SharedRoom | None = None
    length: int = 0

    def release(self) -> None:
        """Give the room back."""
        if self.room is not None:
            self.room.release(self.share, self.length)


class ReceivedBody:
    """A body of known length and digest, in the room of a spool; close it after its last use."""

    def __init__(self, spool: BodySpool, client: str) -> None:
        self._spool, self._place = spool, BodyPlace(Share(client))
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - closed by `close`
        self._digest = hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # of what the disk has not taken
            self._file.close()
        self._place.release()

    def add(self, part: bytes) -> None:
        """Append a part; one that goes to disk takes as long as a copy to the page cache.

        Raises:
            TooManyRequests, SpoolFull: there is no room for it.
        """
        if not part:
            return
        self._place = self._spool.take(self._place, len(part))
        self._digest.update(part)
        try:
            self._file.write(part)
            self._file.flush()  # before anything is paid
        except OSError as error:
            raise SpoolFull from error

    @property
    def length(self) -> int:
        """The bytes of the parts so far."""
        return self._place.length

    @property
    def digest(self) -> bytes:
        """The SHA-256 digest of the parts so far."""
        return self._digest.digest()

    @property
    def content(self) -> bytes | AsyncIterator[bytes] | None:
        """The body for an upstream request: None when it is empty, in parts when it is on disk."""
        if self.length == 0:
            return None
        self._file.seek(0)
        return self._file.read() if self.length <= MEMORY_BYTES else self._parts()

    async def _parts(self) -> AsyncIterator[bytes]:
        while part := self._file.read(_PART_BYTES):
            yield part
