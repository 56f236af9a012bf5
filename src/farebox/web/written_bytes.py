"""Wait until a caller has what was written to its connection.

A server hands bytes to the kernel, which takes megabytes of them from a caller that reads nothing.
The ASGI extension `UNTIL_TAKEN` waits until the other machine has acknowledged them: its message
says in `but` how many may still wait.
"""

import asyncio
import fcntl
import socket
import sys
import termios
from typing import Final, Protocol

UNTIL_TAKEN: Final = "farebox.until_taken"  # the extension in a scope, and the type of its message
FIRST_PAUSE_S: Final = 0.001
_LONGEST_PAUSE_S: Final = 0.05
_CLOSED: Final = 7  # TCP_CLOSE, the first byte of tcp_info: the other side has reset it
_COUNT_BYTES: Final = 4


class _Socket(Protocol):
    @property
    def family(self) -> int: ...
    def fileno(self) -> int: ...
    def getsockopt(self, level: int, name: int, size: int) -> bytes: ...


def count_untaken(transport: asyncio.WriteTransport) -> int:
    """Count the written bytes that transport and kernel hold, as far as the system tells.

    Raises:
        ConnectionResetError: the connection is gone.
    """
    connection: _Socket | None = transport.get_extra_info("socket")
    held = 0 if connection is None else _held_bytes(connection)
    return transport.get_write_buffer_size() + held


async def wait_until_taken(transport: asyncio.WriteTransport, *, but: int) -> None:
    """Wait until transport and kernel hold at most `but` of the bytes that were written.

    Other systems than Linux do not tell what the kernel holds.

    Raises:
        ConnectionResetError: the connection is gone.
    """
    pause_s = FIRST_PAUSE_S
    while True:
        if transport.is_closing():
            raise ConnectionResetError
        if count_untaken(transport) <= but:
            return
        await asyncio.sleep(pause_s)  # no event tells of an acknowledgement
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def is_reset(transport: asyncio.WriteTransport) -> bool:
    """Whether the other side has reset the connection, where the system tells."""
    connection: _Socket | None = transport.get_extra_info("socket")
    return connection is not None and _is_known(connection) and _is_closed(connection)


def _is_known(connection: _Socket) -> bool:
    return sys.platform == "linux" and connection.family in (socket.AF_INET, socket.AF_INET6)


def _held_bytes(connection: _Socket) -> int:
    """Count the bytes in the kernel that the other side has not acknowledged.

    Raises:
        ConnectionResetError: the other side has reset the connection; the loop may not know yet.
    """
    if not _is_known(connection):
        return 0
    count = bytearray(_COUNT_BYTES)
    fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, count)  # SIOCOUTQ, by tcp(7)
    if _is_closed(connection):  # after the count: a reset empties the queue
        raise ConnectionResetError
    return int.from_bytes(count, sys.byteorder)


def _is_closed(connection: _Socket) -> bool:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _CLOSED
