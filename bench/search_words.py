"""Sixty thousand words with English-like frequencies, generated from a small list and a seed.

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
    """Generate the content words, most frequent first; deterministic for a seed."""
    rng = random.Random(seed)
    words = dict.fromkeys(HEAD)
    for word in itertools.chain(_interleave_places(rng), _generate_words(rng)):
        words[word] = None
        if len(words) >= COUNT:
            break
    return tuple(words)


def frequencies(count: int, *, shift: float = 3.0) -> list[float]:
    """Return cumulative weights of the ranks by the Zipf-Mandelbrot law.

    A larger `shift` gives the first ranks a smaller share.
    """
    return list(itertools.accumulate((rank + shift) ** -_SLOPE for rank in range(1, count + 1)))


def _interleave_places(rng: random.Random) -> Iterator[str]:
    """Yield place names among generated words, a little rarer than the head."""
    for place in PLACES:
        yield place
        yield from itertools.islice(_generate_words(rng), 5)


def _generate_words(rng: random.Random) -> Iterator[str]:
    while True:
        syllables = rng.choices((1, 2, 3), (3, 6, 1))[0]
        word = rng.choice(_PREFIXES)
        for _ in range(syllables):
            word += rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
        word += rng.choice(_SUFFIXES)
        if len(word) > 3:
            yield word
