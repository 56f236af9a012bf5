import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import Asset

from farebox.kernel.amounts import MAX_BASE_UNITS
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import NATIVE, USDC, find_token, format_units, parse_units


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (0, "0"),
        (1, "0.0000001"),
        (12_500_000, "1.25"),
        (10_000_000, "1"),
        (-12_500_000, "-1.25"),
        (100, "0.00001"),
        (MAX_BASE_UNITS, "17014118346046923173168730371588.4105727"),
    ],
)
def test_format_units_is_exact(units: int, text: str) -> None:
    assert format_units(units) == text


def test_format_units_without_decimals_is_a_whole_number() -> None:
    assert format_units(120, decimals=0) == "120"


@given(st.integers(0, MAX_BASE_UNITS), st.integers(0, 18))
def test_formatted_amount_round_trips(units: int, decimals: int) -> None:
    assert parse_units(format_units(units, decimals=decimals), decimals=decimals) == units


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", "1e3", ".5", "1.", "1,5", " 1", "1\n", "１", "0.00000001", "1" * 39, "1_0"],
)
def test_parse_units_is_none_for_other_spellings(text: str) -> None:
    assert parse_units(text) is None


def test_parse_units_ignores_trailing_zeros() -> None:
    assert parse_units("0.05000000000") == 500_000


def test_usdc_has_its_published_contracts() -> None:
    assert {network.label: token.contract for network, token in USDC.items()} == {
        "testnet": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
        "pubnet": "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75",
    }


@pytest.mark.parametrize("network", list(Network))
def test_known_token_contracts_match_their_assets(network: Network) -> None:
    usdc = USDC[network]
    asset = Asset("USDC", usdc.issuer)
    assert usdc.contract == asset.contract_id(network.passphrase)
    assert NATIVE[network].contract == Asset.native().contract_id(network.passphrase)
    assert find_token(network, usdc.contract) == usdc
    other = USDC[next(each for each in Network if each is not network)]
    assert find_token(network, other.contract) is None
