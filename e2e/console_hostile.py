"""Hostile text in every field that somebody else writes, and in every error."""

import itertools
import json
from collections.abc import Sequence
from typing import Any, Final

from playwright.async_api import Error, Route

from e2e.browser import RAN, Record, Visitor
from e2e.console_pages import wait_until_ready
from e2e.console_screens import API
from e2e.console_stage import ConsoleStage
from farebox.kernel.networks import Network
from farebox.local.wrapped_api import NAME

TEXTS: Final = (
    f"<img src=x onerror={RAN}(1)>",
    f"<svg/onload={RAN}(2)>",
    f"javascript:{RAN}(3)",
    '<img src="//evil.example/x">',
    "<style>@import'//evil.example'",
    f"<iframe srcdoc='<script>parent.{RAN}(4)</script>'>",
)
_MAX: Final = {"name": 32, "description": 500, "tag": 32}
_WAIT_MS: Final = 300
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


async def visit_all(visitor: Visitor, routes: Sequence[str]) -> Record:
    """Visit the pages: as they are, with every text replaced, and with hostile errors alone."""
    await _visit(visitor, routes)
    for answer in (_poison, _refuse):
        await visitor.page.route(API, answer)
        await _visit(visitor, routes)
        await visitor.page.unroute(API)
    return visitor.record


async def _visit(visitor: Visitor, routes: Sequence[str]) -> None:
    for route in routes:
        await visitor.page.goto("about:blank")
        await visitor.open(route)
        try:
            await wait_until_ready(visitor.page, timeout_ms=2_000)
        except Error:
            await visitor.page.wait_for_timeout(_WAIT_MS)
        await visitor.page.wait_for_timeout(_WAIT_MS / 3)


async def _poison(route: Route) -> None:
    """Answer as the service does, with every string of the body replaced by a hostile one."""
    if route.request.url.endswith(_ME):
        await route.continue_()
        return
    response = await route.fetch()
    try:
        body = json.dumps(_replace(await response.json()))
    except ValueError:  # no JSON: a document in another format
        body = "\n".join(TEXTS)
    await route.fulfill(response=response, body=body)


def _replace(value: Any) -> Any:
    match value:
        case str():
            return next(_NEXT)
        case list():
            return [_replace(each) for each in value]
        case dict():
            return {name: _replace(each) for name, each in value.items()}
        case _:
            return value


async def _refuse(route: Route) -> None:
    """Refuse everything with an error whose members are all hostile."""
    if route.request.url.endswith(_ME):
        await route.continue_()
        return
    error = {name: next(_NEXT) for name in ("code", "message", "requestId")}
    await route.fulfill(status=400, json={"error": {**error, "details": {"reason": next(_NEXT)}}})
