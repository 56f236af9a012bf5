"""The JSON of the vault's routes: values are read here and never written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import msgspec

from farebox.kernel.secret import Secret
from farebox.vault.stored_secret import BadSecret, Purpose, StoredSecret

MOST_US: Final = 2**53
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class CreateSecretRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`POST /v1/vault/secrets`."""

    name: str
    value: str
    purpose: Purpose = Purpose.HEADER


class RotateSecretRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`POST /v1/vault/secrets/{id}/rotate`."""

    value: str


class SecretResponse(msgspec.Struct, rename="camel"):
    """A secret without its value."""

    id: str
    name: str
    purpose: Purpose
    created_at: datetime
    updated_at: datetime  # when the value was given last


class Pagination(msgspec.Struct, rename="camel"):
    """Where the list goes on; no cursor: here it ends."""

    limit: int
    cursor: str | None


class SecretListResponse(msgspec.Struct, rename="camel"):
    """`GET /v1/vault/secrets`: newest first."""

    items: list[SecretResponse]
    pagination: Pagination


class Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What a cursor of the list holds."""

    at_us: Annotated[int, msgspec.Meta(ge=0, le=MOST_US)]  # since 1970
    id: Annotated[str, msgspec.Meta(pattern=r"^sec_[0-9A-Za-z]{22}\Z")]


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret as it is asked for, its words not judged yet."""

    name: str
    value: Secret[str]
    purpose: Purpose


_create: Final = msgspec.json.Decoder(CreateSecretRequest)
_rotate: Final = msgspec.json.Decoder(RotateSecretRequest)
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read_new_secret(body: bytes) -> NewSecret:
    """The secret that a body asks for.

    Raises:
        BadSecret: `invalid_request`; what was sent is not repeated.
    """
    try:
        asked = _create.decode(body)
    except _UNREADABLE:
        words = "Send {name, value} as JSON, and purpose if it is not header: bearer or other."
        raise BadSecret("invalid_request", words) from None
    return NewSecret(asked.name, Secret(asked.value), asked.purpose)


def read_new_value(body: bytes) -> Secret[str]:
    """The value that a secret is to have.

    Raises:
        BadSecret: `invalid_request`; what was sent is not repeated.
    """
    try:
        return Secret(_rotate.decode(body).value)
    except _UNREADABLE:
        raise BadSecret("invalid_request", "Send {value} as JSON.") from None


def secret_body(secret: StoredSecret) -> SecretResponse:
    """What is shown of a secret."""
    return SecretResponse(
        secret.id, secret.name, secret.purpose, secret.created_at, secret.updated_at
    )


def list_body(
    secrets: Sequence[StoredSecret], *, limit: int, cursor: str | None
) -> SecretListResponse:
    """One page of a list."""
    return SecretListResponse([secret_body(each) for each in secrets], Pagination(limit, cursor))


def moment_of(place: Place) -> tuple[datetime, str]:
    """The moment and the id that a cursor's place stands for."""
    return _START + place.at_us * _MICROSECOND, place.id


def place_of(secret: StoredSecret) -> Place:
    """What a cursor behind this secret holds."""
    return Place((secret.created_at - _START) // _MICROSECOND, secret.id)
