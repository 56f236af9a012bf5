"""Declare settings: fields of frozen dataclasses with a name, a rule and a description.

A dataclass of such fields is a section. A section may hold other sections, and mappings from the
members of an enumeration to sections.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar, get_args

T = TypeVar("T")
PREFIX: Final = "FAREBOX_"
SETTING: Final = "setting"  # the key in the metadata of a field
_KEY: Final = re.compile(r"<[A-Z]+>")


class InvalidText(Exception):
    """A setting's text is invalid; the message says which texts are valid, without the value."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """Parses a text; `parse` raises for an invalid one, `accepts` describes the valid ones."""

    parse: Callable[[str], T]
    accepts: str
    is_secret: bool = False

    def __call__(self, text: str) -> T:
        """Parse the text.

        Raises:
            InvalidText: the text is invalid.
        """
        try:
            return self.parse(text)
        except (ValueError, OSError, RuntimeError):  # their messages may repeat the text
            raise InvalidText(self.accepts) from None


def rule(accepts: str, *, is_secret: bool = False) -> Callable[[Callable[[str], T]], Rule[T]]:
    """Make a rule of a function; `accepts` describes the valid texts."""
    return lambda parse: Rule(parse, accepts, is_secret)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, or one for each key where its name holds `<NETWORK>` or `<CLASS>`.

    Names are without the prefix; a placeholder in another setting's name stands for the same key.
    """

    name: str
    rule: Rule[Any]
    default: str | Mapping[Any, str] | None  # in the operator's notation, or one for each key
    about: str
    absent: str = ""  # describes a missing value; "" without a default: required
    fallback: str = ""  # the setting that is used where this one is not given
    at_most: str = ""  # the setting whose number this one must not exceed
    differs_from: tuple[str, ...] = ()  # the settings whose value this one must not have
    needs: tuple[str, ...] = ()  # it has no effect without one of these settings ...
    instead: str = ""  # ... and must be this
    is_local: bool = False  # for demos and tests, on a loopback address only

    @property
    def is_required(self) -> bool:
        """Whether its section needs a value."""
        return self.default is None and not self.absent

    def default_of(self, key: Enum | None) -> str | None:
        """The default text."""
        return self.default[key] if isinstance(self.default, Mapping) else self.default


def setting(
    name: str,
    rule: Rule[T],
    default: str | Mapping[Any, str] | None,
    about: str,
    **dependencies: Any,
) -> T:
    """Declare a field that always has a value."""
    declared: T = field(metadata={SETTING: Setting(name, rule, default, about, **dependencies)})
    return declared


def optional(
    name: str, rule: Rule[T], about: str, absent: str = "none", **dependencies: Any
) -> T | None:
    """Declare a field that is None where no text is given; `absent` describes that."""
    return setting(name, rule, None, about, absent=absent, **dependencies)


def sections_of(own: Field[Any]) -> list[tuple[Any, Enum | None]]:
    """The sections in a field, each with its key where the field is a mapping."""
    if is_dataclass(own.type):
        return [(own.type, None)]
    match get_args(own.type):
        case (keys, section) if is_dataclass(section):
            return [(section, key) for key in keys]
    return []


def declared_in(section: Any, key: Enum | None = None) -> Iterator[tuple[Setting, Enum | None]]:
    """Iterate over the settings of a section and its inner sections, once for each key."""
    for own in fields(section):
        if SETTING in own.metadata:
            yield own.metadata[SETTING], key
        for inner in sections_of(own):
            yield from declared_in(*inner)


def variable(name: str, key: Enum | None) -> str:
    """The environment variable of a setting, for a key where it has one."""
    return PREFIX + (_KEY.sub(key.name, name) if key else name)
