"""The JSON shapes of personal keys."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from farebox.accounts.api_key import (
    LONGEST_LIFE,
    LONGEST_NAME,
    LONGEST_OVERLAP,
    SHORTEST_LIFE,
    ApiKey,
)
from farebox.accounts.manage_keys import IssuedKey
from farebox.kernel.caller import Grant
from farebox.kernel.pages import Moment, PaginationBody, PlaceBody

_LEAST_S: Final = int(SHORTEST_LIFE.total_seconds())
_MOST_S: Final = int(LONGEST_LIFE.total_seconds())
_OVERLAP_S: Final = int(LONGEST_OVERLAP.total_seconds())
_SENT_NAME: Final = 4 * LONGEST_NAME  # before it is trimmed

Name = Annotated[str, Meta(min_length=1, max_length=_SENT_NAME)]
Life = Annotated[int, Meta(ge=_LEAST_S, le=_MOST_S)]
Overlap = Annotated[int, Meta(ge=0, le=_OVERLAP_S)]
Scopes = Annotated[list[Grant], Meta(min_length=1, max_length=len(Grant))]


class CreateKeyRequest(
    msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """What a new key is to be; without scopes it may read."""

    name: Name
    expires_at: Moment | None = None
    expires_in_seconds: Life | None = None
    scopes: Scopes | None = None

    @property
    def life(self) -> timedelta | None:
        """How long the key is to live from now; None when that is not said."""
        seconds = self.expires_in_seconds
        return None if seconds is None else timedelta(seconds=seconds)


class RotateKeyRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """How long the old key works still, in seconds."""

    overlap_seconds: Overlap = 0


class KeyBody(msgspec.Struct, rename="camel"):
    """What is shown of a key, never the key itself."""

    id: str
    name: str
    prefix: str
    scopes: list[Grant]
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None
    replaced_by: str | None


class IssuedKeyBody(KeyBody, rename="camel"):
    """A key that was just made, with the key itself."""

    key: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"


class KeyListBody(msgspec.Struct, rename="camel"):
    """Some of the caller's keys, newest first."""

    items: list[KeyBody]
    pagination: PaginationBody


class KeyPlace(PlaceBody):
    """Where a page of keys ended."""

    id: Annotated[str, Meta(pattern=r"^key_[0-9A-Za-z]{22}\Z")]


def key_body(key: ApiKey) -> KeyBody:
    """The key as it is listed."""
    return KeyBody(
        id=key.id,
        name=key.name,
        prefix=key.prefix,
        scopes=sorted(key.grants),
        created_at=key.created_at,
        updated_at=key.updated_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
        replaced_by=key.replaced_by,
    )


def issued_key_body(issued: IssuedKey) -> IssuedKeyBody:
    """The one body a key itself is in."""
    shown = key_body(issued.key)
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    return IssuedKeyBody(**fields, key=issued.value.reveal())


def key_list_body(keys: Sequence[ApiKey], *, limit: int, next_cursor: str | None) -> KeyListBody:
    """A page of keys."""
    return KeyListBody([key_body(key) for key in keys], PaginationBody(limit, next_cursor))
