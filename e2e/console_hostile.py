"""Hostile text in every field that a stranger writes, and in every error."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from playwright.async_api import Error, Route

from e2e.console_screens import API
from farebox.kernel.networks import Network
from farebox.local.wrapped_api import NAME
from testing.browser import RAN, Visitor
from testing.console_pages import page_templates, wait_until_ready
from testing.console_stage import ConsoleStage
from testing.machine import RunFailed

TEXTS: Final = (
    f"<img src=x onerror={RAN}(1)>",
    f"<svg/onload={RAN}(2)>",
    f"javascript:{RAN}(3)",
    '<img src="//evil.example/x">',
    "<style>@import'//evil.example'",
    f"<iframe srcdoc='<script>parent.{RAN}(4)</script>'>",
)
_MAX: Final = {"name": 32, "description": 500, "tag": 32}
_SEEN: Final = 10  # so many first characters of a text are looked for; a page may cut it
_WAIT_MS: Final = 300
# members that strangers or the wallet's owner write, or that name a fault
_WORDS: Final = (
    *("name", "serviceName", "toolName", "slug", "label", "title", "category", "source", "actor"),
    *("description", "summary", "text", "tags", "path", "mimeType", "userAgent", "event", "target"),
    *("message", "reason", "problem", "settingsProblem", "credentialProblem", "detail", "help"),
)
_ME: Final = "/v1/auth/me"  # stays as it is: a page for a signed-in wallet would show nothing
_NEXT: Final = itertools.cycle(TEXTS)


async def sell_hostile(stage: ConsoleStage, seller: Visitor) -> dict[str, Any]:
    """Create and enable wrappers, keys and secrets whose every text is hostile; return the last."""
    market = stage.market(Network.TESTNET)
    wrapper: dict[str, Any] = {}
    for number, text in enumerate(TEXTS):
        await seller.call("POST", "/v1/api-keys", {"name": f"{text} {seller.screen.name}"[:80]})
        secret = {"name": f"{text} {seller.screen.name}"[:80], "value": "x" * 20}
        await seller.call("POST", "/v1/vault/secrets", {**secret, "purpose": "bearer"})
        body = {
            "name": text[: _MAX["name"]],
            "description": " ".join(TEXTS)[: _MAX["description"]],
            "tags": [text[: _MAX["tag"]]],
            "slug": f"hostile-{seller.screen.name}-{number}",
            "upstreamUrl": f"https://{NAME}/forecast",
            "network": market.network.value,
            "asset": market.scene.asset,
            "amount": "10000",
            "payTo": market.pay_to,
            "routes": [
                {
                    "method": "GET",
                    "path": "/hostile",
                    "description": text,
                    "input": {"type": "object", "description": text, "title": text},
                }
            ],
        }
        wrapper = await seller.call("POST", "/v1/wrappers", body)
        await seller.call("POST", f"/v1/wrappers/{wrapper['id']}/enable")
    return wrapper


async def propose_hostile(stage: ConsoleStage, owner: Visitor) -> str:
    """Propose plans whose titles are hostile; return the address of the last one's page."""
    plan: dict[str, Any] = {}
    start = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    every = {"type": "interval", "everySeconds": 3600, "startAt": start.replace("+00:00", "Z")}
    for text in TEXTS:
        body = {
            "network": Network.TESTNET.value,
            "kind": "contract_call",
            "title": text,
            "schedule": every,
            "spec": {"contract": stage.plans.keeper, "autolayer": True, "effects": {}},
            "runLimit": 2,
            "authorityMode": "open",
            "allowDuplicate": True,
        }
        plan = await owner.call("POST", "/v1/automations", body)
    return f"/automation/{plan['proposal']['id']}"


async def listing_of(seller: Visitor, wrapper: Mapping[str, Any]) -> str:
    """Return the page's address of a wrapper's listing.

    Raises:
        RunFailed: the catalog does not list it.
    """
    pay_to = wrapper["accepts"][0]["payTo"]
    found = await seller.call("GET", f"/discovery/resources?payTo={pay_to}&limit=100")
    for item in found["items"]:
        if item["resource"].startswith(wrapper["endpoint"]):
            members = ("resource", "network", "method")
            query = {name: item[name] for name in members if name in item}
            return f"/discover/listing?{urlencode({**query, 'payTo': pay_to})}"
    raise RunFailed(f"the catalog does not list {wrapper['endpoint']}")


@dataclass(slots=True)
class HostileRound:
    """A visit of all pages with hostile text, and the pages that have shown such a text."""

    visitor: Visitor
    routes: Sequence[str]
    shown: set[str] = field(default_factory=set)

    async def visit_all(self) -> None:
        """Visit the pages: as they are, with hostile words, with nothing else, with errors."""
        await self._visit()
        for answer in (_poison_words, _poison, _refuse):
            await self.visitor.page.route(API, answer)
            await self._visit()
            await self.visitor.page.unroute(API)

    @property
    def missed(self) -> list[str]:
        """The pages on which no hostile text was seen, or that have not been visited."""
        templates = page_templates()
        return [each for each in templates if each not in map(_template, self.shown)]

    async def _visit(self) -> None:
        page = self.visitor.page
        for route in self.routes:
            await page.goto("about:blank")
            await self.visitor.open(route)
            try:
                await wait_until_ready(page, timeout_ms=2_000)
            except Error:
                await page.wait_for_timeout(_WAIT_MS)
            await page.wait_for_timeout(_WAIT_MS / 3)
            text = await page.locator("main").inner_text()
            if any(each[:_SEEN] in text for each in TEXTS):
                self.shown.add(route)


def _template(route: str) -> str:
    """Return the entry of the console's list of pages that an address belongs to."""
    path = route.partition("?")[0]
    exact = [each for each in page_templates() if each == path]
    stems = [each for each in page_templates() if "$" in each]
    return next(iter(exact), "") or next(
        (each for each in stems if path.startswith(each.partition("$")[0])), path
    )


async def _poison(route: Route) -> None:
    """Answer as the service does, with every string of the body replaced by a hostile one."""
    await _poison_strings(route, lambda _: True)


async def _poison_words(route: Route) -> None:
    """Replace the strings that are words: a page finds its records and shows them."""
    await _poison_strings(route, _WORDS.__contains__)


async def _poison_strings(route: Route, is_chosen: Callable[[str], bool]) -> None:
    if route.request.url.endswith(_ME):
        await route.continue_()
        return
    try:
        response = await route.fetch()
        try:
            body = json.dumps(_replace(await response.json(), is_chosen, is_word=is_chosen("")))
        except ValueError:  # no JSON: a document in another format
            body = "\n".join(TEXTS)
        await route.fulfill(response=response, body=body)
    except Error:
        return  # the page has left while the service answered


def _replace(value: Any, is_chosen: Callable[[str], bool], *, is_word: bool) -> Any:
    match value:
        case str():
            return next(_NEXT) if is_word else value
        case list():
            return [_replace(each, is_chosen, is_word=is_word) for each in value]
        case dict():
            return {
                name: _replace(each, is_chosen, is_word=is_chosen(name))
                for name, each in value.items()
            }
        case _:
            return value


async def _refuse(route: Route) -> None:
    """Refuse everything with an error whose members are all hostile."""
    if route.request.url.endswith(_ME):
        await route.continue_()
        return
    error = {name: next(_NEXT) for name in ("code", "message", "requestId")}
    await route.fulfill(status=400, json={"error": {**error, "details": {"reason": next(_NEXT)}}})
