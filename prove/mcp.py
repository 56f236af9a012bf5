"""`make prove PROOF=mcp`: every message to `/mcp` gets a JSON-RPC response of its own.

COUNT=50000 messages, made from SEED, over twelve connections that use the same ids at once, against
a running service whose database stalls and breaks again and again and whose upstream is broken in
every way; QUICK=1 sends 5,000. A build that lets the text of exceptions out must be caught.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Final

from eval.labelled import Labelled, read_labelled
from prove.mcp_case import UNAVAILABLE, Case, Outcome, run_case
from prove.mcp_control import leaking_sources
from prove.mcp_scenery import open_scenery
from prove.queries import find_errors
from testing.machine import say, scratch_folder, subfolder
from testing.report import run_and_report

_COUNT: Final = 50_000
_QUICK: Final = 5_000
CONTROL: Final = Case(seed=1, count=3_000)


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and the figures."""
    count = int(os.environ.get("COUNT") or (_QUICK if is_quick else _COUNT))
    case = Case(int(os.environ.get("SEED", "1")), count)
    began = time.monotonic()
    labelled = read_labelled()
    with scratch_folder("fbx-mcp-") as folder:
        async with open_scenery(subfolder(folder, "service"), labelled) as scenery:
            outcome = await run_case(scenery, case)
            if errors := find_errors(scenery.service.log):
                say(f"the errors in the service's log:\n{errors}")
        control = await run_control(subfolder(folder, "control"), labelled)
    figures = figures_of(outcome) | {
        "control_caught": is_caught(control),
        "seed": case.seed,
        "seconds": round(time.monotonic() - began, 1),
    }
    return holds(outcome) and is_caught(control), figures


async def run_control(folder: Path, labelled: Labelled) -> Outcome:
    """Run the build that must fail."""
    sources = await asyncio.to_thread(leaking_sources, folder)
    async with open_scenery(folder, labelled, sources) as scenery:
        return await run_case(scenery, CONTROL)


def is_caught(control: Outcome) -> bool:
    """Whether the check found errors of another shape."""
    return any("an error without code" in line for line in control.faults)


def holds(outcome: Outcome) -> bool:
    """Whether every response was right, and everything that can fail did."""
    is_right = not outcome.faults and outcome.ids_mixed == 0 and _answers_5xx(outcome) == 0
    has_failed = outcome.database_faults and outcome.reasons[UNAVAILABLE]
    return is_right and bool(has_failed) and bool(outcome.upstream_requests)


def _answers_5xx(outcome: Outcome) -> int:
    return sum(n for status, n in outcome.statuses.items() if status >= 500)


def figures_of(outcome: Outcome) -> dict[str, object]:
    """Return the figures of the last line."""
    took = sorted(outcome.took_s) or [0.0]
    return {
        "sent": sum(outcome.statuses.values()) + outcome.left,
        "answers_5xx": _answers_5xx(outcome),
        "faults": outcome.faults,
        "ids_mixed": outcome.ids_mixed,
        "left": outcome.left,
        "database_faults": outcome.database_faults,
        "upstream_requests": outcome.upstream_requests,
        "statuses": {str(status): n for status, n in sorted(outcome.statuses.items())},
        "reasons": dict(outcome.reasons.most_common()),
        "p50_ms": round(1000 * took[len(took) // 2], 1),
        "p99_ms": round(1000 * took[int(len(took) * 0.99)], 1),
        "slowest_ms": round(1000 * took[-1], 1),
    }


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
