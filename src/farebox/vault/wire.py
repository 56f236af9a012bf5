"""The JSON of the vault's routes: values are read here and never written."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from farebox.kernel.pages import Moment, PaginationBody, PlaceBody
from farebox.vault.stored_secret import LONGEST_NAME, LONGEST_VALUE, Purpose, StoredSecret

_SENT_NAME: Final = 4 * LONGEST_NAME  # before it is trimmed

Name = Annotated[str, Meta(min_length=1, max_length=_SENT_NAME)]
Value = Annotated[str, Meta(min_length=1, max_length=LONGEST_VALUE)]


class CreateSecretRequest(
    msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """A secret to be kept; without a purpose it is for a request header."""

    name: Name
    value: Value
    purpose: Purpose = Purpose.HEADER

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class RotateSecretRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The value that a secret is to have from now on."""

    value: Value

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class SecretBody(msgspec.Struct, rename="camel"):
    """A secret without its value; `updatedAt` is when it was given the value last."""

    id: str
    name: str
    purpose: Purpose
    created_at: Moment
    updated_at: Moment


class SecretListBody(msgspec.Struct, rename="camel"):
    """Some of the caller's secrets, newest first."""

    items: list[SecretBody]
    pagination: PaginationBody


class SecretPlace(PlaceBody):
    """Where a page of secrets ended."""

    id: Annotated[str, Meta(pattern=r"^sec_[0-9A-Za-z]{22}\Z")]


def secret_body(secret: StoredSecret) -> SecretBody:
    """The secret as it is listed."""
    return SecretBody(secret.id, secret.name, secret.purpose, secret.created_at, secret.updated_at)


def secret_list_body(
    secrets: Sequence[StoredSecret], *, limit: int, next_cursor: str | None
) -> SecretListBody:
    """A page of secrets."""
    items = [secret_body(each) for each in secrets]
    return SecretListBody(items, PaginationBody(limit, next_cursor))
