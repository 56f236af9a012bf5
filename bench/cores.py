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
        if self.service is None:
            yield
            return
        os.sched_setaffinity(0, self.rest | {self.service})
        try:
            yield
        finally:
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
