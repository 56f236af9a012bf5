"""Each test that the threat model names exists."""

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "threat-model.md"
_NAMED: Final = re.compile(r"`((?:tests|console/src)/[A-Za-z0-9_/]+\.(?:py|test\.tsx?))::([^`]+)`")
_HEADER: Final = "| who | what they send | abuse | rule | test |"
_LEFT: Final = "left: "  # begins the last cell of a row without a test


def named_tests(page: str) -> list[tuple[str, str]]:
    """Return file and function of each test that the page names."""
    return _NAMED.findall(page)


def missing_tests(named: list[tuple[str, str]]) -> list[str]:
    """Return those that do not exist."""
    return [f"{path}::{name}" for path, name in named if not _has_test(ROOT / path, name)]


def _has_test(path: Path, name: str) -> bool:
    if not path.is_file():
        return False
    if path.suffix != ".py":
        return any(f"({quote}{name}{quote}" in path.read_text() for quote in "\"'`")
    return name in _functions(path)


def _functions(path: Path) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)}


def rows(page: str) -> list[list[str]]:
    """Return the cells of each row that says what holds an abuse."""
    found, is_inside = [], False
    for line in page.splitlines():
        is_inside = line.startswith("|") and (is_inside or line == _HEADER)
        if is_inside and line != _HEADER and not line.startswith("|---"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_threat_model_names_tests_that_exist() -> None:
    named = named_tests(PAGE.read_text())
    assert len(named) >= 40
    assert missing_tests(named) == []


def test_each_row_names_a_test_or_says_that_it_is_left() -> None:
    found = rows(PAGE.read_text())
    assert [row for row in found if len(row) != 5] == []
    assert [row for row in found if not named_tests(row[4]) and not row[4].startswith(_LEFT)] == []


def test_check_finds_a_test_that_does_not_exist() -> None:
    page = f"{_HEADER}\n|---|\n| a | b | c | d | `tests/spec/test_threat_model.py::test_none` |"
    assert missing_tests(named_tests(page)) == ["tests/spec/test_threat_model.py::test_none"]
    assert missing_tests([("tests/spec/no_such.py", "test_none")]) == [
        "tests/spec/no_such.py::test_none"
    ]
