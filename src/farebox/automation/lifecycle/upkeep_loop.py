"""The loop of one network that looks after its plans: each step by itself, none stops another."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network

_EVERY_S: Final = 5.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UpkeepStep:
    """One step; it is repeated every so many passes."""

    name: str
    run_once: Callable[[], Awaitable[None]]
    every: int = 1


class LifecycleUpkeep:
    """Repeats the steps of one network; any number of processes may run it."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        steps: Sequence[UpkeepStep],
        *,
        every_s: float = _EVERY_S,
    ) -> None:
        self._network, self._clock, self._steps = network, clock, steps
        self._every_s = every_s

    async def run(self) -> NoReturn:
        """Repeat the steps until cancelled."""
        passes = 0
        while True:
            for step in self._steps:
                if passes % step.every == 0:
                    await self._run_step(step)
            passes += 1
            await self._clock.sleep(self._every_s)

    async def _run_step(self, step: UpkeepStep) -> None:
        try:
            await step.run_once()
        except Outage as outage:
            log.warning("automation.upkeep_waits", step=step.name, part=outage.part)
        except Exception:
            log.exception("automation.upkeep_broken", step=step.name, network=self._network.value)
