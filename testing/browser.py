"""The distribution's Chromium, and a visitor who records what a page must not do."""

import contextlib
import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    async_playwright,
)

from testing.machine import ROOT, RunFailed

CHROMIUM: Final = ("chromium", "chromium-browser")  # as in scripts/chromium
AXE: Final = ROOT / "e2e" / "node_modules" / "axe-core" / "axe.min.js"
RAN: Final = "fareboxRan"  # what hostile text calls, if a page runs it
_SAW: Final = "fareboxSaw"
_REPORT_VIOLATIONS: Final = f"""
document.addEventListener("securitypolicyviolation", (event) => {{
  window.{_SAW}(`${{event.effectiveDirective}} ${{event.blockedURI}} ${{event.sourceFile}}`);
}}, true);
"""
_CALL: Final = """async ([method, path, body]) => {
  const headers = {"X-Farebox-CSRF": "1", "Content-Type": "application/json"};
  const init = {method, headers, body: body === null ? undefined : JSON.stringify(body)};
  const answer = await fetch(path, init);
  return [answer.status, await answer.text()];
}"""
_WALLET: Final = "Development wallet:"
_REFUSED: Final = (
    "Failed to load resource: the server responded with a status of",
    "Failed to load resource: net::ERR_CONNECTION_REFUSED",  # as a page without its service gets
)
_SERIOUS: Final = ("serious", "critical")


class Theme(StrEnum):
    """The colours that the visitor's system asks for."""

    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Screen:
    """A width and height in CSS pixels."""

    name: str
    width: int
    height: int
    is_phone: bool = False


DESKTOP: Final = Screen("desktop", 1280, 800)
PHONE: Final = Screen("phone", 390, 844, is_phone=True)


@dataclass(slots=True)
class Record:
    """What pages did that they must not do, in words."""

    foreign_requests: list[str] = field(default_factory=list)
    policy_violations: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)
    scripts_run: list[str] = field(default_factory=list)  # of text that strangers wrote
    requests: list[str] = field(default_factory=list)  # method and path of every one to our origin
    sent: list[str] = field(default_factory=list)  # URLs and bodies of all requests

    def add(self, other: "Record") -> None:
        """Take over what another record has."""
        self.foreign_requests += other.foreign_requests
        self.policy_violations += other.policy_violations
        self.console_errors += other.console_errors
        self.scripts_run += other.scripts_run
        self.requests += other.requests
        self.sent += other.sent


@dataclass(slots=True)
class WalletAnswers:
    """How the person answers the development wallet."""

    account: int = 1
    declines: bool = False
    declines_at: int = 0  # the one question that is declined, counted from 1
    asked: list[str] = field(default_factory=list)  # what its window has asked


