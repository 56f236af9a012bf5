"""BENCH=console: the size and the speed of the console, in a browser on a slowed CPU.

Sizes are those of the built files, compressed as the service sends them. Times are the browser's
own performance entries, with the CPU slowed four times and an empty cache. The rate of the files is
that of one service process on a core of its own, all of its log lines written.
"""

import gzip
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Browser, CDPSession

from bench.cores import divide_cores
from bench.measure import Requests, Rounds, load, quantile
from farebox.app.console import read_console
from testing.browser import Visitor, open_chromium, visit
from testing.console_pages import READY, page_templates, wait_until_ready
from testing.console_stage import ConsoleStage, open_console_stage
from testing.machine import RunFailed, say, scratch_folder
from testing.report import run_and_report, timed

SLOWER: Final = 4  # times
FIRST_LOAD_KB: Final = 200
CHUNK_KB: Final = 120
DECODER_KB: Final = 280
FIRST_PAINT_MS: Final = 800
USABLE_MS: Final = 2_000
PAGE_MS: Final = 1_500
HEAP_GROWTH: Final = 1.2
FILES_PER_S: Final = 3_000
# in the names of the chunks that read what a wallet signs: a payment, the session of a plan
_DECODER: Final = ("decode", "readinstallentry")
_WARM_ROUNDS: Final = 5
_USABLE: Final = f"""
new MutationObserver((_, observer) => {{
  if (!({READY})() || !document.querySelector("main button, main a, nav a")) return;
  observer.disconnect();
  requestAnimationFrame(() => performance.mark("farebox-usable"));
}}).observe(document, {{childList: true, subtree: true, attributes: true}});
"""
_TIMES: Final = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  usable: performance.getEntriesByName("farebox-usable")[0]?.startTime ?? null,
  loaded: [...performance.getEntriesByType("navigation"),
           ...performance.getEntriesByType("resource")]
    .map((each) => ({name: each.name, bytes: each.encodedBodySize})),
})"""
# the time from the change of the address to the frame that shows the whole page, which differs from
# the one before it by its heading
_TURN: Final = f"""async (route) => {{
  const heading = () => document.querySelector("main h1")?.textContent;
  const before = heading();
  performance.clearMeasures("farebox-page");
  performance.mark("farebox-turn");
  location.hash = route;
  await new Promise((resolve) => {{
    const look = () => {{
      if (heading() !== before && ({READY})()) requestAnimationFrame(resolve);
      else requestAnimationFrame(look);
    }};
    requestAnimationFrame(look);
  }});
  return performance.measure("farebox-page", "farebox-turn").duration;
}}"""


@dataclass(frozen=True, slots=True)
class Size:
    """How often everything is measured."""

    loads: int
    turns: int  # of every page
    rounds: int  # through all pages
    seconds: float  # of each round of load


FULL: Final = Size(loads=15, turns=20, rounds=100, seconds=4.0)
QUICK: Final = Size(loads=5, turns=5, rounds=20, seconds=1.0)


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether every figure is within its bound, and the figures."""
    size = QUICK if quick else FULL
    cores = divide_cores()
    with scratch_folder("farebox-bench-") as scratch:
        async with open_console_stage(scratch, prefix=cores.pin_service()) as stage:
            with cores.shared():  # as on a person's machine; the service is idle meanwhile
                figures = await _in_browser(stage, size)
            rate = await _files(stage, size)
    chunks, decoder = chunk_sizes()
    figures |= {
        "chunk_kb_max": max(chunks.values()),
        "decoder_kb": decoder,
        "files_per_s": round(rate.per_second),
        "chunks_kb": dict(sorted(chunks.items(), key=lambda each: -each[1])[:6]),
        "files": rate.figures(),
        "one_core_each": cores.service is not None,
    }
    return _holds(figures) and rate.unexpected == 0, figures


async def _in_browser(stage: ConsoleStage, size: Size) -> dict[str, object]:
    async with open_chromium() as browser:
        first = await _first_loads(browser, stage, size)
        pages, growth = await _turn_pages(browser, stage, size)
    return {
        **first,
        "slowest_page_ms_p95": max(pages.values()),
        "heap_growth": growth,
        "pages_ms_p95": pages,
    }


def _holds(figures: Mapping[str, Any]) -> bool:
    most = {
        "first_load_kb": FIRST_LOAD_KB,
        "chunk_kb_max": CHUNK_KB,
        "decoder_kb": DECODER_KB,
        "first_paint_ms_p50": FIRST_PAINT_MS,
        "usable_ms_p50": USABLE_MS,
        "slowest_page_ms_p95": PAGE_MS,
        "heap_growth": HEAP_GROWTH,
    }
    return all(figures[name] <= bound for name, bound in most.items()) and (
        figures["files_per_s"] >= FILES_PER_S
    )


