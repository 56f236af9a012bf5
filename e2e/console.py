"""E2E=console: a seller, a buyer and an owner of plans use the console in a real browser.

The production build, two devnets, the service, and an API behind TLS; two screen sizes; the wallet
is injected and speaks Freighter's protocol. Every page is taken in every state and both themes.
Then hostile text stands in every field, and a build that sets markup shows that the run would
notice.
"""

import asyncio
import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.async_api import Browser

from e2e import console_account_steps as account
from e2e import console_plan_steps as plans
from e2e import console_trade_steps as trade
from e2e.console_control import build_control
from e2e.console_hostile import HostileRound, listing_of, propose_hostile, sell_hostile
from e2e.console_journey import Journey, Step, open_journey, records_of
from e2e.console_sales import Sales, sell_and_owe
from e2e.console_screens import FOLDER, Album
from testing.browser import DESKTOP, PHONE, Record, Screen, Theme, open_chromium, visit
from testing.console_pages import views
from testing.console_stage import SELLER, ConsoleStage, open_console_stage
from testing.machine import ROOT, say, scratch_folder
from testing.packages import install
from testing.report import run_and_report, timed

SCREENS: Final = (DESKTOP, PHONE)
STEPS: Final[Sequence[Step]] = (
    account.sign_in,
    account.make_a_key_and_use_it,
    account.store_and_rotate_a_secret,
    trade.create_a_wrapper,
    trade.check_and_enable_it,
    trade.find_it_by_search,
    trade.buy_a_call,
    trade.buy_a_call_that_comes_later,
    trade.see_the_payments,
    trade.see_the_analytics,
    trade.close_an_owed_call,
    *plans.STEPS,
    account.read_the_audit_log,
)
LAST_STEPS: Final[Sequence[Step]] = (account.sign_out,)


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether it holds, and the figures."""
    await asyncio.to_thread(install, ROOT / "e2e")
    shutil.rmtree(FOLDER, ignore_errors=True)
    album = Album(themes=(Theme.LIGHT,) if quick else tuple(Theme))
    record, hostile, failed = Record(), Record(), []
    with scratch_folder("farebox-console-") as scratch:
        control = asyncio.create_task(asyncio.to_thread(build_control, scratch))
        async with open_console_stage(scratch) as stage, open_chromium() as browser:
            sales = await sell_and_owe(stage)
            for screen in SCREENS:
                journey = await _travel(browser, stage, screen, album, sales, is_quick=quick)
                failed += journey.failed
                for visitor in journey.visitors:
                    record.add(visitor.record)
            for screen in SCREENS[:1] if quick else SCREENS:
                met = await _meet_hostile_text(browser, stage, screen, sales)
                hostile.add(met.visitor.record)
                failed += [f"{screen.name}: no hostile text on {each}" for each in met.missed]
            caught = await _control_is_caught(browser, stage, await control)
    figures: dict[str, object] = {
        "steps_failed": failed,
        "foreign_requests": len(record.foreign_requests) + len(hostile.foreign_requests),
        "policy_violations": len(record.policy_violations),
        "axe_serious": len(album.axe),
        "console_errors": len(record.console_errors),
        "pages_shot": album.shots,
        "scripts_run": len(record.scripts_run) + len(hostile.scripts_run),
        "control_caught": caught,
        "hostile_policy_violations": len(hostile.policy_violations),
        "faults": _faults(record, hostile, album),
        "folder": str(FOLDER.relative_to(ROOT)),
    }
    counts = ("foreign_requests", "policy_violations", "axe_serious", "console_errors")
    is_clean = not any(figures[name] for name in (*counts, "scripts_run", "steps_failed"))
    return is_clean and caught and not hostile.policy_violations, figures


async def _travel(
    browser: Browser,
    stage: ConsoleStage,
    screen: Screen,
    album: Album,
    sales: Sales,
    *,
    is_quick: bool,
) -> Journey:
    """Go through the steps at one screen size, and take the pages on the way."""
    say(f"the journey at {screen.name} size")
    journey = await open_journey(browser, stage, screen, sales, album)
    routes = views(journey.records, with_tabs=False)
    await album.take_views(journey.buyer, "signed out", routes)
    await journey.run(STEPS)
    routes = views(journey.records)
    await album.take_views(journey.seller, "seller", routes)
    await album.take_views(journey.buyer, "buyer", routes)
    own = [each for each in routes if each.startswith("/automation")]
    await album.take_views(journey.planner, "owner of plans", own)
    if not is_quick:
        await album.take_states(journey.seller, views(journey.records, with_tabs=False))
    await journey.run(LAST_STEPS)
    await journey.close()
    return journey


async def _meet_hostile_text(
    browser: Browser, stage: ConsoleStage, screen: Screen, sales: Sales
) -> HostileRound:
    say(f"hostile text at {screen.name} size")
    visitor = await visit(browser, stage.url, scripts=[stage.wallet()], screen=screen)
    visitor.wallet.account = SELLER
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(visitor.close)
        await visitor.open("/")
        await visitor.sign_in()
        wrapper = await sell_hostile(stage, visitor)
        records = {
            **records_of(sales),
            "/sell/$id": f"/sell/{wrapper['id']}",
            "/discover/listing": await listing_of(visitor, wrapper),
            "/automation/$id": await propose_hostile(stage, visitor),
        }
        hostile = HostileRound(visitor, views(records))
        await hostile.visit_all()
    return hostile


async def _control_is_caught(browser: Browser, stage: ConsoleStage, build: Path) -> bool:
    """Whether the build that sets markup is noticed, by a script, a request or the policy."""
    say("the control: a build that sets markup")
    async with stage.replica("control", {"FAREBOX_CONSOLE_DIR": str(build)}) as url:
        visitor = await visit(browser, url, scripts=[stage.wallet()])
        visitor.wallet.account = SELLER
        await visitor.open("/developers")
        await visitor.sign_in()
        await visitor.page.wait_for_timeout(1_000)
        await visitor.close()
    record = visitor.record
    return bool(record.scripts_run or record.policy_violations or record.foreign_requests)


def _faults(record: Record, hostile: Record, album: Album) -> Sequence[str]:
    """Return the first findings in words."""
    return [
        *album.axe[:10],
        *record.console_errors[:5],
        *record.policy_violations[:5],
        *record.foreign_requests[:5],
        *record.scripts_run[:5],
        *hostile.scripts_run[:5],
        *hostile.foreign_requests[:5],
        *hostile.policy_violations[:5],
    ]


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
