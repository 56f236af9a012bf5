"""Which way imports go, held against the tables of `import_table.py`."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from architecture.import_table import (
    EDGE_MAY_IMPORT,
    EDGES,
    INSIDE,
    KNOW_THE_STORE,
    MAY_IMPORT,
    OUTSIDE,
    STORES_AND_EDGES,
)

PACKAGE = Path(__file__).parents[2] / "src" / "farebox"


def _modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _package(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def _name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def _place(path: Path) -> str:
    """The folders and the name of a module, as the tables have them."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def _own_modules(path: Path) -> set[str]:
    """The places of the modules that this one imports from its own package, at whatever depth."""
    own = f"farebox.{_package(path)}."
    places = {
        name.removeprefix("farebox.").replace(".", "/")
        for name in imported_names(path)
        if name.startswith(own)
    }
    return {place for place in places if (PACKAGE / f"{place}.py").is_file()}


def _folders() -> dict[str, set[str]]:
    """The features that have folders inside, and which."""
    found: dict[str, set[str]] = {}
    for path in _modules():
        feature, *deeper = path.relative_to(PACKAGE).parent.parts
        if deeper:
            found.setdefault(feature, set()).add(deeper[0])
    return found


def _imports_inside(feature: str) -> dict[str, set[str]]:
    """The imports of each folder of a feature, and of each module outside the folders."""
    found: dict[str, set[str]] = {}
    for path in sorted((PACKAGE / feature).rglob("*.py")):
        unit = _place(path).split("/")[1]
        if unit != "__init__":
            names = (name.split(".") for name in imported_names(path))
            own = {name[2] for name in names if name[:2] == ["farebox", feature] and name[2:]}
            found.setdefault(unit, set()).update(own - {unit})
    return found


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_module_imports_only_packages_below_it(path: Path) -> None:
    package = _package(path)
    allowed = {package, "kernel"} | MAY_IMPORT[package]
    if path.stem in EDGES:
        allowed |= EDGE_MAY_IMPORT
    ours = {name.split(".")[1] for name in imported_names(path) if name.startswith("farebox.")}
    assert ours - allowed == set()


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_library_is_imported_only_where_it_is_wrapped(path: Path) -> None:
    parts = _place(path).split("/")
    names = {f"*/{path.stem}", *("/".join(parts[: depth + 1]) for depth in range(len(parts)))}
    outside = {name.split(".")[0] for name in imported_names(path)} & OUTSIDE.keys()
    assert {library for library in outside if not names & OUTSIDE[library]} == set()


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_rules_and_use_cases_import_no_store_or_edge(path: Path) -> None:
    if _package(path) in ("app", "cli") or path.stem in EDGES:
        return
    met = {place for place in _own_modules(path) if STORES_AND_EDGES & set(place.split("/")[1:])}
    assert met == KNOW_THE_STORE.get(_place(path), set())


def test_every_module_that_may_import_a_store_exists() -> None:
    assert KNOW_THE_STORE.keys() <= {_place(path) for path in _modules()}


@pytest.mark.parametrize("feature", sorted(_folders()))
def test_folder_of_a_feature_imports_what_the_table_says(feature: str) -> None:
    assert _imports_inside(feature) == INSIDE[feature]


def test_every_feature_with_folders_has_its_table() -> None:
    assert _folders().keys() == INSIDE.keys()


@pytest.mark.parametrize("table", [MAY_IMPORT, *INSIDE.values()], ids=["packages", *INSIDE.keys()])
def test_import_table_has_no_cycle(table: Mapping[str, set[str]]) -> None:
    done: set[str] = set()
    left = dict(table)
    while left:
        free = {name for name, below in left.items() if below <= done}
        assert free, f"these import each other: {sorted(left)}"
        done |= free
        left = {name: below for name, below in left.items() if name not in free}


def test_every_package_has_its_row_in_the_table() -> None:
    assert {_package(path) for path in _modules()} <= MAY_IMPORT.keys()


def test_secrets_can_be_opened_only_by_listed_modules() -> None:
    """Only the composition root and the vault's own commands import what opens a secret."""
    opens = {"farebox.vault.read_secret", "farebox.vault.sealing", "farebox.vault.rekey"}
    importers = {
        _name(path)
        for path in _modules()
        if _package(path) != "vault" and opens & set(imported_names(path))
    }
    assert importers == {"app/vault_services.py", "cli/vault.py"}


def test_features_import_no_settings() -> None:
    readers = {
        _name(path)
        for path in _modules()
        if _package(path) not in ("app", "cli", "local")
        and any(
            "settings" in name.lower()
            for name in imported_names(path)
            if name.startswith("farebox.app")
        )
    }
    assert readers == set()


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_modules_create_no_resources_on_import(path: Path) -> None:
    """A pool, a session or a client at module level would be one for every test and every run."""
    made = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            called = node.value.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if name in {"Settings", "read_settings", "Database", "ClientSession", "create_app"}:
                made.append(name)
    assert made == []
