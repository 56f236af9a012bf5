"""Amounts and tokens as a person reads them: exact decimal text, and the assets known by name."""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits
from farebox.kernel.networks import Network

DECIMALS: Final = 7  # of every Stellar asset contract
_DECIMAL: Final = re.compile(r"([0-9]{1,39})(?:\.([0-9]{1,38}))?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """A token and how its amounts are written; `issuer` only where it is a classic asset."""

    contract: Address
    code: str
    decimals: int = DECIMALS
    issuer: Address | None = None

    def show(self, amount: int) -> str:
        """An amount with the token's code: `1.25 USDC`."""
        return f"{format_units(amount, decimals=self.decimals)} {self.code}"


USDC: Final = MappingProxyType(
    {
        Network.TESTNET: Token(
            contract=Address("CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"),
            code="USDC",
            issuer=Address("GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"),
        ),
        Network.PUBNET: Token(
            contract=Address("CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"),
            code="USDC",
            issuer=Address("GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"),
        ),
    }
)
NATIVE: Final = MappingProxyType(
    {
        Network.TESTNET: Token(
            contract=Address("CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"),
            code="XLM",
        ),
        Network.PUBNET: Token(
            contract=Address("CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA"),
            code="XLM",
        ),
    }
)


def find_token(network: Network, contract: Address) -> Token | None:
    """The token known by name on this network; None for every other contract."""
    known = (USDC[network], NATIVE[network])
    return next((token for token in known if token.contract == contract), None)


def format_units(amount: int, *, decimals: int = DECIMALS) -> str:
    """Base units as exact decimal text without trailing zeros: 12500000 is `1.25`."""
    sign, digits = ("-" if amount < 0 else ""), str(abs(amount)).rjust(decimals + 1, "0")
    whole, fraction = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    rest = fraction.rstrip("0")
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def parse_units(text: str, *, decimals: int = DECIMALS) -> BaseUnits | None:
    """Read an amount in token units; None when it is no plain decimal or too fine or too large."""
    match = _DECIMAL.match(text)
    if match is None:
        return None
    whole, fraction = match[1], (match[2] or "").rstrip("0")
    if len(fraction) > decimals:
        return None
    units = int(whole) * 10**decimals + int(fraction.ljust(decimals, "0") or "0")
    return BaseUnits(units) if units <= MAX_BASE_UNITS else None