def chromium_path() -> str | None:
    """Return the distribution's Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextlib.asynccontextmanager
async def open_chromium() -> AsyncIterator[Browser]:
    """Start a Chromium that reaches no other machine.

    Raises:
        RunFailed: there is none.
    """
    path = chromium_path()
    if path is None:
        raise RunFailed("There is no Chromium here (on Debian, as root: apt-get install chromium)")
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            await browser.close()


class Visitor:
    """A person with a browser profile of their own, on one page of one origin."""

    def __init__(self, context: BrowserContext, page: Page, origin: str, screen: Screen) -> None:
        self.context, self.page, self.origin, self.screen = context, page, origin, screen
        self.record = Record()
        self.wallet = WalletAnswers()

    async def open(self, route: str) -> None:
        """Go to a page of the console, such as `/sell`."""
        await self.page.goto(f"{self.origin}/#{route}")

    async def sign_in(self) -> None:
        """Sign in from the page with the wallet."""
        await self.page.get_by_role("button", name="Sign in", exact=True).first.click()
        await self.page.get_by_role("dialog").get_by_role("button", name="Freighter").click()
        await self.page.get_by_text("Signed in as").wait_for()

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request from the page, with its session; return the body of the response.

        Raises:
            RunFailed: it is refused.
        """
        status, text = await self.page.evaluate(_CALL, [method, path, body])
        if status >= 400:
            raise RunFailed(f"{method} {path}: {status} {text}")
        return json.loads(text) if text else None

    async def close(self) -> None:
        """End the profile."""
        await self.context.close()

    async def axe_problems(self) -> list[str]:
        """Judge the page as it is now; return the serious findings of axe-core."""
        await self.page.evaluate(AXE.read_text() + "; 0")
        found = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']} at {self.page.url}: {_targets(each['nodes'])}"
            for each in found["violations"]
            if each["impact"] in _SERIOUS
        ]

    async def _on_dialog(self, dialog: Dialog) -> None:
        if not dialog.message.startswith(_WALLET):
            self.record.scripts_run.append(f"{dialog.type}: {dialog.message[:100]}")
            await dialog.dismiss()
            return
        self.wallet.asked.append(dialog.message)
        if self.wallet.declines or len(self.wallet.asked) == self.wallet.declines_at:
            await dialog.dismiss()
        else:
            await dialog.accept(str(self.wallet.account) if dialog.type == "prompt" else "")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        self.record.sent += [request.url, request.post_data or ""]
        if f"{parts.scheme}://{parts.netloc}" == self.origin:
            self.record.requests.append(f"{request.method} {parts.path}")
        elif parts.scheme in ("http", "https", "ws", "wss"):
            self.record.foreign_requests.append(f"{request.method} {request.url[:200]}")

    def _on_console(self, message: ConsoleMessage) -> None:
        path = urlsplit(str(message.location.get("url", ""))).path
        # the browser's note on a refusal of the API, which the page shows in its own words
        is_note = message.text.startswith(_REFUSED) and not path.startswith("/assets")
        if message.type == "error" and not is_note:
            self.record.console_errors.append(f"{self.page.url}: {message.text[:300]}")

    async def open_tab(self) -> "Visitor":
        """Open another tab of the profile, whose wallet is answered by itself."""
        tab = Visitor(self.context, await self.context.new_page(), self.origin, self.screen)
        tab._watch()
        return tab

    def _watch(self) -> None:
        self.page.on("dialog", self._on_dialog)
        self.page.on("console", self._on_console)
        self.page.on(
            "pageerror",
            lambda error: self.record.console_errors.append(f"{self.page.url}: {error}"),
        )

    async def start(self, scripts: Sequence[str]) -> None:
        """Install the observers; `scripts` run in every page before its own."""
        self._watch()
        self.context.on("request", self._on_request)
        await self.context.expose_function(_SAW, self._on_violation)
        await self.context.expose_function(RAN, self._on_ran)
        for script in (_REPORT_VIOLATIONS, *scripts):
            await self.context.add_init_script(script)

    def _on_violation(self, text: str) -> None:
        self.record.policy_violations.append(text)

    def _on_ran(self, *arguments: Any) -> None:
        self.record.scripts_run.append(f"{self.page.url}: {json.dumps(arguments)[:100]}")


async def visit(
    browser: Browser,
    origin: str,
    *,
    scripts: Sequence[str] = (),
    screen: Screen = DESKTOP,
    theme: Theme = Theme.LIGHT,
) -> Visitor:
    """Open a profile of its own on a blank page; `scripts` are the wallet's, for example."""
    context = await browser.new_context(
        viewport={"width": screen.width, "height": screen.height},
        is_mobile=screen.is_phone,
        has_touch=screen.is_phone,
        color_scheme=theme.value,
        reduced_motion="reduce",
    )
    context.set_default_timeout(15_000)
    visitor = Visitor(context, await context.new_page(), origin, screen)
    await visitor.start(scripts)
    return visitor


def _targets(nodes: list[dict[str, Any]]) -> str:
    return "; ".join(str(each["target"]) for each in nodes[:3])
