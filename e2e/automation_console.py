"""One plan of each kind through the console, in a browser: the seam to the console's journeys."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from e2e.automation_stage import AutomationStage
from e2e.machine import RunFailed, say


@dataclass(frozen=True, slots=True)
class ConsolePlan:
    """A plan that a journey proposes, pays, installs and activates in the browser."""

    name: str
    travel: Callable[[AutomationStage], Awaitable[None]]


@dataclass(slots=True)
class ConsoleTally:
    """How many plans went through the console, and what went wrong."""

    plans: int = 0
    done: int = 0
    faults: list[str] = field(default_factory=list)


JOURNEYS: Final[tuple[ConsolePlan, ...]] = ()


async def run_console(stage: AutomationStage, *, quick: bool) -> ConsoleTally:
    """Run the journeys one after the other; with `quick` the first one."""
    tally = ConsoleTally()
    for each in JOURNEYS[:1] if quick else JOURNEYS:
        say(f"through the console: {each.name}")
        tally.plans += 1
        try:
            await each.travel(stage)
        except RunFailed as fault:
            tally.faults.append(f"console {each.name}: {fault}")
        else:
            tally.done += 1
    return tally
