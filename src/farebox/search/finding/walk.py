"""A walk over pages: what every page of one search shares."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.search.meaning.senses import Sense
from farebox.search.query.plan import RecallStage
from farebox.search.query.terms import Sought, pairs_of

NEAR: Final = 100  # documents near in meaning that are looked at


@dataclass(frozen=True, slots=True)
class Walk:
    """How the first page found its candidates; later pages find the same in the same way."""

    at: datetime
    snapshot: str  # of the first page, `pg_current_snapshot()`
    must: str  # a tsquery every hit meets; "" for nothing
    sought: tuple[Sought, ...]
    stages: tuple[RecallStage, ...]
    sense: Sense | None = None
    model: str = ""  # which language model the sense is of
    is_strict: bool = False  # meant to the letter: whatever a statement finds fits
    is_truncated: bool = False  # a bound cut the candidates

    @property
    def probes(self) -> tuple[list[str], list[bool]]:
        """What each document is held against, and which of it is a phrase: terms, then pairs."""
        probes = [probe for term in self.sought for probe in term.probes]
        pairs = pairs_of(self.sought)
        queries = [*(probe.query for probe in probes), *pairs]
        return queries, [*(probe.is_phrase for probe in probes), *(True for _ in pairs)]

    @property
    def probe_count(self) -> int:
        """How many of the probes are the terms'; the rest are pairs."""
        return sum(len(term.probes) for term in self.sought)
