"""Store, list, rotate and delete secrets of an owner; values are never returned."""

from collections.abc import Sequence

import structlog

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.kernel.caller import Caller, OwnerId
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import new_id
from farebox.kernel.pages import Place
from farebox.kernel.quota import Quota
from farebox.kernel.secret import Secret
from farebox.storage.client_quota import enforce_quota
from farebox.storage.faults import Conflict
from farebox.storage.owner_lock import OwnerLocks
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.sealing import AssociatedData, NonceUsed, Sealer
from farebox.vault.secret_store import NewSecret
from farebox.vault.stored_secret import (
    ID_KIND,
    MAX_SECRETS,
    Purpose,
    SecretInUse,
    SecretNameTaken,
    StoredSecret,
    TooManySecrets,
    check_name_hides_value,
    check_value,
    is_secret_id,
    normalize_name,
)

log = structlog.get_logger(__name__)


class Vault:
    """The use cases of secrets; each change and its audit event are one transaction.

    `changes` limits how often an owner creates and rotates; deleting is not limited.
    """

    def __init__(self, database: Database, sealer: Sealer, changes: Quota) -> None:
        self._database, self._sealer = database, sealer
        self._owner_locks = OwnerLocks(changes)

    async def create(
        self,
        caller: Caller,
        request_id: str,
        *,
        name: str,
        value: Secret[str],
        purpose: Purpose,
        client: str | None = None,
    ) -> StoredSecret:
        """Seal and store a secret; it counts against the quota of `client`, if there is one.

        Raises:
            InvalidSecret: the name or the value is invalid.
            SecretNameTaken: the owner has one of this name.
            TooManySecrets: the owner has the maximum number.
            QuotaReached: the quota of the client address, or of all, is exhausted.
            TooManyRequests: the owner exceeded the change limit; `rotate` too.
        """
        name = normalize_name(name)
        check_value(value, purpose)
        check_name_hides_value(name, value)
        await self._owner_locks.count_change(caller.owner)
        secret_id = new_id(ID_KIND)
        sealed = self._sealer.seal(value, AssociatedData(caller.owner, purpose.value, secret_id))
        try:
            async with self._owner_locks.hold(caller.owner), self._database.transaction() as db:
                await secret_store.lock_owner(db, caller.owner)
                if await secret_store.count_secrets(db, caller.owner) >= MAX_SECRETS:
                    raise TooManySecrets
                await enforce_quota(db, secret_store.QUOTA, client)
                new = NewSecret(secret_id, caller.owner, name, purpose, client)
                secret = await secret_store.add_secret(db, new, sealed)
                await insert_event(
                    db, AuditEvent(caller, Action.SECRET_CREATED, secret_id, request_id)
                )
        except Conflict as conflict:
            if conflict.constraint == secret_store.ONE_NAME:
                raise SecretNameTaken from None
            raise _nonce_used() from conflict
        return secret

    async def page(
        self, owner: OwnerId, *, after: Place | None, limit: int
    ) -> Sequence[StoredSecret]:
        """List the owner's secrets after a position, newest first."""
        async with self._database.connection() as db:
            return await secret_store.list_secrets(db, owner, after=after, limit=limit)

    async def rotate(
        self, caller: Caller, request_id: str, secret_id: str, value: Secret[str]
    ) -> StoredSecret:
        """Replace the secret's value.

        Raises:
            NotFound: the owner has no such secret.
            InvalidSecret: its purpose does not allow the value.
        """
        if not is_secret_id(secret_id):
            raise NotFound
        await self._owner_locks.count_change(caller.owner)
        try:
            async with self._owner_locks.hold(caller.owner), self._database.transaction() as db:
                secret = await secret_store.lock_secret(db, caller.owner, secret_id)
                if secret is None:
                    raise NotFound
                check_value(value, secret.purpose)
                associated_data = AssociatedData(secret.owner, secret.purpose.value, secret.id)
                sealed = self._sealer.seal(value, associated_data)
                rotated = await secret_store.write_value(db, secret, sealed)
                await insert_event(
                    db, AuditEvent(caller, Action.SECRET_ROTATED, secret_id, request_id)
                )
        except Conflict as conflict:
            raise _nonce_used() from conflict
        return rotated

    async def delete(self, caller: Caller, request_id: str, secret_id: str) -> None:
        """Delete the secret.

        Raises:
            NotFound: the owner has no such secret.
            SecretInUse: a wrapper uses it.
        """
        if not is_secret_id(secret_id):
            raise NotFound
        try:
            async with self._owner_locks.hold(caller.owner), self._database.transaction() as db:
                if not await secret_store.remove_secret(db, caller.owner, secret_id):
                    raise NotFound
                await insert_event(
                    db, AuditEvent(caller, Action.SECRET_DELETED, secret_id, request_id)
                )
        except Conflict:
            raise SecretInUse from None


def _nonce_used() -> NonceUsed:
    log.error("vault.nonce_repeated")
    return NonceUsed()
