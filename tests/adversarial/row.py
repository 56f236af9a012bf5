"""The row of an adversarial case."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One case: an action of a hostile or broken peer, and the later work that it waits for."""

    id: str
    section: str
    tried: str
    waits_for: str | None = None


def section_rows(section: str, cases: Mapping[str, str], *waiting: Row) -> tuple[Row, ...]:
    """Build the rows of a section from the sentences of its cases; `waiting` are deferred ones."""
    return tuple(Row(key, section, text) for key, text in cases.items()) + waiting
