"""The enabled wrappers by slug, for offers: read again after a second at most."""

from collections import OrderedDict
from typing import Final

from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers import wrapper_store
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database

FRESH_S: Final = 1.0
MAX_KNOWN: Final = 2_000


class EnabledWrappers:
    """Finds enabled wrappers; an unpaid response may be a second old, a paid one is checked again.

    The slugs that were read last are kept, those without a wrapper too.
    """

    def __init__(self, database: Database, clock: Clock, *, max_known: int = MAX_KNOWN) -> None:
        self._database, self._clock, self._max_known = database, clock, max_known
        self._known: OrderedDict[str, tuple[float, Wrapper | None]] = OrderedDict()

    async def find(self, slug: str) -> Wrapper | None:
        """Find the enabled wrapper of a slug, as of a second ago at most."""
        now = self._clock.monotonic()
        read_at, wrapper = self._known.get(slug, (now - 2 * FRESH_S, None))
        if now - read_at < FRESH_S:
            return wrapper
        return await self.read(slug)

    async def read(self, slug: str) -> Wrapper | None:
        """Read the enabled wrapper of a slug as of now."""
        now = self._clock.monotonic()
        async with self._database.connection() as db:
            wrapper = await wrapper_store.find_enabled(db, slug)
        self._known[slug] = now, wrapper
        self._known.move_to_end(slug)
        if len(self._known) > self._max_known:
            self._known.popitem(last=False)
        return wrapper
