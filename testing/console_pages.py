"""The pages of the console: their addresses, and when one has read what it shows."""

import re
from collections.abc import Mapping
from typing import Final

from playwright.async_api import Page
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from testing.machine import ROOT

_PAGES: Final = ROOT / "console" / "src" / "app" / "pages.tsx"
_PATH: Final = re.compile(r'path: "(/[^"]*)",\s+title: "[^"]*",\s+needsOwner:')
# the further views of a page, which stand in its address
TABS: Final[Mapping[str, tuple[str, ...]]] = {
    "/discover": ("?q=forecast&max=1", "?type=mcp"),
    "/sell": ("?tab=integrate",),
    "/sell/$id": ("?tab=analytics", "?tab=owed", "?tab=settings"),
    "/payments": ("?role=paid", "?role=settled"),
    "/automation": ("?status=active&kind=dca",),
    "/automation/$id": ("?tab=runs", "?tab=events", "?tab=details"),
    "/developers": ("?tab=vault", "?tab=usage", "?tab=examples"),
}
READY: Final = """() => {
  const states = [...document.querySelectorAll("main [role=status]")];
  return document.querySelector("main h1") !== null
    && !states.some((each) => each.textContent.startsWith("Loading"));
}"""


def page_templates() -> list[str]:
    """Return the path of every page as the console's own list has it, such as `/sell/$id`."""
    return _PATH.findall(_PAGES.read_text())


def views(records: Mapping[str, str], *, with_tabs: bool = True) -> list[str]:
    """Return the address of every view; `records` are those of the pages about one record.

    A page whose record is not known yet is left out; without tabs each page is there once.
    """
    found = []
    for template in page_templates():
        path = records.get(template, template)
        if "$" not in path:
            tabs = TABS.get(template, ()) if with_tabs else ()
            found += [path, *(f"{path}{each}" for each in tabs)]
    return found


async def wait_until_ready(page: Page, *, timeout_ms: float = 15_000) -> None:
    """Return once the page shows its heading and nothing of it is loading.

    Raises:
        PlaywrightTimeoutError: it names the page and what is still loading.
    """
    try:
        await page.wait_for_function(READY, timeout=timeout_ms)
    except PlaywrightTimeoutError as error:
        waits = await page.locator("main [role=status]").all_inner_texts()
        raise PlaywrightTimeoutError(
            f"{page.url} is not ready after {timeout_ms} ms: {waits}"
        ) from error
