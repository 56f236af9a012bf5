"""Runs the cases of a proof: which ones, several at a time, with progress; and its controls.

A control is a build of the service that must fail its cases: a proof that does not find its defect
proves nothing.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import aiohttp

from farebox.local.faults import LocalFault
from prove.broken_build import Build
from prove.fork_server import ForkServer
from prove.outcome import JudgedCase, Outcome
from prove.world import World
from testing.machine import RunFailed, say, subfolder

SEEDS: Final = 20  # of a whole proof
_REPORT_EVERY_S: Final = 15.0


class NumberedCase(Protocol):
    """A case that its seed and its number name."""

    @property
    def number(self) -> int:
        """The number among the cases of the seed."""
        ...


T = TypeVar("T")
C = TypeVar("C")
N = TypeVar("N", bound=NumberedCase)
K = TypeVar("K", bound=StrEnum)
R = TypeVar("R")
J = TypeVar("J", bound=JudgedCase)
P = TypeVar("P", bound=Outcome[Any, Any])


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the environment asks for.

    SEED and CASE, or SEED and KIND, name one case: a replay. SEEDS is how many seeds are played,
    and QUICK=1 asks for the short form.
    """

    seed: int
    case: str | None  # the number or the kind
    seeds: int
    is_quick: bool
    began: float

    @property
    def is_replay(self) -> bool:
        """Whether one case is repeated, without the controls."""
        return self.case is not None

    @property
    def is_part(self) -> bool:
        """Whether fewer cases than those of the whole proof are asked for."""
        return self.is_quick or self.is_replay or self.seeds < SEEDS

    @property
    def played_seeds(self) -> list[int]:
        """The seeds: that of a replay, or as many as are asked for."""
        return [self.seed] if self.is_replay else list(range(1, self.seeds + 1))

    @property
    def seconds(self) -> int:
        """The seconds since the run began."""
        return round(time.monotonic() - self.began)

    def numbered(
        self, draw: Callable[[int], Sequence[N]], *, quick: Callable[[], Sequence[N]] | None = None
    ) -> list[N]:
        """Choose among the cases of each seed, or take those of the short form."""
        if self.case is not None:
            return [each for each in draw(self.seed) if each.number == int(self.case)]
        if self.is_quick and quick is not None:
            return list(quick())
        return [each for seed in self.played_seeds for each in draw(seed)]

    def of_kinds(self, kinds: type[K]) -> list[K]:
        """Choose the kind that is named, or take all.

        Raises:
            RunFailed: there is no such kind.
        """
        if self.case is None:
            return list(kinds)
        if self.case.upper() not in kinds.__members__:
            raise RunFailed(f"KIND is one of {', '.join(kinds.__members__).lower()}")
        return [kinds[self.case.upper()]]

    def conclude(
        self, figures: dict[str, object], outcomes: Iterable[object], *, is_caught: bool
    ) -> None:
        """Say what a replay has shown, or add to the figures whether the controls are caught."""
        if not self.is_replay:
            figures["control_caught"] = is_caught
            return
        for outcome in outcomes:
            say(str(outcome))


def read_wanted(
    is_quick: bool, *, seeds: int = SEEDS, quick_seeds: int = 1, named_by: str = "CASE"
) -> Wanted:
    """Read what the environment asks for; `seeds` are played where it does not say how many."""
    return Wanted(
        seed=int(os.environ.get("SEED", "1")),
        case=os.environ.get(named_by),
        seeds=int(os.environ.get("SEEDS", quick_seeds if is_quick else seeds)),
        is_quick=is_quick,
        began=time.monotonic(),
    )


def read_count(is_quick: bool, *, whole: int, quick: int) -> int:
    """Read COUNT, the number of requests of a proof that sends them at random."""
    return int(os.environ.get("COUNT") or (quick if is_quick else whole))


def check_any(*cases: Sequence[object]) -> None:
    """Check that there is a case to play.

    Raises:
        RunFailed: there is none.
    """
    if not any(cases):
        raise RunFailed("no case has this number")


async def run_concurrently(
    items: Sequence[C], run: Callable[[C], Awaitable[R]], *, workers: int, label: str = ""
) -> list[R]:
    """Run every item with `workers` tasks; return the outcomes in order.

    Progress goes to standard error, under `label` where there is one.
    """
    waiting = list(enumerate(items))[::-1]
    outcomes: dict[int, R] = {}
    progress = _Progress(label, len(items))

    async def worker() -> None:
        while waiting:
            number, item = waiting.pop()
            outcomes[number] = await run(item)
            progress.report(len(outcomes))

    running = [asyncio.create_task(worker()) for _ in range(workers)]
    try:
        await asyncio.gather(*running)
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return [outcomes[number] for number in range(len(items))]


class _Progress:
    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._began = self._last = time.monotonic()

    def report(self, done: int) -> None:
        now = time.monotonic()
        if not self._label or (now - self._last < _REPORT_EVERY_S and done < self._total):
            return
        self._last = now
        tell(f"{self._label}: {done} of {self._total} in {now - self._began:.0f} s")


def tell(line: str) -> None:
    """Print a line to standard error."""
    print(line, file=sys.stderr, flush=True)


