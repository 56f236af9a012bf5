"""`make prove PROOF=mcp`: every message to `/mcp` gets a JSON-RPC response of its own.

COUNT=50000 messages, made from SEED, over twelve connections that use the same ids at once, against
a running service whose database stalls and breaks again and again and whose upstream is broken in
every way; QUICK=1 sends 5,000. A build that lets the text of exceptions out must be caught.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from eval.labelled import Labelled, read_labelled
from prove.broken_build import Build, Change
from prove.mcp_case import UNAVAILABLE, McpCase, McpOutcome, run_case
from prove.mcp_scenery import open_scenery
from prove.outcome import times_in_ms
from prove.queries import find_errors
from prove.run_cases import Control, read_count, read_wanted
from testing.machine import say, scratch_folder, subfolder
from testing.report import run_and_report

_COUNT: Final = 50_000
_QUICK: Final = 5_000


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and the figures."""
    count = read_count(is_quick, whole=_COUNT, quick=_QUICK)
    case = McpCase(read_wanted(is_quick).seed, count)
    began = time.monotonic()
    labelled = read_labelled()
    with scratch_folder("fbx-mcp-") as folder:
        async with open_scenery(subfolder(folder, "service"), labelled) as scenery:
            outcome = await run_case(scenery, case)
            if errors := find_errors(scenery.service.log):
                say(f"the errors in the service's log:\n{errors}")
        caught = CONTROL.shows(await run_control(subfolder(folder, "control"), labelled))
    figures = figures_of(outcome) | {
        "control_caught": caught,
        "seed": case.seed,
        "seconds": round(time.monotonic() - began, 1),
    }
    return holds(outcome) and caught, figures


async def run_control(folder: Path, labelled: Labelled) -> list[McpOutcome]:
    """Run the build that must fail."""
    sources = await asyncio.to_thread(CONTROL.build.write, folder)
    async with open_scenery(folder, labelled, sources) as scenery:
        return [await run_case(scenery, case) for case in CONTROL.cases]


def holds(outcome: McpOutcome) -> bool:
    """Whether every response was right, and everything that can fail did."""
    is_right = not outcome.faults and outcome.ids_mixed == 0 and _answers_5xx(outcome) == 0
    has_failed = outcome.database_faults and outcome.reasons[UNAVAILABLE]
    return is_right and bool(has_failed) and bool(outcome.upstream_requests)


def _answers_5xx(outcome: McpOutcome) -> int:
    return sum(n for status, n in outcome.statuses.items() if status >= 500)


def figures_of(outcome: McpOutcome) -> dict[str, object]:
    """Return the figures of the last line."""
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
        **times_in_ms(outcome.took_s),
    }


_HTTP: Final = "mcp/http.py"
_HANDLER: Final = "mcp/handler.py"
_ANSWERED: Final = "        except RpcError as error:\n            context.add_log_fields("
_LET_OUT: Final = """\
        except Exception as error:
            if not isinstance(error, RpcError):
                failure = {"code": 0, "message": repr(error)}
                return _encode({"jsonrpc": "2.0", "id": call.id, "error": failure})
            context.add_log_fields("""
_CHANGES: Final = (
    Change(_HTTP, _ANSWERED, _LET_OUT),
    Change(
        _HANDLER,
        "    if isinstance(error, Outage):\n",
        "    if isinstance(error, Outage):\n        raise error\n",
    ),
)


def _is_of_another_shape(outcomes: Sequence[McpOutcome]) -> bool:
    return any("an error without code" in line for each in outcomes for line in each.faults)


# what a tool raises gets out, as it does of the MCP SDK
CONTROL: Final = Control(
    "control", (McpCase(seed=1, count=3_000),), Build(changes=_CHANGES), _is_of_another_shape
)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
