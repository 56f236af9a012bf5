"""Run a program as a child process that ends with this process, however this process ends."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from farebox.local.faults import LocalFault, explain_disk_error

_STOP_S: Final = 10.0
_OUTPUT_LIMIT: Final = 4096  # bytes of a failed program's output
_PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run; `name` appears in messages, `log` gets its standard error.

    Without `log` its output is kept only while it starts. A program that `ends_with_stdin` ends
    when its standard input closes; any other gets a signal from the system when its parent ends.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] | None = None
    log: Path | None = None
    start_s: float = 20.0
    ends_with_stdin: bool = False


class Child:
    """A running program; it ends with this process."""

    def __init__(self, process: subprocess.Popen[bytes], first_line: bytes) -> None:
        self._process = process
        self.first_line = first_line

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the program runs."""
        return self._process.poll() is None

    async def wait(self) -> int:
        """Wait for the program to end; returns its exit code."""
        return await asyncio.to_thread(self._process.wait)

    async def stop(self) -> None:
        """Stop the program and wait for its end; a second call does nothing."""
        await asyncio.to_thread(_end, self._process)


async def start_child(program: Program) -> Child:
    """Start a program and return once it has written its first line on standard output.

    Its standard input is a pipe that closes with this process.

    Raises:
        LocalFault: it cannot be run or ends before that line; its last output is the reason.
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
        raise explain_disk_error(error, doing=f"starting {program.name}") from error


def _spawn(program: Program, log: IO[bytes]) -> subprocess.Popen[bytes]:
    set_death_signal = None if program.ends_with_stdin else die_with_parent(signal.SIGTERM)
    try:
        return subprocess.Popen(
            program.command,
            env=program.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops its children
            preexec_fn=set_death_signal,  # noqa: PLW1509 - calls nothing but prctl
        )
    except OSError as error:
        raise LocalFault(
            f"{program.name} cannot be run: {program.command[0]}: {error.strerror}."
        ) from error


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    return process.stdout.readline() if process.stdout else b""


def _explain(program: Program, log: IO[bytes]) -> LocalFault:
    log.seek(0, 2)
    log.seek(max(0, log.tell() - _OUTPUT_LIMIT))
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    output = [line for line in lines if line]
    return LocalFault(output[-1] if output else f"{program.name} did not start, without output.")


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


def die_with_parent(signal_number: int) -> Callable[[], None] | None:
    """A `preexec_fn` after which the child gets `signal_number` when its parent thread ends.

    None on systems other than Linux: there only an orderly end of the parent stops the child.
    """
    if sys.platform != "linux":
        return None
    # resolved here, because nothing may be loaded between fork and exec
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
        if os.getppid() != parent:  # the parent died before the line above
            os._exit(1)

    return in_child
