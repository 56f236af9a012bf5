from dataclasses import replace

from farebox.facilitator.channels.ledger_room import TYPICAL, LedgerRoom, RoomMeter, room_for
from farebox.stellar.network_settings import (
    LedgerLimits,
    NetworkSettings,
    ResourceFees,
    TransactionLimits,
)

MAINNET = LedgerLimits(
    instructions=580_000_000,
    clusters=2,
    disk_read_entries=1000,
    write_entries=1000,
    write_bytes=286_720,
    transaction_bytes=266_240,
    transactions=2000,
)


def settings(limits: LedgerLimits) -> NetworkSettings:
    return NetworkSettings(
        TransactionLimits(*[1] * 8), limits, ResourceFees(*[1] * 8), target_close_ms=5000
    )


def test_on_mainnet_the_bytes_bind() -> None:
    assert room_for(MAINNET, TYPICAL) == LedgerRoom(219, "transaction bytes")


def test_with_three_times_the_bytes_something_else_does() -> None:
    tripled = replace(MAINNET, transaction_bytes=3 * MAINNET.transaction_bytes)
    assert room_for(tripled, TYPICAL) == LedgerRoom(333, "write entries")


def test_each_limit_can_bind() -> None:
    tight = {
        "transactions": replace(MAINNET, transactions=3),
        "instructions": replace(MAINNET, instructions=3_000_000),
        "write bytes": replace(MAINNET, write_bytes=1260),
    }
    assert {kind: room_for(limits, TYPICAL).binds for kind, limits in tight.items()} == {
        kind: kind for kind in tight
    }


def test_there_is_always_room_for_one() -> None:
    assert room_for(replace(MAINNET, transaction_bytes=10), TYPICAL).settlements == 1
    assert room_for(MAINNET, replace(TYPICAL, write_bytes=0)).settlements == 219


def test_the_room_follows_the_limits_and_what_was_measured() -> None:
    now: list[NetworkSettings | None] = [None]
    meter = RoomMeter(lambda: now[0])
    assert meter.room() is None, "unknown limits bind nobody"
    now[0] = settings(MAINNET)
    assert meter.room() == LedgerRoom(219, "transaction bytes")
    meter.measure(replace(TYPICAL, transaction_bytes=2424))
    assert meter.room() == LedgerRoom(109, "transaction bytes")
    now[0] = settings(replace(MAINNET, transaction_bytes=2 * 266_240))
    assert meter.room() == LedgerRoom(219, "transaction bytes")
    for _ in range(100):
        meter.measure(TYPICAL)
    room = meter.room()
    assert room is not None
    assert room.settlements > 330, "an average, not the largest ever seen"
