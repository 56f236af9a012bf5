"""Tokens and amounts as users read them: known assets, and exact decimal text."""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import USDC_CODE, USDC_ISSUERS, native_contract, usdc_contract

DECIMALS: Final = 7  # of every Stellar asset contract
_DECIMAL: Final = re.compile(r"([0-9]{1,39})(?:\.([0-9]{1,38}))?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class DisplayToken:
    """A token and the format of its amounts; `issuer` is set for a classic asset."""

    contract: Address
    code: str
    decimals: int = DECIMALS
    issuer: Address | None = None

    def show(self, amount: int) -> str:
        """Format an amount with the token's code: `1.25 USDC`."""
        return f"{format_units(amount, decimals=self.decimals)} {self.code}"


USDC: Final = MappingProxyType(
    {
        network: DisplayToken(contract=usdc_contract(network), code=USDC_CODE, issuer=issuer)
        for network, issuer in USDC_ISSUERS.items()
    }
)
NATIVE: Final = MappingProxyType(
    {network: DisplayToken(contract=native_contract(network), code="XLM") for network in Network}
)


def find_token(network: Network, contract: Address) -> DisplayToken | None:
    """Find the token of a known contract; None for every other one."""
    known = (USDC[network], NATIVE[network])
    return next((token for token in known if token.contract == contract), None)


def format_units(amount: int, *, decimals: int = DECIMALS) -> str:
    """Format base units as exact decimal text without trailing zeros: 12500000 is `1.25`."""
    sign, digits = ("-" if amount < 0 else ""), str(abs(amount)).rjust(decimals + 1, "0")
    whole, fraction = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    rest = fraction.rstrip("0")
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def parse_units(text: str, *, decimals: int = DECIMALS) -> BaseUnits | None:
    """Read an amount in token units; None when it is malformed, too fine or too large."""
    match = _DECIMAL.match(text)
    if match is None:
        return None
    whole, fraction = match[1], (match[2] or "").rstrip("0")
    if len(fraction) > decimals:
        return None
    units = int(whole) * 10**decimals + int(fraction.ljust(decimals, "0") or "0")
    return BaseUnits(units) if units <= MAX_BASE_UNITS else None
