"""E2E=gateway: the npm buyer pays at two replicas of the gateway, before an API with a credential.

Both networks pay for one wrapper. `x402conf` judges `/supported` and the unpaid answer of each
replica. The ledger, the upstream's count and the seller's payments must agree. What real clients
send beside payments (`gateway_wire`) is answered as HTTP has it.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from e2e.buyers import Tally, pay_with_npm, sign_with_npm
from e2e.conformance import failed_checks
from e2e.crawler import CONTACT
from e2e.crowd import CONNECTIONS
from e2e.gateway_wire import PAID_PATH, Shelf, priced_wrapper, wire_faults
from e2e.plan_wire import PlanTargets, prepare_plans
from farebox.local.certificates import Authority
from farebox.local.devnet import HeaderForm
from farebox.local.gateway_settings import gateway_settings, operator_setting
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.wrapped_api import NAME, WrappedApi
from testing.machine import (
    ROOT,
    free_port,
    our_process,
    say,
    scratch_folder,
    subfolder,
    wait_until,
)
from testing.packages import install
from testing.report import run_and_report, timed
from testing.seller import Seller
from testing.stage import PRICE_UNITS, Market, Stage, open_stage

MOST_TO_FOUND_S: Final = 5.0
SLUG: Final = "quixotic-reports"
WORDS: Final = "quixotic reports of the harbour"
_PATH: Final = "by%2Fname|1?q={%22take%22:50}"  # as stock clients write them
_FOUND_WITHIN_S: Final = 30.0


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether it holds, and the figures."""
    count = 4 if quick else 50  # on each network at each replica
    await asyncio.to_thread(install, ROOT / "e2e")
    key, api = secrets.token_urlsafe(32), WrappedApi()
    with scratch_folder("farebox-gateway-") as scratch:
        async with _replicas(scratch, api, key) as (stage, urls, targets):
            seller = Seller(urls[0], key)
            found_s = await sell_reports(seller, stage, api)
            tallies = await asyncio.gather(
                *(_buy(stage, market, urls, count) for market in stage.markets)
            )
            failed = await _conformance(urls, scratch)
            shelf = await _stock_shelf(seller, stage, targets)
            wire = [await _wire(seller, stage, url, shelf) for url in urls]
            delivered = await _count_delivered(seller)
    paid = sum(each.paid for network in tallies for each in network)
    faults = [fault for network in tallies for each in network for fault in each.faults]
    tried = count * len(urls) * len(tallies)
    changed = sorted(api.targets - {f"/report/{_path_from(market)}" for market in stage.markets})
    figures: dict[str, object] = {
        "tried": tried,
        "paid": paid,
        "delivered": delivered,
        "upstream_requests": api.responses,
        "targets_changed": changed[:5],
        "conformance_failed": failed,
        "wire_cases": sum(sent for sent, _ in wire),
        "wire_faults": (wrong := [each for _, faults in wire for each in faults])[:5],
        "seconds_to_found": round(found_s, 2),
        "faults": faults[:5],
    }
    holds = paid == delivered == tried == api.responses and found_s <= MOST_TO_FOUND_S
    return holds and not (failed or faults or wrong or changed), figures


@contextlib.asynccontextmanager
async def _replicas(
    scratch: Path, api: WrappedApi, key: str
) -> AsyncIterator[tuple[Stage, list[str], PlanTargets]]:
    """Start two devnets, the API behind TLS and two replicas on one database."""
    async with contextlib.AsyncExitStack() as stack:
        authority = Authority(scratch)
        await stack.enter_async_context(api.serving(authority.server(NAME)))
        folder = subfolder(scratch, "postgres")
        server = stack.enter_context(EmbeddedPostgres(folder, is_throwaway=True))
        settings = {
            "FAREBOX_DATABASE_URL": server.url.reveal(),
            "FAREBOX_PUBLIC_URL": f"http://127.0.0.1:{free_port()}",  # as of a load balancer
            "FAREBOX_CATALOG_LOCAL": "1",
            "FAREBOX_CONTACT": CONTACT,
            **CONNECTIONS,
            **operator_setting(key),
            **gateway_settings(authority, NAME, api.port),
        }
        targets: list[PlanTargets] = []

        async def prepare(markets: Sequence[Market]) -> dict[str, str]:
            found, own = await prepare_plans(markets[0], settings, subfolder(scratch, "plans"))
            targets.append(found)
            settings.update(own)
            return own

        stage = await stack.enter_async_context(
            open_stage(
                HeaderForm.SECONDS,
                subfolder(scratch, "a"),
                settings=settings,
                with_seller=False,
                parties=1,
                prepare=prepare,
            )
        )
        say("starting the second replica")
        second = await stack.enter_async_context(
            our_process(
                [market.served for market in stage.markets],
                folder=subfolder(scratch, "b"),
                settings=settings,
            )
        )
        yield stage, [stage.service_url, second.url], targets[0]


