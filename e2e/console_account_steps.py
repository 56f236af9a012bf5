"""The steps about the wallet itself: sign in, keys, the vault, the audit log, sign out."""

import re
from typing import Final

from e2e.console_journey import Journey, dialog, go
from testing.console_pages import wait_until_ready

_KEY: Final = re.compile(r"fbx_live_[A-Za-z0-9]+")


async def sign_in(journey: Journey) -> None:
    """All sign in; the buyer declines once, and nothing is signed."""
    buyer = journey.buyer
    await buyer.open("/")
    buyer.wallet.declines = True
    await buyer.page.get_by_role("button", name="Sign in", exact=True).first.click()
    await dialog(buyer).get_by_role("button", name="Freighter").click()
    await dialog(buyer).get_by_text("You declined in Freighter. Nothing was signed.").wait_for()
    buyer.wallet.declines = False
    await dialog(buyer).get_by_role("button", name="Freighter").click()
    await buyer.page.get_by_text("Signed in as").wait_for()
    for visitor in (journey.seller, journey.planner):
        await visitor.open("/account")
        await visitor.sign_in()


async def make_a_key_and_use_it(journey: Journey) -> None:
    """Create a key on the page, and read the payments with it from a program."""
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
        f"{seller.origin}/v1/payments?limit=1", headers={"authorization": f"Bearer {key[0]}"}
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
    for visitor in journey.visitors:
        await go(visitor, "/account")
        await visitor.page.get_by_role("button", name="Sign out", exact=True).click()
        await dialog(visitor).get_by_role("button", name="Sign out", exact=True).click()
        await visitor.page.get_by_text("Sign in to see this page").wait_for()
        left = await visitor.context.cookies()
        assert left == [], f"cookies are left: {[each['name'] for each in left]}"
