"""Parts of a bench in processes of their own: handed a plan, heard to the end, never left over."""

import asyncio
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from e2e.machine import ROOT, RunFailed, environment

_NO_SETTINGS: Final = MappingProxyType[str, str]({})


async def start_part(
    module: str, settings: Mapping[str, str] = _NO_SETTINGS, *, stderr: int | None = None
) -> asyncio.subprocess.Process:
    """`main` of a module of the bench runs; its standard error is ours unless told otherwise."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"from bench.{module} import main; main()",
        cwd=ROOT,
        env=environment(settings),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
    )


async def heard(
    process: asyncio.subprocess.Process, last: bytes | None = None
) -> tuple[bytes, bytes]:
    """What it wrote to both its outputs after these last words; it has ended, come what may."""
    try:
        return await process.communicate(last)
    finally:
        await end(process)


async def end(process: asyncio.subprocess.Process) -> None:
    """It runs no more."""
    if process.returncode is None:
        process.kill()
        await process.wait()


async def generate_load(module: str, plan: msgspec.Struct) -> bytes:
    """What the load generator of a module reported of this plan.

    Raises:
        RunFailed: it could not finish.
    """
    process = await start_part(module, stderr=asyncio.subprocess.PIPE)
    out, err = await heard(process, msgspec.json.encode(plan))
    if process.returncode:
        raise RunFailed(f"the load generator failed: {err.decode(errors='replace')[-400:]}")
    return out
