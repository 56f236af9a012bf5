"""The scripts name in one sentence what a machine lacks and what to do."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from farebox.local.devnet_binary import cache_folder
from testing.waiting import until_blocking

ROOT = Path(__file__).parents[2]
PLAIN = (
    "sh",
    "dirname",
    "basename",
    "cat",
    "cksum",
    "date",
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


def test_chromium_is_installed_once_or_reported_as_missing(checkout: Path, bare: Path) -> None:
    script = checkout / "scripts" / "chromium"
    code, out, err = _run(script, path=bare)
    assert (code, out) == (0, "")
    assert err.startswith("chromium: There is no Chromium here: install it")
    (bare / "chmod").symlink_to(str(shutil.which("chmod")))
    made = f"cat /dev/null >{bare}/chromium; chmod +x {bare}/chromium"
    _program(bare, "apt-get", f"case $* in *install*chromium) {made} ;; *) exit 1 ;; esac")
    assert _run(script, path=bare)[2] == "chromium: installing Chromium (once)\n"
    assert _run(script, path=bare) == (0, "", "")


@pytest.fixture
def console(checkout: Path, bare: Path) -> Path:
    """The script of a checkout whose console npm builds as it is told; without Node.js so far."""
    for name in ("tail", "mkdir"):
        (bare / name).symlink_to(str(shutil.which(name)))
    source = checkout / "console" / "src" / "main.tsx"
    source.parent.mkdir(parents=True)
    source.write_text("the page")
    (checkout / "console" / "package.json").write_text("{}")
    (checkout / "console" / "package-lock.json").write_text("{}")
    return checkout / "scripts" / "console"


def _install_node(bare: Path, version: str = "v20.1.0") -> Path:
    """Put a Node.js into the folder that builds the page; the log of npm's calls."""
    log = bare.parent / "npm.log"
    _program(bare, "node", f"echo {version}")
    _program(
        bare,
        "npm",
        f'echo "$*" >>{log}',
        "case $* in",
        "ci*) mkdir -p node_modules && : >node_modules/.package ;;",
        "*build) mkdir -p ../src/farebox/console_build",
        "    cat src/main.tsx >../src/farebox/console_build/index.html ;;",
        f"*lint) [ ! -e {bare}/faulty ] || {{ echo unused; exit 1; }} ;;",
        "esac",
    )
    return log


def test_console_is_not_built_without_node_and_a_line_says_so(console: Path, bare: Path) -> None:
    for version in (None, "v18.20.0", "none"):
        if version:
            _install_node(bare, version)
        code, out, err = _run(console, path=bare)
        assert (code, out) == (0, "")
        assert err.startswith("console: NO CONSOLE: there is no Node.js 20 or newer with npm here")
        assert err.count("\n") == 1


def test_console_is_built_once_for_its_sources(console: Path, bare: Path, checkout: Path) -> None:
    log = _install_node(bare)
    code, _, err = _run(console, path=bare)
    assert (code, err.count("\n")) == (0, 2), err
    ci, build = log.read_text().splitlines()
    assert ci.startswith("ci --ignore-scripts")
    assert build == "run --silent build"
    page = checkout / "src" / "farebox" / "console_build" / "index.html"
    assert page.read_text() == "the page"
    assert _run(console, path=bare) == (0, "", "")
    (checkout / "console" / "src" / "main.tsx").write_text("another page")
    assert _run(console, path=bare) == (0, "", "console: building the console\n")
    assert page.read_text() == "another page"
    page.unlink()
    assert _run(console, path=bare) == (0, "", "console: building the console\n")
    (checkout / "console" / "src" / "main.tsx").rename(checkout / "console" / "src" / "main.ts")
    assert _run(console, path=bare)[0] == 2, "another name is another source"


def test_lint_of_the_console_fails_with_what_the_tool_says(console: Path, bare: Path) -> None:
    log = _install_node(bare)
    assert _run(console, "lint", path=bare)[0] == 0
    assert log.read_text().splitlines()[-2:] == ["run --silent types", "run --silent lint"]
    (bare / "faulty").touch()
    code, _, err = _run(console, "lint", path=bare)
    assert code == 2
    assert err.splitlines()[-2:] == [
        "unused",
        "console: The console has a fault (npm run lint): see the lines above.",
    ]
    assert _run(console, "test", path=bare)[0] == 0
    assert log.read_text().splitlines()[-1] == "run --silent test"


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


@pytest.mark.parametrize(
    ("free_kb", "folder", "given", "chosen"),
    [
        (8_388_608, "/tmp", "", "/tmp"),
        (8_388_607, "/tmp", "", ""),
        (8_388_608, "/no/such/folder", "", ""),
        (16_777_216, "/tmp", "/own", "/own"),
    ],
)
def test_databases_are_in_memory_where_there_is_room(
    checkout: Path, bare: Path, free_kb: int, folder: str, given: str, chosen: str
) -> None:
    shown = (
        "Filesystem 1024-blocks Used Available Capacity Mounted on",
        f"tmpfs 9 8 {free_kb} 1% /",
    )
    _program(bare, "df", *(f"echo '{line}'" for line in shown))
    script = _script(checkout, f"in_memory {folder}", "echo $TMPDIR")
    assert _run(script, path=bare, TMPDIR=given)[1] == f"{chosen}\n"


def _script(checkout: Path, *lines: str) -> Path:
    """A script of the checkout that does this."""
    begun = ("set -eu", '. "$(dirname -- "$0")/places.sh"', "began=$(date +%s)", "failed=")
    _program(checkout / "scripts", "steps", *begun, *lines)
    return checkout / "scripts" / "steps"


@pytest.mark.parametrize("fails", [(), ("late",), ("early", "late")])
def test_steps_beside_are_waited_for_and_named_when_they_fail(
    checkout: Path, fails: tuple[str, ...]
) -> None:
    codes = {name: int(name in fails) for name in ("early", "late")}
    script = _script(
        checkout,
        "keep_steps",
        f"beside early sh -c 'echo words of early; exit {codes['early']}'",
        f"beside late sh -c 'sleep 0.2; echo words of late; exit {codes['late']}'",
        "timed first true",
        "end_steps",
    )
    code, out, err = _run(script, path=Path(os.environ["PATH"]))
    said = json.loads(out)
    assert (code, said["failed"]) == (int(bool(fails)), list(fails))
    assert set(said["steps"]) == {"first", "early", "late"}
    assert {name for name in codes if f"words of {name}" in err} == set(fails)


def test_step_beside_that_is_lost_has_failed(checkout: Path) -> None:
    script = _script(checkout, "keep_steps", "beside lost sh -c 'kill -9 \"$PPID\"'", "end_steps")
    code, out, _ = _run(script, path=Path(os.environ["PATH"]))
    said = json.loads(out)
    assert (code, said["failed"], said["steps"]) == (1, ["lost"], {"lost": 0})


def test_step_beside_ends_with_the_script(checkout: Path, tmp_path: Path) -> None:
    step = tmp_path / "step"
    script = _script(
        checkout,
        "keep_steps",
        f"beside long sh -c 'echo $$ >{step}; exec sleep 60'",
        f"until [ -s {step} ]; do sleep 0.01; done",
        "exit 1",
    )
    assert _run(script, path=Path(os.environ["PATH"]))[0] == 1
    until_blocking(lambda: not Path(f"/proc/{step.read_text().strip()}").exists())
