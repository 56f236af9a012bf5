"""The limits of the style guide that a machine can count, and what a module may not do."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from architecture.package_modules import Module, package_modules, parse_modules

EMPTY_NAMES: Final = {"utils", "helpers", "common", "base", "manager", "service", "util", "misc"}
# at module level one of these would be one for every test and every run
RESOURCES: Final = {"Settings", "read_settings", "Database", "ClientSession", "create_app"}
MAX_MODULE_LINES: Final = 400
MAX_FUNCTION_LINES: Final = 40


def shape_faults(modules: Mapping[str, Module]) -> list[str]:
    """Every module that is too long, is empty of meaning, or makes what its caller should."""
    faults = [fault for module in modules.values() for fault in _module_faults(module)]
    folders = {"/".join(module.parts[:-1]) for module in modules.values()}
    packages = {"/".join(module.parts[:-1]) for module in modules.values() if _is_package(module)}
    faults += [f"{folder}: is no package" for folder in sorted(folders - packages)]
    where: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules.values():
        for name in module.classes:
            where[name].append(module.place)
    twice = sorted(name for name, places in where.items() if len(places) > 1)
    return [*faults, *(f"{name}: is a class in {', '.join(where[name])}" for name in twice)]


def _is_package(module: Module) -> bool:
    return module.name == "__init__"


def _module_faults(module: Module) -> Iterator[str]:
    if _is_package(module) and module.text:
        yield f"{module.place}: is not empty"
    if module.name in EMPTY_NAMES:
        yield f"{module.place}: names no subject"
    if (lines := len(module.text.splitlines())) > MAX_MODULE_LINES:
        yield f"{module.place}: has {lines} lines"
    for function in module.functions:
        if (lines := _code_lines(function)) > MAX_FUNCTION_LINES:
            yield f"{module.place}: {function.name} has {lines} lines"
    for statement in module.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _called(statement) in RESOURCES:
            yield f"{module.place}: makes a {_called(statement)} when it is imported"


def _code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the function without its docstring: what must fit a screen is the code."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def _called(statement: ast.Assign | ast.AnnAssign) -> str:
    """The name of the function whose answer is assigned, or nothing."""
    if not isinstance(statement.value, ast.Call):
        return ""
    called = statement.value.func
    return called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")


def test_modules_keep_the_shape_of_the_style_guide() -> None:
    assert shape_faults(package_modules()) == []


def test_planted_shapes_are_found() -> None:
    statements = "\n    pass" * 40
    planted = {
        "__init__": "",
        "kernel/__init__": "",
        "kernel/long": "\n" * 401,
        "kernel/most": "\n" * 400,
        "kernel/utils": "async def fits():\n    'A docstring.'" + "\n    pass" * 39,
        "kernel/screen": f"class One:\n  def one(self):{statements}\nclass _Own: ...",
        "storage/__init__": "import os",
        "storage/pool": "from x import y as _Own\nSHARED: object = y.Database()\nOwn = _Own",
        "web/page": "if 1:\n    class One: ...\nelse:\n    class One: ...\nSET = read_settings()",
        "web/other": "def make():\n    class _Own: ...\n    return create_app()  # class Two: ...",
    }
    assert shape_faults(parse_modules(planted)) == [
        "kernel/long: has 401 lines",
        "kernel/utils: names no subject",
        "kernel/screen: one has 41 lines",
        "storage/__init__: is not empty",
        "storage/pool: makes a Database when it is imported",
        "web/page: makes a read_settings when it is imported",
        "web: is no package",
        "One: is a class in kernel/screen, web/page",
        "_Own: is a class in kernel/screen, web/other",
    ]
