"""The steps of plans: their owner takes one of each kind through its life on the pages."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from e2e.console_journey import Journey, Step
from e2e.console_plan_forms import JOURNEYS, PlanJourney
from e2e.console_plans import PlanRound

Part = Callable[[PlanRound, PlanJourney], Awaitable[None]]


def _step(verb: str, part: Part, kind: PlanJourney) -> Step:
    """Make a step of one part of a plan's life."""

    async def step(journey: Journey) -> None:
        async def take(name: str) -> None:
            await journey.take(journey.planner, f"plan {name}")

        plans = PlanRound(journey.planner, journey.stage.plans, journey.screen.name, take)
        plans.routes = journey.plans
        await part(plans, kind)
        journey.records["/automation/$id"] = journey.plans[kind.name]

    step.__name__ = f"{verb}_{kind.name.lower().replace(' ', '_')}"
    return step


STEPS: Final[Sequence[Step]] = tuple(
    _step(verb, part, kind)
    for verb, part in (
        ("propose_pay_and_activate", PlanRound.open),
        ("see_a_run_of", PlanRound.see_a_run),
        ("pause_resume_and_cancel", PlanRound.end),
    )
    for kind in JOURNEYS
)
