"""A seller's secret: what is known of it without its value, and what a value may be."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import Refusal
from farebox.kernel.ids import is_id
from farebox.kernel.pages import Place
from farebox.kernel.secret import Secret

ID_KIND: Final = "sec"
SHORTEST_NAME: Final = 2
LONGEST_NAME: Final = 80
LONGEST_VALUE: Final = 16_384  # characters
SHOWN_BY_CHANCE: Final = 6  # a shorter value may well be part of a name
MOST_SECRETS: Final = 100  # of one owner
# What a header's value may hold (RFC 9110) without its obsolete parts: no line can be ended.
_HEADER_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?", re.ASCII)
_TOKEN: Final = re.compile(r"[!-~]+", re.ASCII)


class Purpose(StrEnum):
    """What a secret may be used for."""

    HEADER = "header"  # the whole value of a request header, or a bearer token
    BEARER = "bearer"  # behind `Authorization: Bearer` alone
    OTHER = "other"  # never in a header


class BadSecret(Refusal):
    """A name or a value that no secret can have; the words never repeat what was sent."""


class NameTaken(Refusal):
    """The owner has a secret of the name."""

    def __init__(self) -> None:
        super().__init__("name_taken", "You have a secret of this name: choose another.")


class TooManySecrets(Refusal):
    """The owner has as many secrets as anybody may."""

    def __init__(self) -> None:
        super().__init__("too_many_secrets", f"At most {MOST_SECRETS} secrets may be kept.")


class SecretInUse(Refusal):
    """Something still needs the secret."""

    def __init__(self) -> None:
        super().__init__("secret_in_use", "A wrapper uses this secret: change the wrapper first.")


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """What is shown of a secret; never its value."""

    id: str
    owner: OwnerId
    name: str
    purpose: Purpose
    created_at: datetime
    updated_at: datetime  # when the value was given last

    @property
    def place(self) -> Place:
        """Where it stands in the list."""
        return self.created_at, self.id


def judge_name(text: str) -> str:
    """The name as it is kept.

    Raises:
        BadSecret: `invalid_name`.
    """
    name = unicodedata.normalize("NFC", text).strip()
    if not SHORTEST_NAME <= len(name) <= LONGEST_NAME or not name.isprintable():
        words = f"A name has {SHORTEST_NAME} to {LONGEST_NAME} characters, all of them printable."
        raise BadSecret("invalid_name", words)
    return name


def judge_apart(name: str, value: Secret[str]) -> None:
    """Returns if the name, which is shown, does not hold the value, which is not.

    Raises:
        BadSecret: `invalid_name`.
    """
    if len(value.reveal()) >= SHOWN_BY_CHANCE and value.reveal() in name:
        raise BadSecret("invalid_name", "A name is shown: it must not hold the value.")


def judge_value(value: Secret[str], purpose: Purpose) -> None:
    """Returns if a secret of this purpose may have the value.

    Raises:
        BadSecret: `invalid_value`, or `value_not_for_header` when its purpose forbids characters.
    """
    text = value.reveal()
    if not 1 <= len(text) <= LONGEST_VALUE:
        raise BadSecret("invalid_value", f"A value has 1 to {LONGEST_VALUE} characters.")
    match purpose:
        case Purpose.HEADER if not _HEADER_VALUE.fullmatch(text):
            words = "For a header: visible ASCII characters, spaces between them alone."
            raise BadSecret("value_not_for_header", words)
        case Purpose.BEARER if not _TOKEN.fullmatch(text):
            words = "For a bearer token: visible ASCII characters, without a space."
            raise BadSecret("value_not_for_header", words)


def is_secret_id(text: str) -> bool:
    """Whether a secret could have the id."""
    return is_id(ID_KIND, text)
