"""E2E=mcp: stock MCP clients buy through `/mcp`, on both networks and from two kinds of seller.

npm @modelcontextprotocol/sdk and PyPI `mcp` search, see the challenge, pay with a signature of 32
bytes, and repeat the paid call: at a wrapper of our gateway, and at an unmodified npm seller that
one payment has listed. The ledger says what was charged. The scenarios of npm
@modelcontextprotocol/conformance run too, and PyPI `x402` reads the challenge. What real clients
send beside purchases (`mcp_wire`) is answered as MCP and HTTP have it.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from e2e.agents import (
    Errand,
    Purchase,
    buy_with_npm,
    buy_with_pypi,
    challenge_seen_by_x402,
)
from e2e.buyers import pay_with_npm
from e2e.catalog import SELLER_DECLARATION
from e2e.crowd import CONNECTIONS
from e2e.gateway import SLUG, WORDS, sell_reports
from e2e.mcp_scenarios import failed_scenarios
from e2e.mcp_wire import wire_faults
from farebox.local.certificates import Authority
from farebox.local.devnet import HeaderForm
from farebox.local.gateway_settings import gateway_settings, operator_setting
from farebox.local.wrapped_api import NAME, WrappedApi
from testing.machine import ROOT, RunFailed, say, scratch_folder, subfolder, wait_until
from testing.packages import changed_packages, install
from testing.report import run_and_report, timed
from testing.seller import Seller
from testing.stage import DESCRIPTION, PRICE_UNITS, Market, Stage, open_stage

UNMODIFIED: Final = ("@modelcontextprotocol/sdk", "@x402/express")
_FOUND_WITHIN_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Counts:
    """The purchases from one seller, and what the ledger says of them."""

    tried: int
    paid: int
    repeats_equal: int
    repeats_paid: int  # repeats with a receipt of success
    charged: int  # payments by the rise of the sellers' balances
    faults: tuple[str, ...]

    @property
    def charged_twice(self) -> int:
        """Payments beyond one for each purchase."""
        return self.charged - self.tried

    def figures(self) -> dict[str, object]:
        """Return the counts of the last line."""
        return {
            "tried": self.tried,
            "paid": self.paid,
            "repeats_equal": self.repeats_equal,
            "repeats_paid": self.repeats_paid,
            "charged_twice": self.charged_twice,
        }


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether it holds, and the figures."""
    count = 1 if quick else 5  # by each client, on each network, from each seller
    await asyncio.to_thread(install, ROOT / "e2e")
    with scratch_folder("farebox-mcp-") as scratch:
        async with _market_place(scratch) as stage:
            await _list_npm_seller(stage)
            resource = f"{stage.service_url}/gateway/{SLUG}"
            gateway = await _buy_everywhere(stage, count, WORDS, resource)
            npm = await _buy_everywhere(stage, count, DESCRIPTION, None)
            recognised = await _recognised(stage, resource)
            errand = _errand(stage, stage.markets[0], 1, WORDS, resource)
            wire_cases, wrong = await wire_faults(errand)
            failed = await asyncio.to_thread(failed_scenarios, stage.service_url, scratch=scratch)
        changed = await asyncio.to_thread(changed_packages, ROOT / "e2e", UNMODIFIED, scratch)
    sellers = {"gateway": gateway, "npm_express": npm}
    figures: dict[str, object] = {
        "tried": sum(each.tried for each in sellers.values()),
        "paid": sum(each.paid for each in sellers.values()),
        "charged_twice": sum(each.charged_twice for each in sellers.values()),
        "sellers": {name: each.figures() for name, each in sellers.items()},
        "conformance_failed": failed,
        "x402_client_recognises": recognised,
        "wire_cases": wire_cases,
        "wire_faults": wrong[:5],
        "faults": [fault for each in sellers.values() for fault in each.faults][:5],
        "packages_changed": [f"{each.package}: {each.difference}" for each in changed],
    }
    holds = all(_holds(each) for each in sellers.values()) and _repeats_as_it_must(sellers)
    return holds and recognised and not (failed or changed or wrong), figures


def _holds(counts: Counts) -> bool:
    return counts.paid == counts.tried == counts.charged and not counts.faults


