"""The two marks that tie a test to what it holds: a promise of the specification, or a case."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
_MARKS: Final = frozenset({"promise", "case"})


def promise(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as holding the promises named, as `spec/manifest.py` lists them."""
    return pytest.mark.promise(*ids)


def case(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as answering the adversarial cases named, as `adversarial/rows.py` lists them."""
    return pytest.mark.case(*ids)


def citations(mark: str) -> dict[str, set[str]]:
    """Every id cited with a mark anywhere below tests/, with the files that cite it.

    Read from the sources and not from a run, so that it is whole whichever tests are chosen.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, tree in parsed_tests():
        for identity in _cited(tree, mark):
            found[identity].add(str(path.relative_to(TESTS)))
    return dict(found)


def named_members(of: str) -> frozenset[str]:
    """Every name that a test takes from the class `of`, as in `of.NAME`."""
    return frozenset(
        node.attr
        for _, tree in parsed_tests()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == of
    )


@cache
def parsed_tests() -> tuple[tuple[Path, ast.Module], ...]:
    """Every file of tests with its syntax tree, read once a run."""
    paths = sorted(TESTS.rglob("test_*.py"))
    return tuple((path, ast.parse(path.read_text())) for path in paths)


def _cited(tree: ast.Module, mark: str) -> Iterator[str]:
    assert mark in _MARKS, mark
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == mark:
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise TypeError(f"line {node.lineno}: {mark}() takes ids spelled out")
                yield argument.value


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
