"""The steps of plans in the console: each is proposed, paid, signed, seen to run, and cancelled.

They need a stage whose service has a paymaster with channels and a mandate factory on the network
of the wallet, a keeper on its ledger, and an exchange for purchases and rebalancing.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from playwright.async_api import Locator, Page

from e2e.browser import Visitor
from e2e.console_journey import dialog, go

_RUN_MS: Final = 180_000  # the first run is due at the start of a minute
_SLOW_MS: Final = 60_000  # a payment is final after several ledgers
_LOCAL: Final = "%Y-%m-%dT%H:%M"
_START: Final = timedelta(seconds=70)
_LIFE: Final = timedelta(minutes=40)  # within what an authorization of a fast devnet lives


@dataclass(frozen=True, slots=True)
class PlanScene:
    """What the plans act on; `venue` is a configured exchange, `oracle` its prices."""

    keeper: str
    recipients: tuple[str, ...]
    token_out: str
    oracle: str


async def _fill_call(form: Locator, scene: PlanScene) -> None:
    await form.get_by_role("textbox", name="Contract", exact=True).fill(scene.keeper)
    await form.get_by_label("It follows the autolayer convention").check()


async def _fill_disbursement(form: Locator, scene: PlanScene) -> None:
    recipients = form.get_by_role("textbox", name="Recipients")
    first = scene.recipients[0]
    await recipients.fill(f"{first},0.5,Anna\n{first},1,again")
    await form.get_by_text("This recipient is there before.").wait_for()
    lines = [f'{each},0.25,"Invoice {number}"' for number, each in enumerate(scene.recipients)]
    await recipients.fill("\n".join(lines))


async def _fill_token(form: Locator, label: str, contract: str) -> None:
    await form.get_by_label(label, exact=True).select_option("other")
    await form.get_by_label(f"{label}: its contract").fill(contract)


async def _fill_dca(form: Locator, scene: PlanScene) -> None:
    await form.get_by_label("Amount of a run").fill("1")
    await _fill_token(form, "Buy", scene.token_out)
    await form.get_by_label("At least", exact=True).fill("1")
    await form.get_by_label("for", exact=True).fill("10")


async def _fill_rebalance(form: Locator, scene: PlanScene) -> None:
    await form.get_by_label("Oracle (SEP-40)").fill(scene.oracle)
    first = form.get_by_role("group", name="Token 1")
    await first.get_by_label("Most to sell in a run").fill("1")
    second = form.get_by_role("group", name="Token 2")
    await _fill_token(second, "Token", scene.token_out)
    await second.get_by_label("Most to sell in a run").fill("10000000")


KINDS: Final[dict[str, Callable[[Locator, PlanScene], Awaitable[None]]]] = {
    "Contract call": _fill_call,
    "Disbursement": _fill_disbursement,
    "Regular purchase": _fill_dca,
    "Rebalancing": _fill_rebalance,
}


async def propose(visitor: Visitor, scene: PlanScene, kind: str, title: str) -> str:
    """Fill in the form, wait for a preview whose checks pass, and propose; return its route."""
    page = visitor.page
    await go(visitor, "/automation/new")
    form = page.get_by_role("form", name="New plan")
    await form.get_by_role("radio", name=re.compile(kind)).check()
    await form.get_by_label("Title").fill(title)
    await KINDS[kind](form, scene)
    now = datetime.now()  # noqa: DTZ005 - the field takes the local time of the browser
    await form.get_by_label("Every", exact=True).fill("1")
    await form.get_by_label("Unit").select_option("minutes")
    await form.get_by_label("First run").fill((now + _START).strftime(_LOCAL))
    await form.get_by_label("Number of runs").fill("2")
    await form.get_by_text("Advanced").click()
    await form.get_by_label("Ends (your local time)").fill((now + _LIFE).strftime(_LOCAL))
    await page.get_by_text("All checks pass").wait_for()
    await form.get_by_role("button", name="Propose the plan").click()
    await page.get_by_role("heading", name="Pay for the runs").wait_for()
    return page.url.partition("#")[2]


async def pay_and_activate(page: Page) -> None:
    """Pay with the wallet where the runs cost something, read what is signed, sign and activate."""
    free = page.get_by_role("button", name="Take the runs")
    if await free.count():
        await free.click()
    else:
        await page.get_by_role("button", name="Pay for the runs").click()
        await page.get_by_role("button", name="Prepare the payment").click()
        await page.get_by_role("button", name="Sign and pay").click()
    await page.get_by_text("The runs are paid. Nothing runs yet.").wait_for(timeout=_SLOW_MS)
    await page.get_by_role("button", name=re.compile("activate", re.IGNORECASE)).last.click()
    running = re.compile(r"The plan is active\.|A run is under way\.")
    await page.get_by_text(running).wait_for(timeout=_SLOW_MS)


async def see_a_run(page: Page) -> None:
    """Wait until a run has succeeded, and read its attempts."""
    await page.get_by_role("tab", name="Runs").click()
    await page.get_by_text("Succeeded", exact=True).first.wait_for(timeout=_RUN_MS)
    await page.get_by_role("button", name="Details of run 1").first.click()
    await page.get_by_text("It is on the ledger.").first.wait_for()
    await page.keyboard.press("Escape")


async def pause_resume_and_cancel(visitor: Visitor) -> None:
    """Pause the plan, resume it, and cancel it for good."""
    page = visitor.page
    await page.get_by_role("button", name="Pause", exact=True).click()
    await dialog(visitor).get_by_role("button", name="Pause", exact=True).click()
    await page.get_by_text("You paused this plan.").wait_for()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await dialog(visitor).get_by_role("button", name="Resume", exact=True).click()
    await page.get_by_text(re.compile(r"The plan is active\.|A run is under way\.")).wait_for()
    await page.get_by_role("button", name=re.compile("^More for")).click()
    await page.get_by_role("menuitem", name="Cancel the plan").click()
    await dialog(visitor).get_by_role("button", name="Cancel the plan").click()
    await page.get_by_text("The plan is cancelled.").wait_for(timeout=_SLOW_MS)
