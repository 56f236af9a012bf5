"""How far two spellings lie apart, and which word a mistyped one was meant for."""

from collections.abc import Iterable
from typing import Final

SHORTEST: Final = 4  # letters; a shorter word is too near to too many
LONGEST: Final = 24
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ONE_SLIP: Final = 7  # letters up to which one slip is allowed for, and two beyond


def slips_allowed(word: str) -> int:
    """How many slips of the finger a word of this length may hold; 0 for none."""
    if not SHORTEST <= len(word) <= LONGEST or not word.isalpha():
        return 0
    return 1 if len(word) <= _ONE_SLIP else 2


def one_slip_from(word: str) -> set[str]:
    """Every spelling one slip away from the word, in the letters of English."""
    parts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    left_out = {head + tail[1:] for head, tail in parts if tail}
    swapped = {head + tail[1] + tail[0] + tail[2:] for head, tail in parts if len(tail) > 1}
    changed = {head + letter + tail[1:] for head, tail in parts if tail for letter in _LETTERS}
    put_in = {head + letter + tail for head, tail in parts for letter in _LETTERS}
    return (left_out | swapped | changed | put_in) - {word}


def slips_between(one: str, other: str, *, most: int) -> int | None:
    """Letters put in, left out, changed or swapped with the next, at least; None beyond `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, beside in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != beside))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == beside:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
        before, last = last, row
    return last[-1] if last[-1] <= most else None


def corrections(asked: str, alike: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The words `asked` was likely meant for, with the slips between, likeliest first.

    `alike` are words with the number of texts that have them. The first letter is hardly ever
    mistyped: a word with another one must be one slip away.
    """
    most = slips_allowed(asked)
    found: list[tuple[int, int, str]] = []
    for word, texts in alike:
        slips = slips_between(asked, word, most=most) if most else None
        if not slips or (word[0] != asked[0] and slips > 1) or not word.isalpha():
            continue
        found.append((slips, -texts, word))
    fewest = min((slips for slips, _, _ in found), default=0)
    return [(word, slips) for slips, _, word in sorted(found) if slips == fewest]
