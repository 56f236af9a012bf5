"""What an account holds of an asset."""

from typing import Final

import pytest
from stellar_sdk import Asset as SdkAsset
from stellar_sdk import Keypair

from farebox.explorer.holding import (
    NATIVE,
    Asset,
    Holding,
    HoldingState,
    holding_keys,
    judge_classic_holding,
    judge_contract_holding,
    read_asset,
    usual_assets,
)
from farebox.explorer.ledger_reads import FoundEntries
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import AccountEntry, Liabilities, Thresholds
from farebox.stellar.contract_balance import balance_key
from farebox.stellar.rpc import LedgerEntry

NETWORK: Final = Network.TESTNET
ISSUER: Final = Address(Keypair.random().public_key)
HOLDER: Final = Address(Keypair.random().public_key)
WALLET: Final = contract_address(bytes([9]) * 32)
ENTRY: Final = AccountEntry(
    Stroops(50), 7, Thresholds(1, 0, 0, 0), (), subentries=0, liabilities=Liabilities(1, 2)
)
NOTHING: Final = FoundEntries({}, 7)


def credit(code: str = "EURC") -> Asset:
    """A classic asset."""
    asset = read_asset(f"{code}:{ISSUER}", NETWORK)
    assert asset is not None
    return asset


def test_usual_assets_are_the_native_one_and_usdc() -> None:
    native, usdc = usual_assets(NETWORK)
    assert (native.name, native.issuer) == (NATIVE, None)
    assert native.contract == SdkAsset.native().contract_id(NETWORK.passphrase)
    assert usdc.contract == "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
    for each in (native, usdc):
        assert read_asset(each.contract, NETWORK) == each
        assert read_asset(each.name or "", NETWORK) == each


def test_asset_is_read_by_name_and_by_contract() -> None:
    contract = SdkAsset("EURC", ISSUER).contract_id(NETWORK.passphrase)
    assert credit() == Asset(Address(contract), f"EURC:{ISSUER}")
    assert read_asset(contract, NETWORK) == Asset(Address(contract))


@pytest.mark.parametrize(
    "text", ["", "XLM", "EURC", "EURC:", f":{ISSUER}", f"TOOLONGACODE1:{ISSUER}", "Native", ISSUER]
)
def test_other_text_is_no_asset(text: str) -> None:
    assert read_asset(text, NETWORK) is None


def test_native_balance_has_its_liabilities() -> None:
    native, _ = usual_assets(NETWORK)
    assert holding_keys(HOLDER, native, is_classic=True) == ()
    assert judge_classic_holding(HOLDER, ENTRY, native, NOTHING) == Holding(
        native, HoldingState.HELD, 50, native=Liabilities(1, 2)
    )


def test_account_without_a_trustline_holds_nothing() -> None:
    holding = judge_classic_holding(HOLDER, ENTRY, credit(), NOTHING)
    assert holding == Holding(credit(), HoldingState.NO_TRUSTLINE, 0)


def test_issuer_has_no_balance_of_its_own_asset() -> None:
    holding = judge_classic_holding(ISSUER, ENTRY, credit(), NOTHING)
    assert holding == Holding(credit(), HoldingState.ISSUER)


def test_unreadable_trustline_or_balance_is_none() -> None:
    (key,) = holding_keys(HOLDER, credit(), is_classic=True)
    found = FoundEntries({key: LedgerEntry(key, b"?", None)}, 7)
    assert judge_classic_holding(HOLDER, ENTRY, credit(), found) is None
    balance = balance_key(credit().contract, WALLET)
    found = FoundEntries({balance: LedgerEntry(balance, b"?", 99)}, 7)
    assert judge_contract_holding(WALLET, credit(), found) is None


def test_contract_without_a_balance_entry_holds_nothing() -> None:
    holding = judge_contract_holding(WALLET, credit(), NOTHING)
    assert holding == Holding(credit(), HoldingState.HELD, 0)
