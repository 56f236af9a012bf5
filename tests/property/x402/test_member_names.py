"""Duplicate member names are found exactly when there are any."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.json_text import has_repeated_name

Draw = Callable[[st.SearchStrategy[Any]], Any]
Tree = object  # an object is a tuple of (name, value) pairs, which may repeat a name
NAMES = st.sampled_from(["a", "b", ":", "a:", "\\", "\\u003a", '"', "{", "", "é", "\U0001f4b0"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES
    | st.text(max_size=5)
)
LONE_SURROGATES = st.text(st.characters(categories=["Cs"]), min_size=1, max_size=2)
SPACES = st.sampled_from(["", " ", "\n\t", "\r"])


def trees(scalars: st.SearchStrategy[object]) -> st.SearchStrategy[Tree]:
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(st.tuples(NAMES | st.text(max_size=2), inner), max_size=4).map(tuple)
        ),
        max_leaves=20,
    )


def repeats(tree: Tree) -> bool:
    """The oracle: count the names of every object."""
    if isinstance(tree, tuple):
        names = [name for name, _ in tree]
        return len(names) != len(set(names)) or any(repeats(value) for _, value in tree)
    return isinstance(tree, list) and any(repeats(each) for each in tree)


def spelled(text: str, draw: Draw) -> str:
    """The text as a JSON string, some of its characters as escapes."""
    pieces = []
    for character in text:
        code = ord(character)
        if code < 0x10000 and draw(st.booleans()):
            digits = f"{code:04x}"
            pieces.append("\\u" + (digits.upper() if draw(st.booleans()) else digits))
        else:
            pieces.append(json.dumps(character, ensure_ascii=0xD800 <= code < 0xE000)[1:-1])
    return '"' + "".join(pieces) + '"'


def written(tree: Tree, draw: Draw) -> str:
    space = draw(SPACES)
    if isinstance(tree, tuple):
        members = (f"{spelled(n, draw)}{space}:{space}{written(v, draw)}" for n, v in tree)
        return "{" + joined(members, space) + "}"
    if isinstance(tree, list):
        return "[" + joined((written(each, draw) for each in tree), space) + "]"
    return spelled(tree, draw) if isinstance(tree, str) else json.dumps(tree)


def joined(parts: Iterable[str], space: str) -> str:
    return f"{space},{space}".join(parts)


@given(st.data(), trees(SCALARS))
def test_duplicate_member_is_found_exactly_when_there_is_one(
    data: st.DataObject, tree: Tree
) -> None:
    text = written(tree, data.draw).encode()
    assert has_repeated_name(text) is repeats(tree)


@given(st.data(), trees(SCALARS | LONE_SURROGATES))
def test_duplicate_member_is_found_with_lone_surrogates(data: st.DataObject, tree: Tree) -> None:
    text = written(tree, data.draw).encode()
    assert has_repeated_name(text) is repeats(tree)
