"""Slow readers of long responses, in a process of their own: BENCH=gateway streams to them."""

import asyncio
import time
from typing import Final

import msgspec

from bench.plan_input import run_plan_of_input

_PIECE: Final = 64 * 1024


class ReadersPlan(msgspec.Struct, frozen=True):
    """Raw requests (base64 is not needed: they are ASCII), and the pace of each reader."""

    host: str
    port: int
    requests: list[str]
    bytes_per_s: int
    seconds: float


class ReadersResult(msgspec.Struct, frozen=True):
    """How many responses began, and how many bytes were read in all."""

    started: int
    read_mb: float
    statuses: dict[str, int]


async def _read_slowly(plan: ReadersPlan, request: str, until: float) -> tuple[str, int]:
    reader, writer = await asyncio.open_connection(plan.host, plan.port, limit=_PIECE)
    try:
        writer.write(request.encode())
        line = (await reader.readline()).decode(errors="replace")
        count = 0
        while time.monotonic() < until:
            piece = await reader.read(_PIECE)
            if not piece:
                break
            count += len(piece)
            await asyncio.sleep(len(piece) / plan.bytes_per_s)
        return line.split(" ")[1] if " " in line else "none", count
    finally:
        writer.close()


async def _run(plan: ReadersPlan) -> ReadersResult:
    until = time.monotonic() + plan.seconds
    read = await asyncio.gather(*(_read_slowly(plan, each, until) for each in plan.requests))
    statuses: dict[str, int] = {}
    for status, _ in read:
        statuses[status] = statuses.get(status, 0) + 1
    total = sum(count for _, count in read)
    return ReadersResult(statuses.get("200", 0), round(total / 1e6, 1), statuses)


def main() -> int:
    """Run the plan on standard input."""
    return run_plan_of_input(ReadersPlan, _run)
