"""The time that a buyer has to take a response."""

import asyncio

import pytest
from starlette.types import Message

from farebox.gateway import buyer_connection
from farebox.gateway.buyer_connection import PIECE_BYTES, BuyerConnection
from farebox.gateway.delivery.pass_response import BuyerLeft
from support.loop_time import LaterTime


async def never(message: Message | None = None) -> Message:
    await asyncio.Event().wait()
    return {}


async def slowly(message: Message) -> None:
    await asyncio.sleep(0.02)


async def at_once(later: LaterTime, seconds: float) -> None:
    """Take a message after so many seconds."""
    later.turn(seconds)
    await asyncio.sleep(0)


def connection(send: object) -> BuyerConnection:
    return BuyerConnection({}, never, send)  # type: ignore[arg-type]  # a Send


async def test_buyer_who_takes_nothing_has_left_at_the_end_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buyer_connection, "STALL_S", 0.05)
    with pytest.raises(BuyerLeft):
        await connection(never).write(b"x")


async def test_buyer_who_takes_little_has_left_once_its_time_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buyer_connection, "STALL_S", 0.2)
    one = connection(slowly)
    with pytest.raises(BuyerLeft):
        while True:  # a byte of a piece adds next to nothing
            await one.write(b"x")


async def test_bytes_that_the_buyer_has_taken_add_to_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = LaterTime(monkeypatch)
    monkeypatch.setattr(buyer_connection, "STALL_S", 10.0)
    monkeypatch.setattr(buyer_connection, "PIECE_S", 3600.0)
    one = connection(lambda message: at_once(later, 9.0))
    await one.write(b"x" * 4 * PIECE_BYTES)
    monkeypatch.setattr(buyer_connection, "PIECE_S", 0.0)
    one = connection(lambda message: at_once(later, 9.0))
    with pytest.raises(BuyerLeft):  # the control
        await one.write(b"x" * 4 * PIECE_BYTES)


async def test_buyer_has_left_at_the_end_of_the_attempt_whatever_it_has_taken() -> None:
    one = connection(slowly)
    await one.write(b"x" * 4 * PIECE_BYTES)
    one.limit_time(0.05)
    with pytest.raises(BuyerLeft):
        while True:
            await one.write(b"x" * PIECE_BYTES)
