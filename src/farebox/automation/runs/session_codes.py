"""The codes of a session that cannot be used, as runs and plans have them."""

from typing import Final

MISSING: Final = "session_missing"  # nothing is installed, as far as a node knows
CLOSED: Final = "session_closed"  # on the ledger, for ever
