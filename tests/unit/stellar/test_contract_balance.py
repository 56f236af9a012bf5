"""The balance of a contract at an asset contract, read as the public SDK writes it."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Address as SdkAddress
from stellar_sdk import scval, xdr

from farebox.kernel.addresses import contract_address
from farebox.stellar.contract_balance import ContractBalance, balance_key, read_contract_balance
from support.damaged_bytes import damaged
from support.examples import examples

TOKEN: Final = contract_address(bytes([3]) * 32)
HOLDER: Final = contract_address(bytes([4]) * 32)
KEY: Final = balance_key(TOKEN, HOLDER)
NAME: Final = scval.to_vec([scval.to_symbol("Balance"), scval.to_address(HOLDER)])


def members(amount: xdr.SCVal) -> xdr.SCVal:
    """The value that an asset contract keeps."""
    return scval.to_map(
        {
            scval.to_symbol("amount"): amount,
            scval.to_symbol("authorized"): scval.to_bool(True),
            scval.to_symbol("clawback"): scval.to_bool(False),
        }
    )


def balance(value: xdr.SCVal) -> bytes:
    """The data of the entry."""
    entry = xdr.ContractDataEntry(
        ext=xdr.ExtensionPoint(0),
        contract=SdkAddress(TOKEN).to_xdr_sc_address(),
        key=NAME,
        durability=xdr.ContractDataDurability.PERSISTENT,
        val=value,
    )
    kind = xdr.LedgerEntryType.CONTRACT_DATA
    return xdr.LedgerEntryData(kind, contract_data=entry).to_xdr_bytes()


def test_balance_key_matches_the_sdk() -> None:
    key = xdr.LedgerKey(
        xdr.LedgerEntryType.CONTRACT_DATA,
        contract_data=xdr.LedgerKeyContractData(
            SdkAddress(TOKEN).to_xdr_sc_address(), NAME, xdr.ContractDataDurability.PERSISTENT
        ),
    )
    assert key.to_xdr_bytes() == KEY


@pytest.mark.parametrize("amount", [0, 1, 2**127 - 1])
def test_balance_is_read_at_its_bounds(amount: int) -> None:
    read = read_contract_balance(balance(members(scval.to_int128(amount))), KEY)
    assert read == ContractBalance(amount, is_authorized=True, is_clawback_enabled=False)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        balance(scval.to_int128(5)),
        balance(members(scval.to_int128(-1))),
        balance(members(scval.to_uint64(5))),
        balance(scval.to_map({})),
        balance(members(scval.to_int128(5))) + b"\0\0\0\0",
    ],
)
def test_balance_of_another_form_is_none(data: bytes) -> None:
    assert read_contract_balance(data, KEY) is None


def test_balance_of_another_holder_is_none() -> None:
    data = balance(members(scval.to_int128(5)))
    assert read_contract_balance(data, balance_key(TOKEN, TOKEN)) is None


@settings(max_examples=examples(200), deadline=None)
@given(damaged(st.just(balance(members(scval.to_int128(10**20))))))
def test_damaged_balance_is_none_or_not_negative(data: bytes) -> None:
    read = read_contract_balance(data, KEY)
    assert read is None or read.amount >= 0
