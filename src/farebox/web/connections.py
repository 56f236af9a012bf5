"""The connections of the server: limits and timeouts, transport and flow, and its host names."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Final, Protocol

import structlog
from uvicorn.protocols.http.flow_control import FlowControl

from farebox.web.client_address import client_name, is_trusted_peer
from farebox.web.held_bytes import HeldBytes

CHECK_EVERY_S: Final = 0.5
MAX_UNPARSED_BYTES: Final = 16 * 1024 * 1024
PIECE_BYTES: Final = 64 * 1024  # of a response, given to the transport at a time
_RESPONSE_HEAD: Final = b"HTTP/1.1 "
_LOOPBACK: Final = re.compile(rb"localhost\Z|127(\.[0-9]{1,3}){3}\Z|\[::1\]\Z")
_CACHED_HOSTS: Final = 64
_PORT: Final = re.compile(rb":[0-9]{0,5}\Z")
_HOST: Final = re.compile(rb"(?:[\w.~!$&'()*+,;=%-]*|\[[\w:.%]*\])(?::[0-9]*)?\Z")
_ABSOLUTE: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]+)")
_DEFAULT_PORT: Final = re.compile(rb":(?:80|443)?\Z")
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of the connections; times in seconds."""

    in_all: int
    per_address: int  # 0: unlimited
    trusted_proxies: Sequence[IPv4Network | IPv6Network] = ()  # not limited by address
    head_s: float = 10.0  # from the first byte of a head to its last, or without any
    idle_s: float = 75.0  # between requests: longer than the pools of usual clients keep one
    rest_s: float = 5.0  # for the rest of a body whose request is answered
    write_s: float = 20.0  # for a caller that does not read its response
    # for a caller to read its last response while it still sends: since its last bytes, and in all
    close_s: float = 2.0
    last_s: float = 10.0


class Connection(Hashable, Protocol):
    """A connection as the limits see it."""

    @property
    def is_busy(self) -> bool:
        """Whether a handler works on one of its requests."""
        ...

    @property
    def has_served(self) -> bool:
        """Whether it ever carried a request."""
        ...

    def time_out(self) -> None:
        """End the wait: its time is over."""
        ...

    def shed(self) -> None:
        """Give up unparsed bytes: close, or close after the response under way."""
        ...


