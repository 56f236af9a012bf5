"""The steps of a trade: a wrapper is made, checked, enabled, found, bought and accounted for."""

import re
from typing import Any, Final

from playwright.async_api import Locator

from e2e.console_journey import Journey, dialog, go
from farebox.gateway.payment import MAX_ATTEMPTS
from farebox.local.wrapped_api import NAME
from testing.browser import Visitor
from testing.console_pages import wait_until_ready

_PRICE: Final = "0.02"
_SCHEMA: Final = """{"type": "object", "properties": {"days": {"type": "integer",
"description": "How many days, 1 to 7"}}}"""
_HASH: Final = re.compile(r"/payments/([0-9a-f]{64})")
_SLOW_MS: Final = 60_000  # a payment is final after several ledgers
_SIGNS: Final = "payment authorization"  # in the question of the wallet's window


async def create_a_wrapper(journey: Journey) -> None:
    """Fill in the one form: the API, its credential, the price, a route with its schema."""
    page, name = journey.seller.page, journey.name("Harbour tides")
    await go(journey.seller, "/sell")
    await page.get_by_role("link", name="New wrapper").first.click()
    form = page.get_by_role("form", name="New wrapper")
    await form.get_by_role("button", name="Create the wrapper").click()
    await form.get_by_text("Enter the URL of your API.").wait_for()
    await journey.take(journey.seller, "wrapper form with errors")
    await form.get_by_label("URL of your API").fill(f"https://{NAME}/forecast")
    await form.get_by_label("Name", exact=True).fill(name)
    await form.get_by_label("Description", exact=True).fill("High and low water of a harbour")
    await form.get_by_label("Tags").fill("tides, harbours")
    await form.get_by_label("Price of a call").fill(_PRICE)
    await form.get_by_label("Your API asks for").select_option(label="Authorization: Bearer …")
    secret = journey.name("forecast api")
    await form.get_by_label("Secret", exact=True).select_option(label=secret)
    await form.get_by_role("button", name="Add a route").click()
    route = form.get_by_role("group", name="Route 1")
    await route.get_by_label("Path behind the slug").fill("/harbour/:name")
    await route.get_by_text("Schemas and prices in several tokens").click()
    await route.get_by_label("Schema of the query").fill(_SCHEMA)
    await form.get_by_label("Paths without a route").select_option(label="They are refused (404)")
    await journey.take(journey.seller, "wrapper form filled in")
    await form.get_by_role("button", name="Create the wrapper").click()
    await page.get_by_role("heading", name=name, level=1).wait_for()
    journey.records["/sell/$id"] = _route(journey.seller)


async def check_and_enable_it(journey: Journey) -> None:
    """Run the check, see what a buyer will see, and enable the wrapper."""
    page = journey.seller.page
    await go(journey.seller, journey.records["/sell/$id"])
    await page.get_by_text("Nobody can buy it yet.").wait_for()
    await page.get_by_role("button", name="Run the check").click()
    await page.get_by_text("Ready: a paid request reaches your API.").wait_for()
    await page.get_by_text("What a buyer gets before paying (402)").click()
    await page.get_by_text("PAYMENT-REQUIRED:").wait_for()
    await journey.take(journey.seller, "wrapper checked")
    await page.get_by_role("button", name="Enable", exact=True).click()
    await dialog(journey.seller).get_by_role("button", name="Enable", exact=True).click()
    await page.get_by_role("button", name="Disable", exact=True).wait_for()
    await dialog(journey.seller).wait_for(state="hidden")


async def find_it_by_search(journey: Journey) -> None:
    """Search for it in a buyer's words, read why it ranks there, and open its page."""
    page, name = journey.buyer.page, journey.name("Harbour tides")
    await go(journey.buyer, "/discover")
    await page.get_by_label("What do you need?").fill(f"low water {journey.screen.name} harbour")
    result = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=name))
    await result.get_by_text("Why it ranks here").click()
    await result.get_by_role("meter").first.wait_for()
    await journey.take(journey.buyer, "search result")
    await result.get_by_role("link", name=name).click()
    await page.get_by_role("heading", name=name, level=1).wait_for()
    await wait_until_ready(page)
    journey.records["/discover/listing"] = _route(journey.buyer)


async def buy_a_call(journey: Journey) -> None:
    """Ask for the price, decline once, sign, and get the receipt with the API's response."""
    buyer, page = journey.buyer, journey.buyer.page
    trial = await _ask(journey)
    await journey.take(buyer, "payment offered")
    await trial.get_by_role("button", name="Prepare the payment").click()
    await trial.get_by_role("button", name="Sign and pay").wait_for()
    await journey.take(buyer, "payment to sign")
    buyer.wallet.declines = True
    await trial.get_by_role("button", name="Sign and pay").click()
    await trial.get_by_text("Nothing was paid.").wait_for()
    buyer.wallet.declines = False
    await journey.take(buyer, "payment declined")
    await trial.get_by_role("button", name="Sign and pay").click()
    await trial.get_by_text("Paid and delivered").wait_for(timeout=_SLOW_MS)
    await trial.get_by_text('"tomorrow":').or_(trial.get_by_text("sunny")).first.wait_for()
    await journey.take(buyer, "payment delivered")
    await trial.get_by_role("link", name="Look at the payment").click()
    await page.get_by_text("The money arrived, and the response was delivered.").wait_for()
    await page.get_by_role("heading", name="Receipt").wait_for()
    found = _HASH.search(page.url)
    assert found, f"the address has no transaction: {page.url}"
    journey.bought = found[1]


