"""One class name means one class: no name is defined in two modules of the package."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "farebox"


def duplicate_class_names(sources: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    """The class names, private ones included, that more than one module defines, and where.

    `sources` are pairs of a module's name and its text.
    """
    modules: dict[str, set[str]] = {}
    for module, text in sources:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name, set()).add(module)
    return {name: sorted(where) for name, where in sorted(modules.items()) if len(where) > 1}


def test_class_name_is_defined_in_one_module_only() -> None:
    sources = [
        (str(path.relative_to(PACKAGE)), path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))
    ]
    assert duplicate_class_names(sources) == {}


def test_duplicate_class_name_is_found_however_it_is_defined() -> None:
    sources = [
        ("a", "class One: ...\nclass _Own: ...\nclass Two: ..."),
        ("b", "def make():\n    class One: ...\n\nclass Outer:\n    class _Own: ..."),
        ("c", "from b import Two\nTwo = Two  # class Two: ...\n"),
    ]
    assert duplicate_class_names(sources) == {"One": ["a", "b"], "_Own": ["a", "b"]}


def test_class_name_that_one_module_defines_twice_is_no_duplicate() -> None:
    assert (
        duplicate_class_names([("a", "if 1:\n    class One: ...\nelse:\n    class One: ...")]) == {}
    )
