"""The resolution of a host name to the one address of a call."""

import asyncio
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import Final, Protocol

from farebox.outbound.address_ranges import IPAddress, is_public
from farebox.outbound.faults import CallNotSent, CallRefusalReason, CallRefused, NotSentReason
from farebox.outbound.target import Target

MAX_LOOKUPS: Final = 32
_THREADS_A_LOOKUP: Final = 4


@dataclass(frozen=True, slots=True)
class PinnedAddress:
    """The address and port of a request, fixed even if the name resolves to another meanwhile."""

    address: IPAddress
    port: int


class Resolver(Protocol):
    """Resolves a target to an address."""

    async def pin(self, target: Target) -> PinnedAddress:
        """The address to connect to.

        Raises:
            CallRefused: the name has an address that is not public.
            CallNotSent: the name has none, or it could not be looked up.
        """
        ...


class AddressLookup(Protocol):
    """Looks up the addresses of a name."""

    async def addresses(self, host: str) -> Sequence[IPAddress]:
        """All of them, IPv4 and IPv6; empty when there is no such name.

        Raises:
            CallNotSent: the lookup failed.
        """
        ...


class PublicResolver:
    """Resolves only names whose every address is public."""

    def __init__(self, lookup: AddressLookup) -> None:
        self._lookup = lookup

    async def pin(self, target: Target) -> PinnedAddress:
        """One of the target's addresses, IPv4 where there is one.

        Raises:
            CallRefused: one of them is not public.
            CallNotSent: there is none, or the lookup failed.
        """
        found = await self._lookup.addresses(target.host)
        if not all(map(is_public, found)):
            raise CallRefused(CallRefusalReason.ADDRESS)
        if not found:
            raise CallNotSent(NotSentReason.NAME)
        chosen = next((each for each in found if isinstance(each, IPv4Address)), found[0])
        return PinnedAddress(chosen, target.port)


class LoopbackResolver:
    """For tests: some names are servers of this machine; `lookup` resolves the others."""

    def __init__(self, servers: Mapping[str, PinnedAddress], lookup: AddressLookup) -> None:
        if not all(each.address.is_loopback for each in servers.values()):
            raise ValueError("a server of this machine has a loopback address")
        self._servers, self._others = servers, PublicResolver(lookup)

    async def pin(self, target: Target) -> PinnedAddress:
        """The loopback server of that name, or a public address."""
        found = self._servers.get(target.host)
        return found if found is not None else await self._others.pin(target)


class FixedLookup:
    """For tests: the addresses of a few names; every other name has none."""

    def __init__(self, names: Mapping[str, Sequence[IPAddress]]) -> None:
        self._names = names

    async def addresses(self, host: str) -> Sequence[IPAddress]:
        """The given addresses of the name."""
        return self._names.get(host, ())


class SystemLookup:
    """The machine's own resolver, called in separate threads.

    A nameserver that does not respond blocks its thread until the system gives up, 30 s with common
    settings; the shared thread pool must not be used up by that. At most `limit` lookups are waited
    for at a time. A caller that stops waiting frees its slot at once. Its thread still runs, so
    there may be four times as many threads: calls wait for a quarter of 30 s.
    """

    def __init__(self, *, limit: int = MAX_LOOKUPS) -> None:
        self._limit, self._waiting = limit, 0
        self._threads = threading.Semaphore(_THREADS_A_LOOKUP * limit)

    async def addresses(self, host: str) -> Sequence[IPAddress]:
        """Look up the absolute name, without search domains.

        Raises:
            CallNotSent: too many lookups are under way, or the lookup failed.
        """
        if self._waiting >= self._limit or not self._threads.acquire(blocking=False):
            raise CallNotSent(NotSentReason.BUSY)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[IPAddress, ...]] = loop.create_future()
        work = (f"{host}.", loop, answer)
        thread = threading.Thread(target=self._look_up, args=work, name="lookup", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system grants no further thread
            self._threads.release()
            raise CallNotSent(NotSentReason.BUSY) from None
        self._waiting += 1
        try:
            return await answer
        finally:
            self._waiting -= 1

    def _look_up(
        self,
        name: str,
        loop: asyncio.AbstractEventLoop,
        answer: asyncio.Future[tuple[IPAddress, ...]],
    ) -> None:
        try:
            found: tuple[IPAddress, ...] | None = _system_addresses(name)
        except (OSError, ValueError):  # UnicodeError among them
            found = None
        finally:
            self._threads.release()
        with suppress(RuntimeError):  # the loop has closed meanwhile: no caller waits
            loop.call_soon_threadsafe(_resolve_future, answer, found)


def _system_addresses(name: str) -> tuple[IPAddress, ...]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
            return ()
        raise
    return tuple(dict.fromkeys(_address(each[4]) for each in found))


def _address(sockaddr: tuple[object, ...]) -> IPAddress:
    scope = (
        f"%{sockaddr[3]}"
        if len(sockaddr) == 4 and sockaddr[3] and "%" not in str(sockaddr[0])
        else ""
    )
    return ip_address(f"{sockaddr[0]}{scope}")


def _resolve_future(
    answer: asyncio.Future[tuple[IPAddress, ...]], found: tuple[IPAddress, ...] | None
) -> None:
    if answer.done():
        return
    if found is None:
        answer.set_exception(CallNotSent(NotSentReason.NAME))
    else:
        answer.set_result(found)
