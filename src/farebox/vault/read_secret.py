"""Read the value of a secret, for an upstream request only."""

from collections.abc import Collection

import structlog

from farebox.kernel.caller import OwnerId
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.sealed_rows import SealedSecret
from farebox.vault.sealing import SealBroken, Sealer
from farebox.vault.stored_secret import Purpose

log = structlog.get_logger(__name__)


class SecretReader:
    """Reads the values of secrets; without master keys it can read none."""

    def __init__(self, database: Database, sealer: Sealer | None) -> None:
        self._database, self._sealer = database, sealer

    async def read(
        self, owner: OwnerId, secret_id: str, *, purposes: Collection[Purpose]
    ) -> Secret[str]:
        """Return the value of the owner's secret, if its purpose is one of `purposes`.

        Raises:
            SealBroken: the secret is missing, has another purpose, or cannot be opened.
        """
        async with self._database.connection() as db:
            secret = await secret_store.find_sealed(db, owner, secret_id)
        if self._sealer is None or secret is None or secret.associated_data.purpose not in purposes:
            raise SealBroken
        try:
            return self._sealer.open(secret.sealed, secret.associated_data)
        except SealBroken:
            _log_broken(secret)
            raise


def _log_broken(secret: SealedSecret) -> None:
    version = secret.sealed.key_version
    log.error("vault.seal_broken", id=secret.associated_data.id, key_version=version)