async def sell_reports(seller: Seller, stage: Stage, api: WrappedApi) -> float:
    """Create and enable the wrapper; return the seconds until a search has found it."""
    secret = await seller.send(
        "POST",
        "/v1/vault/secrets",
        {"name": "api token", "value": api.token.reveal(), "purpose": "bearer"},
    )
    body = {
        "name": "Quixotic reports",
        "description": "Quixotic reports of the harbour",
        "slug": SLUG,
        "upstreamUrl": f"https://{NAME}/report",
        "authType": "bearer",
        "secretId": secret["id"],
        "requestsPerMinute": 10_000,
        "accepts": [_term(market) for market in stage.markets],
    }
    began = time.monotonic()
    wrapper = await seller.send("POST", "/v1/wrappers", body)
    await seller.send("POST", f"/v1/wrappers/{wrapper['id']}/enable")

    async def is_found() -> bool:
        result = await seller.send("GET", f"/discovery/search?query={WORDS.replace(' ', '%20')}")
        return any(SLUG in each["resource"] for each in result["resources"])

    await wait_until(is_found, "the search finds the wrapper", within_s=_FOUND_WITHIN_S)
    return time.monotonic() - began


def _term(market: Market) -> Mapping[str, str]:
    return {
        "network": market.network.value,
        "asset": market.scene.asset,
        "amount": str(PRICE_UNITS),
        "payTo": market.pay_to,
    }


async def _buy(stage: Stage, market: Market, urls: list[str], count: int) -> list[Tally]:
    """Buy at each replica in turn."""
    tallies = []
    for url in urls:
        own = replace(market, path=f"/gateway/{SLUG}/{_path_from(market)}")
        tallies.append(await pay_with_npm(replace(stage, seller_url=url), own, count))
    return tallies


def _path_from(market: Market) -> str:
    """Return the path and query that a buyer of this network asks for."""
    return f"{_PATH}&from={market.network.name}"


async def _wire(seller: Seller, stage: Stage, url: str, shelf: Shelf) -> tuple[int, list[str]]:
    """Send the cases of the wire to a replica, with a payment that is not settled."""
    market = replace(stage.markets[0], path=PAID_PATH)
    [signed] = await sign_with_npm(replace(stage, seller_url=url), market, 1)
    body = {"name": "Spare", "upstreamUrl": f"https://{NAME}/report", **_term(stage.markets[0])}
    spare = await seller.send("POST", "/v1/wrappers", body)
    return await wire_faults(url, replace(shelf, spare=spare["id"]), signed)


async def _stock_shelf(seller: Seller, stage: Stage, targets: PlanTargets) -> Shelf:
    """Create and enable the further wrapper of the wire's cases."""
    body = priced_wrapper(f"https://{NAME}/report", dict(_term(stage.markets[0])))
    wrapper = await seller.send("POST", "/v1/wrappers", body)
    await seller.send("POST", f"/v1/wrappers/{wrapper['id']}/enable")
    return Shelf(SLUG, seller.key, wrapper["id"], targets)


async def _conformance(urls: list[str], scratch: Path) -> list[str]:
    """Judge both replicas; return the failed checks."""
    failed = []
    for url in urls:
        failed += await failed_checks("live", url, scratch=scratch)
        failed += await failed_checks("resource", f"{url}/gateway/{SLUG}", scratch=scratch)
    return failed


async def _count_delivered(seller: Seller) -> int:
    """Count the delivered payments that the seller is shown."""
    delivered, cursor = 0, ""
    while True:
        query = "role=settled&state=delivered&limit=100"
        page = await seller.send("GET", f"/v1/payments?{query}{cursor}")
        delivered += len(page["items"])
        if page["pagination"]["nextCursor"] is None:
            return delivered
        cursor = f"&cursor={page['pagination']['nextCursor']}"


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
