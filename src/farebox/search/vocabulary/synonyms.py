"""Words that stand for each other: a list of our own, read once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

LONGEST: Final = 4  # words of one entry
Phrase = tuple[str, ...]  # plain words, or their stems


@dataclass(frozen=True, slots=True)
class Group:
    """Entries that stand for each other, with what one is worth in another's place."""

    percent: int
    entries: tuple[Phrase, ...]
    offered: tuple[Phrase, ...]  # what stands for the entries: themselves, or what they point to


@dataclass(frozen=True, slots=True)
class Standin:
    """What may stand for the words from `start` up to `end` of a query."""

    start: int
    end: int
    entry: Phrase
    percent: int


@cache
def synonym_groups() -> tuple[Group, ...]:
    """Every group of the list."""
    file = resources.files("farebox") / "search" / "vocabulary" / "synonyms.txt"
    return tuple(read_groups(file.read_text("utf-8")))


def read_groups(text: str) -> Iterator[Group]:
    """The groups of a list: `weight: word, two words, word`; `#` begins a remark.

    In `weight: word, word > word, word` those on the left are met by those on the right alone.
    """
    for line in text.splitlines():
        weight, colon, entries = line.partition(":")
        if not line.startswith("#") and colon:
            asked, points, offered = entries.partition(">")
            words = _phrases(asked)
            yield Group(round(100 * float(weight)), words, _phrases(offered) if points else words)


def _phrases(text: str) -> tuple[Phrase, ...]:
    words = (tuple(entry.replace("-", " ").split()) for entry in text.split(","))
    return tuple(dict.fromkeys(words))


class Synonyms:
    """The groups by the stems of their entries, so that plurals and tenses are found too."""

    def __init__(self, groups: Sequence[Group], stems: Mapping[str, str]) -> None:
        self._by_stems: dict[Phrase, dict[Phrase, int]] = {}
        for group in groups:
            for entry in group.entries:
                others = self._by_stems.setdefault(_stemmed(entry, stems), {})
                for other in group.offered:
                    if _stemmed(other, stems) != _stemmed(entry, stems):
                        others[other] = max(others.get(other, 0), group.percent)

    def standins(self, stems: Sequence[str]) -> Iterator[Standin]:
        """What may stand for any run of words in a query, given as stems."""
        for start in range(len(stems)):
            for end in range(start + 1, min(start + LONGEST, len(stems)) + 1):
                for entry, percent in self._by_stems.get(tuple(stems[start:end]), {}).items():
                    yield Standin(start, end, entry, percent)


def _stemmed(entry: Phrase, stems: Mapping[str, str]) -> Phrase:
    return tuple(stems.get(word, word) for word in entry)
