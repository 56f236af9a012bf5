"""The body of a buyer's request: received whole and counted before anything is paid."""

import hashlib
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import Final, Self

MEMORY_BYTES: Final = 256 * 1024  # a longer body is on disk
_PART_BYTES: Final = 64 * 1024


class ReceivedBody:
    """A body of known length and digest; close it after its last use."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - closed by `close`
        self._digest = hashlib.sha256()
        self.length = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, part: bytes) -> None:
        """Append a part; one that goes to disk takes as long as a copy to the page cache."""
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
