"""A personal key: what is known of it, and what may be asked of it."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.accounts.token import holds_secret
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId, SessionRequired
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.ids import is_id
from farebox.kernel.pages import Place

ID_KIND: Final = "key"
SHORTEST_NAME: Final = 2
LONGEST_NAME: Final = 80
SHORTEST_LIFE: Final = timedelta(minutes=1)
LONGEST_LIFE: Final = timedelta(days=5 * 366)
LONGEST_OVERLAP: Final = timedelta(days=7)
MOST_LIVE: Final = 50  # keys of one owner that work at a time
KEPT_DEAD: Final = 200  # keys of one owner that do not work any more and are still listed
DEFAULT_GRANTS: Final = frozenset({Grant.READ})


class NameTaken(Refusal):
    """A live key of the owner has the name."""

    def __init__(self) -> None:
        super().__init__("name_taken", "You have a key of this name; revoke it or choose another.")


class TooManyKeys(Refusal):
    """The owner has as many live keys as anybody may."""

    def __init__(self) -> None:
        super().__init__("too_many_keys", f"At most {MOST_LIVE} keys may work at a time.")


class KeyRevoked(Refusal):
    """The key has been rotated or revoked, or its time is over."""

    def __init__(self) -> None:
        super().__init__("key_revoked", "The key works no more, so it cannot be rotated.")


class BadKeyTerms(Refusal):
    """A name or an end that no key can have."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is kept and shown of a key; never the key itself."""

    id: str
    owner: OwnerId
    name: str
    prefix: str
    grants: frozenset[Grant]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None  # None: only when it is revoked
    revoked_at: datetime | None  # may lie ahead: until then a rotated key still works
    last_used_at: datetime | None  # to the minute
    replaced_by: str | None  # the key it was rotated to

    @property
    def place(self) -> Place:
        """Where it stands among its owner's."""
        return self.created_at, self.id


@dataclass(frozen=True, slots=True)
class KeyTerms:
    """What a new key is to be."""

    name: str
    grants: frozenset[Grant]
    expires_at: datetime | None


def judge_terms(
    name: str,
    grants: Sequence[Grant] | None,
    *,
    expires_at: datetime | None,
    life: timedelta | None,
    now: datetime,
) -> KeyTerms:
    """The terms as they are kept; a `life` counts from `now`.

    Raises:
        BadKeyTerms: `invalid_name` or `invalid_expiry`.
    """
    trimmed = unicodedata.normalize("NFC", name).strip()
    if not SHORTEST_NAME <= len(trimmed) <= LONGEST_NAME or not trimmed.isprintable():
        words = f"A name has {SHORTEST_NAME} to {LONGEST_NAME} characters, all of them printable."
        raise BadKeyTerms("invalid_name", words)
    if holds_secret(trimmed):
        raise BadKeyTerms("invalid_name", "A name is seen by others: it is no place for a key.")
    return KeyTerms(
        trimmed,
        DEFAULT_GRANTS if grants is None else frozenset(grants),
        _end(expires_at, life, now),
    )


def _end(expires_at: datetime | None, life: timedelta | None, now: datetime) -> datetime | None:
    if expires_at is not None and life is not None:
        raise BadKeyTerms("invalid_expiry", "Say expiresAt or expiresInSeconds, not both.")
    end = now + life if life is not None else expires_at
    if end is not None and not SHORTEST_LIFE <= end - now <= LONGEST_LIFE:
        words = "A key lives from one minute to five years from now."
        raise BadKeyTerms("invalid_expiry", words)
    return end


def judge_rotator(caller: Caller, key_id: str) -> None:
    """Returns if the caller may rotate keys, or this one because it is the key itself.

    Raises:
        SessionRequired: a key that asks for another, whether there is that other or not.
        NotFound: nothing has such an id.
    """
    if caller.kind is CallerKind.KEY and caller.key_id != key_id:
        raise SessionRequired
    judge_id(key_id)


def judge_id(key_id: str) -> None:
    """Returns if a key could have the id.

    Raises:
        NotFound: none can.
    """
    if not is_id(ID_KIND, key_id):
        raise NotFound