async def buy_a_call_that_comes_later(journey: Journey) -> None:
    """The API fails at first: the page goes on with the same signature, across a reload."""
    buyer, api = journey.buyer, journey.stage.api
    before = await _paid(buyer)
    trial = await _ask(journey)
    await trial.get_by_role("button", name="Prepare the payment").click()
    signed = _signatures(buyer)
    api.is_broken = True
    try:
        await trial.get_by_role("button", name="Sign and pay").click()
        await trial.get_by_text("Paid, and not delivered yet").wait_for(timeout=_SLOW_MS)
        await journey.take(buyer, "payment not delivered yet")
    finally:
        api.is_broken = False
    await buyer.page.reload()
    await trial.get_by_text("Paid and delivered").wait_for(timeout=_SLOW_MS)
    asked = _signatures(buyer) - signed
    assert asked == 1, f"the wallet was asked for {asked} signatures"
    paid = len(await _paid(buyer)) - len(before)
    assert paid == 1, f"{paid} payments were made of one signature"


async def see_the_payments(journey: Journey) -> None:
    """The buyer sees what it paid, the seller what it received; the list is saved as CSV."""
    for visitor, route in ((journey.buyer, "?role=paid"), (journey.seller, "")):
        await go(visitor, f"/payments{route}")
        link = f'a[href*="/payments/{journey.bought}"]'
        await visitor.page.locator(link).first.wait_for()
    page = journey.seller.page
    await page.get_by_role("button", name="Export as CSV").click()
    await journey.take(journey.seller, "payments export")
    async with page.expect_download() as download:
        await dialog(journey.seller).get_by_role("button", name="Save the file").click()
    text = (await (await download.value).path()).read_text()
    assert journey.bought in text, "the CSV has not the payment"


async def see_the_analytics(journey: Journey) -> None:
    """The seller sees two delivered calls, their revenue, and the latest requests."""
    page = journey.seller.page
    await go(journey.seller, journey.records["/sell/$id"])
    await page.get_by_role("tab", name="Analytics").click()
    figure = page.locator("dl > div").filter(has=page.get_by_text("Delivered", exact=True))
    await figure.get_by_text("2", exact=True).wait_for()
    await page.get_by_role("heading", name="Calls", exact=True).wait_for()
    await page.get_by_role("table", name="Last requests").get_by_role("link").first.wait_for()


async def close_an_owed_call(journey: Journey) -> None:
    """From the list of wrappers to the owed payment, and how the seller pays it back."""
    page = journey.seller.page
    await go(journey.seller, "/sell")
    await page.get_by_role("link", name="Lisbon forecast").click()
    await page.get_by_role("tab", name="Owed calls").click()
    await page.get_by_role("link", name="Pay it back").first.click()
    await page.get_by_role("heading", name="Pay it back").wait_for()
    await page.get_by_text(f"{MAX_ATTEMPTS} times").wait_for()
    form = page.get_by_role("form", name="Record the refund")
    await form.get_by_label("Hash of the refund").fill("abc")
    await form.get_by_role("button", name="Record the refund").click()
    await form.get_by_text("A transaction hash has 64 characters").wait_for()
    await form.get_by_label("Hash of the refund").fill(journey.bought)  # a payment, and no refund
    await form.get_by_role("button", name="Record the refund").click()
    await page.get_by_role("alert").first.wait_for()
    await journey.take(journey.seller, "refund refused")


async def _ask(journey: Journey) -> Locator:
    """Fill in the parameters and ask for the price; return the part of the page that tries it."""
    await go(journey.buyer, journey.records["/discover/listing"])
    trial = journey.buyer.page.get_by_role("complementary", name="Try it")
    again = trial.get_by_role("button", name="Call it again")
    name = trial.get_by_label("name", exact=True)
    await again.or_(name).first.wait_for()
    if await again.is_visible():
        await again.click()
    await name.fill("lisbon")
    await trial.get_by_label("days (optional)").fill("3")
    await trial.get_by_role("button", name="Ask for the price").click()
    await trial.get_by_text(_PRICE).first.wait_for()
    return trial


def _route(visitor: Visitor) -> str:
    """Return the page's address within the console."""
    return visitor.page.url.partition("#")[2]


def _signatures(visitor: Visitor) -> int:
    return sum(_SIGNS in each for each in visitor.wallet.asked)


async def _paid(visitor: Visitor) -> list[Any]:
    items: list[Any] = (await visitor.call("GET", "/v1/payments?role=paid&limit=100"))["items"]
    return items
