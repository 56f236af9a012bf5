"""Contract values of every arm are read with the meaning the SDK gives them, and skipped alike."""

from collections.abc import Callable
from itertools import product

import pytest
from stellar_sdk import xdr
from stellar_sdk.xdr import SCValType as ValueType

from farebox.stellar.scval import ScMap, ScVec, read_address, read_value, skip_address, skip_value
from farebox.stellar.xdr_reader import Malformed, XdrReader
from support.raw_envelopes import NONE, ONE, u32
from support.sdk_value_oracle import assert_address_agrees, assert_value_agrees
from support.sdk_values import (
    account,
    address_value,
    blob,
    claimable_balance,
    contract,
    i128,
    mapping,
    muxed,
    nested,
    nonce_key,
    pool,
    string,
    symbol,
    u64,
    value,
    vector,
    void,
)

KEY = bytes(range(32))
ADDRESSES = [account(KEY), contract(KEY), muxed(2**64 - 1, KEY), claimable_balance(KEY), pool(KEY)]
WORDS = xdr.Uint64(1), xdr.Uint64(2), xdr.Uint64(3)


def _instance(storage: xdr.SCMap | None, executable: xdr.ContractExecutable) -> xdr.SCVal:
    held = xdr.SCContractInstance(executable, storage)
    return value(ValueType.SCV_CONTRACT_INSTANCE, instance=held)


_Code = xdr.ContractExecutableType
WASM = xdr.ContractExecutable(_Code.CONTRACT_EXECUTABLE_WASM, xdr.Hash(KEY))
ASSET_CODE = xdr.ContractExecutable(_Code.CONTRACT_EXECUTABLE_STELLAR_ASSET)
EXTERNAL = xdr.ContractExecutable(
    _Code.CONTRACT_EXECUTABLE_EXTERNAL_REF,
    external_ref=xdr.ContractExecutableExternalRef(contract(KEY), xdr.SCString(b"tag")),
)
VALUES = [
    value(ValueType.SCV_BOOL, b=True),
    value(ValueType.SCV_BOOL, b=False),
    void(),
    value(
        ValueType.SCV_ERROR,
        error=xdr.SCError(xdr.SCErrorType.SCE_CONTRACT, contract_code=xdr.Uint32(2**32 - 1)),
    ),
    value(
        ValueType.SCV_ERROR,
        error=xdr.SCError(xdr.SCErrorType.SCE_AUTH, code=xdr.SCErrorCode.SCEC_UNEXPECTED_SIZE),
    ),
    value(ValueType.SCV_U32, u32=xdr.Uint32(2**32 - 1)),
    value(ValueType.SCV_I32, i32=xdr.Int32(-(2**31))),
    u64(2**64 - 1),
    value(ValueType.SCV_I64, i64=xdr.Int64(-1)),
    value(ValueType.SCV_TIMEPOINT, timepoint=xdr.TimePoint(xdr.Uint64(2**64 - 1))),
    value(ValueType.SCV_DURATION, duration=xdr.Duration(xdr.Uint64(2**64 - 1))),
    value(ValueType.SCV_U128, u128=xdr.UInt128Parts(xdr.Uint64(2**64 - 1), WORDS[0])),
    i128(-1),
    i128(2**127 - 1),
    value(ValueType.SCV_U256, u256=xdr.UInt256Parts(xdr.Uint64(2**64 - 1), *WORDS)),
    value(ValueType.SCV_I256, i256=xdr.Int256Parts(xdr.Int64(-1), *WORDS)),
    blob(b"abc"),
    string(b"\xff\xfe"),
    symbol(b"a" * 32),
    vector(),
    vector(void(), i128(1)),
    value(ValueType.SCV_VEC, vec=None),
    mapping(),
    mapping((symbol(b"a"), void()), (symbol(b"b"), vector())),
    value(ValueType.SCV_MAP, map=None),
    *(address_value(address) for address in ADDRESSES),
    _instance(None, ASSET_CODE),
    _instance(xdr.SCMap([xdr.SCMapEntry(symbol(b"k"), void())]), WASM),
    _instance(xdr.SCMap([]), EXTERNAL),
    value(ValueType.SCV_LEDGER_KEY_CONTRACT_INSTANCE),
    nonce_key(-(2**63)),
    value(ValueType.SCV_EXECUTABLE_TAG, executable_tag=xdr.SCString(b"v1")),
]


def test_samples_hold_every_arm() -> None:
    assert {sample.type for sample in VALUES} == set(ValueType)


def test_value_of_each_arm_is_read_and_skipped_to_its_end_and_malformed_when_truncated() -> None:
    for sample in VALUES:
        raw = sample.to_xdr_bytes()
        read, skipped = XdrReader(raw), XdrReader(raw)
        assert_value_agrees(read_value(read), sample)
        skip_value(skipped)
        read.finish()
        skipped.finish()
        for end, move in product(range(len(raw)), (read_value, skip_value)):
            with pytest.raises(Malformed):
                move(XdrReader(raw[:end]))


@pytest.mark.parametrize("address", ADDRESSES)
def test_address_of_each_arm_is_read(address: xdr.SCAddress) -> None:
    reader = XdrReader(address.to_xdr_bytes())
    assert_address_agrees(read_address(reader), address)
    reader.finish()


@pytest.mark.parametrize(
    "raw",
    [
        u32(6) + bytes(64),
        NONE + ONE + bytes(32),  # another kind of public key
        u32(3) + ONE + bytes(32),  # another kind of balance id
    ],
)
def test_address_of_an_unknown_arm_is_malformed(raw: bytes) -> None:
    for move in (read_address, skip_address):
        with pytest.raises(Malformed):
            move(XdrReader(raw))


@pytest.mark.parametrize(
    "raw",
    [
        u32(23),
        u32(2**32 - 1),
        NONE + u32(2),  # a boolean that is neither
        u32(16) + u32(2) + NONE,  # an optional that is neither there nor absent
        u32(17) + ONE + u32(2) + ONE,
        u32(19) + u32(3),  # unknown code
    ],
)
def test_value_of_an_unknown_arm_is_malformed(raw: bytes) -> None:
    for move in (read_value, skip_value):
        with pytest.raises(Malformed):
            move(XdrReader(raw))


def test_absent_collection_is_not_read_as_an_empty_one() -> None:
    assert read_value(XdrReader(u32(16) + NONE)) == ScVec(None)
    assert read_value(XdrReader(u32(16) + ONE + NONE)) == ScVec(())
    assert read_value(XdrReader(u32(17) + NONE)) == ScMap(None)
    assert read_value(XdrReader(u32(17) + ONE + NONE)) == ScMap(())


def _nested_maps(depth: int) -> xdr.SCVal:
    inner = void()
    for _ in range(depth):
        inner = mapping((void(), inner))
    return inner


@pytest.mark.parametrize("nest", [nested, _nested_maps])
@pytest.mark.parametrize("move", [read_value, skip_value])
def test_collections_are_read_to_a_depth_of_thirty_two(
    nest: Callable[[int], xdr.SCVal], move: Callable[[XdrReader], object]
) -> None:
    reader = XdrReader(nest(32).to_xdr_bytes())
    move(reader)
    reader.finish()
    with pytest.raises(Malformed):
        move(XdrReader(nest(33).to_xdr_bytes()))
