"""The `farebox` command in a process of its own."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parents[2] / "src"
DEADLINE_S: Final = 60
_SHOWN: Final = 4000  # characters of what a command wrote before it ended
_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["farebox.cli.serve", "farebox.cli.sponsor", "farebox.cli.channels"])


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit code and the outputs of a command."""

    code: int
    out: str
    err: str


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: these settings and no other of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAREBOX_")}
    return kept | {"PYTHONPATH": str(SOURCES)} | dict(settings)


def run_farebox(*arguments: str, settings: Mapping[str, str]) -> Ran:
    """Run the command until it ends, in a process that is forked from one with its imports."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        process = fork_farebox(*arguments, settings=settings, out=out, err=err)
        process.join(DEADLINE_S)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"farebox {' '.join(arguments)} took more than {DEADLINE_S} s")
        return Ran(process.exitcode, out.read_text(), err.read_text())


def fork_farebox(*arguments: str, settings: Mapping[str, str], out: Path, err: Path) -> BaseProcess:
    """Start the command in a process that is forked from one with its imports."""
    own = environment(settings)
    process = _FORKS.Process(target=_run, args=(arguments, own, str(out), str(err)), daemon=True)
    process.start()
    return process


def first_line(process: BaseProcess, out: Path, err: Path) -> str:
    """Return the first line that a forked command has printed, "" until it is whole.

    Raises:
        AssertionError: the command ended without one.
    """
    is_alive = process.is_alive()  # before the file is read, which the command may write and end
    line, end, _ = (out.read_text() if out.exists() else "").partition("\n")
    if end:
        return line
    written = err.read_text(errors="replace") if err.exists() else ""
    assert is_alive, f"it ended with {process.exitcode}: {written[-_SHOWN:]}"
    return ""


def run_fresh_farebox(*arguments: str, settings: Mapping[str, str]) -> Ran:
    """Run the command until it ends, by an interpreter of its own: of the sources in PYTHONPATH."""
    done = subprocess.run(
        [sys.executable, "-m", "farebox", *arguments],
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def _run(arguments: Sequence[str], settings: Mapping[str, str], out: str, err: str) -> None:
    """Be the command, in a forked process."""
    from farebox.cli.main import main

    os.environ.clear()
    os.environ.update(settings)
    for number, name in ((0, os.devnull), (1, out), (2, err)):
        opened = os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(opened, number)
    random.seed()
    sys.argv = ["farebox", *arguments]
    main()


@contextmanager
def start_farebox(
    *arguments: str, settings: Mapping[str, str], errors: Path, is_background: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Run the command inside this context, which kills it in the end if it still runs.

    Its standard error goes to a file, so that no pipe fills up. `is_background`: as a shell without
    job control starts a background job, with SIGINT ignored.
    """
    command = [sys.executable, "-m", "farebox", *arguments]
    if is_background:
        command = ["/bin/sh", "-c", 'trap "" INT; exec "$0" "$@"', *command]
    with (
        errors.open("w") as output,
        subprocess.Popen(
            command,
            env=environment(settings),
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            preexec_fn=_heed_hangups,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()  # does nothing to a process that has ended


def _heed_hangups() -> None:
    """Undo what `nohup` did to the tests: a child inherits an ignored SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
