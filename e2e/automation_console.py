"""One plan of each kind through the console, in Chromium: the steps are the console's own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import Error

from e2e.automation_chain import NET
from e2e.automation_stage import AutomationStage, new_keeper
from e2e.browser import Visitor, open_chromium, visit
from e2e.console_journey import go
from e2e.console_plan_steps import (
    KINDS,
    PlanScene,
    pause_resume_and_cancel,
    pay_and_activate,
    propose,
    see_a_run,
)
from e2e.console_screens import FOLDER
from e2e.machine import RunFailed, say
from farebox.buyer.wallet import wallet_of
from farebox.local.development_wallet import WalletAccount, wallet_script


@dataclass(slots=True)
class ConsoleTally:
    """How many plans went through the console, and what went wrong."""

    plans: int = 0
    done: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _ShownPlan:
    """A plan of the visitor, and the route of its page once it is proposed."""

    kind: str
    route: str = ""
    fault: str = ""


async def run_console(stage: AutomationStage, *, quick: bool) -> ConsoleTally:
    """Propose, pay, sign and activate a plan of each kind, see its run, and cancel it.

    With `quick` of the first kind. Every step is taken with each plan before the next one, so that
    their runs are waited for together.
    """
    scene = PlanScene(
        keeper=await new_keeper(stage.chain),
        recipients=tuple(each.address for each in stage.recipients[-2:]),
        token_out=stage.place.native,
        oracle=stage.place.oracle,
    )
    plans = [_ShownPlan(kind) for kind in (list(KINDS)[:1] if quick else KINDS)]
    async with open_chromium() as browser:
        owner = WalletAccount("Owner", wallet_of(stage.visitor.secret))
        visitor = await visit(browser, stage.service, scripts=[wallet_script((owner,), NET)])
        try:
            await visitor.open("/")
            await visitor.sign_in()
            await _take_all(visitor, plans, scene)
        except (Error, AssertionError) as error:
            plans[0].fault = f"sign-in: {error}"
        finally:
            await visitor.close()
    errors = visitor.record.console_errors[:3]
    faults = [f"console {each.kind}: {each.fault}" for each in plans if each.fault]
    done = sum(not each.fault for each in plans)
    return ConsoleTally(len(plans), done, faults + [f"console: {each}" for each in errors])


async def _take_all(visitor: Visitor, plans: list[_ShownPlan], scene: PlanScene) -> None:
    async def open_plan(plan: _ShownPlan) -> None:
        plan.route = await propose(visitor, scene, plan.kind, f"{plan.kind} in the browser")
        await pay_and_activate(visitor.page)

    async def see(plan: _ShownPlan) -> None:
        await go(visitor, plan.route)
        await see_a_run(visitor.page)

    async def end(plan: _ShownPlan) -> None:
        await go(visitor, plan.route)
        await pause_resume_and_cancel(visitor)

    for step in (open_plan, see, end):
        for plan in plans:
            await _take(visitor, plan, step)


async def _take(
    visitor: Visitor, plan: _ShownPlan, step: Callable[[_ShownPlan], Awaitable[None]]
) -> None:
    """Take a step with a plan that went well so far; keep a picture of the page if it fails."""
    if plan.fault:
        return
    name = step.__name__.replace("_", " ")
    try:
        await step(plan)
    except (TimeoutError, Error, AssertionError, RunFailed) as error:
        plan.fault = f"{name}: {str(error)[:600]}"
        say(f"console {plan.kind}: {plan.fault}")
        await visitor.page.screenshot(path=FOLDER / "failed" / f"plan-{plan.kind}.png")
    else:
        say(f"console {plan.kind}: {name}")
