"""Whole base units, the only form in which Farebox holds an amount."""

import re
from typing import Final, NewType

BaseUnits = NewType("BaseUnits", int)  # of a token; seven decimals: 1 = 0.0000001 token
Stroops = NewType("Stroops", int)  # of the native coin; 1 = 0.0000001 XLM

NO_STROOPS: Final = Stroops(0)
MAX_BASE_UNITS: Final = 2**127 - 1  # an i128, the most a SEP-41 transfer can carry
_CANONICAL: Final = re.compile(r"(?:0|[1-9][0-9]{0,38})\Z", re.ASCII)


def parse_base_units(text: str) -> BaseUnits | None:
    """Read a wire amount; None when it is not canonical or does not fit an i128.

    Canonical is ASCII digits only: no sign, space, underscore, leading zero or line break.
    """
    if not _CANONICAL.match(text):
        return None
    value = int(text)
    return BaseUnits(value) if value <= MAX_BASE_UNITS else None
