"""No reason code is promised that no test has seen."""

import ast
from collections.abc import Iterator

from farebox.x402.reasons import Reason
from support.promises import TESTS


def test_each_reason_code_is_named_by_a_test() -> None:
    named = {name for path in TESTS.rglob("test_*.py") for name in _named(path.read_text())}
    assert [reason.name for reason in Reason if reason.name not in named] == []


def _named(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "Reason"
        ):
            yield node.attr
