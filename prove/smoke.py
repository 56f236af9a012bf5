"""`make prove PROOF=smoke`: a short case of every proof, with one control of each.

They are the tests of `tests/proofs`, and take some five minutes on two quiet cores.
"""

import sys
import time
from typing import Final

from prove.pytest_run import run_pytest
from testing.machine import scratch_folder
from testing.report import run_and_report

_LONGEST_S: Final = 1_200.0  # on a busy machine
_FOLDER: Final = "tests/proofs"
_CONTROL: Final = "test_control_"


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the tests; return whether all of them hold, and the seconds of each module.

    A control that is skipped catches nothing.
    """
    del is_quick  # there is nothing shorter
    began = time.monotonic()
    with scratch_folder("fbx-smoke-") as folder:
        ran = await run_pytest(folder, _FOLDER, within_s=_LONGEST_S)
    uncaught = [name for name in (*ran.failed, *ran.skipped) if _CONTROL in name]
    return not ran.failed and not ran.skipped, {
        "failed": list(ran.failed),
        "skipped": list(ran.skipped),
        "control_caught": not uncaught and ran.passed > 0,
        "cases": ran.passed,
        "proofs": {name: round(spent, 1) for name, spent in sorted(ran.seconds.items())},
        "seconds": round(time.monotonic() - began),
    }


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