async def run_cases(
    cases: Sequence[C], run: Callable[[C], Awaitable[J]], *, workers: int
) -> list[J]:
    """Run the cases, a few at a time; print each outcome that shows a defect.

    Raises:
        RunFailed: a case could not be run; the message names it.
    """

    async def run_one(case: C) -> J:
        outcome = await run_named(case, run(case))
        if outcome.is_failed:
            tell(f"FAILED {outcome}")
        return outcome

    return await run_concurrently(cases, run_one, workers=workers, label="cases")


async def run_named(name: object, running: Awaitable[T]) -> T:
    """Wait for what is running.

    Raises:
        RunFailed: it could not be run; the message has the name.
    """
    try:
        return await running
    except (LocalFault, RunFailed) as fault:
        raise RunFailed(f"{name} could not be run: {fault}") from fault


async def play_until_reached(
    run: Callable[[C], Awaitable[P]], case: C, simpler: C, *, most: int
) -> P:
    """Run a case until its fault is reached, `most` times; repetitions are of the simpler case."""
    outcome = await run(case)
    while not outcome.is_reached and outcome.plays < most:
        outcome = outcome.followed_by(await run(simpler))
    return outcome


@asynccontextmanager
async def ends_within(case: object, seconds: float) -> AsyncIterator[None]:
    """Play the case in this block.

    Raises:
        RunFailed: it did not end in this time, or a replica has.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise RunFailed(f"{case} did not end within {seconds:g} s") from error
    except aiohttp.ClientError as error:
        raise RunFailed(f"a replica does not answer any more: {error}") from error


@dataclass(frozen=True)
class Control(Generic[C, R]):
    """A build with a defect, the cases that must show it, and whether their outcomes do."""

    name: str
    cases: Sequence[C]
    build: Build
    shows: Callable[[Sequence[R]], bool]
    defect: str = ""

    def __str__(self) -> str:
        return f"control ({self.defect})" if self.defect else "control"


def finds(*violations: StrEnum) -> Callable[[Sequence[Outcome[Any, Any]]], bool]:
    """Whether an outcome has one of these violations."""

    def shows(outcomes: Sequence[Outcome[Any, Any]]) -> bool:
        return any(
            each.violation in violations for outcome in outcomes for each in outcome.findings
        )

    return shows


@asynccontextmanager
async def open_broken(
    world: World, folder: Path, control: Control[Any, Any]
) -> AsyncIterator[World]:
    """Open the world with the build of the control in place of its own."""
    sources = await asyncio.to_thread(control.build.write, subfolder(folder, control.name))
    async with ForkServer(sources) as fork_server:
        yield replace(world, fork_server=fork_server)


async def run_control(
    world: World,
    folder: Path,
    control: Control[C, R],
    run: Callable[[World, C], Awaitable[R]],
    *,
    label: str = "",
) -> list[R]:
    """Run the cases of the control at once, on the network and databases of the sound build.

    Raises:
        RunFailed: a case could not be run; the message names the control.
    """
    async with open_broken(world, folder, control) as broken:
        running = run_concurrently(
            control.cases,
            lambda case: run(broken, case),
            workers=len(control.cases),
            label=label or (str(control) if len(control.cases) > 1 else ""),
        )
        outcomes = await run_named(control.defect or label or control, running)
    for outcome in outcomes:
        say(f"{label or control}: {outcome}")
    return outcomes


async def are_controls_caught(
    world: World,
    folder: Path,
    controls: Iterable[Control[C, R]],
    run: Callable[[World, C], Awaitable[R]],
) -> bool:
    """Run the cases of every control, one control after another; whether each shows its defect.

    Raises:
        RunFailed: a case could not be run; the message names the control.
    """
    caught = [each.shows(await run_control(world, folder, each, run)) for each in controls]
    return all(caught)


@dataclass(frozen=True)
class Played(Generic[C, R]):
    """The outcomes of the cases, and those of each control by its name."""

    outcomes: Sequence[R]
    controls: dict[str, tuple[Control[C, R], list[R]]]

    def is_caught(self, name: str) -> bool:
        """Whether the control shows its defect."""
        control, outcomes = self.controls[name]
        return control.shows(outcomes)

    @property
    def are_controls_caught(self) -> bool:
        """Whether every control shows its defect."""
        return all(map(self.is_caught, self.controls))


async def play_beside_controls(
    cases: Sequence[C],
    controls: Sequence[Control[C, R]],
    run: Callable[[C, Control[C, R] | None], Awaitable[R]],
    *,
    workers: int,
) -> Played[C, R]:
    """Run the cases of every control, and then all others, several at a time."""
    items = [(case, control) for control in controls for case in control.cases]
    every: list[tuple[C, Control[C, R] | None]] = [*items, *((case, None) for case in cases)]
    outcomes = await run_concurrently(
        every, lambda item: run(*item), workers=workers, label="cases"
    )
    played = Played[C, R](outcomes[len(items) :], {each.name: (each, []) for each in controls})
    for (_, control), outcome in zip(items, outcomes, strict=False):
        played.controls[control.name][1].append(outcome)
    return played


@asynccontextmanager
async def open_builds(
    folder: Path, controls: Iterable[Control[Any, Any]]
) -> AsyncIterator[dict[str, ForkServer]]:
    """Open the build of every control, by its name."""
    async with AsyncExitStack() as opened:
        builds = {}
        for control in controls:
            sources = control.build.write(subfolder(folder, control.name))
            builds[control.name] = await opened.enter_async_context(ForkServer(sources))
        yield builds
