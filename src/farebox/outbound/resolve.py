"""The resolution of a host name to the one address of a call."""

import asyncio
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import Final, Protocol

from farebox.kernel.slots import AnyPurpose, NoSlot, Requester, Share, SlotLimits, Slots
from farebox.outbound.address_ranges import IPAddress, is_public
from farebox.outbound.faults import CallNotSent, CallRefusalReason, CallRefused, NotSentReason
from farebox.outbound.target import Target

MAX_LOOKUPS: Final = 128  # under way, each in a thread
LOOKUP_S: Final = 3.0  # the longest wait for an answer: calls wait for ten times as long
KEPT_S: Final = 10.0  # that an answer with addresses is used again
_MAX_KEPT: Final = 4096  # answers
_MAX_ADDRESSES: Final = 32  # of an answer that is kept: a nameserver may send thousands
_NEW_SHARES: Final = 64  # a new owner has one of so many parts of the lookups
_SLOT_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class PinnedAddress:
    """The address and port of a request, fixed even if the name resolves to another meanwhile."""

    address: IPAddress
    port: int


class Resolver(Protocol):
    """Resolves a target to an address; `owner` is the share of who caused it."""

    async def pin(self, target: Target, owner: Share | None = None) -> PinnedAddress:
        """The address to connect to.

        Raises:
            CallRefused: the name has an address that is not public.
            CallNotSent: the name has none, or it could not be looked up.
        """
        ...


class AddressLookup(Protocol):
    """Looks up the addresses of a name; `owner` is the share of who caused it."""

    async def addresses(self, host: str, owner: Share | None = None) -> Sequence[IPAddress]:
        """All of them, IPv4 and IPv6; empty when there is no such name.

        Raises:
            CallNotSent: the lookup failed.
        """
        ...


class PublicResolver:
    """Resolves only names whose every address is public."""

    def __init__(self, lookup: AddressLookup) -> None:
        self._lookup = lookup

    async def pin(self, target: Target, owner: Share | None = None) -> PinnedAddress:
        """One of the target's addresses, IPv4 where there is one.

        Raises:
            CallRefused: one of them is not public.
            CallNotSent: there is none, or the lookup failed.
        """
        found = await self._lookup.addresses(target.host, owner)
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

    async def pin(self, target: Target, owner: Share | None = None) -> PinnedAddress:
        """The loopback server of that name, or a public address."""
        found = self._servers.get(target.host)
        return found if found is not None else await self._others.pin(target, owner)


class FixedLookup:
    """For tests: the addresses of a few names; every other name has none."""

    def __init__(self, names: Mapping[str, Sequence[IPAddress]]) -> None:
        self._names = names

    async def addresses(self, host: str, owner: Share | None = None) -> Sequence[IPAddress]:
        """The given addresses of the name."""
        return self._names.get(host, ())


_Answer = asyncio.Future[tuple[IPAddress, ...] | None]  # None: the lookup failed


def limits_of_lookups(limit: int) -> SlotLimits:
    """The limits of owners who divide `limit` lookups.

    A lookup that is answered takes milliseconds, so that few at a time are enough for a new owner,
    and those of many whose names hang leave one to the next.
    """
    return SlotLimits(
        limit,
        per_client=limit,
        wait_s=_SLOT_S,
        next_wait_s=_SLOT_S,
        per_new_client=max(1, limit // _NEW_SHARES),
        is_divided=True,
    )


class SystemLookup:
    """The machine's own resolver, called in separate threads.

    A nameserver that does not respond blocks its thread until the system gives up, 30 s with common
    settings, and whoever runs one chooses how many names it has. So owners divide the `limit`
    threads, a name has one that all who ask for it wait for, and they wait for 3 s at most.
    Addresses that were found are used again for some seconds; each connection judges its address
    anew.
    """

    def __init__(self, *, limit: int = MAX_LOOKUPS) -> None:
        self._slots = Slots.undivided(limits_of_lookups(limit))
        self._under_way: dict[str, _Answer] = {}
        self._kept: dict[str, tuple[float, tuple[IPAddress, ...]]] = {}  # the oldest first

    async def addresses(self, host: str, owner: Share | None = None) -> Sequence[IPAddress]:
        """Look up the absolute name, without search domains.

        Raises:
            CallNotSent: too many lookups are under way, or the lookup failed or took too long.
        """
        until, kept = self._kept.get(host, (0.0, ()))
        if asyncio.get_running_loop().time() < until:
            return kept
        try:
            async with asyncio.timeout(LOOKUP_S):
                answer = self._under_way.get(host) or await self._begin(host, owner or Share(host))
                found = await asyncio.shield(answer)  # others wait for it too
        except TimeoutError:
            raise CallNotSent(NotSentReason.DEADLINE) from None
        if found is None:
            raise CallNotSent(NotSentReason.NAME)
        return found

    def _keep(self, host: str, found: tuple[IPAddress, ...], now: float) -> None:
        self._kept.pop(host, None)
        while self._kept:
            oldest = next(iter(self._kept))
            if self._kept[oldest][0] > now and len(self._kept) < _MAX_KEPT:
                break
            del self._kept[oldest]
        if len(found) <= _MAX_ADDRESSES:
            self._kept[host] = now + KEPT_S, found

    async def _begin(self, host: str, owner: Share) -> _Answer:
        """Take one of the owner's slots, and start a thread unless another has done so meanwhile.

        Raises:
            CallNotSent: the owner has no slot, or the system grants no further thread.
        """
        requester = Requester(AnyPurpose.ANY, owner)
        try:
            await self._slots.take(requester)
        except NoSlot:
            raise CallNotSent(NotSentReason.BUSY) from None
        if host in self._under_way:
            self._slots.release(requester)
            return self._under_way[host]
        loop = asyncio.get_running_loop()
        answer: _Answer = loop.create_future()

        def end(found: tuple[IPAddress, ...] | None) -> None:
            del self._under_way[host]
            self._slots.release(requester)
            if found:
                self._keep(host, found, loop.time())
            answer.set_result(found)

        def look_up() -> None:
            found = _find_addresses(f"{host}.")
            with suppress(RuntimeError):  # the loop has closed meanwhile: no caller waits
                loop.call_soon_threadsafe(end, found)

        try:
            threading.Thread(target=look_up, name="lookup", daemon=True).start()
        except RuntimeError:
            self._slots.release(requester)
            raise CallNotSent(NotSentReason.BUSY) from None
        self._under_way[host] = answer
        return answer


def _find_addresses(name: str) -> tuple[IPAddress, ...] | None:
    """All addresses of a name; None where the lookup failed."""
    try:
        return _system_addresses(name)
    except (OSError, ValueError):  # UnicodeError among them
        return None


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
