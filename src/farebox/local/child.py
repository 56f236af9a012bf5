"""A program of ours as a child process: started, heard once it listens, and never left behind."""

import asyncio
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from farebox.local.faults import LocalFault, explain_disk
from farebox.local.parent_death import die_with_parent

_STOP_S: Final = 10.0
_WORDS_LIMIT: Final = 4096  # bytes of a failed program's last words


@dataclass(frozen=True, slots=True)
class Program:
    """What is run: `name` is for a person; `log` None keeps what it writes only while it starts.

    A program that `ends_with_stdin` needs nothing else to end with us; for any other the system
    is asked to end it with the thread that started it.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] | None = None
    log: Path | None = None
    start_s: float = 20.0
    ends_with_stdin: bool = False


class Child:
    """A running program; it ends with this process, however this process ends."""

    def __init__(self, process: subprocess.Popen[bytes], first_line: bytes) -> None:
        self._process = process
        self.first_line = first_line

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    async def wait(self) -> int:
        """Return once it has ended, with its exit code."""
        return await asyncio.to_thread(self._process.wait)

    async def stop(self) -> None:
        """End it and wait until it is gone; a second call does nothing."""
        await asyncio.to_thread(_end, self._process)


async def start_child(program: Program) -> Child:
    """Start a program and return once it has written its first line on standard output.

    Its standard input is a pipe that closes with this process.

    Raises:
        LocalFault: it cannot be run or ends before that line; its own last words are the reason.
    """
    with _log_of(program) as log:
        process = _spawn(program, log)
        try:
            reading = asyncio.to_thread(_first_line, process)
            line = await asyncio.wait_for(reading, program.start_s)
        except BaseException as error:
            _end(process)
            if isinstance(error, TimeoutError):
                raise _explain(program, log) from error
            raise
        if not line:
            _end(process)
            raise _explain(program, log)
    return Child(process, line)


def _log_of(program: Program) -> IO[bytes]:
    if program.log is None:
        return tempfile.TemporaryFile("w+b")
    try:
        return program.log.open("w+b")
    except OSError as error:
        raise explain_disk(error, doing=f"starting {program.name}") from error


def _spawn(program: Program, log: IO[bytes]) -> subprocess.Popen[bytes]:
    last_wish = None if program.ends_with_stdin else die_with_parent(signal.SIGTERM)
    try:
        return subprocess.Popen(
            program.command,
            env=program.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops its children
            preexec_fn=last_wish,  # noqa: PLW1509 - calls nothing but prctl
        )
    except OSError as error:
        raise LocalFault(
            f"{program.name} cannot be run: {program.command[0]}: {error.strerror}."
        ) from error


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    return process.stdout.readline() if process.stdout else b""


def _explain(program: Program, log: IO[bytes]) -> LocalFault:
    log.seek(0, 2)
    log.seek(max(0, log.tell() - _WORDS_LIMIT))
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    said = [line for line in lines if line]
    return LocalFault(said[-1] if said else f"{program.name} did not start and said nothing.")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
