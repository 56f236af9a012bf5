"""The effects of a run: what leaves the account at most, and what it gets at least (3.4, 3.10)."""

from dataclasses import dataclass

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits


@dataclass(frozen=True, slots=True)
class TokenAmount:
    """An amount of a token, in base units."""

    token: Address
    amount: BaseUnits


@dataclass(frozen=True, slots=True)
class Effects:
    """The bounds of one run, net of each token; a token that is not listed may not leave."""

    max_debit: tuple[TokenAmount, ...] = ()
    min_credit: tuple[TokenAmount, ...] = ()
