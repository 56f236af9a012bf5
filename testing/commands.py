"""Programs that run to their end: scripts of Node.js, tools, and commands of the product."""

import asyncio
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from testing.machine import FAREBOX, ROOT, RunFailed, build_environment, node_command

_COMMAND_S: Final = 180.0
_SAID: Final = 800  # characters of what a failed program said
_NOTHING: Final[Mapping[str, str]] = {}


def output_of(
    command: Sequence[str],
    *,
    name: str,
    within_s: float,
    env: Mapping[str, str] = _NOTHING,
    cwd: Path = ROOT,
    given: str | None = None,
) -> str:
    """Run a program and return what it prints; `given` is its standard input.

    Raises:
        RunFailed: it failed, or did not end in time.
    """
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command,
            cwd=cwd,
            env=build_environment(env),
            input=given,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"{name} did not end within {within_s:.0f} s") from error
    if done.returncode:
        raise RunFailed(f"{name} failed:\n{(done.stdout + done.stderr).strip()[-_SAID:]}")
    return done.stdout


def node_lines(
    script: str, *, within_s: float, env: Mapping[str, str] = _NOTHING, given: str | None = None
) -> list[str]:
    """Run a script of `e2e/` in Node.js and return the lines that it prints.

    Raises:
        RunFailed: as `output_of`.
    """
    command = node_command(ROOT / "e2e" / script)
    return output_of(command, name=script, within_s=within_s, env=env, given=given).splitlines()


async def run_farebox(words: Sequence[str], settings: Mapping[str, str]) -> str:
    """Run a command of the product with these settings; return what it prints.

    An empty value leaves a setting out, as for an earlier version that does not know it.

    Raises:
        RunFailed: it failed, or did not end in time.
    """
    env = {name: value for name, value in build_environment(settings).items() if value}
    pipe: Any = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *FAREBOX, *words, cwd=ROOT, env=env, stdout=pipe, stderr=pipe
    )
    name = f"farebox {' '.join(words)}"
    try:
        async with asyncio.timeout(_COMMAND_S):
            printed, said = await process.communicate()
    except TimeoutError as error:
        raise RunFailed(f"{name} did not end within {_COMMAND_S:.0f} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RunFailed(f"{name} failed:\n{said.decode(errors='replace').strip()[-_SAID:]}")
    return printed.decode()
