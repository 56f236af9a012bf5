"""Every build that must fail still fits the sources and fails by its defect, not by a lost name."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import pytest

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
from support.table_rows import in_row
from testing.machine import ROOT, RunFailed

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


def restore(path: Path, sources: Path) -> None:
    """Make a module of the copy what it is in the sources."""
    name = path.relative_to(sources)
    if name in own_times():
        shutil.copy2(ROOT / "src" / name, path)
    else:
        path.unlink()


def undefined_names(modules: Sequence[Path]) -> str:
    """Return what ruff reports of undefined names; empty if there are none."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--quiet"]
    done = subprocess.run([*command, *modules], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_broken_builds_differ_from_the_sources_and_have_no_undefined_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are made in one copy, one after another; ruff reads what each has changed."""
    (tmp_path / "copy").mkdir()
    sources = broken_build._copy_sources(tmp_path / "copy")
    monkeypatch.setattr(broken_build, "_copy_sources", lambda _: sources)
    kept: list[Path] = []
    for name, build in BUILDS.items():
        folder = tmp_path / name
        folder.mkdir()
        with in_row(name):
            changed = changed_modules(build(folder))
            assert changed
        for path in changed:
            kept.append(folder / path.relative_to(sources))
            kept[-1].parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, kept[-1])
            restore(path, sources)
    assert undefined_names(kept) == ""


def test_undefined_name_in_a_build_is_found(tmp_path: Path) -> None:
    ends = {"kernel/amounts.py": ("def parse_base_units(", "\ndef lost():\n    return _GONE\n")}
    changed = changed_modules(sources_with_ends(tmp_path, ends))
    assert "_GONE" in undefined_names(changed)


def test_change_that_no_longer_fits_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"does not fit kernel/amounts\.py"):
        sources_with_changes(tmp_path, [("kernel/amounts.py", "no such text", "")])
