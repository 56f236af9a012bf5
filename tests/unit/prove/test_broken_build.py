"""Every build that must fail still fits the sources and fails by its defect, not by a lost name."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from e2e.machine import ROOT, RunFailed
from prove import (
    auth_control,
    automation_control,
    broken_build,
    catalog_control,
    control,
    database_control,
    hostile_control,
    limits_fair_control,
    mcp_control,
    neighbours_control,
    nodes_control,
    owner_control,
)
from prove.broken_build import sources_with_changes, sources_with_ends

Build = Callable[[Path], Path]
BUILDS: dict[str, Build] = {
    "settlement": control.control_sources,
    "settlement, deaf": control.deaf_sources,
    "auth": auth_control.careless_sources,
    "automation": automation_control.hasty_sources,
    "automation, fresh": automation_control.fresh_sources,
    "catalog": catalog_control.coupled_sources,
    "hostile": hostile_control.unbounded_sources,
    "mcp": mcp_control.leaking_sources,
}
for fair in limits_fair_control.Control:
    build = partial(limits_fair_control.broken_sources, control=fair)
    BUILDS[f"limits_fair, {fair.name}"] = build
for neighbour in neighbours_control.Control:
    build = partial(neighbours_control.broken_sources, control=neighbour)
    BUILDS[f"neighbours, {neighbour.name}"] = build
for node in nodes_control.Control:
    BUILDS[f"nodes, {node.name}"] = partial(nodes_control.broken_sources, control=node)
for owner in owner_control.OwnerControl:
    BUILDS[f"owners, {owner.name}"] = partial(owner_control.broken_sources, control=owner)
for database in database_control.Control:
    BUILDS[f"database, {database.name}"] = partial(
        database_control.broken_sources, control=database
    )


@cache
def own_times() -> dict[Path, int]:
    """When each module of the sources was changed, which a copy keeps."""
    sources = ROOT / "src"
    return {path.relative_to(sources): path.stat().st_mtime_ns for path in sources.rglob("*.py")}


def changed_modules(sources: Path) -> list[Path]:
    """Return the modules of a build that are not the sources' own."""
    return [
        path
        for path in sorted(sources.rglob("*.py"))
        if own_times().get(path.relative_to(sources)) != path.stat().st_mtime_ns
    ]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy of the sources for all builds."""
    return broken_build._copy_sources(tmp_path_factory.mktemp("builds"))


@pytest.fixture
def copied_once(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Builds are made in that copy, in which every module is as it was after the test."""
    monkeypatch.setattr(broken_build, "_copy_sources", lambda _: sources)
    yield
    for path in changed_modules(sources):
        name = path.relative_to(sources)
        if name in own_times():
            shutil.copy2(ROOT / "src" / name, path)
        else:
            path.unlink()


def undefined_names(sources: Path) -> str:
    """Return what ruff reports of undefined names in what was changed; empty if there are none."""
    changed = changed_modules(sources)
    assert changed, "a build with a defect differs from the sources"
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--quiet"]
    done = subprocess.run([*command, *changed], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.usefixtures("copied_once")
@pytest.mark.parametrize("name", sorted(BUILDS))
def test_broken_build_has_no_undefined_name(name: str, tmp_path: Path) -> None:
    assert undefined_names(BUILDS[name](tmp_path)) == ""


def test_undefined_name_in_a_build_is_found(tmp_path: Path) -> None:
    ends = {"kernel/amounts.py": ("def parse_base_units(", "\ndef lost():\n    return _GONE\n")}
    assert "_GONE" in undefined_names(sources_with_ends(tmp_path, ends))


def test_change_that_no_longer_fits_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"does not fit kernel/amounts\.py"):
        sources_with_changes(tmp_path, [("kernel/amounts.py", "no such text", "")])
