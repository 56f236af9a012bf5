"""Create, list, rotate and revoke personal API keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from farebox.accounts import key_store
from farebox.accounts.api_key import (
    ID_KIND,
    MAX_LIVE,
    MAX_ROTATIONS,
    ApiKey,
    KeyNameTaken,
    KeyRevoked,
    KeyTerms,
    TooManyKeys,
    TooManyRotations,
    judge_id,
    judge_rotator,
)
from farebox.accounts.key_store import QUOTA, NewKey
from farebox.accounts.token import TokenType, new_token
from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.kernel.caller import Caller, OwnerId
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import new_id
from farebox.kernel.pages import Place
from farebox.kernel.quota import Quota
from farebox.kernel.secret import Secret
from farebox.storage.client_quota import enforce_quota
from farebox.storage.owner_lock import OwnerLocks
from farebox.storage.pool import Connection, Database


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key with its value, which is shown once."""

    key: ApiKey
    value: Secret[str]


class KeyManagement:
    """The use cases of keys; each change and its audit event are one transaction.

    `changes` limits how many keys an owner creates and rotates. Revoking is not limited: the
    holder of a stolen key could exhaust the limit.
    """

    def __init__(self, database: Database, changes: Quota) -> None:
        self._database = database
        self._owner_locks = OwnerLocks(changes)

    async def create(
        self, caller: Caller, terms: KeyTerms, *, request_id: str, client: str | None = None
    ) -> IssuedKey:
        """Create a key for the caller; it counts against the quota of `client`, if there is one.

        Raises:
            KeyNameTaken: the caller has a valid key of this name.
            TooManyKeys: the caller has the maximum number of valid keys.
            QuotaReached: the quota of the client address, or of all, is exhausted; `rotate` too.
            TooManyRequests: the caller exceeded the change limit; `rotate` too.
            DatabaseUnavailable: if the commit failed, a key may exist whose value is lost.
        """
        owner, key_id = caller.owner, new_id(ID_KIND)
        await self._owner_locks.count_change(owner)
        async with self._owner_locks.hold(owner), self._database.transaction() as db:
            await key_store.lock_owner(db, owner)
            if await key_store.has_name(db, owner, terms.name):
                raise KeyNameTaken
            issued = await _issue(db, owner, key_id, terms, chain_id=key_id, client=client)
            await insert_event(db, AuditEvent(caller, Action.KEY_CREATED, key_id, request_id))
        return issued

    async def page(self, owner: OwnerId, *, after: Place | None, limit: int) -> Sequence[ApiKey]:
        """List at most `limit` of the owner's keys after a position, invalid ones included."""
        async with self._database.connection() as db:
            return await key_store.list_keys(db, owner, after=after, limit=limit)

    async def rotate(
        self,
        caller: Caller,
        key_id: str,
        *,
        overlap: timedelta,
        request_id: str,
        client: str | None = None,
    ) -> IssuedKey:
        """Replace a key by a new one of the same name, scopes and expiry.

        The old key stays valid for `overlap`. Of concurrent rotations of one key a single one
        succeeds.

        Raises:
            SessionRequired: the caller is another key; a key may rotate itself only.
            NotFound: the caller has no such key.
            KeyRevoked: the key is invalid, or was rotated before.
            TooManyKeys: with the overlap the caller would exceed the maximum.
            TooManyRotations: the rotation chain has the maximum length.
            DatabaseUnavailable: as for `create`.
        """
        judge_rotator(caller, key_id)
        owner, successor = caller.owner, new_id(ID_KIND)
        await self._owner_locks.count_change(owner)
        async with self._owner_locks.hold(owner), self._database.transaction() as db:
            await key_store.lock_owner(db, owner)
            old = await key_store.retire_key(
                db, owner, key_id, successor=successor, overlap=overlap
            )
            if old is None:
                raise await _rotation_refusal(db, owner, key_id)
            terms = KeyTerms(old.name, old.grants, old.expires_at)
            if await key_store.count_rotations(db, old.chain_id) > MAX_ROTATIONS:
                raise TooManyRotations
            issued = await _issue(db, owner, successor, terms, chain_id=old.chain_id, client=client)
            for action, subject in (
                (Action.KEY_ROTATED, key_id),
                (Action.KEY_CREATED, successor),
            ):
                await insert_event(db, AuditEvent(caller, action, subject, request_id))
        return issued

    async def revoke(self, caller: Caller, key_id: str, *, request_id: str) -> ApiKey:
        """Revoke the key and every key it was rotated to, effective from the next request.

        Idempotent. The successors are revoked because a thief may have rotated the key.

        Raises:
            NotFound: the caller has no such key.
            DatabaseUnavailable: if the commit failed, the keys may or may not be valid.
        """
        judge_id(key_id)
        owner = caller.owner
        async with self._owner_locks.hold(owner), self._database.transaction() as db:
            await key_store.lock_owner(db, owner)
            for revoked in await key_store.revoke_chain(db, owner, key_id):
                await insert_event(
                    db, AuditEvent(caller, Action.KEY_REVOKED, revoked.id, request_id)
                )
            key = await key_store.find_key(db, owner, key_id)
        if key is None:
            raise NotFound
        return key


async def _issue(
    db: Connection,
    owner: OwnerId,
    key_id: str,
    terms: KeyTerms,
    *,
    chain_id: str,
    client: str | None,
) -> IssuedKey:
    """Insert a key; the caller holds `lock_owner`."""
    if await key_store.count_live(db, owner) >= MAX_LIVE:
        raise TooManyKeys
    await enforce_quota(db, QUOTA, client)
    token = new_token(TokenType.KEY)
    new = NewKey(key_id, owner, terms, token.prefix, token.digest, chain_id, client)
    key = await key_store.add_key(db, new)
    await key_store.delete_invalid_keys(db, owner)
    return IssuedKey(key, token.value)


async def _rotation_refusal(db: Connection, owner: OwnerId, key_id: str) -> NotFound | KeyRevoked:
    key = await key_store.find_key(db, owner, key_id)
    return NotFound() if key is None else KeyRevoked()
