"""One address of a name is chosen, and only when all of them are public."""

import asyncio
import socket
import threading
from ipaddress import ip_address

import pytest

from farebox.outbound.faults import CallRefused, Forbidden, NotSent, Unsent
from farebox.outbound.resolve import LoopbackResolver, Pinned, PublicResolver, SystemLookup
from farebox.outbound.target import Target
from support.outbound import LOOPBACK, SELLER, lookup

TARGET = Target(SELLER, 443, "/", "", False)


async def test_the_first_ipv4_address_is_chosen_with_the_targets_port() -> None:
    resolver = PublicResolver(lookup({SELLER: ["2606:4700::1", "1.1.1.1", "1.0.0.1"]}))
    assert await resolver.pin(TARGET) == Pinned(ip_address("1.1.1.1"), 443)


async def test_a_name_with_ipv6_alone_is_found_there() -> None:
    resolver = PublicResolver(lookup({SELLER: ["2606:4700::1"]}))
    assert await resolver.pin(TARGET) == Pinned(ip_address("2606:4700::1"), 443)


@pytest.mark.parametrize("other", ["127.0.0.1", "10.0.0.1", "::1", "fe80::1%1", "0.0.0.0"])
@pytest.mark.parametrize("first", [True, False])
async def test_one_address_that_is_not_public_refuses_the_name(other: str, first: bool) -> None:
    both = [other, "1.1.1.1"] if first else ["1.1.1.1", other]
    with pytest.raises(CallRefused) as refused:
        await PublicResolver(lookup({SELLER: both})).pin(TARGET)
    assert refused.value.reason is Forbidden.ADDRESS


async def test_a_name_without_an_address_is_not_found() -> None:
    with pytest.raises(NotSent) as unsent:
        await PublicResolver(lookup({})).pin(TARGET)
    assert unsent.value.reason is Unsent.NAME


async def test_a_test_resolver_reaches_loopback_only_under_the_names_it_was_given() -> None:
    served = Pinned(LOOPBACK, 4443)
    names = lookup({"other.example.com": ["127.0.0.1"]})
    resolver = LoopbackResolver({SELLER: served}, names)
    assert await resolver.pin(TARGET) == served
    with pytest.raises(CallRefused):
        await resolver.pin(Target("other.example.com", 443, "/", "", False))


def test_a_test_resolver_takes_no_server_elsewhere() -> None:
    with pytest.raises(ValueError, match="loopback"):
        LoopbackResolver({SELLER: Pinned(ip_address("10.0.0.1"), 443)}, lookup({}))


async def test_the_system_is_asked_for_the_absolute_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(name: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(name)
        return [
            (socket.AF_INET, 1, 6, "", ("1.1.1.1", 0)),
            (socket.AF_INET, 1, 6, "", ("1.1.1.1", 0)),
            (socket.AF_INET6, 1, 6, "", ("fe80::1", 0, 0, 3)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    found = await SystemLookup().addresses(SELLER)
    assert found == (ip_address("1.1.1.1"), ip_address("fe80::1%3"))
    assert asked == [f"{SELLER}."]


@pytest.mark.parametrize("code", [socket.EAI_NONAME, socket.EAI_AGAIN])
async def test_no_such_name_and_no_answer_are_both_not_sent(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(code, "told by nobody")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(NotSent) as unsent:
        await PublicResolver(SystemLookup()).pin(TARGET)
    assert unsent.value.reason is Unsent.NAME


async def test_names_that_hang_hold_their_own_threads_and_no_more_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()

    def hang(*_: object, **__: object) -> list[tuple[object, ...]]:
        go.wait(5)
        return [(socket.AF_INET, 1, 6, "", ("1.1.1.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    names = SystemLookup(most=2)
    waiting = [asyncio.create_task(names.addresses(SELLER)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # who asked may leave; the thread is still spent
    with pytest.raises(NotSent) as unsent:
        await names.addresses(SELLER)
    assert unsent.value.reason is Unsent.BUSY
    assert await asyncio.to_thread(lambda: 1) == 1  # the pool of everybody else is free
    go.set()
    assert await waiting[1] == (ip_address("1.1.1.1"),)
