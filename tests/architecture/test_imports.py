"""Which way imports go, held against the tables of `import_table.py`."""

from collections.abc import Iterator, Mapping

from architecture.import_table import (
    EDGE_MAY_IMPORT,
    EDGES,
    INSIDE,
    KNOW_THE_STORE,
    MAY_IMPORT,
    MAY_OPEN_SECRETS,
    OPEN_SECRETS,
    OUTSIDE,
    STORES_AND_EDGES,
)
from architecture.package_modules import ROOT, Module, own_places, package_modules, parse_modules


def import_faults(modules: Mapping[str, Module]) -> list[str]:
    """Every import that the tables do not have, and every row of a table that nothing needs."""
    inside = [module for module in modules.values() if len(module.parts) > 1]
    faults = [fault for module in inside for fault in _module_faults(module, modules)]
    faults += [
        f"{place}: may import a store and does not exist"
        for place in KNOW_THE_STORE
        if place not in modules
    ]
    openers = {
        module.place
        for module in inside
        if module.package != "vault" and OPEN_SECRETS & module.imports
    }
    faults += [f"{place}: opens secrets or should" for place in sorted(openers ^ MAY_OPEN_SECRETS)]
    folders = _imports_inside(modules)
    faults += [f"{feature}: has no folders or no table" for feature in folders.keys() ^ INSIDE]
    for feature in sorted(folders.keys() & INSIDE):
        found, table = folders[feature], INSIDE[feature]
        faults += [
            f"{feature}/{unit}: imports {sorted(found.get(unit, ()))} "
            f"and not {sorted(table.get(unit, ()))}"
            for unit in sorted(found.keys() | table.keys())
            if found.get(unit) != table.get(unit)
        ]
    return faults


