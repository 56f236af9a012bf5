"""The journey of three people through the console: who they are, and how a step runs."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from playwright.async_api import Browser, Error, Locator

from e2e.console_sales import Sales
from e2e.console_screens import FOLDER, Album
from testing.browser import Screen, Visitor, visit
from testing.console_pages import wait_until_ready
from testing.console_stage import BUYER, PLANNERS, SELLER, ConsoleStage
from testing.machine import RunFailed, say

SKILL: Final = "x402-pay"
_WAITED_FOR: Final = re.compile(r"^\s*-?\s*(waiting for .*)$", re.MULTILINE)


@dataclass(slots=True)
class Journey:
    """A seller, a buyer and an owner of plans, each in a browser profile, and what they made."""

    stage: ConsoleStage
    sales: Sales
    album: Album
    seller: Visitor
    buyer: Visitor
    planner: Visitor
    failed: list[str] = field(default_factory=list)
    # the pages about one record that the steps have made, by the template of their address
    records: dict[str, str] = field(default_factory=dict)
    plans: dict[str, str] = field(default_factory=dict)  # addresses by kind
    bought: str = ""  # the transaction of the call that the buyer has bought

    @property
    def visitors(self) -> tuple[Visitor, ...]:
        """All of them."""
        return (self.seller, self.buyer, self.planner)

    @property
    def screen(self) -> Screen:
        """The size of both screens."""
        return self.seller.screen

    def name(self, noun: str) -> str:
        """Name a record of this journey, so that two journeys do not meet."""
        return f"{noun} {self.screen.name}"

    async def run(self, steps: "Sequence[Step]") -> None:
        """Run the steps in turn; one that fails is recorded, and the next one tried."""
        for step in steps:
            label = f"{self.screen.name}: {step.__name__.replace('_', ' ')}"
            try:
                await step(self)
                say(f"  {label}")
            except (Error, AssertionError, RunFailed) as error:
                self.failed.append(f"{label}: {_reason(error)}")
                say(f"  FAILED {self.failed[-1]}")
                await self._keep_pictures(step.__name__)

    async def take(self, visitor: Visitor, name: str) -> None:
        """Take the page as the step has it now."""
        await self.album.take(visitor, f"step {name}")

    async def _keep_pictures(self, step: str) -> None:
        """Keep what each saw when a step failed."""
        for who, visitor in zip(("seller", "buyer", "planner"), self.visitors, strict=True):
            path = FOLDER / "failed" / f"{self.screen.name}-{step}-{who}.png"
            await visitor.page.screenshot(path=path)

    async def close(self) -> None:
        """End the profiles."""
        for visitor in self.visitors:
            await visitor.close()


Step = Callable[[Journey], Awaitable[None]]


async def open_journey(
    browser: Browser, stage: ConsoleStage, screen: Screen, sales: Sales, album: Album
) -> Journey:
    """Open the profiles, each with the wallet."""
    scripts, visitors = [stage.wallet()], []
    for account in (SELLER, BUYER, PLANNERS[screen.is_phone]):
        visitor = await visit(browser, stage.url, scripts=scripts, screen=screen)
        visitor.wallet.account = account
        visitors.append(visitor)
    seller, buyer, planner = visitors
    return Journey(stage, sales, album, seller, buyer, planner, records=records_of(sales))


def records_of(sales: Sales) -> dict[str, str]:
    """Return the pages about one record that are there before a journey."""
    return {
        "/payments/$transaction": f"/payments/{sales.owed}",
        "/skills/$slug": f"/skills/{SKILL}",
    }


def dialog(visitor: Visitor) -> Locator:
    """Return the open dialog."""
    return visitor.page.get_by_role("dialog")


async def go(visitor: Visitor, route: str) -> None:
    """Open a page and wait until it shows what it has read."""
    await visitor.open(route)
    await wait_until_ready(visitor.page)


def _reason(error: Exception) -> str:
    """Say in one line why a step failed, with what it waited for."""
    text = str(error) or type(error).__name__
    waited = _WAITED_FOR.search(text)
    return text.splitlines()[0][:300] + (f" ({waited[1][:200]})" if waited else "")
