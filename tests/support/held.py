"""Which test holds which promise and which adversarial case, as the sources say.

`python tests/support/held.py` prints the table as JSON: `promise:ID` and `case:ID`, each with its
tests. With two checkouts, BEFORE and AFTER, it prints what only the first one holds, and its exit
code is 1 when there is such an id.
"""

import argparse
import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MARKS: Final = frozenset({"promise", "case"})
_MARKED: Final = re.compile(r"\b(?:promise|case)\b")


def held_in(root: Path) -> dict[str, list[str]]:
    """Return every id that a test below `root`/tests cites, with these tests."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text()
        if not _MARKED.search(text):  # parsing every module takes seconds
            continue
        file = path.relative_to(root).as_posix()
        tree = ast.parse(text)
        for identity in _cited_by_the_module(tree):
            found[identity].add(file)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for decorator in node.decorator_list:
                    for identity in _cited(decorator):
                        found[identity].add(f"{file}::{node.name}")
    return {identity: sorted(tests) for identity, tests in sorted(found.items())}


def _cited_by_the_module(tree: ast.Module) -> Iterator[str]:
    """The ids of `pytestmark`, and of parameters and lists that are built outside of tests."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _cited(node)


def _cited(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (mark := _name(node.func)) in _MARKS:
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise TypeError(f"line {node.lineno}: {mark}() takes ids spelled out")
                yield f"{mark}:{argument.value}"


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def main() -> int:
    """Print the table of this checkout, or what the second of two lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[2]])
    given = parser.parse_args().checkouts
    before, *after = [held_in(each) for each in given]
    if not after:
        print(json.dumps(before, indent=1))
        return 0
    missing = {identity: before[identity] for identity in before.keys() - after[0].keys()}
    print(json.dumps({"before": len(before), "after": len(after[0]), "missing": missing}))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