def _repeats_as_it_must(sellers: dict[str, Counts]) -> bool:
    """The gateway gives the same result again; the npm seller, which keeps none, refuses."""
    gateway, npm = sellers["gateway"], sellers["npm_express"]
    return gateway.repeats_equal == gateway.tried and npm.repeats_paid == 0


@contextlib.asynccontextmanager
async def _market_place(scratch: Path) -> AsyncIterator[Stage]:
    """Start the stage with the npm seller, and a wrapper in front of an API behind TLS."""
    key, api, authority = secrets.token_urlsafe(32), WrappedApi(), Authority(scratch)
    settings = {
        "FAREBOX_CATALOG_LOCAL": "1",
        **CONNECTIONS,
        **operator_setting(key),
    }
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(api.serving(authority.server(NAME)))
        settings |= gateway_settings(authority, NAME, api.port)
        folder = subfolder(scratch, "stage")
        stage = await stack.enter_async_context(
            open_stage(HeaderForm.SECONDS, folder, settings=settings, discovery=SELLER_DECLARATION)
        )
        await sell_reports(Seller(stage.service_url, key), stage, api)
        yield stage


async def _list_npm_seller(stage: Stage) -> None:
    """Pay the npm seller once on each network, and wait until the search finds it on both."""
    for market in stage.markets:
        tally = await pay_with_npm(stage, market, 1)
        if tally.faults:
            raise RunFailed(f"the npm seller was not paid: {tally.faults[0]}")
    for market in stage.markets:
        await _wait_until_found(stage, market)


async def _wait_until_found(stage: Stage, market: Market) -> None:
    query = {"query": DESCRIPTION, "network": market.network.value}
    async with aiohttp.ClientSession(stage.service_url) as session:

        async def is_found() -> bool:
            async with session.get("/discovery/search", params=query) as response:
                found = await response.json()
            return any(each["resource"] == stage.url(market) for each in found["resources"])

        what = f"the search finds the npm seller on {market.network}"
        await wait_until(is_found, what, within_s=_FOUND_WITHIN_S)


async def _buy_everywhere(stage: Stage, count: int, query: str, resource: str | None) -> Counts:
    """Buy with both clients on both networks; without a resource from the npm seller."""
    before = [await each.seller_balance() for each in stage.markets]
    errands = [
        _errand(stage, market, count, query, resource or stage.url(market))
        for market in stage.markets
    ]
    rounds = await asyncio.gather(
        *(asyncio.to_thread(buy_with_npm, each) for each in errands),
        *(buy_with_pypi(each) for each in errands),
    )
    purchases = [purchase for each in rounds for purchase in each]
    after = [await each.seller_balance() for each in stage.markets]
    earned = sum(after) - sum(before)
    faults = [_fault(each) for each in purchases if each.error or not each.is_paid]
    for fault in faults:
        say(fault)
    if earned % PRICE_UNITS:
        faults.append(f"the sellers earned {earned} base units")
    return Counts(
        tried=count * len(rounds),
        paid=len({each.transaction for each in purchases if each.is_paid}),
        repeats_equal=sum(each.is_repeated for each in purchases),
        repeats_paid=sum(each.is_paid_again for each in purchases),
        charged=earned // PRICE_UNITS,
        faults=tuple(faults),
    )


def _errand(stage: Stage, market: Market, count: int, query: str, resource: str) -> Errand:
    return Errand(
        service=stage.service_url,
        network=market.network.value,
        payer=market.buyer.address,
        secret=market.buyer.secret.reveal(),
        query=query,
        resource=resource,
        count=count,
    )


async def _recognised(stage: Stage, resource: str) -> bool:
    """Whether PyPI `x402` recognises the challenge of both sellers on every network."""
    seen = [
        await challenge_seen_by_x402(_errand(stage, market, 1, query, target))
        for market in stage.markets
        for query, target in ((WORDS, resource), (DESCRIPTION, stage.url(market)))
    ]
    return all(seen)


def _fault(purchase: Purchase) -> str:
    return purchase.error or f"not paid: {str(purchase.content_of_paid)[:400]}"


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
