"""The files of the repository, and the modules of the package, each read and parsed once a run."""

import ast
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "farebox"
_NOT_OURS: Final = {"node_modules", "target"}  # hidden folders are not read either


@dataclass(frozen=True, slots=True)
class Module:
    """One module, and what the checks ask of its syntax tree."""

    place: str  # folders and name below the package: `gateway/relay/relay`
    text: str
    body: tuple[ast.stmt, ...]
    imports: frozenset[str]  # at whatever depth: modules, and what is taken from them
    loads: frozenset[str]  # those imported as soon as the module is
    functions: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]
    classes: frozenset[str]

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.place.split("/"))

    @property
    def package(self) -> str:
        return self.parts[0]

    @property
    def name(self) -> str:
        return self.parts[-1]


def parse_module(place: str, text: str) -> Module:
    body = ast.parse(text).body
    nodes = [node for statement in body for node in ast.walk(statement)]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return Module(
        place,
        text,
        tuple(body),
        imports=frozenset(name for node in nodes for name in _imported(node)),
        loads=frozenset(name for node in body for name in _imported(node)),
        functions=tuple(node for node in nodes if isinstance(node, functions)),
        classes=frozenset(node.name for node in nodes if isinstance(node, ast.ClassDef)),
    )


def _imported(node: ast.AST) -> Iterator[str]:
    """The names that a statement imports; those of a relative import begin with a dot."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


def parse_modules(texts: Mapping[str, str]) -> dict[str, Module]:
    """Modules by their places."""
    return {place: parse_module(place, text) for place, text in texts.items()}


@cache
def package_modules() -> Mapping[str, Module]:
    """Every module of the package by its place."""
    paths = sorted(PACKAGE.rglob("*.py"))
    places = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in paths}
    return parse_modules({place: path.read_text() for place, path in places.items()})


def own_places(names: frozenset[str]) -> set[str]:
    """Where the names that begin with our package's lie, whether or not there is a module."""
    ours = (name for name in names if name.startswith("farebox."))
    return {name.removeprefix("farebox.").replace(".", "/") for name in ours}


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file of the checkout, without what is installed, built or cached."""
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [each for each in folders if each not in _NOT_OURS and each[0] != "."]
        found += [Path(folder, name) for name in names]
    return tuple(sorted(found))
