"""E2E=automation: plans of each kind in each mode, and their negative twins past the service.

A devnet with the limits of mainnet, the real service with a paymaster, and owners made of the
public SDK. Each plan is proposed over HTTP, paid, installed and activated; it makes three runs on
schedule, is paused, resumed and cancelled, and its effects are read from the ledger. Then runs that
differ in one thing are submitted to the node with the plans' own delegate keys.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from e2e.automation_console import run_console
from e2e.automation_course import Course
from e2e.automation_life import PlanDesk
from e2e.automation_probes import CasePlans, count_refused
from e2e.automation_stage import AutomationStage, open_automation_stage
from e2e.console_plans import PlanTally
from farebox.kernel.errors import CommandRefused, Outage
from farebox.kernel.secret import Secret
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.storage.pool import Database
from testing.automation_cases import cases
from testing.automation_chain import NET
from testing.automation_owners import open_http
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report, timed

LEAST_PLANS: Final = 12
LEAST_TWINS: Final = 60
_AT_ONCE: Final = 4  # cases that are opened at a time
_JUMP_S: Final = 65  # more than the interval of every plan
_END_S: Final = 7_300  # later than the end of every plan
_LAST_LEDGERS: Final = 4_000  # later than the last ledger of every signed entry
_FAULTS: Final = (RunFailed, Outage, CommandRefused)


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether it holds, and the figures."""
    chosen = cases(quick=quick)
    with scratch_folder("farebox-automation-") as scratch:
        folder = subfolder(scratch, "automation")
        async with _opened(folder, len(chosen)) as desk, open_http() as http:
            courses = [Course(desk, http, case, n) for n, case in enumerate(chosen)]
            console = await _live(desk.stage, courses, is_quick=quick)
            await _use_past_the_service(desk.stage, courses)
    figures = _figures(courses, console)
    return _holds(figures, is_quick=quick), figures


@asynccontextmanager
async def _opened(folder: Path, owners: int) -> AsyncIterator[PlanDesk]:
    """Open the stage, and the database and the node as this program reads them."""
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(open_automation_stage(folder, owners=owners))
        url = Secret(stage.settings["FAREBOX_DATABASE_URL"])
        database = await stack.enter_async_context(Database(url, connections=2))
        node = await stack.enter_async_context(
            HttpSorobanRpc(NET, Secret(stage.chain.devnet.rpc_url), timeout_s=20)
        )
        yield PlanDesk(stage, database, node)


async def _live(stage: AutomationStage, courses: Sequence[Course], *, is_quick: bool) -> PlanTally:
    """Take every case through its life, and plans through the console meanwhile."""
    turns = asyncio.Semaphore(_AT_ONCE)
    say(f"{len(courses)} plans: propose, pay, install, activate")
    lives = _each(courses, lambda course: _whole_life(course, turns))
    console, _ = await asyncio.gather(run_console(stage, quick=is_quick), lives)
    await _each([course for course in courses if course.plans], Course.check)
    return console


async def _use_past_the_service(stage: AutomationStage, courses: Sequence[Course]) -> None:
    """Try the twins that need time, and move the network's clock between them."""
    devnet, opened = stage.chain.devnet, [course for course in courses if course.plans]
    for what, step, seconds, ledgers in (
        ("a run lands, and one follows too early", CasePlans.try_use, _JUMP_S, 1),
        ("once too often, and after closing", CasePlans.try_again, _JUMP_S, 1),
        ("controls before the end of every plan", CasePlans.before_expiry, 0, 0),
        ("after expiry", CasePlans.try_late, _END_S, _LAST_LEDGERS),
    ):
        if seconds:
            await devnet.jump(seconds, ledgers=ledgers)
        say(what)
        await _each(opened, _step(step))


async def _whole_life(course: Course, turns: asyncio.Semaphore) -> None:
    await course.open(turns)
    await course.live(turns)


def _step(step: Callable[[CasePlans], Awaitable[None]]) -> Callable[[Course], Awaitable[None]]:
    async def take(course: Course) -> None:
        await step(course.opened())

    return take


async def _each(courses: Sequence[Course], step: Callable[[Course], Awaitable[None]]) -> None:
    """Take a step with every case that is open; one that fails leaves the others going on."""

    async def take(course: Course) -> None:
        try:
            await step(course)
        except _FAULTS as fault:
            name, said = course.case.name, str(fault)
            course.faults.append(said if said.startswith(name) else f"{name}: {said}")
            say(course.faults[-1][:600])

    await asyncio.gather(*(take(course) for course in courses))


def _figures(courses: Sequence[Course], console: PlanTally) -> dict[str, object]:
    plans = [course.plans for course in courses if course.plans is not None]
    twins, refused = count_refused(plans)
    verdicts = [each for plan in plans for each in plan.verdicts]
    faults = [fault for course in courses for fault in course.faults]
    faults += [each.fault for each in verdicts if each.fault] + console.faults
    return {
        "plans": len(courses),
        "plans_done": sum(course.is_done for course in courses),
        "runs_due": sum(course.runs[0] for course in courses),
        "runs_succeeded": sum(course.runs[1] for course in courses),
        "twins": twins,
        "refused_by_chain": refused,
        "controls": sum(plan.controls for plan in plans),
        "console_plans": console.plans,
        "console_done": console.done,
        "faults": faults,
    }


def _holds(figures: dict[str, object], *, is_quick: bool) -> bool:
    """Whether every plan, run, twin and journey ended as it must, and there were enough."""
    pairs = (
        ("plans", "plans_done"),
        ("runs_due", "runs_succeeded"),
        ("twins", "refused_by_chain"),
        ("console_plans", "console_done"),
    )
    is_enough = (
        int(str(figures["plans"])) >= LEAST_PLANS and int(str(figures["twins"])) >= LEAST_TWINS
    )
    is_equal = all(figures[one] == figures[other] for one, other in pairs)
    return is_equal and not figures["faults"] and (is_quick or is_enough)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
