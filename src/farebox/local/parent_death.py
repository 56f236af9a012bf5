"""A child process that does not outlive us, however we end."""

import ctypes
import os
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def die_with_parent(signal_number: int) -> Callable[[], None] | None:
    """What a child runs before its program: it then gets `signal_number` when we are gone.

    None where the system offers no such thing; there, only an orderly end stops the child.
    """
    if sys.platform != "linux":
        return None
    # resolved here, because between fork and exec nothing may be loaded
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
        if os.getppid() != parent:  # we died before the line above
            os._exit(1)

    return in_child
