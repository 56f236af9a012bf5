"""What the console's purchase says of every answer: its own table, run by its own test runner."""

import asyncio
import json
from typing import Final

from testing.machine import ROOT, RunFailed

_CONSOLE: Final = ROOT / "console"
_TABLE: Final = "src/features/discover/purchaseTable.test.ts"  # its control is one of its tests
_RUN_S: Final = 300.0


async def count_console_faults() -> tuple[int, list[str]]:
    """Run the table; return how many tests it has, and those that fail.

    Raises:
        RunFailed: it could not be run.
    """
    command = ("node_modules/.bin/vitest", "run", _TABLE, "--reporter=json")
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=_CONSOLE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_RUN_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        raise RunFailed("the console's table takes too long") from None
    try:
        (suite,) = json.loads(output)["testResults"]
    except (ValueError, LookupError) as error:
        raise RunFailed(
            "the console's table could not be run: scripts/console builds it"
        ) from error
    tests = suite["assertionResults"]
    return len(tests), [each["fullName"] for each in tests if each["status"] != "passed"]
