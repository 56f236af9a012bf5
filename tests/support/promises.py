"""The two marks that tie a test to what it holds: a promise of the specification, or a case."""

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from support.held import held_in

TESTS: Final = Path(__file__).parents[1]


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
    return {
        identity.removeprefix(f"{mark}:"): {
            test.partition("::")[0].removeprefix("tests/") for test in tests
        }
        for identity, tests in _held().items()
        if identity.startswith(f"{mark}:")
    }


@cache
def _held() -> dict[str, list[str]]:
    return held_in(TESTS.parent)


def named_members(of: str) -> frozenset[str]:
    """Every name that a test takes from the class `of`, as in `of.NAME`.

    Only files in which the class is named are parsed.
    """
    texts = (path.read_text() for path in sorted(TESTS.rglob("test_*.py")))
    return frozenset(
        node.attr
        for text in texts
        if f"{of}." in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == of
    )
