"""Read the trail of one owner."""

from collections.abc import Sequence

from farebox.audit import audit_store
from farebox.audit.trail import Action, Told
from farebox.kernel.caller import OwnerId
from farebox.kernel.pages import Place
from farebox.storage.pool import Database


class Trail:
    """What was done to an owner's records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self,
        owner: OwnerId,
        *,
        action: Action | None,
        after: Place | None,
        limit: int,
    ) -> Sequence[Told]:
        """The newest deeds first, those behind `after`; of one kind when `action` is named."""
        async with self._database.connection() as db:
            return await audit_store.list_deeds(db, owner, action=action, after=after, limit=limit)
