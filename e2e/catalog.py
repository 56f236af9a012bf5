"""E2E=catalog: listings of real settlements, read by stock npm and PyPI clients of the bazaar.

On both networks an unmodified npm seller declares its resource and is paid by an unmodified npm
buyer, and a tool is settled with the declaration of @x402/extensions. Then @x402/extensions 2.27
and the PyPI package x402 browse and search; every answer is compared with the settlements. The
rules of filter honesty (V0 to V7) are checked without a client.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import aiohttp

from e2e.buyers import pay_with_npm, sign_with_npm
from e2e.catalog_expectations import Entry, Expectation, Kind, build_expectations, find_faults
from e2e.catalog_readers import npm_answers, pypi_answers
from e2e.clients import SignedPayment
from e2e.facilitator import FOLDER
from e2e.filter_honesty import broken_rules
from farebox.local.devnet import HeaderForm
from testing.machine import RunFailed, say, scratch_folder, subfolder, wait_until
from testing.packages import changed_packages, install
from testing.payment_terms import payment_requirements
from testing.report import run_and_report, timed
from testing.stage import DESCRIPTION, Market, Stage, open_stage

UNMODIFIED: Final = ("x402-core-2.27", "x402-extensions-2.27", "@x402/extensions", "@x402/express")
SELLER_DECLARATION: Final[Mapping[str, object]] = {
    "input": {"month": "2026-11"},
    "inputSchema": {"properties": {"month": {"type": "string"}}, "required": ["month"]},
    "output": {"example": {"report": "paid for"}},
}
TOOL: Final = "weather_forecast"
TOOL_DECLARATION: Final[Mapping[str, object]] = {
    "toolName": TOOL,
    "description": "Rain and wind for a place, hour by hour",
    "transport": "streamable-http",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name of the city"}},
        "required": ["city"],
    },
    "example": {"city": "Paris"},
}
TOOL_METADATA: Final[Mapping[str, object]] = {
    "description": "Weather forecasts for any city",
    "mimeType": "application/json",
    "serviceName": "Skies",
    "tags": ["weather", "forecast"],
}
_LISTED_S: Final = 30.0


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether it holds, and the figures. It has no short form."""
    del quick
    await asyncio.to_thread(install, FOLDER)
    with scratch_folder("farebox-e2e-") as scratch:
        local = {"FAREBOX_CATALOG_LOCAL": "1"}
        folder = subfolder(scratch, "catalog")
        async with open_stage(
            HeaderForm.SECONDS, folder, settings=local, discovery=SELLER_DECLARATION
        ) as stage:
            entries, unsettled = await _list_everything(stage)
            findings, answers = await _read_everything(stage, entries)
            broken = await broken_rules(stage.service_url, entries)
        changed = await asyncio.to_thread(changed_packages, FOLDER, UNMODIFIED, scratch)
    figures: dict[str, object] = {
        "listed": len(entries),
        "settlements_failed": unsettled,
        "answers": answers,
        "answers_not_parsed": findings,
        "filter_rules_broken": broken,
        "packages_changed": [f"{each.package}: {each.difference}" for each in changed],
    }
    return not (unsettled or findings or broken or changed), figures


async def _list_everything(stage: Stage) -> tuple[list[Entry], list[str]]:
    """One HTTP resource and one tool on each network, settled; return listings and faults."""
    unsettled: list[str] = []
    for market in stage.markets:
        tally = await pay_with_npm(stage, market, 1)
        unsettled += tally.faults
        (signed,) = await sign_with_npm(stage, market, 1)
        (settled,) = await _settle_tool(stage, market, signed)
        if not settled.get("answer", {}).get("success"):
            unsettled.append(f"{market.network}: {settled}")
    raw = await _wait_until_listed(stage, 2 * len(stage.markets))
    entries = []
    for item in raw:
        network = item["accepts"][0]["network"]
        market = next(m for m in stage.markets if m.network.value == network)
        entries.append(_entry(stage, market, item))
    return entries, unsettled


async def _settle_tool(stage: Stage, market: Market, signed: SignedPayment) -> list[dict[str, Any]]:
    request = {
        "payment": signed.payment,
        "terms": signed.terms,
        "resource": {"url": _tool_url(stage, market), **TOOL_METADATA},
        "discovery": TOOL_DECLARATION,
    }
    answers = await asyncio.to_thread(npm_answers, stage.service_url, {"settle": [request]})
    return answers["settle"]


def _tool_url(stage: Stage, market: Market) -> str:
    return f"{stage.seller_url}/{market.network.label}/mcp"


async def _wait_until_listed(stage: Stage, count: int) -> list[dict[str, Any]]:
    """Wait until `count` resources are listed; return them in order."""
    async with aiohttp.ClientSession() as session:

        async def listed() -> list[dict[str, Any]] | None:
            async with session.get(f"{stage.service_url}/discovery/resources") as answer:
                items: list[dict[str, Any]] = (await answer.json())["items"]
            return items if len(items) >= count else None

        found: list[dict[str, Any]] = await wait_until(
            listed, f"{count} settlements are listed", within_s=_LISTED_S
        )
    return found


def _entry(stage: Stage, market: Market, item: Mapping[str, Any]) -> Entry:
    """Build the expected listing of an item; check that its declaration is unchanged."""
    is_tool = item["type"] == "mcp"
    accepts = item["accepts"][0]
    bazaar = item["extensions"]["bazaar"]
    declared = bazaar["info"]["input"]
    expected = (
        {"toolName": TOOL, "inputSchema": TOOL_DECLARATION["inputSchema"]}
        if is_tool
        else {"method": "GET", "queryParams": SELLER_DECLARATION["input"]}
    )
    if {key: declared.get(key) for key in expected} != expected:
        raise RunFailed(f"the declaration was changed: {declared}")
    return Entry(
        network=market.network.value,
        type=item["type"],
        resource=_tool_url(stage, market) if is_tool else stage.url(market),
        accepts=payment_requirements(
            market.network,
            accepts["asset"],
            100_000,
            market.pay_to,
            accepts["maxTimeoutSeconds"],
        ),
        bazaar=bazaar,
        metadata=TOOL_METADATA
        if is_tool
        else {"description": DESCRIPTION, "mimeType": "application/json"},
    )


async def _read_everything(stage: Stage, entries: Sequence[Entry]) -> tuple[list[str], int]:
    """Read the catalog with stock clients; return the faults and the number of answers."""
    lists, searches = build_expectations(entries)
    by_kind = {entry.kind: entry for entry in entries}
    say(f"npm and PyPI clients read {len(lists)} pages and {len(searches)} searches")
    expectations = {"list": lists, "search": searches}
    plain = {name: [dict(each.parameters) for each in expectations[name]] for name in expectations}
    npm = await asyncio.to_thread(npm_answers, stage.service_url, plain)
    pypi = await asyncio.to_thread(
        pypi_answers, stage.service_url, lists=plain["list"], searches=plain["search"]
    )
    findings = _find_faults("npm @x402/extensions 2.27", expectations, npm, by_kind)
    findings += _find_faults("PyPI x402", expectations, pypi, by_kind)
    for line in findings:
        say(line)
    return findings, 2 * (len(lists) + len(searches))


def _find_faults(
    client: str,
    expectations: Mapping[str, Sequence[Expectation]],
    answers: Mapping[str, Sequence[Mapping[str, Any]]],
    entries: Mapping[Kind, Entry],
) -> list[str]:
    return [
        f"{client}: {line}"
        for name, each in expectations.items()
        for expectation, result in zip(each, answers[name], strict=True)
        for line in find_faults(name, expectation, result, entries)
    ]


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
