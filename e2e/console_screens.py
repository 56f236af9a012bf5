"""Every page in every state: its picture in both themes, and the judgement of axe-core."""

import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from playwright.async_api import Error, Route

from testing.browser import Theme, Visitor
from testing.console_pages import wait_until_ready
from testing.machine import ROOT, say

FOLDER: Final = ROOT / ".farebox" / "console"  # ignored by git
API: Final = re.compile(r"/(v1|discovery|health|mcp)(/|\?|$)")
_ME: Final = re.compile(r"/v1/(auth/me|networks)$")
_LOADING_MS: Final = 700
_READY_MS: Final = 8_000
_PAINTED: Final = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
)
_DRAWN_MS: Final = 200  # a plot is drawn by a chunk of its own
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_RECORD: Final = re.compile(r"[^/?&=\s]{20,}")  # an id, a hash or a URL in the name of a picture
Answer = Callable[[Route], Awaitable[None]]


def _error(status: int, code: str, message: str, retry_after_s: int | None = None) -> Answer:
    """Answer a request as the service does when it refuses it or cannot serve it."""
    body = {"error": {"code": code, "message": message, "requestId": "4f1d2c3b5a697887"}}
    headers = {"x-request-id": "4f1d2c3b5a697887", "content-type": "application/json"}
    if retry_after_s is not None:
        headers["retry-after"] = str(retry_after_s)

    async def answer(route: Route) -> None:
        await route.fulfill(status=status, body=json.dumps(body), headers=headers)

    return answer


async def _never(route: Route) -> None:
    """Leave a request without an answer; the page waits."""
    del route


async def _cut(route: Route) -> None:
    await route.abort("connectionrefused")


# the states that a page has besides the one that its records give it
STATES: Final[dict[str, Answer]] = {
    "loading": _never,
    "outage": _error(503, "service_unavailable", "The database is away.", 5),
    "refused": _error(403, "scope_missing", "The key needs the scope wrappers."),
    "too-many": _error(429, "too_many_requests", "Too many requests.", 12),
    "conflict": _error(409, "name_taken", "There is a working key of this name."),
    "offline": _cut,
    "expired": _error(401, "unauthenticated", "Valid credentials are needed."),
}


@dataclass(slots=True)
class Album:
    """The pictures taken, and what axe-core found in them."""

    folder: Path = FOLDER
    themes: Sequence[Theme] = tuple(Theme)
    shots: int = 0
    axe: list[str] = field(default_factory=list)

    async def take(self, visitor: Visitor, name: str) -> None:
        """Take the page as it is, in each theme and from its top, and judge it."""
        await visitor.page.evaluate("window.scrollTo(0, 0)")
        for theme in self.themes:
            await visitor.page.emulate_media(color_scheme=theme.value)
            await visitor.page.evaluate(_PAINTED)
            stem = _NO_NAME.sub("-", _RECORD.sub("one", name).lower()).strip("-") or "overview"
            path = self.folder / visitor.screen.name / theme.value / f"{stem}.png"
            await visitor.page.screenshot(path=path, full_page=True)
            self.shots += 1
            found = await visitor.axe_problems()
            self.axe += [f"{visitor.screen.name} {theme.value} {name}: {each}" for each in found]

    async def take_views(self, visitor: Visitor, label: str, routes: Sequence[str]) -> None:
        """Take each of these pages once it has read its records."""
        for route in routes:
            await visitor.page.goto("about:blank")
            await visitor.open(route)
            try:
                await wait_until_ready(visitor.page, timeout_ms=_READY_MS)
            except Error:
                say(f"  not ready: {route}")
            await visitor.page.wait_for_timeout(_DRAWN_MS)
            await self.take(visitor, f"{route} {label}")

    async def take_states(self, visitor: Visitor, routes: Sequence[str]) -> None:
        """Take each of these pages in every state that it has for want of an answer."""
        for state, answer in STATES.items():
            for route in routes:
                async with _answering(visitor, answer):
                    await visitor.page.goto("about:blank")
                    await visitor.open(route)
                    await visitor.page.wait_for_timeout(_LOADING_MS)
                    await self.take(visitor, f"{route} {state}")
        # a page that was told of an ended session remembers it until it is loaded again
        await visitor.page.goto("about:blank")


@contextlib.asynccontextmanager
async def _answering(visitor: Visitor, answer: Answer) -> AsyncIterator[None]:
    """Answer every request of the API so, but for who is signed in and which networks there are."""

    async def choose(route: Route) -> None:
        if _ME.search(route.request.url):
            await route.continue_()
        else:
            await answer(route)

    await visitor.page.route(API, choose)
    try:
        yield
    finally:
        await visitor.page.unroute(API)
