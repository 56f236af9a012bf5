"""Every build that must fail still fits the sources and fails by its defect, not by a lost name."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from prove import (
    auth,
    automation,
    broken_build,
    catalog,
    database,
    delivery_control,
    hostile,
    limits,
    limits_fair,
    mcp,
    neighbours_control,
    nodes,
    owner_control,
    settlement,
)
from prove.broken_build import Build, Change, End
from prove.interceptor import Boundary
from support.table_rows import in_row
from testing.machine import ROOT, RunFailed

STATEMENTS = [Boundary(f"sql {text}", 1) for text in ("INSERT INTO settlements", "WITH eligible")]
BUILDS: dict[str, Build] = {
    "settlement, careless": settlement.CARELESS,
    "settlement, deaf": settlement.DEAF,
    "auth": auth.CONTROL.build,
    "catalog": catalog.CONTROL.build,
    "hostile": hostile.CONTROL.build,
    "mcp": mcp.CONTROL.build,
}
BUILDS |= {f"automation, {each.name}": each.build for each in automation.CONTROLS}
BUILDS |= {f"owners, {each.name}": each.build for each in owner_control.OWNER_CONTROLS}
BUILDS |= {f"delivery, {each.name}": each.build for each in delivery_control.CONTROLS}
BUILDS |= {f"limits, {each.name}": each.build for each in limits.CONTROLS}
BUILDS |= {f"limits_fair, {each.name}": each.build for each in limits_fair.CONTROLS}
BUILDS |= {f"nodes, {each.name}": each.build for each in nodes.CONTROLS}
BUILDS |= {
    f"neighbours, {each.name}": each.build
    for each in (*neighbours_control.CONTROLS, *neighbours_control.TIMED_CONTROLS)
}
BUILDS |= {
    f"database, {each.name}": each.build
    for each in database.controls_of({False: STATEMENTS, True: []})
}


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
            changed = changed_modules(build.write(folder))
            assert changed
        for path in changed:
            kept.append(folder / path.relative_to(sources))
            kept[-1].parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, kept[-1])
            restore(path, sources)
    assert undefined_names(kept) == ""


def test_undefined_name_in_a_build_is_found(tmp_path: Path) -> None:
    end = End("kernel/amounts.py", "def parse_base_units(", "\ndef lost():\n    return _GONE\n")
    changed = changed_modules(Build((end,)).write(tmp_path))
    assert "_GONE" in undefined_names(changed)


def test_change_that_no_longer_fits_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"does not fit kernel/amounts\.py"):
        Build(changes=(Change("kernel/amounts.py", "no such text", ""),)).write(tmp_path)
