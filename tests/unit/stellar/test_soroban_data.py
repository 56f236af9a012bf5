"""Soroban resource data: the members that are read, and the form of the others."""

import pytest

from farebox.stellar.soroban_data import Resources, read_resources, skip_asset
from farebox.stellar.xdr_reader import Malformed, XdrReader
from support.raw_envelopes import NONE, ONE, u32

ACCOUNT = NONE + bytes(32)
FOUR = ONE + b"USDC" + ACCOUNT
TWELVE = u32(2) + b"LONGERCODE\0\0" + ACCOUNT
KEYS = {
    "account": NONE + ACCOUNT,
    "trust line, native": ONE + ACCOUNT + NONE,
    "trust line, short code": ONE + ACCOUNT + FOUR,
    "trust line, long code": ONE + ACCOUNT + TWELVE,
    "trust line, pool share": ONE + ACCOUNT + u32(3) + bytes(32),
    "offer": u32(2) + ACCOUNT + bytes(8),
    "data": u32(3) + ACCOUNT + u32(3) + b"abc\0",
    "claimable balance": u32(4) + NONE + bytes(32),
    "liquidity pool": u32(5) + bytes(32),
    "contract data": u32(6) + (ONE + bytes(32)) + u32(20) + ONE,
    "contract code": u32(7) + bytes(32),
    "configuration": u32(8) + u32(20),
    "time to live": u32(9) + bytes(32),
}
SIZES = u32(7) + u32(8) + u32(9)
FEE = (10).to_bytes(8, "big")
REST = NONE + SIZES + FEE


def _read(raw: bytes) -> Resources:
    reader = XdrReader(raw)
    resources = read_resources(reader)
    reader.finish()
    return resources


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_footprint_key_of_each_kind_is_counted(key: bytes) -> None:
    raw = NONE + (ONE + key) + (u32(2) + key * 2) + SIZES + FEE
    assert _read(raw) == Resources(
        read_only_keys=1,
        read_write_keys=2,
        archived_entries=0,
        instructions=7,
        disk_read_bytes=8,
        write_bytes=9,
        resource_fee=10,
    )


def test_archived_entries_are_counted() -> None:
    raw = (ONE + u32(3) + bytes(12)) + NONE + NONE + SIZES + FEE
    assert _read(raw).archived_entries == 3


@pytest.mark.parametrize(
    "raw",
    [
        u32(2) + NONE + NONE + SIZES + FEE,  # an unknown extension
        NONE + NONE + NONE + SIZES + b"\xff" * 8,  # a negative fee
        NONE + (ONE + u32(10)) + REST,  # an unknown kind of key
        NONE + (ONE + u32(8) + u32(21)) + REST,  # an unknown setting
        NONE + (ONE + u32(6) + (ONE + bytes(32)) + u32(20) + u32(2)) + REST,  # a third durability
        NONE + (ONE + ONE + ACCOUNT + u32(4)) + REST,  # an unknown kind of asset
        NONE + (ONE + NONE + ONE + bytes(32)) + REST,  # an unknown kind of public key
        NONE + (ONE + u32(4) + ONE + bytes(32)) + REST,  # an unknown kind of balance id
        NONE + u32(2**32 - 1) + REST,
        NONE + u32(1_001) + bytes(10_000),
        ONE + u32(1_001) + bytes(10_000),
        NONE + NONE + NONE + SIZES + FEE[:-1],
        NONE + NONE + NONE + SIZES + FEE + NONE,
    ],
)
def test_malformed_resource_data_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        _read(raw)


@pytest.mark.parametrize("asset", [NONE, FOUR, TWELVE])
def test_skip_asset_reads_each_kind_to_its_end(asset: bytes) -> None:
    reader = XdrReader(asset)
    skip_asset(reader)
    reader.finish()


def test_skip_asset_refuses_a_pool_share() -> None:
    with pytest.raises(Malformed):
        skip_asset(XdrReader(u32(3) + bytes(32)))
