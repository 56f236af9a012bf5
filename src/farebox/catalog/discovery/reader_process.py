"""Parse discovery data in a child process, so that no text blocks the event loop.

A thread would not do: the library that compiles and runs a schema holds the interpreter
lock meanwhile (docs/decisions/0035).
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import structlog

from farebox.catalog.discovery.discovered_resource import DiscoveredResource
from farebox.catalog.discovery.drop_reason import Dropped
from farebox.catalog.discovery.reader import ReaderUnavailable, ReadFailed
from farebox.catalog.discovery.reader_child import (
    LENGTH_BYTES,
    ReadRequest,
    ReadResponse,
    decode_response,
    encode_frame,
)
from farebox.kernel.addresses import Address

DEADLINE_S: Final = 10.0  # a hundred times what the slowest accepted text takes
MAX_WAITING: Final = 16
_MODULE: Final = "farebox.catalog.discovery.reader_child"

log = structlog.get_logger(__name__)


class ReaderProcess:
    """A `DiscoveryReader` with one child process that parses one text at a time.

    The child gets none of the service's settings, and ends with the service however that ends,
    because its standard input ends. The first text starts it, or `start` before. A child that
    exceeds the deadline is killed; the next text starts another.
    """

    def __init__(
        self,
        *,
        is_local_allowed: bool = False,
        deadline_s: float = DEADLINE_S,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._is_local_allowed, self._deadline_s = is_local_allowed, deadline_s
        self._max_waiting, self._waiting = max_waiting, 0
        self._lock = asyncio.Lock()
        self._child: Process | None = None
        self._is_open = False

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_open = False
        await self._kill()

    @property
    def process_id(self) -> int | None:
        """The child's process id, if it runs."""
        return None if self._child is None else self._child.pid

    async def start(self) -> None:
        """Start the child without waiting for it, so that the next text is read sooner."""
        if self._child is None and not self._lock.locked():
            async with self._lock:
                with suppress(ReaderUnavailable):  # the text retries
                    await self._ensure_child()

    async def read(self, text: bytes, *, pay_to: Address) -> DiscoveredResource | Dropped:
        """Parse as `parse_discovery` does.

        Raises:
            ReaderUnavailable: too many texts wait, or no process can be started.
            ReadFailed: the child died over this text or exceeded the deadline.
        """
        if self._waiting >= self._max_waiting:
            raise ReaderUnavailable
        self._waiting += 1
        try:
            async with self._lock:
                response = await self._request(ReadRequest(text, pay_to, self._is_local_allowed))
        finally:
            self._waiting -= 1
        result = response.resource or response.dropped
        if result is None:
            raise ReadFailed
        return result

    async def _request(self, request: ReadRequest) -> ReadResponse:
        child = await self._ensure_child()
        try:
            async with asyncio.timeout(self._deadline_s):
                return await _exchange(child, request)
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            log.warning("discovery_reader.killed", reason=type(error).__name__)
            await self._kill()
            raise ReadFailed from error
        except asyncio.CancelledError:  # the next text would get its response
            await self._kill()
            raise

    async def _ensure_child(self) -> Process:
        if not self._is_open:
            raise ReaderUnavailable
        if self._child is not None and self._child.returncode is not None:
            await self._kill()
        return self._child or await self._start_child()

    async def _start_child(self) -> Process:
        try:
            self._child = child = await _start()
        except OSError as error:
            log.warning("discovery_reader.not_started", reason=type(error).__name__)
            raise ReaderUnavailable from error
        if not self._is_open:  # closed while it started
            await self._kill()
            raise ReaderUnavailable
        return child

    async def _kill(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with suppress(ProcessLookupError):
            child.kill()  # it stores nothing
        if child.stdin is not None:
            child.stdin.close()
        await child.wait()


async def _start() -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", _MODULE),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,  # a traceback would show untrusted text
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # a signal from the terminal is the service's
    )


async def _exchange(child: Process, request: ReadRequest) -> ReadResponse:
    if child.stdin is None or child.stdout is None:
        raise ReaderUnavailable
    child.stdin.write(encode_frame(request))
    await child.stdin.drain()
    length = await child.stdout.readexactly(LENGTH_BYTES)
    return decode_response(await child.stdout.readexactly(int.from_bytes(length, "big")))
