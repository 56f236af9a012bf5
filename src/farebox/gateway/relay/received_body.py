"""The body of a buyer's request: received whole and counted before anything is paid.

All bodies of a process share one room, so that uploads use up neither memory nor disk.
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import Final, Self

from farebox.kernel.errors import Outage, TooManyRequests

MEMORY_BYTES: Final = 256 * 1024  # a longer body is on disk
SPOOL_BYTES: Final = 256 * 1024 * 1024  # of all bodies of a process, in memory and on disk
_CLIENT_SHARE: Final = 4  # the part of it that one client may take
_PART_BYTES: Final = 64 * 1024
_RETRY_S: Final = 5


class SpoolFull(Outage):
    """The bodies of other requests take all the room; nothing was charged."""

    def __init__(self) -> None:
        super().__init__("gateway bodies", "the bodies of other requests take all the room")


class BodySpool:
    """The room for the bodies of requests in this process; one client takes a quarter at most."""

    def __init__(self, limit_bytes: int = SPOOL_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._taken: Counter[str] = Counter()  # bytes, by client

    @property
    def taken_bytes(self) -> int:
        """The bytes of all bodies that are open."""
        return self._taken.total()

    def open(self, client: str) -> "ReceivedBody":
        """Open an empty body of a client's request."""
        return ReceivedBody(self, client)

    def take(self, client: str, size: int) -> None:
        """Take room for more bytes of a client's body.

        Raises:
            TooManyRequests: the client's other bodies take its share.
            SpoolFull: there is no room for anybody.
        """
        if (self._taken[client] + size) * _CLIENT_SHARE > self._limit_bytes:
            raise TooManyRequests("Too many bodies of yours are open.", retry_after_s=_RETRY_S)
        if self.taken_bytes + size > self._limit_bytes:
            raise SpoolFull
        self._taken[client] += size

    def release(self, client: str, size: int) -> None:
        """Return the room of a body that was closed."""
        self._taken[client] -= size
        if not self._taken[client]:
            del self._taken[client]


class ReceivedBody:
    """A body of known length and digest, in the room of a spool; close it after its last use."""

    def __init__(self, spool: BodySpool, client: str) -> None:
        self._spool, self._client = spool, client
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - closed by `close`
        self._digest = hashlib.sha256()
        self.length = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._spool.release(self._client, self.length)

    def add(self, part: bytes) -> None:
        """Append a part; one that goes to disk takes as long as a copy to the page cache.

        Raises:
            TooManyRequests, SpoolFull: there is no room for it.
        """
        self._spool.take(self._client, len(part))
        self._file.write(part)
        self._digest.update(part)
        self.length += len(part)

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
