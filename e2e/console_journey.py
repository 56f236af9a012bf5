"""The journey of a seller and a buyer through the console, step by step, at one screen size."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from playwright.async_api import Browser, Error, Locator

from e2e.browser import Screen, Visitor, visit
from e2e.console_pages import wait_until_ready
from e2e.console_sales import Sales
from e2e.console_screens import FOLDER
from e2e.console_stage import BUYER, SELLER, ConsoleStage
from e2e.machine import RunFailed, say

SKILL: Final = "x402-pay"
_KEY: Final = re.compile(r"fbx_live_[A-Za-z0-9]+")


@dataclass(slots=True)
class Journey:
    """A seller and a buyer, each with a browser profile, and what the steps have made."""

    stage: ConsoleStage
    sales: Sales
    seller: Visitor
    buyer: Visitor
    failed: list[str] = field(default_factory=list)
    # the pages about one record that the steps have made, by the template of their address
    records: dict[str, str] = field(default_factory=dict)

    @property
    def screen(self) -> Screen:
        """The size of both screens."""
        return self.seller.screen

    def name(self, noun: str) -> str:
        """Name a record of this journey, so that two journeys do not meet."""
        return f"{noun} {self.screen.name}"

    async def run(self, steps: "list[Step]") -> None:
        """Run the steps in turn; one that fails is recorded, and the next one tried."""
        for step in steps:
            label = f"{self.screen.name}: {step.__name__.replace('_', ' ')}"
            try:
                await step(self)
                say(f"  {label}")
            except (Error, AssertionError, RunFailed) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                self.failed.append(f"{label}: {reason[:300]}")
                say(f"  FAILED {self.failed[-1]}")
                await self._keep_pictures(step.__name__)

    async def _keep_pictures(self, step: str) -> None:
        """Keep what both saw when a step failed."""
        for who, visitor in (("seller", self.seller), ("buyer", self.buyer)):
            path = FOLDER / "failed" / f"{self.screen.name}-{step}-{who}.png"
            await visitor.page.screenshot(path=path)

    async def close(self) -> None:
        """End both profiles."""
        await self.seller.close()
        await self.buyer.close()


Step = Callable[[Journey], Awaitable[None]]


async def open_journey(
    browser: Browser, stage: ConsoleStage, screen: Screen, sales: Sales
) -> Journey:
    """Open the two profiles, each with the wallet."""
    scripts = [stage.wallet()]
    seller = await visit(browser, stage.url, scripts=scripts, screen=screen)
    buyer = await visit(browser, stage.url, scripts=scripts, screen=screen)
    seller.wallet.account, buyer.wallet.account = SELLER, BUYER
    records = {
        "/payments/$transaction": f"/payments/{sales.owed}",
        "/skills/$slug": f"/skills/{SKILL}",
    }
    return Journey(stage, sales, seller, buyer, records=records)


async def sign_in(journey: Journey) -> None:
    """Both sign in; the buyer declines once, and nothing is signed."""
    buyer = journey.buyer
    await buyer.open("/")
    buyer.wallet.declines = True
    await buyer.page.get_by_role("button", name="Sign in", exact=True).first.click()
    await dialog(buyer).get_by_role("button", name="Freighter").click()
    await dialog(buyer).get_by_text("You declined in Freighter. Nothing was signed.").wait_for()
    buyer.wallet.declines = False
    await dialog(buyer).get_by_role("button", name="Freighter").click()
    await buyer.page.get_by_text("Signed in as").wait_for()
    await journey.seller.open("/account")
    await journey.seller.sign_in()


async def make_a_key_and_use_it(journey: Journey) -> None:
    """Create a key on the page, and read the keys with it from a program."""
    seller, name = journey.seller, journey.name("Shop server")
    await go(seller, "/developers")
    await seller.page.get_by_role("button", name="Create a key").first.click()
    form = dialog(seller)
    await form.get_by_label("Name").fill(name)
    await form.get_by_role("button", name="Create the key").click()
    issued = dialog(seller).filter(has_text="Copy the key now")
    await issued.wait_for()
    key = _KEY.search(await issued.inner_text())
    assert key, "the new key is not shown"
    await issued.get_by_role("button", name="I have stored it").click()
    await seller.page.get_by_text(name).first.wait_for()
    answer = await seller.context.request.get(
        f"{seller.origin}/v1/networks", headers={"authorization": f"Bearer {key[0]}"}
    )
    assert answer.ok, f"the key is answered {answer.status}"
    assert key[0] not in await seller.page.content(), "the key is still in the page"


async def store_and_rotate_a_secret(journey: Journey) -> None:
    """Store the API's token in the vault, rotate it, and see it nowhere again."""
    seller, name = journey.seller, journey.name("forecast api")
    token = journey.stage.api.token.reveal()
    await go(seller, "/developers?tab=vault")
    await seller.page.get_by_role("button", name="Store a secret").first.click()
    await dialog(seller).get_by_label("Name").fill(name)
    await dialog(seller).get_by_label("Value").fill("a token with spaces")
    await dialog(seller).get_by_role("button", name="Store it").click()
    await dialog(seller).get_by_text("The service refused this").wait_for()  # the form stays
    await dialog(seller).get_by_label("Value").fill("an-old-token-of-the-API")
    await dialog(seller).get_by_role("button", name="Store it").click()
    await dialog(seller).wait_for(state="hidden")
    await seller.page.get_by_text(name).first.wait_for()
    await seller.page.get_by_role("button", name=f"Actions for {name}").click()
    await seller.page.get_by_role("menuitem", name="Rotate").click()
    await dialog(seller).get_by_label("New value").fill(token)
    await dialog(seller).get_by_role("button", name="Rotate").click()
    await dialog(seller).wait_for(state="hidden")
    await wait_until_ready(seller.page)
    assert token not in await seller.page.content(), "the secret is in the page"


async def read_the_audit_log(journey: Journey) -> None:
    """See what was done, in the account's own log."""
    seller = journey.seller
    await go(seller, "/account")
    await wait_until_ready(seller.page)
    await seller.page.get_by_role("heading", name="Audit log").wait_for()


async def sign_out(journey: Journey) -> None:
    """Sign out; the session's cookie is gone, and the page asks to sign in."""
    for visitor in (journey.seller, journey.buyer):
        await go(visitor, "/account")
        await visitor.page.get_by_role("button", name="Sign out", exact=True).click()
        await dialog(visitor).get_by_role("button", name="Sign out", exact=True).click()
        await visitor.page.get_by_text("Sign in to see this page").wait_for()
        left = await visitor.context.cookies()
        assert left == [], f"cookies are left: {[each['name'] for each in left]}"


STEPS: Final[list[Step]] = [
    sign_in,
    make_a_key_and_use_it,
    store_and_rotate_a_secret,
    read_the_audit_log,
]
LAST_STEPS: Final[list[Step]] = [sign_out]


def dialog(visitor: Visitor) -> Locator:
    """Return the open dialog."""
    return visitor.page.get_by_role("dialog")


async def go(visitor: Visitor, route: str) -> None:
    """Open a page and wait until it shows what it has read."""
    await visitor.open(route)
    await wait_until_ready(visitor.page)
