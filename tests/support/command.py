"""The `farebox` command in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parents[2] / "src"
DEADLINE_S: Final = 60


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
    """Run the command until it ends."""
    done = subprocess.run(
        [sys.executable, "-m", "farebox", *arguments],
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


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
