"""The limits of the style guide that a machine can count."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "farebox").rglob("*.py"))
EMPTY_NAMES = {"utils", "helpers", "common", "base", "manager", "service", "util", "misc"}
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 40


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the function without its docstring: what must fit a screen is the code."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_module_stays_within_its_maximum_of_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_MODULE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_function_fits_a_screen(path: Path) -> None:
    too_long = [
        f"{function.name}: {_body_lines(function)}"
        for function in _functions(ast.parse(path.read_text()))
        if _body_lines(function) > MAX_FUNCTION_LINES
    ]
    assert too_long == []


def test_every_package_file_is_empty() -> None:
    assert [_name(p) for p in SOURCES if p.name == "__init__.py" and p.read_text()] == []


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in SOURCES}
    assert [_name(f) for f in folders if not (f / "__init__.py").exists()] == []


def test_module_name_names_a_subject() -> None:
    assert [_name(p) for p in SOURCES if p.stem in EMPTY_NAMES] == []
