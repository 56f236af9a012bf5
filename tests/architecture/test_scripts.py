"""The scripts name in one sentence what a machine lacks and what to do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from farebox.local.devnet_binary import cache_folder

ROOT = Path(__file__).parents[2]
PLAIN = (
    "sh",
    "dirname",
    "basename",
    "cat",
    "cksum",
    "tr",
    "rm",
    "mktemp",
    "grep",
    "find",
    "sed",
    "sort",
    "xargs",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without any set-up."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for path in (*ROOT.glob("requirements*.lock"), ROOT / "pyproject.toml"):
        shutil.copy(path, tmp_path / path.name)
    return tmp_path


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder of programs with neither Python nor cargo in it."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in PLAIN:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def _run(script: Path, *arguments: str, path: Path, **more: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [script, *arguments],
        env={"PATH": str(path), "HOME": str(path.parent)} | more,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_setup_without_python_names_what_to_install(checkout: Path, bare: Path) -> None:
    code, out, err = _run(checkout / "scripts" / "setup", path=bare)
    assert (code, out) == (2, "")
    assert err.startswith("setup: There is no Python 3.11, 3.12 or 3.13")
    assert err.count("\n") == 1
    assert not (checkout / ".venv").exists()


def test_setup_skips_a_python_that_does_not_run(checkout: Path, bare: Path) -> None:
    pretender = bare / "python3.13"
    pretender.write_text("#!/bin/sh\nexit 127\n")
    pretender.chmod(0o755)
    code, _, err = _run(checkout / "scripts" / "setup", path=bare)
    assert code == 2
    assert "There is no Python" in err


def test_unknown_bench_is_refused_with_the_list_of_benches(checkout: Path, bare: Path) -> None:
    (checkout / "bench").mkdir()
    (checkout / "bench" / "verify.py").write_text('if __name__ == "__main__":\n    pass\n')
    (checkout / "bench" / "load.py").write_text("")
    named = checkout / "scripts" / "named"
    assert _run(named, "bench", "nothing", path=bare)[2] == (
        "named: There is no bench nothing; there is: verify \n"
    )
    assert _run(named, "bench", "", path=bare) == (2, "", "named: Say which: verify \n")
    assert _run(named, "bench", "../x", path=bare)[0] == 2


def test_bench_is_named_with_dashes(checkout: Path, bare: Path) -> None:
    (checkout / "bench").mkdir()
    (checkout / "bench" / "two_words.py").write_text('if __name__ == "__main__":\n    pass\n')
    named = checkout / "scripts" / "named"
    assert _run(named, "bench", "", path=bare) == (2, "", "named: Say which: two-words \n")
    for name in ("two-words", "two_words"):
        assert "There is no bench" not in _run(named, "bench", name, path=bare)[2]


def _program(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(["#!/bin/sh", *lines, ""]))
    (folder / name).chmod(0o755)


def test_pgbouncer_is_reported_as_not_tested_when_it_cannot_be_installed(
    checkout: Path, bare: Path
) -> None:
    script = checkout / "scripts" / "pgbouncer"
    code, out, err = _run(script, path=bare, SBIN=str(bare))
    assert (code, out) == (0, "")
    assert err.startswith("pgbouncer: NOT TESTED: there is no PgBouncer here")
    _program(bare, "apt-get", "exit 100")
    code, _, err = _run(script, path=bare, SBIN=str(bare))
    assert (code, "NOT TESTED" in err) == (0, True)


def test_pgbouncer_is_installed_once_when_packages_can_be(checkout: Path, bare: Path) -> None:
    (bare / "chmod").symlink_to(str(shutil.which("chmod")))
    made = f"cat /dev/null >{bare}/pgbouncer; chmod +x {bare}/pgbouncer"
    # as on a machine whose lists of packages are empty at first
    asked = f"[ -e {bare}/updated ] || case $* in *update) : >{bare}/updated ;; *) exit 1 ;; esac"
    _program(bare, "apt-get", asked, f"case $* in *install*) {made} ;; esac")
    script = checkout / "scripts" / "pgbouncer"
    assert _run(script, path=bare, SBIN=str(bare))[2] == "pgbouncer: installing PgBouncer (once)\n"
    assert _run(script, path=bare, SBIN=str(bare)) == (0, "", "")


def test_scripts_use_the_cache_folder_of_the_service(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = subprocess.run(
        [
            "sh",
            "-c",
            '. "$0"; echo "$FAREBOX_CACHE $CARGO_TARGET_DIR"',
            str(checkout / "scripts" / "places.sh"),
        ],
        env={"PATH": os.environ["PATH"], "HOME": "/home/user"},
        capture_output=True,
        text=True,
        check=True,
    )
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.delenv("FAREBOX_CACHE", raising=False)
    cache = cache_folder()
    assert shown.stdout == f"{cache} {cache}/devnet/target\n"
