"""The snippets of a page: fenced blocks that a reader runs, and steps taken by hand.

The words after a fence say what a block is: `sh` is run, `sh given` exports what the reader sets,
`sh server` keeps running, `js NAME` (any language and a name with a dot) is a file. A block of one
other word is an illustration. `<!-- by hand: NAME -->` is a step outside the terminal.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

_STEP: Final = re.compile(
    r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$|^<!-- by hand: (?P<hand>\w+) -->$",
    re.MULTILINE | re.DOTALL,
)


class Kind(Enum):
    """The kind of a snippet."""

    GIVEN = "given"
    RUN = "run"
    SERVER = "server"
    FILE = "file"
    BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Snippet:
    """One step of a page; `name` is that of a file or of a step by hand."""

    kind: Kind
    line: int
    text: str = ""
    name: str = ""


def read_snippets(page: str) -> list[Snippet]:
    """Read every snippet of a Markdown page, in order.

    Raises:
        ValueError: the info string of a fence names no kind.
    """
    found = []
    for match in _STEP.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        if match["hand"] is not None:
            found.append(Snippet(Kind.BY_HAND, line, name=match["hand"]))
        elif (snippet := _fenced(match["info"].split(), match["text"], line)) is not None:
            found.append(snippet)
    return found


def _fenced(words: list[str], text: str, line: int) -> Snippet | None:
    match words:
        case ["sh"]:
            return Snippet(Kind.RUN, line, text)
        case ["sh", "given"]:
            return Snippet(Kind.GIVEN, line, text)
        case ["sh", "server"]:
            return Snippet(Kind.SERVER, line, text)
        case [_, name] if "." in name:
            return Snippet(Kind.FILE, line, text, name)
        case [] | [_]:
            return None
    raise ValueError(f"line {line}: no kind of snippet: {' '.join(words)}")
