"""Whose turn it is: so many requests a client address in so long a time, over all replicas."""

import math
from datetime import timedelta
from ipaddress import IPv6Address, ip_address
from typing import Final

from farebox.catalog import turn_store
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database

TURNS: Final = 10
WITHIN: Final = timedelta(seconds=60)
_IPV6_PREFIX_BITS: Final = 64  # what one subscriber has; an address inside it costs nothing


class Turns:
    """Counts in the database, so that it does not matter which replica is asked."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def take(self, client: str) -> int | None:
        """A turn is taken (None), or the seconds after which there is one again, at least 1.

        Raises:
            DatabaseUnavailable: nobody knows.
        """
        now = self._clock.now()
        async with self._database.connection() as db:
            oldest = await turn_store.take_turn(
                db, client_name(client), now=now, most=TURNS, within=WITHIN
            )
        if oldest is None:
            return None
        return max(1, math.ceil((oldest + WITHIN - now).total_seconds()))


def client_name(address: str) -> str:
    """The name under which an address is counted: one that costs something to change."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        shift = 128 - _IPV6_PREFIX_BITS
        return f"{IPv6Address(int(parsed) >> shift << shift)}/{_IPV6_PREFIX_BITS}"
    return str(parsed)
