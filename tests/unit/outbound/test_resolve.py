"""One address of a name is chosen, and only when all of them are public."""

import asyncio
import socket
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import Final

import pytest

from farebox.kernel.slots import Share, SlotLimits
from farebox.outbound import resolve
from farebox.outbound.address_ranges import IPAddress
from farebox.outbound.faults import CallNotSent, CallRefusalReason, CallRefused, NotSentReason
from farebox.outbound.request import OutboundRequest
from farebox.outbound.resolve import LoopbackResolver, PinnedAddress, PublicResolver, SystemLookup
from farebox.outbound.target import Target
from support.outbound import LOOPBACK, SELLER, lookup
from testing.waiting import until

TARGET = Target(SELLER, 443, "/", "", False)


async def test_resolver_pins_the_first_ipv4_address_with_the_targets_port() -> None:
    resolver = PublicResolver(lookup({SELLER: ["2606:4700::1", "1.1.1.1", "1.0.0.1"]}))
    assert await resolver.pin(TARGET) == PinnedAddress(ip_address("1.1.1.1"), 443)


async def test_resolver_pins_ipv6_when_a_name_has_no_ipv4_address() -> None:
    resolver = PublicResolver(lookup({SELLER: ["2606:4700::1"]}))
    assert await resolver.pin(TARGET) == PinnedAddress(ip_address("2606:4700::1"), 443)


@pytest.mark.parametrize("other", ["127.0.0.1", "10.0.0.1", "::1", "fe80::1%1", "0.0.0.0"])
@pytest.mark.parametrize("first", [True, False])
async def test_resolver_refuses_a_name_with_one_address_that_is_not_public(
    other: str, first: bool
) -> None:
    both = [other, "1.1.1.1"] if first else ["1.1.1.1", other]
    with pytest.raises(CallRefused) as refused:
        await PublicResolver(lookup({SELLER: both})).pin(TARGET)
    assert refused.value.reason is CallRefusalReason.ADDRESS


async def test_resolver_finds_no_address_for_an_unknown_name() -> None:
    with pytest.raises(CallNotSent) as unsent:
        await PublicResolver(lookup({})).pin(TARGET)
    assert unsent.value.reason is NotSentReason.NAME


async def test_test_resolver_reaches_loopback_only_under_its_names() -> None:
    served = PinnedAddress(LOOPBACK, 4443)
    names = lookup({"other.example.com": ["127.0.0.1"]})
    resolver = LoopbackResolver({SELLER: served}, names)
    assert await resolver.pin(TARGET) == served
    with pytest.raises(CallRefused):
        await resolver.pin(Target("other.example.com", 443, "/", "", False))


def test_test_resolver_refuses_a_server_off_the_loopback() -> None:
    with pytest.raises(ValueError, match="loopback"):
        LoopbackResolver({SELLER: PinnedAddress(ip_address("10.0.0.1"), 443)}, lookup({}))


