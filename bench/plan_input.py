"""The plan that a child process of a bench reads, and the report that it writes."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import TypeVar

import msgspec

Read = TypeVar("Read")


def run_plan_of_input(
    kind: type[Read],
    run: Callable[[Read], Coroutine[None, None, object]],
    loop: Callable[[Coroutine[None, None, object]], object] = asyncio.run,
    *,
    is_one_line: bool = False,
) -> int:
    """Run the plan on standard input or on its first line, and write the report."""
    given = sys.stdin.buffer.readline() if is_one_line else sys.stdin.buffer.read()
    report = loop(run(msgspec.json.decode(given, type=kind)))
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    return 0
