"""The script that builds the contracts names what it lacks in one sentence."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.contracts import FOLDER

PLAIN = ("sh", "dirname", "basename")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder of programs with no compiler in it."""
    for name in PLAIN:
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    return tmp_path


def _build(path: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [FOLDER / "build", *arguments],
        env={"PATH": str(path), "HOME": str(path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_build_without_rust_names_what_to_install(bare: Path) -> None:
    code, out, err = _build(bare)
    assert (code, out) == (2, "")
    assert err == (
        "build: There is no cargo here: install Rust with rustup (https://rustup.rs)"
        " and run this again.\n"
    )
    assert sorted(path.name for path in bare.iterdir()) == sorted(PLAIN), "nothing was made"


def test_build_refuses_an_unknown_argument_first(bare: Path) -> None:
    assert _build(bare, "everything") == (2, "", "build: Say nothing, to compare, or write.\n")
