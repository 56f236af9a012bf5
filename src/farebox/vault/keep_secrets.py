"""Store, list, rotate and delete secrets, always for one owner; values go in and never out."""

from collections.abc import Sequence

import structlog

from farebox.audit.audit_store import write_deed
from farebox.audit.trail import Action, Deed
from farebox.kernel.caller import Caller, OwnerId
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import new_id
from farebox.kernel.pages import Place
from farebox.kernel.secret import Secret
from farebox.storage.faults import Conflict
from farebox.storage.owner_turn import OwnerTurns
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.sealing import Context, NonceUsed, Sealer
from farebox.vault.stored_secret import (
    ID_KIND,
    MOST_SECRETS,
    NameTaken,
    Purpose,
    SecretInUse,
    StoredSecret,
    TooManySecrets,
    is_secret_id,
    judge_apart,
    judge_name,
    judge_value,
)

log = structlog.get_logger(__name__)


class Vault:
    """Every change and the deed that tells of it are one transaction."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database, self._sealer = database, sealer
        self._turns = OwnerTurns()

    async def create(
        self,
        caller: Caller,
        request_id: str,
        *,
        name: str,
        value: Secret[str],
        purpose: Purpose,
    ) -> StoredSecret:
        """The secret is kept, sealed.

        Raises:
            BadSecret: no secret may have the name or the value.
            NameTaken: the owner has one of this name.
            TooManySecrets: the owner has as many as anybody may.
            TooManyRequests: too many changes of the owner's wait already; here and below.
        """
        name = judge_name(name)
        judge_value(value, purpose)
        judge_apart(name, value)
        secret_id = new_id(ID_KIND)
        sealed = self._sealer.seal(value, Context(caller.owner, purpose.value, secret_id))
        try:
            async with self._turns.turn(caller.owner), self._database.transaction() as db:
                await secret_store.take_turn(db, caller.owner)
                if await secret_store.count_secrets(db, caller.owner) >= MOST_SECRETS:
                    raise TooManySecrets
                secret = await secret_store.add_secret(
                    db, secret_id, caller.owner, sealed, name=name, purpose=purpose
                )
                await write_deed(db, Deed(caller, Action.SECRET_CREATED, secret_id, request_id))
        except Conflict as conflict:
            if conflict.constraint == secret_store.ONE_NAME:
                raise NameTaken from None
            raise _nonce_used() from conflict
        return secret

    async def page(
        self, owner: OwnerId, *, after: Place | None, limit: int
    ) -> Sequence[StoredSecret]:
        """The owner's secrets, newest first, those behind `after`."""
        async with self._database.connection() as db:
            return await secret_store.list_secrets(db, owner, after=after, limit=limit)

    async def rotate(
        self, caller: Caller, request_id: str, secret_id: str, value: Secret[str]
    ) -> StoredSecret:
        """The secret has the new value; the old one is gone.

        Raises:
            NotFound: the owner has no such secret.
            BadSecret: its purpose does not allow the value.
        """
        if not is_secret_id(secret_id):
            raise NotFound
        try:
            async with self._turns.turn(caller.owner), self._database.transaction() as db:
                secret = await secret_store.lock_secret(db, caller.owner, secret_id)
                if secret is None:
                    raise NotFound
                judge_value(value, secret.purpose)
                context = Context(secret.owner, secret.purpose.value, secret.id)
                sealed = self._sealer.seal(value, context)
                rotated = await secret_store.write_value(db, secret, sealed)
                await write_deed(db, Deed(caller, Action.SECRET_ROTATED, secret_id, request_id))
        except Conflict as conflict:
            raise _nonce_used() from conflict
        return rotated

    async def delete(self, caller: Caller, request_id: str, secret_id: str) -> None:
        """The secret is gone.

        Raises:
            NotFound: the owner has no such secret.
            SecretInUse: something refers to it.
        """
        if not is_secret_id(secret_id):
            raise NotFound
        try:
            async with self._turns.turn(caller.owner), self._database.transaction() as db:
                if not await secret_store.remove_secret(db, caller.owner, secret_id):
                    raise NotFound
                await write_deed(db, Deed(caller, Action.SECRET_DELETED, secret_id, request_id))
        except Conflict:
            raise SecretInUse from None


def _nonce_used() -> NonceUsed:
    log.error("vault.nonce_repeated")
    return NonceUsed()
