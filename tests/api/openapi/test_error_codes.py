"""docs/api.md names every code that a route can answer with, each with its status."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from farebox.web.errors import STATUSES

ROOT: Final = Path(__file__).parents[3]
SERVED: Final = (
    *("kernel", "web", "facilitator", "catalog", "search"),
    *("accounts", "audit", "vault", "ingress"),
)
# raised in commands and at the start, not in routes
NEVER_ANSWERED: Final = {
    *("channels_refused", "deploy_refused", "master_key_missing", "master_key_wrong"),
}
# what no refusal is: the error table's own
WITHOUT_REFUSAL: Final = {
    "internal_error": 500,
    "service_unavailable": 503,
    "method_not_allowed": 405,
}
_ROW: Final = re.compile(r"^\| (\d{3}) \| (.+?) \|", re.MULTILINE)


def _trees() -> list[ast.Module]:
    package = ROOT / "src" / "farebox"
    return [
        ast.parse(path.read_text())
        for name in SERVED
        for path in sorted((package / name).rglob("*.py"))
    ]


def _refusals(trees: list[ast.Module]) -> set[str]:
    """The name of every class of refusals."""
    known, before = {"Refusal"}, 0
    while len(known) > before:
        before = len(known)
        known |= {
            node.name
            for tree in trees
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and known & {ast.unparse(each) for each in node.bases}
        }
    return known


@cache
def _codes() -> frozenset[str]:
    """Every code that a refusal is made with."""
    return frozenset(_written_codes())


def _written_codes() -> Iterator[str]:
    """The first argument of every refusal made, where it is a code written out."""
    trees = _trees()
    known = _refusals(trees)
    for tree in trees:
        inside = {
            id(node)
            for each in ast.walk(tree)
            if isinstance(each, ast.ClassDef) and each.name in known
            for node in ast.walk(each)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func)
            first = node.args[0]
            is_made = called in known or (called == "super().__init__" and id(node) in inside)
            if is_made and isinstance(first, ast.Constant) and re.match(r"\w+\Z", str(first.value)):
                yield str(first.value)


def test_every_code_stands_in_the_page_with_its_status() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    told = {
        code: int(status)
        for status, codes in _ROW.findall(page)
        for code in re.findall(r"`(\w+)`", codes)
    }
    codes = _codes() - NEVER_ANSWERED
    assert codes >= {"not_found", "unauthenticated", "invalid_cursor", "name_taken"}
    answered = {code: STATUSES.get(code, 400) for code in codes}
    assert told == answered | WITHOUT_REFUSAL


def test_no_status_is_kept_for_a_code_that_nothing_answers() -> None:
    assert STATUSES.keys() <= _codes() | WITHOUT_REFUSAL.keys()
