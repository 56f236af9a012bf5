"""The code that a contract instance runs."""

import struct
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Address as SdkAddress
from stellar_sdk import scval, xdr

from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.stellar.contract_instance import (
    AssetCode,
    ExternalCode,
    WasmCode,
    instance_key,
    read_contract_code,
)
from support.damaged_bytes import damaged
from support.examples import examples

CONTRACT: Final = contract_address(bytes([9]) * 32)
OWNER: Final = contract_address(bytes([5]) * 32)
HASH: Final = bytes(range(32))


def instance(executable: bytes, storage: xdr.SCMap | None = None) -> bytes:
    """A ledger entry's data: the instance of `CONTRACT` that runs this."""
    held = b"\0\0\0\0" if storage is None else b"\0\0\0\1" + storage.to_xdr_bytes()
    return (
        struct.pack(">III", 6, 0, 1)
        + bytes([9]) * 32
        + struct.pack(">III", 20, 1, 19)
        + executable
        + held
    )


def storage(name: xdr.SCVal) -> xdr.SCMap:
    """The storage of an asset contract, as far as it matters."""
    entries = {
        "METADATA": {"decimal": scval.to_uint32(7), "name": name, "symbol": scval.to_string("X")}
    }
    metadata = scval.to_map(
        {scval.to_symbol(key): value for key, value in entries["METADATA"].items()}
    )
    whole = scval.to_map({scval.to_symbol("METADATA"): metadata})
    assert whole.map is not None
    return whole.map


WASM: Final = struct.pack(">I", 0) + HASH
ASSET: Final = struct.pack(">I", 1)
EXTERNAL: Final = struct.pack(">II", 2, 1) + bytes([5]) * 32 + struct.pack(">I", 4) + b"next"
ACCOUNT_OWNED: Final = struct.pack(">III", 2, 0, 0) + bytes([5]) * 32 + struct.pack(">I", 0)
POOL_OWNED: Final = struct.pack(">II", 2, 4) + bytes([5]) * 32 + struct.pack(">I", 0)


def test_instance_key_matches_the_sdk() -> None:
    key = xdr.LedgerKey(
        type=xdr.LedgerEntryType.CONTRACT_DATA,
        contract_data=xdr.LedgerKeyContractData(
            contract=SdkAddress(CONTRACT).to_xdr_sc_address(),
            key=xdr.SCVal(xdr.SCValType.SCV_LEDGER_KEY_CONTRACT_INSTANCE),
            durability=xdr.ContractDataDurability.PERSISTENT,
        ),
    )
    assert instance_key(CONTRACT) == key.to_xdr_bytes()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (instance(WASM), WasmCode(HASH)),
        (instance(WASM, storage(scval.to_string("native"))), WasmCode(HASH)),
        (instance(ASSET), AssetCode(None)),
        (instance(ASSET, storage(scval.to_string("USDC:GA"))), AssetCode("USDC:GA")),
        (instance(ASSET, storage(scval.to_symbol("native"))), AssetCode(None)),
        (instance(ASSET, storage(scval.to_string(b"\xff"))), AssetCode("\ufffd")),
        (instance(EXTERNAL), ExternalCode(OWNER)),
        (instance(ACCOUNT_OWNED), ExternalCode(account_address(bytes([5]) * 32))),
        (instance(POOL_OWNED), ExternalCode(None)),
    ],
)
def test_contract_code_of_each_kind_is_read(data: bytes, code: object) -> None:
    assert read_contract_code(data, CONTRACT) == code


@pytest.mark.parametrize(
    "data",
    [
        b"",
        instance(struct.pack(">I", 3)),
        instance(WASM)[:-10],
        instance(ASSET, storage(scval.to_string("native")))[:-4],
        struct.pack(">II", 6, 1) + instance(WASM)[8:],
        struct.pack(">I", 0) + instance(WASM)[4:],
        instance(WASM).replace(struct.pack(">III", 20, 1, 19), struct.pack(">III", 20, 0, 19)),
        instance(WASM).replace(struct.pack(">III", 20, 1, 19), struct.pack(">III", 20, 1, 1)),
    ],
)
def test_other_entries_than_the_contract_instance_are_none(data: bytes) -> None:
    assert read_contract_code(data, CONTRACT) is None


def test_instance_of_another_contract_is_none() -> None:
    assert read_contract_code(instance(WASM), OWNER) is None


@settings(max_examples=examples(150), deadline=None)
@given(
    damaged(
        st.sampled_from(
            [
                instance(WASM),
                instance(EXTERNAL),
                instance(ASSET, storage(scval.to_string("native"))),
            ]
        )
    )
)
def test_damaged_contract_instance_is_read_or_none(data: bytes) -> None:
    found = read_contract_code(data, Address(CONTRACT))
    assert found is None or isinstance(found, WasmCode | AssetCode | ExternalCode)
