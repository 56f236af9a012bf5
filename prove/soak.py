"""`make soak`: two replicas under moderate load, one fault after the other, for twenty minutes.

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

from e2e.ending import end_with_figures
from e2e.machine import say, scratch_folder
from farebox.buyer.authorization import AuthorizationRefused
from farebox.stellar.rpc import RpcUnavailable
from prove.arena import Arena, opened_arena
from prove.books import opening
from prove.caller import Caller
from prove.plot import draw
from prove.trouble import Trouble
from prove.truth import Fault, Found
from prove.verdict import judge_all
from prove.vital_signs import Sample, Trend, look, trend
from prove.world import opened_world

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
_TROUBLE_EVERY_S: Final = 6.0
_TELL_EVERY: Final = 30
SETTINGS: Final = {
    "FAREBOX_SETTLE_DEADLINE_S": "8",
    "FAREBOX_CHANNEL_WAIT_S": "3",
    # counted, and out of reach: so few payers and one payee use up a day's defaults in minutes
    "FAREBOX_BUDGET_TOTAL_STROOPS_TESTNET": str(10**11),
    "FAREBOX_BUDGET_PAYER_STROOPS_TESTNET": str(10**11),
    "FAREBOX_BUDGET_PAY_TO_STROOPS_TESTNET": str(10**11),
}


@dataclass(slots=True)
class Watch:
    """What is kept of a soak while it goes on."""

    callers: list[Caller] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    @property
    def settled(self) -> int:
        """How many payments were answered with success."""
        return sum(any(each.is_success for each in caller.answers) for caller in self.callers)


async def soak(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """The figures of a soak, and whether it stayed level and kept its books."""
    minutes = float(os.environ.get("SOAK_MINUTES", _QUICK_MINUTES if is_quick else _MINUTES))
    seed = int(os.environ.get("SEED", "1"))
    with scratch_folder("fbx-soak-") as folder:
        async with (
            opened_world(folder, channels=_CHANNELS, payers=_PAYERS) as world,
            opened_arena(world, SETTINGS) as arena,
        ):
            return await run(arena, minutes * 60, seed)


async def run(
    arena: Arena, seconds: float, seed: int, *, every_s: float = _TROUBLE_EVERY_S
) -> tuple[bool, dict[str, object]]:
    """Soak an arena for so long, something going wrong about every so many seconds."""
    before, watch, began = await opening(arena), Watch(), time.monotonic()
    first = await arena.start("replica-0")
    await arena.start("replica-1")
    await arena.hand.hasten()
    trouble = Trouble(arena, seed, every_s=every_s)
    buying = [asyncio.create_task(_buy(arena, watch, each, began + seconds)) for each in _BUYING]
    making = asyncio.create_task(trouble.run())
    at_work = (making, *buying)
    while time.monotonic() < began + seconds and not any(task.done() for task in at_work):
        at_s = time.monotonic() - began
        watch.samples.append(look(first.process_id, at_s=at_s, settled=watch.settled))
        if len(watch.samples) % _TELL_EVERY == 0:
            last = watch.samples[-1]
            say(f"{at_s:.0f} s: {last.settled} settled, {last.rss / 1e6:.0f} MB, {trouble.made}")
        await asyncio.sleep(_SAMPLE_S)
    making.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await making
    await arena.devnet.clear_faults()
    await asyncio.gather(*buying)
    until = asyncio.get_running_loop().time() + _ANSWERED_WITHIN_S
    verdict = await judge_all(arena, watch.callers, before, until=until)
    holds, figures = _figures(watch, verdict.found, trouble, trend(watch.samples), began)
    return holds, figures | {"answer_cut": verdict.answer_cut}


_BUYING: Final = range(_BUYERS)


async def _buy(arena: Arena, watch: Watch, buyer: int, until: float) -> None:
    """One payment after the other, each asked for until its answer is final."""
    turn = buyer
    while time.monotonic() < until:
        try:
            caller = Caller(arena, await arena.payment(turn))
        except (RpcUnavailable, AuthorizationRefused):  # the buyer's node has faults as well
            await asyncio.sleep(_BUYERS_PAUSE_S)
            continue
        watch.callers.append(caller)
        turn += _BUYERS
        await caller.insist(until=asyncio.get_running_loop().time() + _ANSWERED_WITHIN_S)
        await asyncio.sleep(_BUYERS_PAUSE_S)


def _figures(
    watch: Watch, found: list[Found], trouble: Trouble, level: Trend, began: float
) -> tuple[bool, dict[str, object]]:
    for each in found:
        say(f"FAILED {each.fault}: {each.why}")
    counted = Counter(each.fault for each in found)
    is_flat = level.is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
    minutes = watch.samples[-1].at_s / 60
    if plot := os.environ.get("SOAK_PLOT"):
        title = f"{watch.settled} payments, {len(trouble.marks)} faults"
        draw(Path(plot), watch.samples, [at - began for at in trouble.marks], title)
    figures: dict[str, object] = {
        "minutes": round(minutes, 1),
        "payments": len(watch.callers),
        "settled": watch.settled,
        "faults": trouble.made,
        **{fault.value: counted[fault] for fault in Fault},
        "rss_mb": level.rss_mb,
        "rss_growth": level.rss_growth,
        "descriptors": level.descriptors,
        "descriptors_before": level.descriptors_before,
        "is_flat": is_flat,
    }
    return is_flat and not found and watch.settled > 0, figures


if __name__ == "__main__":
    sys.exit(end_with_figures(soak))
