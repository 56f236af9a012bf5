"""Runs modules of a bench in child processes, which never outlive the caller."""

import asyncio
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from testing.machine import ROOT, RunFailed, build_environment

_NO_SETTINGS: Final = MappingProxyType[str, str]({})


async def start_process(
    module: str, settings: Mapping[str, str] = _NO_SETTINGS, *, stderr: int | None = None
) -> asyncio.subprocess.Process:
    """Start `main` of a bench module; it inherits standard error unless `stderr` is given."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"from bench.{module} import main; main()",
        cwd=ROOT,
        env=build_environment(settings),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
    )


async def finish(
    process: asyncio.subprocess.Process, last_input: bytes | None = None
) -> tuple[bytes, bytes]:
    """Send the last input, read both outputs to the end, and stop the process in any case."""
    try:
        return await process.communicate(last_input)
    finally:
        await stop(process)


async def stop(process: asyncio.subprocess.Process) -> None:
    """Kill the process if it still runs."""
    if process.returncode is None:
        process.kill()
        await process.wait()


async def generate_load(module: str, plan: msgspec.Struct) -> bytes:
    """Run the load generator of a module with a plan; return its report.

    Raises:
        RunFailed: it could not finish.
    """
    process = await start_process(module, stderr=asyncio.subprocess.PIPE)
    out, err = await finish(process, msgspec.json.encode(plan))
    if process.returncode:
        raise RunFailed(f"the load generator failed: {err.decode(errors='replace')[-400:]}")
    return out
