"""Ledger entries: the two fields of an account, and the code that a contract instance runs."""

import struct
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Address as SdkAddress
from stellar_sdk import Keypair, scval, xdr

from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.stellar.ledger_entries import (
    AssetCode,
    ExternalCode,
    WasmCode,
    account_key,
    instance_key,
    read_account,
    read_contract_code,
)
from farebox.stellar.rpc import AccountState
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


ACCOUNT = Address(Keypair.random().public_key)
MOST = 2**63 - 1


def entry(balance: int, sequence: int) -> bytes:
    return account_key(ACCOUNT) + b"".join(
        value.to_bytes(8, "big", signed=True) for value in (balance, sequence)
    )


@pytest.mark.parametrize(("balance", "sequence"), [(0, 0), (MOST, MOST)])
def test_account_entry_is_read_at_the_bounds_of_both_fields(balance: int, sequence: int) -> None:
    state = read_account(
        entry(balance, sequence) + b"fields of a later protocol", ACCOUNT, as_of_ledger=9
    )
    assert state is not None
    assert (state.balance, state.sequence, state.as_of_ledger) == (balance, sequence, 9)
    assert isinstance(state, AccountState)


@pytest.mark.parametrize(("balance", "sequence"), [(-1, 5), (5, -1)])
def test_account_entry_with_a_negative_field_is_none(balance: int, sequence: int) -> None:
    assert read_account(entry(balance, sequence), ACCOUNT, as_of_ledger=9) is None


def test_truncated_account_entry_is_none() -> None:
    whole = entry(5, 6)
    assert all(
        read_account(whole[:cut], ACCOUNT, as_of_ledger=9) is None for cut in range(len(whole))
    )
