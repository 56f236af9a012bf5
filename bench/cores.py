"""Assigns CPU cores to the measured service and to the load."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cores:
    """The measured service has one core to itself; everything else shares the others."""

    service: int | None
    rest: frozenset[int]

    def pin_service(self) -> tuple[str, ...]:
        """Return the command prefix that runs a program on the service's core."""
        return () if self.service is None else ("taskset", "-c", str(self.service))

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Let this process, and what it starts inside this context, use the service's core too."""
        with self._using(self.rest | {self.service}):
            yield

    @contextmanager
    def on_service(self) -> Iterator[None]:
        """Run this process inside this context on the service's core alone."""
        with self._using(frozenset({self.service})):
            yield

    @contextmanager
    def _using(self, cores: frozenset[int | None]) -> Iterator[None]:
        named = {each for each in cores if each is not None}
        if self.service is not None:
            os.sched_setaffinity(0, named)
        try:
            yield
        finally:
            if self.service is not None:
                os.sched_setaffinity(0, self.rest)


def divide_cores() -> Cores:
    """Keep this process, and what it starts from now on, off the service's core.

    With one core, or where the system has no affinity, nothing is pinned.
    """
    if not hasattr(os, "sched_setaffinity"):
        return Cores(None, frozenset())
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2:
        return Cores(None, frozenset(available))
    rest = frozenset(available[1:])
    os.sched_setaffinity(0, rest)
    return Cores(available[0], rest)
