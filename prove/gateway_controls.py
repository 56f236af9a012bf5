"""Runs the controls of a proof of the gateway: broken builds, each with the case that shows it."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from e2e.machine import say, subfolder
from prove.fork_server import ForkServer
from prove.world import World

C = TypeVar("C", bound=StrEnum)


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
    """
    caught = []
    async with AsyncExitStack() as opened:
        for control in controls:
            sources = build(subfolder(folder, control.name.lower()), control)
            fork_server = await opened.enter_async_context(ForkServer(sources))
            is_shown, outcome = await run(replace(world, fork_server=fork_server), control)
            say(f"control ({control}): {outcome}")
            caught.append(is_shown)
    return all(caught)
