"""From a name to the one address that is connected to."""

import asyncio
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import Final, Protocol

from farebox.outbound.address_ranges import IPAddress, is_public
from farebox.outbound.faults import CallRefused, Forbidden, NotSent, Unsent
from farebox.outbound.target import Target

MAX_LOOKUPS: Final = 32


@dataclass(frozen=True, slots=True)
class Pinned:
    """The one address and port a request goes to, whatever the name resolves to meanwhile."""

    address: IPAddress
    port: int


class Resolver(Protocol):
    """Says where a target is."""

    async def pin(self, target: Target) -> Pinned:
        """The address to connect to.

        Raises:
            CallRefused: the name has an address that is not public.
            NotSent: the name has none, or it could not be looked up.
        """
        ...


class Lookup(Protocol):
    """Asks for the addresses of a name."""

    async def addresses(self, host: str) -> Sequence[IPAddress]:
        """All of them, of both kinds; none when there is no such name.

        Raises:
            NotSent: it cannot be said.
        """
        ...


class PublicResolver:
    """A name is called only when every one of its addresses is public."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def pin(self, target: Target) -> Pinned:
        """One of the target's addresses, IPv4 where there is one.

        Raises:
            CallRefused: one of them is not public.
            NotSent: there is none, or it cannot be said.
        """
        found = await self._lookup.addresses(target.host)
        if not all(map(is_public, found)):
            raise CallRefused(Forbidden.ADDRESS)
        if not found:
            raise NotSent(Unsent.NAME)
        chosen = next((each for each in found if isinstance(each, IPv4Address)), found[0])
        return Pinned(chosen, target.port)


class LoopbackResolver:
    """For tests: some names are servers of this machine; `lookup` knows the others."""

    def __init__(self, servers: Mapping[str, Pinned], lookup: Lookup) -> None:
        if not all(each.address.is_loopback for each in servers.values()):
            raise ValueError("a server of this machine has a loopback address")
        self._servers, self._others = servers, PublicResolver(lookup)

    async def pin(self, target: Target) -> Pinned:
        """The loopback server of that name, or a public address."""
        found = self._servers.get(target.host)
        return found if found is not None else await self._others.pin(target)


class FixedLookup:
    """For tests: the addresses of a few names; every other name has none."""

    def __init__(self, names: Mapping[str, Sequence[IPAddress]]) -> None:
        self._names = names

    async def addresses(self, host: str) -> Sequence[IPAddress]:
        """As they were given."""
        return self._names.get(host, ())


class SystemLookup:
    """The machine's own resolver, asked in threads of its own.

    A nameserver that does not answer holds its thread until the system gives up; the pool that
    others share for their lookups must not be spent on that. At most `most` are asked at a time.
    """

    def __init__(self, *, most: int = MAX_LOOKUPS) -> None:
        self._slots = threading.Semaphore(most)

    async def addresses(self, host: str) -> Sequence[IPAddress]:
        """What the system says of the absolute name, no search domain tried.

        Raises:
            NotSent: too many lookups are under way, or the system has no answer.
        """
        if not self._slots.acquire(blocking=False):
            raise NotSent(Unsent.BUSY)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[IPAddress, ...]] = loop.create_future()
        work = (f"{host}.", loop, answer)
        thread = threading.Thread(target=self._look_up, args=work, name="lookup", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system grants no further thread
            self._slots.release()
            raise NotSent(Unsent.BUSY) from None
        return await answer

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
            self._slots.release()
        with suppress(RuntimeError):  # the loop has closed meanwhile: nobody waits
            loop.call_soon_threadsafe(_settle, answer, found)


def _system_addresses(name: str) -> tuple[IPAddress, ...]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
            return ()
        raise
    return tuple(dict.fromkeys(_address(each[4]) for each in found))


def _address(place: tuple[object, ...]) -> IPAddress:
    scope = f"%{place[3]}" if len(place) == 4 and place[3] and "%" not in str(place[0]) else ""
    return ip_address(f"{place[0]}{scope}")


def _settle(
    answer: asyncio.Future[tuple[IPAddress, ...]], found: tuple[IPAddress, ...] | None
) -> None:
    if answer.done():
        return
    if found is None:
        answer.set_exception(NotSent(Unsent.NAME))
    else:
        answer.set_result(found)
