"""Patterns of members match the whole text: `$` of Python also matches before a last newline."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from architecture.package_modules import Module, package_modules, parse_modules

# the second is for what the schema publishes: in ECMA 262 `$` is the end, and there is no `\Z`
_ENDS: Final = (r"\Z", r"$(?!\n)")


def pattern_faults(modules: Mapping[str, Module]) -> list[str]:
    """Every pattern that takes a text with a newline at its end, which it does not mean."""
    return [fault for module in modules.values() for fault in _faults(module)]


def _faults(module: Module) -> Iterator[str]:
    if "pattern=" not in module.text and "compile(" not in module.text:
        return
    names = dict(_constants(module))
    for node in (node for statement in module.body for node in ast.walk(statement)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "Meta":
            patterns = [each.value for each in node.keywords if each.arg == "pattern"]
            faults = [text for text in _texts(patterns, names) if not text.endswith(_ENDS)]
        else:
            # of lines with re.MULTILINE, `$` is meant
            is_compile = isinstance(node.func, ast.Attribute) and node.func.attr == "compile"
            is_of_lines = any("MULTILINE" in ast.unparse(each) for each in node.args[1:])
            patterns = node.args[:1] if is_compile and not is_of_lines else []
            faults = [text for text in _texts(patterns, names) if text.endswith("$")]
        yield from (f"{module.place}: {text} takes a newline at the end" for text in faults)


def _constants(module: Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in module.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _texts(patterns: list[ast.expr], names: Mapping[str, ast.expr]) -> Iterator[str]:
    for pattern in patterns:
        value = names.get(pattern.id, pattern) if isinstance(pattern, ast.Name) else pattern
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


def test_patterns_take_no_newline_at_the_end() -> None:
    assert pattern_faults(package_modules()) == []


def test_control_pattern_that_takes_a_newline_is_found() -> None:
    text = r"""
SLUG: Final = r"^[a-z]+$"
A = Meta(pattern=r"^[a-z]+$")
B = Meta(min_length=1, pattern=SLUG)
C = re.compile(r"[a-z]+$", re.ASCII)
GOOD = Meta(pattern=r"^[a-z]+$(?!\n)"), Meta(pattern=r"^[a-z]+\Z"), Meta(min_length=1)
LINES = re.compile(r"--.*$", re.MULTILINE)
"""
    faults = pattern_faults(parse_modules({"gateway/wire": text}))
    assert [fault.partition(" takes")[0] for fault in faults] == [
        "gateway/wire: ^[a-z]+$",
        "gateway/wire: ^[a-z]+$",
        "gateway/wire: [a-z]+$",
    ]