def chunk_sizes() -> tuple[dict[str, float], float]:
    """Return the compressed kB of every script and style but the decoder, and of that."""
    sizes = {
        path.rpartition("/")[2]: round(len(gzip.compress(file.body)) / 1000, 1)
        for path, file in read_console(None).files.items()
        if path.endswith((".js", ".css"))
    }
    decoders = [name for name in sizes if any(each in name.lower() for each in _DECODER)]
    return {name: kb for name, kb in sizes.items() if name not in decoders}, sum(
        sizes[name] for name in decoders
    )


async def _first_loads(browser: Browser, stage: ConsoleStage, size: Size) -> dict[str, object]:
    """Load the page with an empty cache, once for each profile."""
    say("first loads")
    paints, usables, kilobytes = [], [], 0.0
    for _ in range(size.loads):
        visitor = await visit(browser, stage.url, scripts=[_USABLE])
        await _slow_down(visitor)
        await visitor.open("/")
        await visitor.page.wait_for_function(
            "() => performance.getEntriesByName('farebox-usable').length > 0"
        )
        times = await visitor.page.evaluate(_TIMES)
        if times["paint"] is None:
            raise RunFailed("the browser has no entry of the first paint")
        paints.append(times["paint"])
        usables.append(times["usable"])
        own = [each for each in times["loaded"] if _is_file(each["name"])]
        kilobytes = max(kilobytes, sum(each["bytes"] for each in own) / 1000)
        await visitor.close()
    return {
        "first_load_kb": round(kilobytes, 1),
        "first_paint_ms_p50": round(statistics.median(paints)),
        "usable_ms_p50": round(statistics.median(usables)),
    }


def _is_file(url: str) -> bool:
    path = urlsplit(url).path
    return path == "/" or path.startswith("/assets/")


async def _turn_pages(
    browser: Browser, stage: ConsoleStage, size: Size
) -> tuple[dict[str, float], float]:
    """Go from page to page, signed in: the 95th percentile of each, and the heap's growth."""
    visitor = await visit(browser, stage.url, scripts=[stage.wallet(asks=False)])
    await visitor.open("/")
    await visitor.sign_in()
    routes = [each for each in page_templates() if "$" not in each]
    for route in routes:  # every chunk is there from here on
        await visitor.open(route)
        await wait_until_ready(visitor.page)
    cdp = await _slow_down(visitor)
    say("pages on a slowed CPU")
    times: dict[str, list[float]] = {route: [] for route in routes}
    for _ in range(size.turns):
        for route in routes:
            times[route].append(await _turn(visitor, route))
    await cdp.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    say(f"{size.rounds} rounds through all pages")
    before = 0.0
    for number in range(_WARM_ROUNDS + size.rounds):
        if number == _WARM_ROUNDS:
            before = await _heap(cdp)
        for route in routes:
            await _turn(visitor, route)
    growth = await _heap(cdp) / before
    await visitor.close()
    return {route: round(quantile(each, 0.95)) for route, each in times.items()}, round(growth, 3)


async def _turn(visitor: Visitor, route: str) -> float:
    return float(await visitor.page.evaluate(_TURN, route))


async def _slow_down(visitor: Visitor) -> CDPSession:
    cdp = await visitor.context.new_cdp_session(visitor.page)
    await cdp.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return cdp


async def _heap(cdp: CDPSession) -> float:
    """Return the bytes of the page's heap after a collection."""
    await cdp.send("HeapProfiler.enable")
    for _ in range(3):
        await cdp.send("HeapProfiler.collectGarbage")
    used = await cdp.send("Runtime.getHeapUsage")
    return float(used["usedSize"])


async def _files(stage: ConsoleStage, size: Size) -> Rounds:
    """Request the page and its files in turn, as a browser that accepts gzip does."""
    say("the rate of the files")
    host = urlsplit(stage.url).netloc
    head = f"HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
    paths = [path for path in read_console(None).files if path != "/index.html"]
    whole = tuple(f"GET {path} {head}".encode() for path in paths)
    requests = Requests("/", (), ("HTTP/1.1 200",), whole=whole)
    rounds = Rounds()
    for _ in range(3):
        rounds.results.append(await load(stage.url, requests, seconds=size.seconds))
    return rounds


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
