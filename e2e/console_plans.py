"""Plans in the console: each is proposed, paid, signed, seen to run, paused and cancelled.

The service needs a paymaster with channels, a mandate factory and an exchange on the network of
the wallet; its prices are not 0.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from playwright.async_api import Error, Locator

from e2e.console_plan_forms import JOURNEYS, RECIPIENTS, PlanJourney
from testing.browser import Visitor
from testing.console_pages import wait_until_ready
from testing.console_stage import PlanScene
from testing.machine import RunFailed, say

_RUN_MS: Final = 180_000  # the first run is due at the start of a minute
_SLOW_MS: Final = 60_000  # a payment is final after several ledgers
_LOCAL: Final = "%Y-%m-%dT%H:%M"
_START: Final = timedelta(seconds=130)
_LIFE: Final = timedelta(minutes=40)  # within what an authorization of a fast devnet lives
_ACTIVE: Final = re.compile(r"The plan is active\.|A run is under way\.")
_SIGNS: Final = "authorization"  # in the question of the wallet's window about an entry
_DECLINED_AT: Final = 3  # of the signatures of a plan that is signed ahead
Take = Callable[[str], Awaitable[None]]


async def _no_picture(name: str) -> None:
    del name


@dataclass(slots=True)
class PlanRound:
    """One visitor's plans, one of each kind; `label` keeps the plans of two rounds apart."""

    visitor: Visitor
    scene: PlanScene
    label: str
    take: Take = _no_picture
    routes: dict[str, str] = field(default_factory=dict)

    async def open(self, kind: PlanJourney) -> None:
        """Propose a plan, pay for its runs, read what is signed, sign and activate it."""
        self.routes[kind.name] = await self._propose(kind)
        if kind.is_paid_across_a_reload:
            await self._pay_across_a_reload(kind)
        else:
            await self._pay()
        await self._activate(kind)

    async def see_a_run(self, kind: PlanJourney) -> None:
        """Wait until a run has succeeded, and read its attempts."""
        await self._show(kind)
        page = self.visitor.page
        await page.get_by_role("tab", name="Runs").click()
        await page.get_by_text(re.compile("^(Succeeded|Skipped)$")).first.wait_for(timeout=_RUN_MS)
        await page.get_by_text("Succeeded", exact=True).first.wait_for(timeout=_RUN_MS)
        await page.get_by_role("button", name="Details of run 1").first.click()
        await page.get_by_text("It is on the ledger.").first.wait_for()
        await self.take(f"run {kind.name}")
        await page.keyboard.press("Escape")
        await self._dialog().wait_for(state="hidden")

    async def end(self, kind: PlanJourney) -> None:
        """Pause the plan, resume it, and cancel it for good."""
        await self._show(kind)
        page = self.visitor.page
        await page.get_by_role("button", name="Pause", exact=True).click()
        await self._dialog().get_by_role("button", name="Pause", exact=True).click()
        await page.get_by_text("You paused this plan.").wait_for(timeout=_SLOW_MS)
        await self._dialog().wait_for(state="hidden")
        await self.take(f"paused {kind.name}")
        await page.get_by_role("button", name="Resume", exact=True).click()
        await self._dialog().get_by_role("button", name="Resume", exact=True).click()
        await page.get_by_text(_ACTIVE).wait_for(timeout=_SLOW_MS)
        await self._dialog().wait_for(state="hidden")
        await page.get_by_role("button", name=re.compile("^More for")).click()
        await page.get_by_role("menuitem", name="Cancel the plan").click()
        await self._dialog().get_by_role("button", name="Cancel the plan").click()
        await page.get_by_text("The plan is cancelled.").wait_for(timeout=_SLOW_MS)
        await self._dialog().wait_for(state="hidden")
        await self.take(f"cancelled {kind.name}")

    async def _show(self, kind: PlanJourney) -> None:
        route = self.routes.get(kind.name)
        assert route, "the plan is not open"
        await self.visitor.open(route)
        await wait_until_ready(self.visitor.page)

    async def _propose(self, kind: PlanJourney) -> str:
        """Fill in the form, wait for a preview whose checks pass, and propose by a double click."""
        page, title = self.visitor.page, f"{kind.name} {self.label}"
        await self.visitor.open("/automation")
        await page.get_by_role("link", name="New plan").first.click()
        form = page.get_by_role("form", name="New plan")
        await form.get_by_role("radio", name=re.compile(kind.name)).check()
        await form.get_by_label("Title").fill(title)
        await kind.fill(form, self.scene)
        now = datetime.now()  # noqa: DTZ005 - the field takes the local time of the browser
        await form.get_by_label("Every", exact=True).fill("1")
        await form.get_by_label("Unit").select_option("minutes")
        await form.get_by_label("First run").fill((now + _START).strftime(_LOCAL))
        await form.get_by_label("Number of runs").fill(str(kind.runs))
        await form.get_by_text("Advanced", exact=True).click()
        await form.get_by_label("Ends (your local time)").fill((now + _LIFE).strftime(_LOCAL))
        await form.get_by_label("How the plan is authorized").select_option(kind.mode)
        await page.get_by_text("All checks pass").wait_for(timeout=_SLOW_MS)
        await self.take(f"proposal {kind.name}")
        await form.get_by_role("button", name="Propose the plan").dblclick()
        await page.get_by_role("heading", name="Pay for the runs").wait_for()
        plans = (await self.visitor.call("GET", "/v1/automations?limit=100"))["items"]
        made = [each for each in plans if each["title"] == title]
        assert len(made) == 1, f"{len(made)} plans were made by one click and its repetition"
        return page.url.partition("#")[2]

    async def _pay(self) -> None:
        page = self.visitor.page
        await page.get_by_role("button", name="Pay for the runs").click()
        await page.get_by_role("button", name="Prepare the payment").click()
        await page.get_by_role("button", name="Sign and pay").click()
        await page.get_by_text("The runs are paid. Nothing runs yet.").wait_for(timeout=_SLOW_MS)

    async def _pay_across_a_reload(self, kind: PlanJourney) -> None:
        """Decline once, then pay, and load the page again while the payment is on its way."""
        visitor, page = self.visitor, self.visitor.page
        total = int((await self._detail(kind))["quote"]["total"])
        before = await self._balance(kind)
        await page.get_by_role("button", name="Pay for the runs").click()
        await page.get_by_role("button", name="Prepare the payment").click()
        await self.take("runs to pay")
        visitor.wallet.declines = True
        await page.get_by_role("button", name="Sign and pay").click()
        await page.get_by_text("Nothing was paid.").wait_for()
        visitor.wallet.declines = False
        await self.take("payment for runs declined")
        asked = self._signatures()
        await page.get_by_role("button", name="Sign and pay").click()
        await page.get_by_text("The payment is on its way.").wait_for()
        await page.reload()
        await page.get_by_text("The runs are paid. Nothing runs yet.").wait_for(timeout=_SLOW_MS)
        signed = self._signatures() - asked
        assert signed == 1, f"the wallet was asked for {signed} signatures of one payment"
        paid = before - await self._balance(kind)
        assert paid == total, f"{paid} were paid for a price of {total}"

    async def _activate(self, kind: PlanJourney) -> None:
        """Read what is signed, sign and activate; a plan signed ahead is declined on the way."""
        visitor, page = self.visitor, self.visitor.page
        verb = page.get_by_role("button", name=re.compile("activate", re.IGNORECASE)).last
        await verb.wait_for()
        await self.take(f"installation {kind.name}")
        if kind.mode == "presigned":
            visitor.wallet.declines_at = self._asked() + _DECLINED_AT
            asked = self._signatures()
            await verb.click()
            await page.get_by_text("The signature before it is kept on this page").wait_for()
            await self.take(f"installation declined {kind.name}")
            await verb.click()
            await page.get_by_text(_ACTIVE).wait_for(timeout=_SLOW_MS)
            signed, wanted = self._signatures() - asked, kind.runs * RECIPIENTS + 1
            assert signed == wanted, f"the wallet was asked for {signed} signatures, not {wanted}"
        else:
            await verb.click()
            await page.get_by_text(_ACTIVE).wait_for(timeout=_SLOW_MS)

    async def _detail(self, kind: PlanJourney) -> Any:
        plan = self.routes[kind.name].rpartition("/")[2]
        return await self.visitor.call("GET", f"/v1/automations/{plan}")

    async def _balance(self, kind: PlanJourney) -> int:
        account = (await self._detail(kind))["proposal"]["account"]
        return await self.scene.chain.balance(self.scene.chain.scene.asset, account)

    def _dialog(self) -> Locator:
        return self.visitor.page.get_by_role("dialog")

    def _asked(self) -> int:
        return len(self.visitor.wallet.asked)

    def _signatures(self) -> int:
        return sum(_SIGNS in each for each in self.visitor.wallet.asked)


@dataclass(slots=True)
class PlanTally:
    """How many plans went through the console, and what went wrong."""

    plans: int = 0
    done: int = 0
    faults: list[str] = field(default_factory=list)


async def run_plans(
    visitor: Visitor, scene: PlanScene, *, kinds: Sequence[PlanJourney] = JOURNEYS
) -> PlanTally:
    """Take a plan of each kind through its life, as a visitor who is signed in; count them."""
    tally = PlanTally(plans=len(kinds))
    plans, failed = PlanRound(visitor, scene, "in a browser"), set[str]()
    for step in (PlanRound.open, PlanRound.see_a_run, PlanRound.end):
        for kind in kinds:
            if kind.name in failed:
                continue
            try:
                await step(plans, kind)
                say(f"  console: {step.__name__} {kind.name}")
            except (Error, AssertionError, RunFailed) as fault:
                failed.add(kind.name)
                tally.faults.append(f"console {kind.name}, {step.__name__}: {fault}"[:600])
    tally.done = len(kinds) - len(failed)
    return tally
