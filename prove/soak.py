"""`make soak`: two replicas under moderate load and a sequence of faults, for twenty minutes.

SOAK_MINUTES=n for another length, QUICK=1 for one minute, SEED=n for other faults,
SOAK_PLOT=docs/soak.svg to draw the run.
"""

import asyncio
import contextlib
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from farebox.buyer.authorization import AuthorizationRefused
from farebox.stellar.rpc import RpcUnavailable
from prove.accounting import judge_all, read_balances
from prove.caller import Caller
from prove.environment import Environment, open_environment
from prove.fault_injection import FaultInjector
from prove.payment_check import COMPARED, PaymentFinding
from prove.plot import draw
from prove.process_metrics import Sample, Trend, compute_trend, sample_process
from prove.run_cases import read_wanted
from prove.world import open_world
from testing.machine import say, scratch_folder
from testing.report import run_and_report

RSS_GROWTH: Final = 0.10  # of the average, between the warm-up and the end
DESCRIPTORS_GROWTH: Final = 10
_MINUTES: Final = 20.0
_QUICK_MINUTES: Final = 1.0
_BUYERS: Final = 6
_PAYERS: Final = 12
_CHANNELS: Final = 57
_BUYERS_PAUSE_S: Final = 0.4
_ANSWERED_WITHIN_S: Final = 90.0
_SAMPLE_S: Final = 1.0
_FAULT_EVERY_S: Final = 6.0
_REPORT_EVERY: Final = 30
SETTINGS: Final = {
    "FAREBOX_SETTLE_DEADLINE_S": "8",
    "FAREBOX_CHANNEL_WAIT_S": "3",
    # high: so few payers and one payee would spend the default daily limits in minutes
    "FAREBOX_BUDGET_TOTAL_STROOPS_TESTNET": str(10**11),
    "FAREBOX_BUDGET_PAYER_STROOPS_TESTNET": str(10**11),
    "FAREBOX_BUDGET_PAY_TO_STROOPS_TESTNET": str(10**11),
    "FAREBOX_BUDGET_KEY_STROOPS_TESTNET": str(10**11),
}


@dataclass(slots=True)
class SoakRecord:
    """The callers and samples of a running soak."""

    callers: list[Caller] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    @property
    def settled(self) -> int:
        """The number of payments that were answered with success."""
        return sum(any(each.is_success for each in caller.answers) for caller in self.callers)


async def soak(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run a soak; return whether resources stayed level without violations, and the figures."""
    minutes = float(os.environ.get("SOAK_MINUTES", _QUICK_MINUTES if is_quick else _MINUTES))
    seed = read_wanted(is_quick).seed
    with scratch_folder("fbx-soak-") as folder:
        async with (
            open_world(folder, channels=_CHANNELS, payers=_PAYERS) as world,
            open_environment(world, SETTINGS) as environment,
        ):
            return await run(environment, minutes * 60, seed)


async def run(
    environment: Environment, seconds: float, seed: int, *, every_s: float = _FAULT_EVERY_S
) -> tuple[bool, dict[str, object]]:
    """Soak an environment for `seconds`, with a fault about every `every_s` seconds."""
    before, record = await read_balances(environment), SoakRecord()
    first = await environment.start("replica-0")
    await environment.start("replica-1")
    await environment.ledger_closer.speed_up()
    began = time.monotonic()  # a busy machine takes as long to start as a short run lasts
    injector = FaultInjector(environment, seed, every_s=every_s)
    buying = [
        asyncio.create_task(_pay_repeatedly(environment, record, each, began + seconds))
        for each in _BUYER_NUMBERS
    ]
    injecting = asyncio.create_task(injector.run())
    tasks = (injecting, *buying)
    while time.monotonic() < began + seconds and not any(task.done() for task in tasks):
        at_s = time.monotonic() - began
        record.samples.append(sample_process(first.process_id, at_s=at_s, settled=record.settled))
        if len(record.samples) % _REPORT_EVERY == 0:
            last = record.samples[-1]
            say(f"{at_s:.0f} s: {last.settled} settled, {last.rss / 1e6:.0f} MB, {injector.counts}")
        await asyncio.sleep(_SAMPLE_S)
    injecting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await injecting
    await environment.devnet.clear_faults()
    await asyncio.gather(*buying)
    until = asyncio.get_running_loop().time() + _ANSWERED_WITHIN_S
    verdict = await judge_all(environment, record.callers, before, until=until)
    holds, figures = _figures(
        record, verdict.findings, injector, compute_trend(record.samples), began
    )
    return holds, figures | {"answer_cut": verdict.answer_cut}


_BUYER_NUMBERS: Final = range(_BUYERS)


async def _pay_repeatedly(
    environment: Environment, record: SoakRecord, buyer: int, until: float
) -> None:
    """Settle one payment after the other, each until its answer is final."""
    turn = buyer
    while time.monotonic() < until:
        try:
            caller = Caller(environment, await environment.payment(turn))
        except (RpcUnavailable, AuthorizationRefused):  # the buyer's node is faulty as well
            await asyncio.sleep(_BUYERS_PAUSE_S)
            continue
        record.callers.append(caller)
        turn += _BUYERS
        await caller.repeat_until_final(
            until=asyncio.get_running_loop().time() + _ANSWERED_WITHIN_S
        )
        await asyncio.sleep(_BUYERS_PAUSE_S)


def _figures(
    record: SoakRecord,
    findings: list[PaymentFinding],
    injector: FaultInjector,
    trend: Trend,
    began: float,
) -> tuple[bool, dict[str, object]]:
    for each in findings:
        say(f"FAILED {each}")
    counted = Counter(each.violation for each in findings)
    is_flat = trend.is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
    minutes = record.samples[-1].at_s / 60
    if plot := os.environ.get("SOAK_PLOT"):
        title = f"{record.settled} payments, {len(injector.marks)} faults"
        draw(Path(plot), record.samples, [at - began for at in injector.marks], title)
    figures: dict[str, object] = {
        "minutes": round(minutes, 1),
        "payments": len(record.callers),
        "settled": record.settled,
        "faults": injector.counts,
        **{fault.value: counted[fault] for fault in COMPARED},
        "rss_mb": trend.rss_mb,
        "rss_growth": trend.rss_growth,
        "descriptors": trend.descriptors,
        "descriptors_before": trend.descriptors_before,
        "is_flat": is_flat,
    }
    return is_flat and not findings and record.settled > 0, figures


if __name__ == "__main__":
    sys.exit(run_and_report(soak))
