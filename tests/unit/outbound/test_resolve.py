"""One address of a name is chosen, and only when all of them are public."""

import asyncio
import socket
import threading
from ipaddress import ip_address

import pytest

from farebox.outbound.faults import CallNotSent, CallRefusalReason, CallRefused, NotSentReason
from farebox.outbound.resolve import LoopbackResolver, PinnedAddress, PublicResolver, SystemLookup
from farebox.outbound.target import Target
from support.outbound import LOOPBACK, SELLER, lookup

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


async def test_hanging_lookups_use_only_their_own_threads_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()

    def hang(*_: object, **__: object) -> list[tuple[object, ...]]:
        go.wait(5)
        return [(socket.AF_INET, 1, 6, "", ("1.1.1.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    names = SystemLookup(limit=1)
    waiting = asyncio.create_task(names.addresses(SELLER))
    await asyncio.sleep(0)
    with pytest.raises(CallNotSent) as unsent:
        await names.addresses(SELLER)
    assert unsent.value.reason is NotSentReason.BUSY
    for _ in range(3):  # a cancelled caller makes room at once, though its thread is still busy
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        waiting = asyncio.create_task(names.addresses(SELLER))
        await asyncio.sleep(0)
        assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    with pytest.raises(CallNotSent) as unsent:  # as long as there are threads
        await names.addresses(SELLER)
    assert unsent.value.reason is NotSentReason.BUSY
    assert await asyncio.to_thread(lambda: 1) == 1  # the shared pool is free
    go.set()
    while True:
        try:
            assert await names.addresses(SELLER) == (ip_address("1.1.1.1"),)
            break
        except CallNotSent:
            await asyncio.sleep(0)
