"""The console in a real browser: hostile text, foreign pages, frames, and what it sends."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame

from farebox.kernel.networks import Network
from support.asgi import AsgiClient
from support.console_site import BUYER, SELLER, ConsoleSite, console_site
from support.promises import case
from support.stage import Stage, environment_for
from support.stage_fixtures import Networks
from testing.browser import RAN, Visitor
from testing.console_pages import page_templates
from testing.waiting import until

PAGES: Final = (
    *(each for each in page_templates() if "$" not in each),
    *("/discover?query=hostile", "/developers?tab=vault", "/skills/x402-pay"),
)
HOSTILE: Final = (
    f"<img src=x onerror={RAN}(1)>", f"<svg/onload={RAN}(2)>",
    f"</title><script>{RAN}(3)</script>", f"javascript:{RAN}(4)",
    f"{{{{constructor.constructor('{RAN}(5)')()}}}}",
    '"><iframe src=//evil.example>',
)  # fmt: skip
ADDRESSES: Final = (
    *("/v1/errors/", "/", "/discovery/search?query=", "/gateway/", "/?q="),
    *("/#/", "/#/discover?query=", "/#/payments/", "/#/sell/", "/#/skills/"),
)
TARGETS: Final = (
    "/?redirect=https://evil.example/", "/#//evil.example/", "/#https://evil.example",
    "/#/\\\\evil.example",
)  # fmt: skip
HOSTS: Final = ("127.0.0.1", "localhost")  # of the same site as the service, and of another one
KEYS: Final = "/v1/api-keys"
_BLINK_MS: Final = 60  # in which an inline handler would have run


@pytest.fixture(scope="module")
async def kept_site(
    stage_client: AsgiClient,
    stage_networks: Networks,
    module_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ConsoleSite]:
    environment = environment_for(stage_networks, module_database)
    stage = Stage(stage_client, stage_networks, environment)
    folder: Path = tmp_path_factory.mktemp("site")
    async with console_site(stage, module_database, folder) as site:
        yield site


@pytest.fixture
async def site(kept_site: ConsoleSite) -> AsyncIterator[ConsoleSite]:
    yield kept_site
    for each in kept_site.visitors:
        await each.close()
    kept_site.visitors.clear()


async def _settle(visitor: Visitor) -> None:
    """Wait until the page has read what it shows."""
    await visitor.page.wait_for_load_state("networkidle")


def _is_clean(visitor: Visitor) -> None:
    record = visitor.record
    assert record.scripts_run == []
    assert record.policy_violations == []
    assert record.foreign_requests == []
    assert record.console_errors == []


@case("AU-039")
async def test_hostile_text_is_shown_as_text_on_every_page(site: ConsoleSite) -> None:
    seller = await site.signed_in(SELLER)
    for number, text in enumerate(HOSTILE):
        await seller.call("POST", KEYS, {"name": f"{text}"[:78]})
        await seller.call(
            "POST", "/v1/vault/secrets", {"name": text[:60], "value": "x" * 16, "purpose": "bearer"}
        )
        await _sell_hostile(site, seller, number, text)
    for path in PAGES:
        await seller.open(path)
        await _settle(seller)
    for path in ("/developers", "/developers?tab=vault"):
        await seller.open(path)
        for text in HOSTILE:
            await seller.page.get_by_text(text, exact=True).first.wait_for()
    assert await seller.page.locator("iframe, img[src=x]").count() == 0
    _is_clean(seller)


async def _sell_hostile(site: ConsoleSite, seller: Visitor, number: int, text: str) -> None:
    body = site.gateway.body(
        name=text[:32],
        description=f"hostile {text}",
        tags=[text[:32]],
        slug=f"hostile-{number}",
    )
    wrapper = await seller.call("POST", "/v1/wrappers", body)
    await seller.call("POST", f"/v1/wrappers/{wrapper['id']}/enable")


@case("AU-039")
async def test_text_that_runs_is_noticed_and_stopped_by_the_policy(site: ConsoleSite) -> None:
    visitor = await site.visit()
    await visitor.open("/")
    await visitor.page.evaluate("text => { document.body.innerHTML = text }", HOSTILE[0])
    await until(lambda: visitor.record.policy_violations)  # the policy refuses it
    await visitor.page.wait_for_timeout(200)
    assert visitor.record.scripts_run == []
    site.foreign.pages["/run"] = HOSTILE[0]
    await visitor.page.goto(f"http://127.0.0.1:{site.foreign_port}/run")
    await until(lambda: visitor.record.scripts_run)  # without the policy it runs, and is noticed


@case("AU-039")
async def test_answer_to_a_hostile_address_runs_nothing(site: ConsoleSite) -> None:
    visitor = await site.visit()
    one_segment, several_segments = HOSTILE[0], HOSTILE[1] + HOSTILE[2]
    for path in ADDRESSES:
        for text in (one_segment, several_segments):
            await visitor.page.goto(f"{site.url}{path}{text}")
            await visitor.page.wait_for_timeout(_BLINK_MS)
    _is_clean(visitor)


@case("AU-040")
async def test_sign_in_sends_no_key_and_keeps_none_in_the_page(site: ConsoleSite) -> None:
    visitor = await site.signed_in(BUYER)
    scene = site.gateway.stage.networks[Network.TESTNET].scene
    seeds = [each.secret.reveal() for each in (scene.payers[0], scene.payees[0])]
    sent = "\n".join(visitor.record.sent)
    assert "/v1/auth/verify" in sent
    assert [seed for seed in seeds if seed in sent] == []
    kept = await visitor.page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state])"
    )
    assert [each for each in (*seeds, "fbx_sess_") if each in kept] == []
    (cookie,) = await visitor.context.cookies()
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    _is_clean(visitor)


@case("AU-041")
async def test_console_is_shown_in_no_frame(site: ConsoleSite) -> None:
    visitor = await site.visit()
    tags = ("iframe src", "embed src", "object data")
    framed = (f'<{each}="{site.url}/#/"></{each.split()[0]}>' for each in tags)
    site.foreign.pages["/frame"] = "".join(framed)
    for host in HOSTS:
        await visitor.page.goto(f"http://{host}:{site.foreign_port}/frame")
        await visitor.page.wait_for_timeout(_BLINK_MS)
        shown = [await _content_of(each) for each in visitor.page.frames[1:]]
        assert not [text for text in shown if "assets/" in text], host
    site.foreign.pages["/frame"] = '<iframe src="/framed"></iframe>'
    site.foreign.pages["/framed"] = "a page with assets/ that allows it"
    await visitor.page.goto(f"http://{HOSTS[0]}:{site.foreign_port}/frame")
    assert "assets/" in await visitor.page.frames[1].content(), "a frame is seen where it is shown"


async def _content_of(frame: Frame) -> str:
    """What a frame shows; nothing where the browser has taken it away meanwhile."""
    try:
        return await frame.content()
    except PlaywrightError:
        if not frame.is_detached():
            raise
        return ""


@case("AU-041")
async def test_sign_in_leads_nowhere_else(site: ConsoleSite) -> None:
    visitor = await site.visit()
    for target in TARGETS:
        await visitor.page.goto("about:blank")
        await visitor.context.clear_cookies()
        await visitor.page.goto(site.url + target)
        await visitor.sign_in()
        assert visitor.page.url.startswith(f"{site.url}/"), target
    _is_clean(visitor)


@case("AU-037", "AU-038")
async def test_foreign_page_reads_and_changes_nothing_in_a_signed_in_browser(
    site: ConsoleSite,
) -> None:
    visitor = await site.signed_in()
    before = await visitor.call("GET", KEYS)
    own = await visitor.context.new_page()  # the session is alive in another tab meanwhile
    await own.goto(f"{site.url}/#/")
    for host in HOSTS:
        await visitor.page.goto(f"http://{host}:{site.foreign_port}/")
        await _reads_nothing(visitor, site)
        await _sends_nothing(visitor, site)
        await _posts_no_form(visitor, site, host)
        await visitor.open("/")
        assert await visitor.call("GET", KEYS) == before, f"{host}: no key, and still signed in"


async def _reads_nothing(visitor: Visitor, site: ConsoleSite) -> None:
    read = """async ([url, mode]) => {
        try {
            const answer = await fetch(url, {credentials: "include", mode});
            return [answer.type, await answer.text()];
        } catch (error) { return ["refused", ""] }
    }"""
    for path in ("/v1/auth/me", KEYS, "/v1/payments", "/", "/assets/early.js"):
        for mode in ("cors", "no-cors"):
            kind, text = await visitor.page.evaluate(read, [site.url + path, mode])
            assert kind in ("refused", "opaque"), path
            assert text == "", path
    opened = await visitor.page.evaluate(
        "url => { const page = window.open(url); try { return page && page.location.href } "
        "catch (error) { return 'refused' } }",
        site.url,
    )
    assert opened in (None, "refused", "about:blank")


async def _sends_nothing(visitor: Visitor, site: ConsoleSite) -> None:
    body = json.dumps({"name": "evil robot"})
    send = """async ([url, init]) => {
        try { return (await fetch(url, {...init, credentials: "include"})).type }
        catch (error) { return "refused" }
    }"""
    plain = {"method": "POST", "mode": "no-cors", "body": body}
    proved = {
        "method": "POST",
        "body": body,
        "headers": {"X-Farebox-CSRF": "1", "Content-Type": "application/json"},
    }
    for path in (KEYS, "/v1/auth/logout", "/v1/wrappers"):
        for init in (plain, proved):
            kind = await visitor.page.evaluate(send, [site.url + path, init])
            assert kind in ("refused", "opaque")


async def _posts_no_form(visitor: Visitor, site: ConsoleSite, host: str) -> None:
    site.foreign.pages["/form"] = (
        f'<form method=post enctype=text/plain action="{site.url}{KEYS}">'
        """<input name='{"name":"evil robot","x":"' value='"}'></form>"""
    )
    await visitor.page.goto(f"http://{host}:{site.foreign_port}/form")
    async with visitor.page.expect_navigation() as answered:
        await visitor.page.evaluate("document.forms[0].submit()")
    answer = await answered.value
    assert answer.status in (401, 403)


async def test_tab_of_one_account_makes_nothing_for_another(site: ConsoleSite) -> None:
    """A buyer's form stays while a seller signs in next to it, and is sent for the buyer alone."""
    buyer = await site.signed_in(BUYER)
    await buyer.open("/developers")
    await buyer.page.get_by_role("button", name="Create a key").first.click()
    await buyer.page.get_by_label("Name").fill("of the buyer")
    seller = await buyer.open_tab()
    seller.wallet.account = SELLER
    await seller.open("/")
    await seller.page.get_by_role("button", name="Testnet").first.click()
    await seller.page.get_by_text("Use another wallet or network").click()
    await seller.page.get_by_role("dialog").get_by_role("button", name="Freighter").click()
    await seller.page.get_by_text("Signed in as").wait_for()
    await buyer.page.get_by_text("Another tab has signed in as").first.wait_for()
    await buyer.page.get_by_role("button", name="Create the key").click()
    again = buyer.page.get_by_role("dialog", name="Sign in again")
    await again.wait_for()
    assert await _key_names(seller) == []
    buyer.wallet.account = SELLER  # the person forgets to switch the wallet
    await again.get_by_role("button", name="Freighter").click()
    await again.get_by_text("What you typed stays.").wait_for()
    buyer.wallet.account = BUYER
    await again.get_by_role("button", name="Freighter").click()
    await again.wait_for(state="detached")
    assert await buyer.page.get_by_label("Name").input_value() == "of the buyer"
    await seller.page.get_by_text("Another tab has signed in as").wait_for()
    await buyer.page.get_by_role("button", name="Create the key").click()
    await buyer.page.get_by_text("I have stored it").click()
    assert await _key_names(buyer) == ["of the buyer"]
    await seller.page.get_by_role("button", name="Sign in again as").click()
    await seller.page.get_by_role("dialog").get_by_role("button", name="Freighter").click()
    await seller.page.get_by_role("dialog").wait_for(state="detached")
    assert await _key_names(seller) == [], "it is not the seller's"
    _is_clean(buyer)
    _is_clean(seller)


async def _key_names(visitor: Visitor) -> list[str]:
    """The names of the working keys of whoever is signed in."""
    items = (await visitor.call("GET", KEYS))["items"]
    return [each["name"] for each in items if each["name"] == "of the buyer"]
