"""Open a secret: inside the process, for a request that is about to be sent, and nowhere else."""

from collections.abc import Collection

import structlog

from farebox.kernel.caller import OwnerId
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.sealing import SealBroken, Sealer
from farebox.vault.secret_store import SealedSecret
from farebox.vault.stored_secret import Purpose

log = structlog.get_logger(__name__)


class Opening:
    """Opens one owner's secrets; without master keys it opens none."""

    def __init__(self, database: Database, sealer: Sealer | None) -> None:
        self._database, self._sealer = database, sealer

    async def open(
        self, owner: OwnerId, secret_id: str, *, purposes: Collection[Purpose]
    ) -> Secret[str]:
        """The value of the owner's secret, if it is for one of `purposes`.

        Raises:
            SealBroken: there is none, it is for something else, or it does not open.
        """
        async with self._database.connection() as db:
            found = await secret_store.find_sealed(db, owner, secret_id)
        if self._sealer is None or found is None or found.context.purpose not in purposes:
            raise SealBroken
        try:
            return self._sealer.open(found.sealed, found.context)
        except SealBroken:
            _tell_operator(found)
            raise


def _tell_operator(found: SealedSecret) -> None:
    log.error("vault.seal_broken", id=found.context.id, key_version=found.sealed.key_version)