class OpenConnections:
    """Counts the connections and closes those that wait too long, up to half a second late.

    When the limit is reached, the connection that has waited longest is closed; when too many bytes
    wait to be parsed, connections of the client that sent the most of them.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._names: dict[Connection, str | None] = {}
        self._of_address: Counter[str] = Counter()
        self._deadlines: dict[Connection, float] = {}  # in the order in which the waits began
        self._unparsed = HeldBytes[Connection](MAX_UNPARSED_BYTES, _shed)
        self._refused = 0  # since the last log event
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._names)

    def has_room_for(self, peer: str) -> bool:
        """Return whether the address may open one more connection."""
        most = self.limits.per_address
        has_room = not most or self._of_address[client_name(peer)] < most or self._is_proxy(peer)
        self._refused += not has_room
        return has_room

    def make_room(self) -> bool:
        """Return whether one more connection fits, after closing a waiting one if there is none.

        One that never carried a request is closed first.
        """
        if len(self._names) < self.limits.in_all:
            return True
        victim: Connection | None = None
        for each in self._deadlines:
            if each.is_busy:
                continue
            if not each.has_served:
                victim = each
                break
            victim = victim or each
        if victim is None:
            self._refused += 1
            return False
        self.remove(victim)
        victim.shed()
        return True

    def add(self, connection: Connection, peer: str) -> None:
        """Count an open connection."""
        name = None if self._is_proxy(peer) else client_name(peer)
        self._names[connection] = name
        if name is not None:
            self._of_address[name] += 1

    def remove(self, connection: Connection) -> None:
        """Forget a closed connection; one that is not counted is ignored."""
        name = self._names.pop(connection, None)
        if name is not None:
            self._of_address[name] -= 1
            if not self._of_address[name]:
                del self._of_address[name]
        self._deadlines.pop(connection, None)
        self._unparsed.release(connection)

    def set_timeout(
        self, connection: Connection, seconds: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Time the connection out in `seconds`, in place of an earlier timeout.

        One that is not counted is ignored.
        """
        if connection not in self._names:
            return
        self._deadlines.pop(connection, None)
        self._deadlines[connection] = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_later(CHECK_EVERY_S, self._check, loop)

    def limit_writing(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Give a caller some seconds to take what waits to be sent."""
        self.set_timeout(connection, self.limits.write_s, loop)

    def clear_timeout(self, connection: Connection) -> None:
        """Remove the timeout of a connection."""
        self._deadlines.pop(connection, None)

    def set_unparsed(self, connection: Connection, count: int) -> None:
        """Count the bytes that belong to no request yet, and shed connections above the limit.

        Each connection of a proxy counts as a client of its own: who sent its head is not known.
        """
        self._unparsed.replace(connection, count, self._names.get(connection) or connection)

    def _is_proxy(self, peer: str) -> bool:
        proxies = self.limits.trusted_proxies
        return bool(proxies) and is_trusted_peer(peer, proxies)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        timer = self._timer = loop.call_later(CHECK_EVERY_S, self._check, loop)
        for connection in [each for each, at in self._deadlines.items() if at <= now]:
            del self._deadlines[connection]
            connection.time_out()  # the timer is set: an exception ends this check alone
        if self._refused:
            log.warning("connections.refused", count=self._refused, open=len(self))
            self._refused = 0
        if not self._deadlines:
            timer.cancel()
            self._timer = None  # the next timeout starts it again


def _shed(connection: Connection) -> bool:
    connection.shed()
    return True


class HeadBuffer(asyncio.Transport):
    """A transport that sends the head of a response together with its body.

    The server writes the two one after the other, and the loop would send each in a packet of its
    own. A head waits for at most one iteration of the loop, and a large body is not copied for it.
    `close` calls `keeps_open`, and closes the transport only where that returns False, once the
    caller has taken the bytes that wait to be sent.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        keeps_open: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._transport, self._loop, self._keeps_open = transport, loop, keeps_open
        self._head = b""
        # Called for every request: straight to the real transport.
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self.get_extra_info = transport.get_extra_info  # type: ignore[method-assign]
        self.pause_reading = transport.pause_reading  # type: ignore[method-assign]
        self.resume_reading = transport.resume_reading  # type: ignore[method-assign]
        self.set_protocol = transport.set_protocol  # type: ignore[method-assign]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Buffer a head; send everything else behind the buffered head."""
        if self._head and len(data) <= PIECE_BYTES:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif self._head:
            self._flush()
            self._transport.write(data)
        elif isinstance(data, bytes) and data.startswith(_RESPONSE_HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait to be sent."""
        return len(self._head) + self._transport.get_write_buffer_size()

    def write_eof(self) -> None:
        """Send the buffered head and close the sending side; bytes that arrive are still read."""
        self._flush()
        self._transport.write_eof()

    def can_write_eof(self) -> bool:
        """Whether the sending side can be closed alone; TLS has no such state."""
        return self._transport.can_write_eof()

    def close(self) -> None:
        """Send the buffered head and close the connection, unless it is to stay open."""
        self._flush()
        if not self._keeps_open():
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._head = b""
        self._transport.abort()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)


class HoldableFlow(FlowControl):
    """Does not resume reading while bytes that were read wait to be parsed."""

    is_held = False

    def hold(self) -> None:
        """Stop reading."""
        self.is_held = True
        self.pause_reading()

    def release(self) -> None:
        """Read again."""
        self.is_held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        """Read again, unless bytes wait to be parsed."""
        if self.read_paused and not self.is_held:
            super().resume_reading()


class AllowedHosts:
    """The Host headers that are answered: those of the loopback, and the names given.

    Without such a list a page of any site may point its own name at this machine (DNS rebinding)
    and read a service that listens on the loopback.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower().encode() for name in names)
        self._cache: set[bytes] = set()  # headers as written: nearly all requests send the same

    def __contains__(self, header: bytes) -> bool:
        """Return whether the header is one of the names, with or without a port."""
        if header in self._cache:
            return True
        name = _PORT.sub(b"", header.strip().lower()).removesuffix(b".")
        is_allowed = name in self._names or _LOOPBACK.match(name) is not None
        if is_allowed and len(self._cache) < _CACHED_HOSTS:
            self._cache.add(header)
        return is_allowed


def is_host(value: bytes) -> bool:
    """Whether a value of Host is a host, with or without a port (RFC 3986, section 3.2)."""
    return _HOST.match(value) is not None


def read_target_host(target: bytes) -> bytes | None:
    """Return host and port of an absolute request target; None for any other."""
    found = _ABSOLUTE.match(target)
    return None if found is None else found[1]


def with_path(target: bytes) -> bytes:
    """Return an absolute request target with the path `/` where its path is empty.

    RFC 9112, section 3.2.2, has a client send the one; RFC 3986 takes both for the same.
    """
    end = found.end() if (found := _ABSOLUTE.match(target)) else 0
    return target if target[end : end + 1] == b"/" else target[:end] + b"/" + target[end:]


def without_port(host: bytes) -> bytes:
    """Return a host in lower case, without a default port."""
    return _DEFAULT_PORT.sub(b"", host.lower())
