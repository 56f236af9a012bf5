"""A seller's secret without its value, and the rules for names and values."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from farebox.kernel.caller import OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.ids import is_id
from farebox.kernel.pages import Place
from farebox.kernel.secret import Secret

ID_KIND: Final = "sec"
SHORTEST_NAME: Final = 2
LONGEST_NAME: Final = 80
LONGEST_VALUE: Final = 16_384  # bytes in UTF-8
MIN_COMPARED: Final = 6  # characters; a shorter value may be part of a name by chance
MAX_SECRETS: Final = 100  # of one owner
# A header's value by RFC 9110 without its obsolete parts: it holds no line break.
_HEADER_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?", re.ASCII)
_TOKEN: Final = re.compile(r"[!-~]+", re.ASCII)


class Purpose(StrEnum):
    """The permitted use of a secret."""

    HEADER = "header"  # the whole value of a request header, or a bearer token
    BEARER = "bearer"  # after `Authorization: Bearer` only
    OTHER = "other"  # never in a header


class InvalidSecret(Refusal):
    """A name or a value is invalid; the message never repeats it."""


class SecretNameTaken(Refusal):
    """The owner has a secret of this name."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NAME_TAKEN, "You have a secret of this name: choose another.")


class TooManySecrets(Refusal):
    """The owner has the maximum number of secrets."""

    def __init__(self) -> None:
        super().__init__(
            ErrorCode.TOO_MANY_SECRETS, f"At most {MAX_SECRETS} secrets may be stored."
        )


class SecretInUse(Refusal):
    """A wrapper uses the secret."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.SECRET_IN_USE)


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A secret as it is listed, without its value."""

    id: str
    owner: OwnerId
    name: str
    purpose: Purpose
    created_at: datetime
    updated_at: datetime  # when the value was last set

    @property
    def place(self) -> Place:
        """The position in the list."""
        return self.created_at, self.id


def normalize_name(text: str) -> str:
    """Normalize and validate a name.

    Raises:
        InvalidSecret: `invalid_name`.
    """
    name = unicodedata.normalize("NFC", text).strip()
    if not SHORTEST_NAME <= len(name) <= LONGEST_NAME or not name.isprintable():
        words = f"A name has {SHORTEST_NAME} to {LONGEST_NAME} characters, all of them printable."
        raise InvalidSecret(ErrorCode.INVALID_NAME, words, field="name")
    return name


def check_name_hides_value(name: str, value: Secret[str]) -> None:
    """Check that the name, which is shown, does not contain the value.

    Raises:
        InvalidSecret: `invalid_name`.
    """
    if len(value.reveal()) >= MIN_COMPARED and value.reveal() in name:
        words = "A name is shown: it must not contain the value."
        raise InvalidSecret(ErrorCode.INVALID_NAME, words, field="name")


def check_value(value: Secret[str], purpose: Purpose) -> None:
    """Check that a secret of this purpose may have the value.

    Raises:
        InvalidSecret: `invalid_value`, or `value_not_for_header` for characters that the purpose
            forbids.
    """
    text = value.reveal()
    if not 1 <= len(text.encode()) <= LONGEST_VALUE:
        words = f"A value has 1 to {LONGEST_VALUE} bytes."
        raise InvalidSecret(ErrorCode.INVALID_VALUE, words, field="value")
    match purpose:
        case Purpose.HEADER if not _HEADER_VALUE.fullmatch(text):
            words = "For a header: visible ASCII characters, with spaces only between them."
            raise InvalidSecret(ErrorCode.VALUE_NOT_FOR_HEADER, words, field="value")
        case Purpose.BEARER if not _TOKEN.fullmatch(text):
            words = "For a bearer token: visible ASCII characters without spaces."
            raise InvalidSecret(ErrorCode.VALUE_NOT_FOR_HEADER, words, field="value")


def is_secret_id(text: str) -> bool:
    """Whether the id is well-formed."""
    return is_id(ID_KIND, text)
