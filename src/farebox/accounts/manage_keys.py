"""Personal keys: made, listed, rotated and revoked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from farebox.accounts import key_store
from farebox.accounts.api_key import (
    ID_KIND,
    MOST_LIVE,
    ApiKey,
    KeyRevoked,
    KeyTerms,
    NameTaken,
    TooManyKeys,
    judge_id,
    judge_rotator,
)
from farebox.accounts.key_line import MOST_ROTATIONS, RotatedTooOften, keys_before, leading_to
from farebox.accounts.token import TokenForm, new_token
from farebox.audit.audit_store import write_deed
from farebox.audit.trail import Action, Deed
from farebox.kernel.caller import Caller, OwnerId
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import new_id
from farebox.kernel.pages import Place
from farebox.kernel.secret import Secret
from farebox.storage.owner_turn import OwnerTurns
from farebox.storage.pool import Connection, Database


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key that was just made; `shown` is seen this once."""

    key: ApiKey
    shown: Secret[str]


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Some of an owner's keys, newest first, and where the next ones begin."""

    keys: Sequence[ApiKey]
    after: Place | None  # None: there are no more


class KeyManagement:
    """Every change is one transaction that also writes the audit trail."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns = OwnerTurns()

    async def create(self, caller: Caller, terms: KeyTerms, *, request_id: str) -> IssuedKey:
        """The caller has one more key.

        Raises:
            NameTaken: a live key of the caller's has the name.
            TooManyKeys: the caller has as many as anybody may.
            TooManyRequests: too many changes of the caller's wait already; here and below.
            DatabaseUnavailable: if the commit broke there may be a key that nobody was shown.
        """
        owner = caller.owner
        async with self._turns.turn(owner), self._database.transaction() as db:
            await key_store.take_turn(db, owner)
            if await key_store.has_name(db, owner, terms.name):
                raise NameTaken
            issued = await _issue(db, owner, new_id(ID_KIND), terms)
            await write_deed(db, Deed(caller, Action.KEY_CREATED, issued.key.id, request_id))
        return issued

    async def page(self, owner: OwnerId, *, after: Place | None, limit: int) -> KeyPage:
        """At most `limit` of the owner's keys behind `after`, those that work no more included.

        Raises:
            DatabaseUnavailable: nobody knows.
        """
        async with self._database.connection() as db:
            keys = await key_store.list_keys(db, owner, after=after, limit=limit + 1)
        shown = keys[:limit]
        return KeyPage(shown, shown[-1].place if len(keys) > limit else None)

    async def rotate(
        self, caller: Caller, key_id: str, *, overlap: timedelta, request_id: str
    ) -> IssuedKey:
        """A new key has name, scopes and end of the old one, which works for `overlap` still.

        Of several rotations of one key at once a single one takes place.

        Raises:
            SessionRequired: a key may rotate itself alone.
            NotFound: the caller has no such key.
            KeyRevoked: the key works no more, or was rotated before.
            TooManyKeys: with the overlap the caller would have more than anybody may.
            RotatedTooOften: so many keys led to this one lately.
            DatabaseUnavailable: as `create`.
        """
        judge_rotator(caller, key_id)
        owner, successor = caller.owner, new_id(ID_KIND)
        async with self._turns.turn(owner), self._database.transaction() as db:
            await key_store.take_turn(db, owner)
            old = await key_store.retire_key(
                db, owner, key_id, successor=successor, overlap=overlap
            )
            if old is None:
                raise await _why_not(db, owner, key_id)
            terms = KeyTerms(old.name, old.grants, old.expires_at)
            issued = await _issue(db, owner, successor, terms)
            for action, subject in (
                (Action.KEY_ROTATED, key_id),
                (Action.KEY_CREATED, successor),
            ):
                await write_deed(db, Deed(caller, action, subject, request_id))
        return issued

    async def revoke(self, caller: Caller, key_id: str, *, request_id: str) -> ApiKey:
        """Neither the key nor any that came of it works, from the next request on.

        Once is as good as twice. Whoever had the key may have rotated it: what it made ends too.

        Raises:
            NotFound: the caller has no such key.
            DatabaseUnavailable: if the commit broke, whether the keys still work is unknown.
        """
        judge_id(key_id)
        owner = caller.owner
        async with self._turns.turn(owner), self._database.transaction() as db:
            await key_store.take_turn(db, owner)
            for revoked in await key_store.revoke_line(db, owner, key_id):
                await write_deed(db, Deed(caller, Action.KEY_REVOKED, revoked.id, request_id))
            known = await key_store.find_key(db, owner, key_id)
        if known is None:
            raise NotFound
        return known


async def _issue(db: Connection, owner: OwnerId, key_id: str, terms: KeyTerms) -> IssuedKey:
    """Whoever calls holds the owner's turn."""
    if await key_store.count_live(db, owner) >= MOST_LIVE:
        raise TooManyKeys
    links = await key_store.list_links(db, owner)
    if len(keys_before(links, key_id)) > MOST_ROTATIONS:
        raise RotatedTooOften
    token = new_token(TokenForm.KEY)
    key = await key_store.add_key(
        db,
        key_id,
        owner,
        terms,
        prefix=token.prefix,
        digest=token.digest,
        kept=leading_to(links, key_id),
    )
    return IssuedKey(key, token.shown)


async def _why_not(db: Connection, owner: OwnerId, key_id: str) -> NotFound | KeyRevoked:
    known = await key_store.find_key(db, owner, key_id)
    return NotFound() if known is None else KeyRevoked()
