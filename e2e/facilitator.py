"""E2E=facilitator: stock npm and PyPI packages against this facilitator, on both networks.

First stage, `--header seconds` (what every older client decodes): an unmodified npm seller and
buyer pay through our service, and foreign facilitator clients parse every kind of answer. Second
stage, `--header ms` (protocol 30): our own `farebox pay` makes the same purchases, and the
results of the npm packages are reported for information.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from e2e.buyers import Tally, pay_with_farebox, pay_with_npm, sign_with_npm
from e2e.clients import find_faults, npm_answers, pypi_answers
from farebox.kernel.networks import Network
from farebox.local.devnet import HeaderForm
from testing.machine import ROOT, say, scratch_folder, subfolder
from testing.packages import ChangedPackage, changed_packages, install
from testing.report import run_and_report, timed
from testing.stage import Market, Stage, open_stage

FOLDER: Final = ROOT / "e2e"
UNMODIFIED: Final = (
    "@x402/core",
    "@x402/express",
    "@x402/fetch",
    "@x402/stellar",
    "@x402/extensions",
    "@stellar/stellar-sdk",
    "@stellar/stellar-base",
    "x402-core-2.27",
)


@dataclass(frozen=True, slots=True)
class Size:
    """The number of payments on each network."""

    payments: int
    npm_on_ms: int


Purchases = dict[Network, Tally]
Buy = Callable[[Stage, Market, int], Awaitable[Tally]]

FULL: Final = Size(payments=10, npm_on_ms=2)
QUICK: Final = Size(payments=2, npm_on_ms=1)


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether it holds, and the figures."""
    size = QUICK if quick else FULL
    await asyncio.to_thread(install, FOLDER)
    with scratch_folder("farebox-e2e-") as scratch:
        async with open_stage(HeaderForm.SECONDS, subfolder(scratch, "seconds")) as stage:
            bought = await _buy_on_each(stage, size.payments, pay_with_npm)
            parsed = {m.network.value: await _parse_answers(stage, m) for m in stage.markets}
            horizon_reads = stage.horizon.reads
        async with open_stage(HeaderForm.MS, subfolder(scratch, "ms")) as stage:
            own = await _buy_on_each(stage, size.payments, pay_with_farebox)
            on_ms = await _buy_on_each(stage, size.npm_on_ms, pay_with_npm)
        changed = await asyncio.to_thread(changed_packages, FOLDER, UNMODIFIED, scratch)
    figures = _figures(bought, own, on_ms, parsed, changed) | {"horizon_reads": horizon_reads}
    least = size.payments * len(Network)
    holds = (
        figures["paid"] == figures["tried"] == least
        and _complete(bought, least)
        and _complete(own, least)
        and not any(lines for lines in parsed.values())
        and not changed
    )
    return holds, figures


async def _buy_on_each(stage: Stage, count: int, buy: Buy) -> Purchases:
    """Make the same purchases on both networks at once."""
    tallies = await asyncio.gather(*(buy(stage, market, count) for market in stage.markets))
    return dict(zip((m.network for m in stage.markets), tallies, strict=True))


async def _parse_answers(stage: Stage, market: Market) -> list[str]:
    """Check the answers of one network with foreign clients; empty when there are no faults."""
    say(f"{market.network}: foreign clients parse every answer")
    for_npm, for_pypi = await sign_with_npm(stage, market, 2)
    network = market.network.value
    npm = await asyncio.to_thread(npm_answers, stage.service_url, for_npm)
    pypi = await pypi_answers(stage.service_url, for_pypi)
    findings = [f"npm @x402/core 2.27: {line}" for line in find_faults(npm, network=network)]
    findings += [f"PyPI x402: {line}" for line in find_faults(pypi, network=network)]
    for line in findings:
        say(f"{market.network}: {line}")
    return findings


def _complete(purchases: Purchases, least: int) -> bool:
    paid = sum(tally.paid for tally in purchases.values())
    return paid == least and not any(tally.faults for tally in purchases.values())


def _counts(purchases: Purchases) -> dict[str, object]:
    by_network: dict[str, object] = {}
    for network, tally in purchases.items():
        entry: dict[str, object] = {"paid": tally.paid, "tried": tally.tried}
        if tally.faults:
            entry["faults"] = list(tally.faults)
        by_network[network.value] = entry
    return by_network


def _figures(
    bought: Purchases,
    own: Purchases,
    on_ms: Purchases,
    parsed: dict[str, list[str]],
    changed: list[ChangedPackage],
) -> dict[str, object]:
    return {
        "paid": sum(tally.paid for tally in bought.values()),
        "tried": sum(tally.tried for tally in bought.values()),
        "networks": _counts(bought),
        "answers_not_parsed": [line for lines in parsed.values() for line in lines],
        "packages_changed": [f"{c.package}: {c.difference}" for c in changed],
        "farebox_pay_header_ms": _counts(own),
        "npm_header_ms": _counts(on_ms),
    }


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
