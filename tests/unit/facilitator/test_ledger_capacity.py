from dataclasses import replace

from farebox.facilitator.channels.ledger_capacity import (
    TYPICAL,
    CapacityMeter,
    LedgerCapacity,
    compute_capacity,
)
from farebox.stellar.network_settings import (
    ConfigSettings,
    LedgerLimits,
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


def settings(limits: LedgerLimits) -> ConfigSettings:
    return ConfigSettings(
        TransactionLimits(*[1] * 8), limits, ResourceFees(*[1] * 8), target_close_ms=5000
    )


def test_capacity_on_mainnet_is_limited_by_transaction_bytes() -> None:
    assert compute_capacity(MAINNET, TYPICAL) == LedgerCapacity(219, "transaction bytes")


def test_capacity_with_three_times_the_bytes_is_limited_by_write_entries() -> None:
    tripled = replace(MAINNET, transaction_bytes=3 * MAINNET.transaction_bytes)
    assert compute_capacity(tripled, TYPICAL) == LedgerCapacity(333, "write entries")


def test_capacity_names_the_limit_that_binds() -> None:
    tight = {
        "transactions": replace(MAINNET, transactions=3),
        "instructions": replace(MAINNET, instructions=3_000_000),
        "write bytes": replace(MAINNET, write_bytes=1260),
    }
    assert {kind: compute_capacity(limits, TYPICAL).limit for kind, limits in tight.items()} == {
        kind: kind for kind in tight
    }


def test_capacity_is_at_least_one_settlement() -> None:
    assert compute_capacity(replace(MAINNET, transaction_bytes=10), TYPICAL).settlements == 1
    assert compute_capacity(MAINNET, replace(TYPICAL, write_bytes=0)).settlements == 219


def test_capacity_follows_the_limits_and_the_measured_average() -> None:
    now: list[ConfigSettings | None] = [None]
    meter = CapacityMeter(lambda: now[0])
    assert meter.capacity() is None, "unknown limits do not bind"
    now[0] = settings(MAINNET)
    assert meter.capacity() == LedgerCapacity(219, "transaction bytes")
    meter.measure(replace(TYPICAL, transaction_bytes=2424))
    assert meter.capacity() == LedgerCapacity(109, "transaction bytes")
    now[0] = settings(replace(MAINNET, transaction_bytes=2 * 266_240))
    assert meter.capacity() == LedgerCapacity(219, "transaction bytes")
    for _ in range(100):
        meter.measure(TYPICAL)
    room = meter.capacity()
    assert room is not None
    assert room.settlements > 330, "an average, not the largest ever seen"
