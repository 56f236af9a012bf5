"""The devnet's binary: compiled once for a set of sources, then found in a cache."""

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from farebox.local.faults import LocalFault, explain_disk
from farebox.local.parent_death import die_with_parent

Progress = Callable[[str], None]

NAME: Final = "farebox-devnet"
SOURCES: Final = Path(__file__).resolve().parents[3] / "devnet"
_COUNTED: Final = ("Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain.toml", ".cargo")
_REPORT_EVERY: Final = 20  # crates
_OFFLINE: Final = re.compile(
    r"failed to download|could not resolve|couldn't connect|network failure|spurious network"
    r"|unable to update registry|failed to query replaced source|connection refused|timed out",
    re.IGNORECASE,
)


def cache_folder() -> Path:
    """Where builds are kept, outside every checkout: `FAREBOX_CACHE` or `~/.cache/farebox`."""
    named = os.environ.get("FAREBOX_CACHE")
    return Path(named).expanduser().absolute() if named else Path.home() / ".cache" / "farebox"


def hash_of_sources(sources: Path) -> str:
    """Thirty-two hex digits that change with every file the binary is made of, and no other."""
    digest = hashlib.sha256()
    for path in _files(sources):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(sources).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def _files(sources: Path) -> Iterator[Path]:
    roots = [sources / "src", *(sources / name for name in _COUNTED)]
    found = [path for root in roots for path in ([root] if root.is_file() else root.rglob("*"))]
    yield from sorted(path for path in found if path.is_file())


async def built_devnet(progress: Progress) -> Path:
    """`devnet_binary` off the event loop; cancelling it ends the compiler.

    Raises:
        LocalFault: as there.
    """
    compilers: list[subprocess.Popen[str]] = []
    try:
        return await asyncio.to_thread(devnet_binary, progress, started=compilers.append)
    except asyncio.CancelledError:
        for compiler in compilers:
            compiler.terminate()
        raise


def devnet_binary(
    progress: Progress,
    *,
    sources: Path = SOURCES,
    started: Callable[[subprocess.Popen[str]], None] | None = None,
) -> Path:
    """The binary of these sources, compiled now only when no checkout compiled them before.

    `progress` gets lines for a person while the compiler works, `started` the compiler itself.

    Raises:
        LocalFault: there are no sources, no compiler, no network to fetch crates or no disk.
    """
    if not (sources / "Cargo.toml").is_file():
        raise LocalFault(
            f"The devnet's sources are not in {sources}: run this from a checkout of Farebox."
        )
    folder = cache_folder() / "devnet"
    binary = folder / hash_of_sources(sources) / NAME
    if binary.is_file():
        return binary
    try:
        with _only_one_builder(folder, progress):
            if not binary.is_file():
                _keep(_compile(sources, folder / "target", progress, started), binary)
    except OSError as error:
        raise explain_disk(error, doing="building the devnet") from error
    return binary


@contextmanager
def _only_one_builder(folder: Path, progress: Progress) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("devnet: waiting for another build to finish")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(
    sources: Path,
    target: Path,
    progress: Progress,
    started: Callable[[subprocess.Popen[str]], None] | None,
) -> Path:
    cargo = shutil.which("cargo")
    if cargo is None:
        raise LocalFault(
            "There is no Rust compiler here: install cargo (https://rustup.rs) and run this again."
        )
    crates = len(tomllib.loads((sources / "Cargo.lock").read_text())["package"])
    progress(f"devnet: compiling up to {crates} crates; only the first start pays for this")
    command = [cargo, "build", "--release", "--locked", "--bin", NAME, "--color", "never"]
    with subprocess.Popen(
        command,
        cwd=sources,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=die_with_parent(signal.SIGTERM),  # noqa: PLW1509 - calls nothing but prctl
    ) as process:
        if started is not None:
            started(process)
        assert process.stderr is not None  # it was asked for above  # noqa: S101
        said = _follow(process.stderr, crates, progress)
    if process.returncode != 0:
        raise _explain_build(said)
    progress("devnet: compiled")
    return target / "release" / NAME


def _follow(lines: Iterator[str], crates: int, progress: Progress) -> list[str]:
    said: list[str] = []
    compiled = 0
    for line in map(str.strip, lines):
        if line.startswith(("Compiling", "Downloading", "Updating")):
            compiled += line.startswith("Compiling")
            if compiled % _REPORT_EVERY == 1 or not line.startswith("Compiling"):
                count = f" ({compiled} of {crates})" if compiled else ""
                progress(f"devnet: {line.lower()}{count}")
        elif line:
            said.append(line)
    return said


def _explain_build(said: list[str]) -> LocalFault:
    text = "\n".join(said)
    if "No space left on device" in text:
        return LocalFault(
            "The disk is full while compiling the devnet: free about 1 GB, or set FAREBOX_CACHE "
            "to a folder with space, and run this again."
        )
    if "signal: 9" in text:
        return LocalFault(
            "The system ended the compiler, most likely for lack of memory: "
            "free about 2 GB and run this again."
        )
    if _OFFLINE.search(text):
        return LocalFault(
            "The devnet's crates could not be downloaded: connect this machine to the network "
            "(only the first build needs it) and run this again."
        )
    errors = [line for line in said if line.startswith("error")] or said[-1:] or ["no message"]
    return LocalFault(
        f"The devnet did not compile ({errors[0]}): run "
        "`cargo build --release --locked` in devnet/ to see the whole message."
    )


def _keep(built: Path, binary: Path) -> None:
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=binary.parent, delete=False) as copy:
        copy.write(built.read_bytes())
    Path(copy.name).chmod(0o755)
    Path(copy.name).replace(binary)
