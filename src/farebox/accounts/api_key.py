"""Personal API keys: their values, limits and validation."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.accounts.token import contains_secret
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId, SessionRequired
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.ids import is_id
from farebox.kernel.pages import Place

ID_KIND: Final = "key"
SHORTEST_NAME: Final = 2
LONGEST_NAME: Final = 80
SHORTEST_LIFE: Final = timedelta(minutes=1)
LONGEST_LIFE: Final = timedelta(days=5 * 366)
LONGEST_OVERLAP: Final = timedelta(days=7)
MAX_LIVE: Final = 50  # valid keys of one owner
MAX_INVALID: Final = 200  # expired and revoked keys of one owner that are kept and listed
ROTATION_WINDOW: Final = timedelta(days=30)  # longer than any overlap
MAX_ROTATIONS: Final = 1000  # of one rotation chain in that window
DEFAULT_GRANTS: Final = frozenset({Grant.READ})


class KeyNameTaken(Refusal):
    """The owner has a valid key of this name."""

    def __init__(self) -> None:
        super().__init__(
            ErrorCode.NAME_TAKEN, "You have a key of this name; revoke it or choose another."
        )


class TooManyKeys(Refusal):
    """The owner has the maximum number of valid keys."""

    def __init__(self) -> None:
        super().__init__(
            ErrorCode.TOO_MANY_KEYS, f"At most {MAX_LIVE} keys may be valid at a time."
        )


class KeyRevoked(Refusal):
    """The key was rotated or revoked, or has expired."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.KEY_REVOKED)


class TooManyRotations(Refusal):
    """The rotation chain has the maximum number of keys."""

    def __init__(self) -> None:
        words = f"A key may be rotated {MAX_ROTATIONS} times in {ROTATION_WINDOW.days} days."
        super().__init__(ErrorCode.TOO_MANY_KEYS, words)


class BadKeyTerms(Refusal):
    """The name or the expiry of a new key is invalid."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored and listed, without its value."""

    id: str
    owner: OwnerId
    name: str
    prefix: str
    grants: frozenset[Grant]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None  # None: never
    revoked_at: datetime | None  # in the future for a rotated key that still overlaps
    last_used_at: datetime | None  # to the minute
    replaced_by: str | None  # the key it was rotated to
    chain_id: str  # the id of the first key of its rotation chain

    @property
    def place(self) -> Place:
        """The position in the owner's list."""
        return self.created_at, self.id


@dataclass(frozen=True, slots=True)
class KeyTerms:
    """The validated properties of a new key."""

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
    """Validate the properties of a new key; `life` counts from `now`.

    Raises:
        BadKeyTerms: `invalid_name` or `invalid_expiry`.
    """
    trimmed = unicodedata.normalize("NFC", name).strip()
    if not SHORTEST_NAME <= len(trimmed) <= LONGEST_NAME or not trimmed.isprintable():
        words = f"A name has {SHORTEST_NAME} to {LONGEST_NAME} characters, all of them printable."
        raise BadKeyTerms(ErrorCode.INVALID_NAME, words, field="name")
    if contains_secret(trimmed):
        words = "A name is shown: it must not hold a key."
        raise BadKeyTerms(ErrorCode.INVALID_NAME, words, field="name")
    return KeyTerms(
        trimmed,
        DEFAULT_GRANTS if grants is None else frozenset(grants),
        _expiry(expires_at, life, now),
    )


def _expiry(expires_at: datetime | None, life: timedelta | None, now: datetime) -> datetime | None:
    if expires_at is not None and life is not None:
        raise BadKeyTerms(ErrorCode.INVALID_EXPIRY)
    expiry = now + life if life is not None else expires_at
    if expiry is not None and not SHORTEST_LIFE <= expiry - now <= LONGEST_LIFE:
        words = "A key is valid for one minute to five years from now."
        field = "expiresAt" if life is None else "expiresInSeconds"
        raise BadKeyTerms(ErrorCode.INVALID_EXPIRY, words, field=field)
    return expiry


def judge_rotator(caller: Caller, key_id: str) -> None:
    """Check that the caller may rotate this key.

    Raises:
        SessionRequired: the caller is another key, whether or not this one exists.
        NotFound: the id is malformed.
    """
    if caller.kind is CallerKind.KEY and caller.key_id != key_id:
        raise SessionRequired
    judge_id(key_id)


def judge_id(key_id: str) -> None:
    """Check that the id is well-formed.

    Raises:
        NotFound: it is not.
    """
    if not is_id(ID_KIND, key_id):
        raise NotFound
