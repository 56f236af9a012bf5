"""How often words of English are written, where the list of the package `wordfreq` is installed.

A word that no listing has was mistyped, or what it says is not on offer. Which, only their
frequencies tell: common slips are in every list of what people write.
"""

import gzip
import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec
import structlog

PACKAGE: Final = "wordfreq"  # carries files; its code is never imported
LIST_SHA256: Final = "dffae8066b78dce0a6667cf5f58e567054f902674667090a7ac8a8a44628b05c"
_LIST: Final = ("data", "large_en.msgpack.gz")

SELDOM: Final = 150  # hundredths of the logarithm of how often in a billion words
SLIP: Final = 200  # a word is mistyped once in a hundred times, hardly more often
_MOST: Final = 900

Written = Mapping[str, int]  # hundredths of the logarithm of how often a billion words have it

log = structlog.get_logger(__name__)


def nothing_written() -> Written:
    """No list at hand."""
    return {}


def read_written() -> Written:
    """The words that are not written seldom, some 170,000; none where the list is not installed.

    It reads a file of 1.5 MB and takes a quarter of a second: call it off the event loop.
    """
    spec = find_spec(PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        return _absent(f"the package {PACKAGE} is not installed")
    try:
        packed = Path(folders[0]).joinpath(*_LIST).read_bytes()
    except OSError:
        return _absent(f"{_LIST[-1]} cannot be read")
    if hashlib.sha256(packed).hexdigest() != LIST_SHA256:
        return _absent(f"{_LIST[-1]} is not the file this version knows")
    # a head, and behind it the words of each frequency, a hundredth apart from the most frequent on
    _, *words = msgspec.msgpack.decode(gzip.decompress(packed))
    return {
        word: _MOST - place for place, own in enumerate(words[: _MOST - SELDOM + 1]) for word in own
    }


def _absent(reason: str) -> Written:
    log.info("written_words.absent", reason=reason)
    return nothing_written()


def is_rather(meant: str, typed: str, written: Written) -> bool:
    """Whether who typed the one word, which no listing has, is likelier to have meant the other."""
    often = written.get(typed, 0)
    return often == 0 or written.get(meant, 0) - often >= SLIP
