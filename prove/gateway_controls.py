"""Runs the cases of a proof of the gateway, and the controls: broken builds, each with its case."""

import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeVar

from farebox.local.faults import LocalFault
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.world import World
from testing.machine import RunFailed, say, subfolder


class CaseOutcome(Protocol):
    """The result of a case of either proof."""

    @property
    def is_failed(self) -> bool:
        """Whether the case shows a defect."""
        ...


T = TypeVar("T")
C = TypeVar("C", bound=StrEnum)
R = TypeVar("R", bound=CaseOutcome)


async def run_cases(
    cases: Sequence[T], run: Callable[[T], Awaitable[R]], *, workers: int
) -> list[R]:
    """Run the cases, a few at a time; print each outcome that shows a defect.

    Raises:
        RunFailed: a case could not be run; the message names it.
    """

    async def run_one(case: T) -> R:
        outcome = await _run_named(case, run(case))
        if outcome.is_failed:
            print(f"FAILED {outcome}", file=sys.stderr, flush=True)
        return outcome

    return await run_concurrently(cases, run_one, workers=workers, label="cases")


async def are_controls_caught(
    world: World,
    folder: Path,
    controls: Iterable[C],
    build: Callable[[Path, C], Path],
    run: Callable[[World, C], Awaitable[tuple[bool, object]]],
) -> bool:
    """Run the case of every control with its build; whether each shows its defect.

    Args:
        world: the world of the proof.
        folder: the folder for the builds.
        controls: the members of the enumeration.
        build: writes the sources of a control.
        run: runs the case of a control; returns whether the outcome shows it, and the outcome.

    Raises:
        RunFailed: a case could not be run; the message names the control.
    """
    caught = []
    async with AsyncExitStack() as opened:
        for control in controls:
            sources = build(subfolder(folder, control.name.lower()), control)
            fork_server = await opened.enter_async_context(ForkServer(sources))
            running = run(replace(world, fork_server=fork_server), control)
            is_shown, outcome = await _run_named(control, running)
            say(f"control ({control}): {outcome}")
            caught.append(is_shown)
    return all(caught)


async def _run_named(name: object, running: Awaitable[T]) -> T:
    try:
        return await running
    except (LocalFault, RunFailed) as fault:
        raise RunFailed(f"{name} could not be run: {fault}") from fault
