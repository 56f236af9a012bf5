"""What one line of the manifest is."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """One testable sentence of the specification, in our words."""

    id: str
    section: str
    sentence: str


def section_promises(section: str, sentences: Mapping[str, str]) -> tuple[Promise, ...]:
    """The promises of one section."""
    return tuple(Promise(key, section, text) for key, text in sentences.items())
