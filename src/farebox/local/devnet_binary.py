"""The devnet's binary: compiled once for a set of sources, then cached."""

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

from farebox.local.child import die_with_parent
from farebox.local.faults import LocalFault, explain_disk_error

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
    """The folder of cached builds: `FAREBOX_CACHE` or `~/.cache/farebox`."""
    named = os.environ.get("FAREBOX_CACHE")
    return Path(named).expanduser().absolute() if named else Path.home() / ".cache" / "farebox"


def hash_of_sources(sources: Path) -> str:
    """Hash every source file of the binary: 32 hex digits."""
    digest = hashlib.sha256()
    for path in _files(sources):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(sources).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def _files(sources: Path) -> Iterator[Path]:
    roots = [sources / "src", *(sources / name for name in _COUNTED)]
    paths = [path for root in roots for path in ([root] if root.is_file() else root.rglob("*"))]
    yield from sorted(path for path in paths if path.is_file())


async def built_devnet(progress: Progress) -> Path:
    """Run `devnet_binary` in a thread; cancelling it ends the compiler.

    Raises:
        LocalFault: as for `devnet_binary`.
    """
    compilers: list[subprocess.Popen[str]] = []
    try:
        return await asyncio.to_thread(devnet_binary, progress, on_compiler=compilers.append)
    except asyncio.CancelledError:
        for compiler in compilers:
            compiler.terminate()
        raise


def devnet_binary(
    progress: Progress,
    *,
    sources: Path = SOURCES,
    on_compiler: Callable[[subprocess.Popen[str]], None] | None = None,
) -> Path:
    """Return the binary of these sources, compiled if the cache has none.

    `progress` gets the compiler's progress in lines, `on_compiler` the compiler's process.

    Raises:
        LocalFault: no sources, no compiler, no network to fetch crates, or no disk space.
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
        with _build_lock(folder, progress):
            if not binary.is_file():
                _install(_compile(sources, folder / "target", progress, on_compiler), binary)
    except OSError as error:
        raise explain_disk_error(error, doing="building the devnet") from error
    return binary


@contextmanager
def _build_lock(folder: Path, progress: Progress) -> Iterator[None]:
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
    on_compiler: Callable[[subprocess.Popen[str]], None] | None,
) -> Path:
    cargo = shutil.which("cargo")
    if cargo is None:
        raise LocalFault(
            "There is no Rust compiler here: install cargo (https://rustup.rs) and run this again."
        )
    crates = len(tomllib.loads((sources / "Cargo.lock").read_text())["package"])
    progress(f"devnet: compiling up to {crates} crates; only the first start takes this long")
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
        if on_compiler is not None:
            on_compiler(process)
        assert process.stderr is not None  # it was asked for above  # noqa: S101
        messages = _follow(process.stderr, crates, progress)
    if process.returncode != 0:
        raise _explain_build(messages)
    progress("devnet: compiled")
    return target / "release" / NAME


def _follow(lines: Iterator[str], crates: int, progress: Progress) -> list[str]:
    messages: list[str] = []
    compiled = 0
    for line in map(str.strip, lines):
        if line.startswith(("Compiling", "Downloading", "Updating")):
            compiled += line.startswith("Compiling")
            if compiled % _REPORT_EVERY == 1 or not line.startswith("Compiling"):
                count = f" ({compiled} of {crates})" if compiled else ""
                progress(f"devnet: {line.lower()}{count}")
        elif line:
            messages.append(line)
    return messages


def _explain_build(messages: list[str]) -> LocalFault:
    text = "\n".join(messages)
    if "No space left on device" in text:
        return LocalFault(
            "The disk is full while compiling the devnet: free about 1 GB, or set FAREBOX_CACHE "
            "to a folder with space, and run this again."
        )
    if "signal: 9" in text:
        return LocalFault(
            "The system killed the compiler, probably for lack of memory: "
            "free about 2 GB and run this again."
        )
    if _OFFLINE.search(text):
        return LocalFault(
            "The devnet's crates could not be downloaded: connect this machine to the network "
            "(only the first build needs it) and run this again."
        )
    errors = (
        [line for line in messages if line.startswith("error")] or messages[-1:] or ["no message"]
    )
    return LocalFault(
        f"The devnet did not compile ({errors[0]}): run "
        "`cargo build --release --locked` in devnet/ to see the whole message."
    )


def _install(built: Path, binary: Path) -> None:
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=binary.parent, delete=False) as copy:
        copy.write(built.read_bytes())
    Path(copy.name).chmod(0o755)
    Path(copy.name).replace(binary)