async def test_system_lookup_asks_for_the_absolute_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []

    def answer(name: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        names.append(name)
        return [
            (socket.AF_INET, 1, 6, "", ("1.1.1.1", 0)),
            (socket.AF_INET, 1, 6, "", ("1.1.1.1", 0)),
            (socket.AF_INET6, 1, 6, "", ("fe80::1", 0, 0, 3)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    found = await SystemLookup().addresses(SELLER)
    assert found == (ip_address("1.1.1.1"), ip_address("fe80::1%3"))
    assert names == [f"{SELLER}."]


@pytest.mark.parametrize("code", [socket.EAI_NONAME, socket.EAI_AGAIN])
async def test_failed_system_lookup_is_not_sent(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(code, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(CallNotSent) as unsent:
        await PublicResolver(SystemLookup()).pin(TARGET)
    assert unsent.value.reason is NotSentReason.NAME


class Nameserver:
    """Answers every name at once but those that hang until the test ends."""

    def __init__(self, hanging: Collection[str]) -> None:
        self._hanging = {f"{name}." for name in hanging}
        self.asked: list[str] = []
        self.address = "1.1.1.1"
        self.go = threading.Event()

    def __call__(self, name: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        """Stand in for `socket.getaddrinfo`."""
        self.asked.append(name)
        if name in self._hanging:
            self.go.wait(30)
        return [(socket.AF_INET, 1, 6, "", (self.address, 0))]


HANGING: Final = [f"hangs-{number}.example.com" for number in range(128)]
SELLER_SHARE: Final = Share("seller")
ADDRESS: Final = (ip_address("1.1.1.1"),)


@pytest.fixture
def nameserver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nameserver]:
    made = Nameserver(HANGING)
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.go.set()


async def _reasons(tasks: Iterable[asyncio.Future[Sequence[IPAddress]]]) -> set[NotSentReason]:
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    return {each.reason for each in outcomes if isinstance(each, CallNotSent)}


async def _honest_reasons(names: SystemLookup, *hostile: Share) -> set[NotSentReason]:
    """Look up names that hang for hostile owners, and names that do not for honest ones meanwhile.

    Return why the honest ones were not found.
    """
    begun = [
        asyncio.ensure_future(names.addresses(name, hostile[number % len(hostile)]))
        for number, name in enumerate(HANGING)
    ]
    await asyncio.sleep(0)
    owners = (SELLER_SHARE, Share("2001:db8::/48", is_new=True))
    honest = await _reasons(
        [
            asyncio.ensure_future(
                names.addresses(f"{'new' if each.is_new else 'known'}.example.com", each)
            )
            for each in owners
        ]
    )
    assert await _reasons(begun) <= {NotSentReason.BUSY, NotSentReason.DEADLINE}
    return honest


STRANGER: Final = Share("stranger")
SITES: Final = [Share(f"192.0.2.{number}", is_new=True) for number in range(16)]


async def test_names_that_hang_leave_the_lookups_of_other_owners(nameserver: Nameserver) -> None:
    names = SystemLookup(limit=32)
    assert await _honest_reasons(names, STRANGER) == set()
    assert len(nameserver.asked) == 16 + 2, "half of the threads, and those of the honest ones"
    assert await asyncio.to_thread(lambda: 1) == 1  # the shared pool is free
    nameserver.go.set()
    await until(lambda: not names._under_way)
    assert await names.addresses(HANGING[-1], STRANGER) == ADDRESS


async def test_sixteen_new_owners_whose_names_hang_leave_lookups_to_others(
    nameserver: Nameserver,
) -> None:
    assert await _honest_reasons(SystemLookup(), *SITES) == set()
    assert len(nameserver.asked) == 2 * 16 + 2


@pytest.mark.parametrize("hostile", [[STRANGER], SITES], ids=["one", "sites"])
async def test_lookups_that_are_not_divided_are_closed_by_names_that_hang(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch, hostile: list[Share]
) -> None:
    """The control: an owner may have eight of the threads, and one that is alone all of them."""

    def undivided(limit: int) -> SlotLimits:
        each = limit if hostile == [STRANGER] else limit // 16
        return SlotLimits(limit, each, wait_s=0.1, next_wait_s=0.1)

    monkeypatch.setattr(resolve, "limits_of_lookups", undivided)
    assert await _honest_reasons(SystemLookup(), *hostile) == {NotSentReason.BUSY}


async def test_lookup_of_a_name_is_shared_by_its_waiters(nameserver: Nameserver) -> None:
    names, name = SystemLookup(), HANGING[0]
    waiting = [asyncio.ensure_future(names.addresses(name, Share(f"owner {n}"))) for n in range(20)]
    await until(lambda: bool(nameserver.asked))
    waiting[0].cancel()  # the one that began it; the others wait on
    nameserver.go.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert outcomes[1:] == [ADDRESS] * 19
    assert nameserver.asked == [f"{name}."]


async def test_addresses_that_were_found_are_used_again_for_a_time(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = SystemLookup()
    for _ in range(3):
        assert await names.addresses(SELLER) == ADDRESS
    assert nameserver.asked == [f"{SELLER}."]
    monkeypatch.setattr(resolve, "KEPT_S", 0.0)
    await names.addresses("other.example.com")
    await names.addresses("other.example.com")
    assert nameserver.asked[1:] == ["other.example.com."] * 2, "the control: none is kept"


async def test_kept_addresses_need_no_slot_and_are_bounded_in_number(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "_MAX_KEPT", 2)
    names = SystemLookup(limit=1)
    await names.addresses(SELLER)
    await names.addresses("other.example.com")
    hanging = asyncio.ensure_future(names.addresses(HANGING[0]))
    await until(lambda: len(nameserver.asked) == 3)
    assert await names.addresses(SELLER) == ADDRESS
    nameserver.go.set()
    await hanging
    await names.addresses(SELLER)
    assert len(nameserver.asked) == 4, "the oldest was dropped for the third"


async def test_kept_addresses_are_few_for_a_name_and_go_when_their_time_is_over(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = SystemLookup()
    monkeypatch.setattr(resolve, "_MAX_ADDRESSES", 0)
    await names.addresses(SELLER)
    assert names._kept == {}
    monkeypatch.undo()
    monkeypatch.setattr(resolve, "KEPT_S", 0.0)
    monkeypatch.setattr(socket, "getaddrinfo", nameserver)
    for host in (SELLER, "other.example.com"):
        await names.addresses(host)
    assert list(names._kept) == ["other.example.com"]


@pytest.mark.parametrize("errno", [socket.EAI_NONAME, socket.EAI_AGAIN])
async def test_lookup_without_addresses_is_made_again(
    monkeypatch: pytest.MonkeyPatch, errno: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(errno, "no answer")

    names, nameserver = PublicResolver(SystemLookup()), Nameserver([])
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(CallNotSent):
        await names.pin(TARGET)
    monkeypatch.setattr(socket, "getaddrinfo", nameserver)
    assert await names.pin(TARGET) == PinnedAddress(ADDRESS[0], 443)


async def test_each_pin_is_an_address_that_was_judged_though_the_name_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that first leads to a public address, then to a private one, and back."""
    nameserver = Nameserver([])
    monkeypatch.setattr(socket, "getaddrinfo", nameserver)
    monkeypatch.setattr(resolve, "KEPT_S", 0.0)
    names = PublicResolver(SystemLookup())
    assert await names.pin(TARGET) == PinnedAddress(ADDRESS[0], 443)
    monkeypatch.setattr(resolve, "KEPT_S", 60.0)
    nameserver.address = "10.0.0.1"
    for _ in range(2):  # by a lookup, and by what it has left
        with pytest.raises(CallRefused) as refused:
            await names.pin(TARGET)
        assert refused.value.reason is CallRefusalReason.ADDRESS
    assert len(nameserver.asked) == 2


async def test_lookup_that_hangs_ends_long_before_the_call(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OutboundRequest("").deadline_s >= 3 * resolve.LOOKUP_S
    monkeypatch.setattr(resolve, "LOOKUP_S", 0.01)
    names = SystemLookup()
    for _ in range(3):
        with pytest.raises(CallNotSent) as unsent:
            await names.addresses(HANGING[0])
        assert unsent.value.reason is NotSentReason.DEADLINE
    assert len(nameserver.asked) == 1, "the thread of the first one is still waited for"
