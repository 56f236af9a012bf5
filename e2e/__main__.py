"""`E2E=… python -m e2e`: progress on standard error, figures as the last line of output."""

import asyncio
import json
import os
import signal
import sys

from e2e import facilitator
from e2e.machine import RunFailed
from farebox.local.faults import LocalFault

_RUNS = {"facilitator": facilitator.run}


async def _run(name: str, *, quick: bool) -> tuple[bool, dict[str, object]]:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await _RUNS[name](quick=quick)


def main() -> int:
    """0 when everything holds, 1 when something does not, 2 when it could not be run."""
    name = os.environ.get("E2E", "facilitator")
    if name not in _RUNS:
        print(f"E2E={name} is unknown: choose {', '.join(_RUNS)}.", file=sys.stderr)
        return 2
    try:
        holds, figures = asyncio.run(_run(name, quick=os.environ.get("QUICK") == "1"))
    except (RunFailed, LocalFault) as fault:
        print(fault, file=sys.stderr)
        print(json.dumps({"error": str(fault).splitlines()[0]}))
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    print(json.dumps(figures))
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
