"""How large an automaton a regular expression becomes: what each character of a text may cost."""

import re
from typing import Final

MAX_SIZE: Final = 10_000
_CATEGORY: Final = 60  # items: letters of all scripts are hundreds of ranges
_TOKEN: Final = re.compile(
    r"(?P<count>\{(?P<least>[0-9]{1,5})(?:,(?P<most>[0-9]{0,5}))?\})"
    r"|(?P<open>\()|(?P<close>\))|(?P<item>\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.)",
    re.ASCII | re.DOTALL,
)


def pattern_size(pattern: str) -> int:
    """The items of a pattern, each as often as the counts around it repeat it; never too few.

    Ends at `MAX_SIZE`.
    """
    outer: list[int] = []  # sizes of what stands before each open group
    size = last = 0  # of the group so far, and of its last item
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            outer.append(size)
            size = last = 0
        elif token["close"]:
            last = size
            size += outer.pop() if outer else 0
        elif token["count"]:
            times = max(int(token["least"]), int(token["most"] or 0), 1)
            size += last * (times - 1)
            last *= times
        else:
            last = 1 + _CATEGORY * token["item"].lower().count("\\p")
            size += last
        if size > MAX_SIZE:
            return MAX_SIZE
    return min(size + sum(outer), MAX_SIZE)
