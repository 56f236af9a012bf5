"""Sixty thousand words with English-like frequencies, made here from a small list and a seed.

The head is the vocabulary of paid interfaces, most frequent first; the tail is built from English
prefixes, syllables and suffixes, so that it stems and splits into trigrams as English does.
"""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

COUNT: Final = 60_000
_LISTS: Final = Path(__file__).with_suffix(".txt").read_text().split("\n\n")
HEAD: Final = tuple(_LISTS[0].split())  # most frequent first
PLACES: Final = tuple(_LISTS[1].split())


def _parts(text: str) -> list[str]:
    return text.split()


GLUE: Final = _parts(
    "the for and with of to in a from by on your an or as any that is at into "
    "you it per can all this are be not more one via about up each when"
)
_PREFIXES: Final = (
    *[""] * 40,
    *_parts("re un inter multi geo bio micro hyper meta sub over pre trans non auto cyber"),
)
_ONSETS: Final = _parts(
    "b c d f g h k l m n p r s t v w b c d f g h l m n p r s t br cl cr dr fl gr pl pr st th sh ch"
)
_VOWELS: Final = _parts("a e i o u a e i o u a e i o ea ou ai ee oo")
_CODAS: Final = (*[""] * 16, *_parts("n r l s t m d n r l t ck nd nt st ll"))
_SUFFIXES: Final = (
    *[""] * 8,
    *_parts("s s ing ed er tion ity ly al ic ive ment able ism ist ous ize ness ful ary"),
)
_SLOPE: Final = 1.05


def vocabulary(seed: int) -> tuple[str, ...]:
    """The words that carry meaning, most frequent first; the same ones for the same seed."""
    chance = random.Random(seed)
    words = dict.fromkeys(HEAD)
    for word in itertools.chain(_sprinkled(chance), _made(chance)):
        words[word] = None
        if len(words) >= COUNT:
            break
    return tuple(words)


def frequencies(count: int, *, shift: float = 3.0) -> list[float]:
    """Weights of the ranks by the law of Zipf and Mandelbrot, added up as `choices` takes them.

    The larger `shift`, the less of everything the first ones have.
    """
    return list(itertools.accumulate((rank + shift) ** -_SLOPE for rank in range(1, count + 1)))


def _sprinkled(chance: random.Random) -> Iterator[str]:
    """Places, a little rarer than the head, among made-up words."""
    for place in PLACES:
        yield place
        yield from itertools.islice(_made(chance), 5)


def _made(chance: random.Random) -> Iterator[str]:
    while True:
        syllables = chance.choices((1, 2, 3), (3, 6, 1))[0]
        word = chance.choice(_PREFIXES)
        for _ in range(syllables):
            word += chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS)
        word += chance.choice(_SUFFIXES)
        if len(word) > 3:
            yield word
