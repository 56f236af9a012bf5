"""How many examples a property is tested with: all of them, or a quarter in `make check`."""

import os
from typing import Final

_SHARE: Final = 4
_LEAST: Final = 10
IS_CHECK: Final = "MAKE_CHECK" in os.environ


def examples(count: int) -> int:
    """Return `count`, or a quarter of it in the fast tier."""
    return max(_LEAST, count // _SHARE) if IS_CHECK else count
