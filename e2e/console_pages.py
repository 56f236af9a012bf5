"""The pages of the console: their addresses, and when one has read what it shows."""

import re
from collections.abc import Mapping
from typing import Final

from playwright.async_api import Page

from e2e.machine import ROOT

_PAGES: Final = ROOT / "console" / "src" / "app" / "pages.tsx"
_PATH: Final = re.compile(r'path: "(/[^"]*)",\s+title: "[^"]*",\s+needsOwner:')
# the further views of a page, which stand in its address
TABS: Final[Mapping[str, tuple[str, ...]]] = {
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


def views(records: Mapping[str, str]) -> list[str]:
    """Return the address of every view; `records` are the segments of the pages about one record.

    A page whose record is not known yet is left out.
    """
    found = []
    for template in page_templates():
        path = records.get(template, template)
        if "$" not in path:
            found += [path, *(f"{path}{each}" for each in TABS.get(template, ()))]
    return found


async def wait_until_ready(page: Page, *, timeout_ms: float = 15_000) -> None:
    """Return once the page shows its heading and nothing of it is loading."""
    await page.wait_for_function(READY, timeout=timeout_ms)