def _module_faults(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    """What a module imports and may not: relatively, of ours, from outside, a store or settings."""
    if any(name.startswith(".") for name in module.imports):
        yield f"{module.place}: imports relatively"
    if module.package not in MAY_IMPORT:
        yield f"{module.place}: its package has no row"
    for package in sorted(_packages_above(module)):
        yield f"{module.place}: imports the package {package}"
    for library in sorted(_libraries_of_others(module)):
        yield f"{module.place}: imports the library {library}"
    for own in sorted(_stores_and_edges(module, modules) ^ KNOW_THE_STORE.get(module.place, set())):
        yield f"{module.place}: imports the store or edge {own} or should"
    if module.package not in ("app", "cli", "local"):
        read = [name for name in module.imports if name.startswith("farebox.app")]
        if any("settings" in name.lower() for name in read):
            yield f"{module.place}: imports settings"


def _packages_above(module: Module) -> set[str]:
    allowed = {module.package, "kernel"} | MAY_IMPORT.get(module.package, set())
    if module.name in EDGES:
        allowed |= EDGE_MAY_IMPORT
    return {place.split("/")[0] for place in own_places(module.imports)} - allowed


def _libraries_of_others(module: Module) -> set[str]:
    parts = module.parts
    names = {f"*/{module.name}", *("/".join(parts[: n + 1]) for n in range(len(parts)))}
    libraries = {name.split(".")[0] for name in module.imports} & OUTSIDE.keys()
    return {library for library in libraries if not names & OUTSIDE[library]}


def _stores_and_edges(module: Module, modules: Mapping[str, Module]) -> set[str]:
    """The stores and edges of its own package that a rule or a use case imports."""
    if module.package in ("app", "cli") or module.name in EDGES:
        return set()
    own = (place for place in own_places(module.imports) if place in modules)
    parts = {place: place.split("/") for place in own}
    return {
        place
        for place, (package, *inside) in parts.items()
        if package == module.package and STORES_AND_EDGES & set(inside)
    }


def _imports_inside(modules: Mapping[str, Module]) -> dict[str, dict[str, set[str]]]:
    """For each feature that has folders: what each folder, and each module beside, imports."""
    features = {module.package for module in modules.values() if len(module.parts) > 2}
    found: dict[str, dict[str, set[str]]] = {feature: {} for feature in features}
    for module in modules.values():
        if module.package in features and (unit := module.parts[1]) != "__init__":
            own = (place.split("/") for place in own_places(module.imports))
            units = {parts[1] for parts in own if parts[0] == module.package and parts[1:]}
            found[module.package].setdefault(unit, set()).update(units - {unit})
    return found


def cycle_of(table: Mapping[str, set[str]]) -> list[str]:
    """The rows of a table that import each other, or what has no row."""
    left, done = dict(table), set[str]()
    while free := {name for name, below in left.items() if below <= done}:
        done |= free
        left = {name: below for name, below in left.items() if name not in free}
    return sorted(left)


def reached_from(
    start: str, modules: Mapping[str, Module], *, is_loading: bool = False
) -> dict[str, Module]:
    """What a module imports of ours, directly or through others, and itself.

    With `is_loading` only what is imported as soon as a module is counts.
    """
    reached: dict[str, Module] = {}
    waiting = [start]
    while waiting:
        place = waiting.pop()
        if place in modules and place not in reached:
            module = reached[place] = modules[place]
            waiting += own_places(module.loads if is_loading else module.imports)
    assert start in reached
    return reached


def test_imports_are_those_of_the_tables() -> None:
    assert import_faults(package_modules()) == []


def test_testing_imports_no_tree_that_uses_it() -> None:
    users = {"support", "prove", "bench", "e2e", "eval"}
    shared = parse_modules({p.stem: p.read_text() for p in (ROOT / "testing").glob("*.py")})
    assert shared
    assert {
        (name, used)
        for name, module in shared.items()
        for used in module.imports
        if used.split(".")[0] in users
    } == set()


def test_planted_imports_are_found() -> None:
    planted = parse_modules(
        {
            "billing/price": "",
            "outbound/near": "from . import target",
            "signing/folder/far": "def late():\n    from farebox.vault import rekey",
            "stellar/web_auth_http": "import farebox.web.errors",
            "stellar/web_auth": "import farebox.web.errors",
            "explorer/call": "from aiohttp import ClientSession",
            "explorer/rule": "from farebox.explorer.store import read_row",
            "explorer/store": "import asyncpg.pool",
            "skills/options": "from farebox.app.settings import Settings",
            "search/ages": "from farebox.search.query import parsed_query",
        }
    )
    tree = {**package_modules(), **planted}
    del tree["catalog/tokens/lookup"]
    assert sorted(import_faults(tree)) == [
        "billing/price: its package has no row",
        "catalog/tokens/lookup: may import a store and does not exist",
        "explorer/call: imports the library aiohttp",
        "explorer/rule: imports the store or edge explorer/store or should",
        "explorer/store: imports the library asyncpg",
        "outbound/near: imports relatively",
        "search/ages: imports ['query'] and not []",
        "signing/folder/far: imports the package vault",
        "signing/folder/far: opens secrets or should",
        "signing: has no folders or no table",
        "skills/options: imports settings",
        "skills/options: imports the package app",
        "stellar/web_auth: imports the package web",
    ]


def test_import_tables_have_no_cycle() -> None:
    tables = {"packages": MAY_IMPORT, **INSIDE}
    assert {name: cycle for name, table in tables.items() if (cycle := cycle_of(table))} == {}
    assert cycle_of({"a": set(), "b": {"a", "c"}, "c": {"b"}, "d": {"c"}}) == ["b", "c", "d"]
    assert cycle_of({"a": {"unknown"}, "b": set()}) == ["a"]


def test_verification_cannot_reach_anything_that_writes() -> None:
    """`/verify` writes nothing: neither it nor what it imports knows the store or the database."""
    start = "facilitator/verification/verify"
    reached = reached_from(start, package_modules())
    assert [place for place in reached if "store" in place or "storage" in place] == []


def test_browsing_cannot_reach_the_http_client() -> None:
    """Reading listings fetches nothing; only the client of origins can."""
    modules, client = package_modules(), "outbound/client"
    for module in ("browse", "query_string", "store"):
        assert client not in reached_from(f"catalog/browsing/{module}", modules)
    assert client in reached_from("catalog/origin/http_origin_client", modules)


def test_service_loads_the_sdk_only_when_sign_in_is_configured() -> None:
    """It takes a second of processor time: longer than all the rest of a start."""
    loaded = reached_from("app/asgi", package_modules(), is_loading=True)
    sdk = {
        place: names
        for place, module in loaded.items()
        if (names := [name for name in module.loads if "stellar_sdk" in name])
    }
    assert sdk == {}
    assert "app/sign_in_services" in loaded


def test_planted_module_is_reached_however_deep_and_loaded_only_from_the_top() -> None:
    modules = parse_modules(
        {
            "app/asgi": "import farebox.app.wiring\n\ndef late():\n    import farebox.app.later",
            "app/wiring": "from farebox.storage import pool",
            "app/later": "import stellar_sdk",
            "app/other": "",
            "storage/pool": "import farebox.app.asgi",
        }
    )
    loaded = reached_from("app/asgi", modules, is_loading=True)
    assert sorted(loaded) == ["app/asgi", "app/wiring", "storage/pool"]
    assert reached_from("app/asgi", modules).keys() == modules.keys() - {"app/other"}
