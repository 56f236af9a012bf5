"""What one line of the manifest is."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Later(StrEnum):
    """The later work that owns a promise which nothing holds yet."""

    AUTOMATION = "automation"


@dataclass(frozen=True, slots=True)
class Promise:
    """One testable sentence of the specification, in our words."""

    id: str
    section: str
    sentence: str
    deferred: Later | None


def section_promises(
    section: str, sentences: Mapping[str, str], *, deferred: Later | None = None
) -> tuple[Promise, ...]:
    """The promises of one section that share an owner; no owner means they are tested now."""
    return tuple(Promise(key, section, text, deferred) for key, text in sentences.items())
