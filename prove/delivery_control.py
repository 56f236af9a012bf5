"""Builds of the service for the delivery proof: one with short times, and those that must fail."""

from enum import StrEnum
from pathlib import Path
from typing import Final

from prove.broken_build import sources_with_ends
from prove.delivery_case import DeliveryCase, DeliveryOutcome
from prove.delivery_upstream import UpstreamFault
from prove.delivery_verdict import DeliveryViolation

# the leases of a dead process, in seconds of the proof; their order is that of the service
TIMES: Final = {
    "gateway/delivery/pay.py": (
        "HOLD_S: Final = 75.0",
        "\n\nHOLD_S = 6.0\nATTEMPT_EXTRA_S = 3.0\n_HELD_FOR = timedelta(seconds=HOLD_S)\n",
    ),
    "gateway/delivery/reconcile.py": (
        "EVERY_S: Final = 5.0",
        "\n\nEVERY_S, _HELD_FOR = 0.5, timedelta(seconds=3)\n_UNCLAIMED_FOR = 4 * _HELD_FOR\n",
    ),
    "gateway/delivery/payment_store.py": (
        "_LEFT_ALONE: Final = timedelta(seconds=10)",
        "\n\n_LEFT_ALONE = timedelta(seconds=1)\n",
    ),
    # ledgers close fast, and no authorization may expire
    "gateway/offers/offer.py": ("MAX_TIMEOUT_S: Final = 60", "\n\nMAX_TIMEOUT_S = 3600\n"),
}
_REPEATS: Final = "\n\nPaidRequest.may_repeat = property(lambda self: True)\n"
_NO_RECEIPT: Final = "\n\n_receipt = lambda members: (b'x-nothing', b'0')\n"
_NO_RECONCILER: Final = """

async def _reconcile_nothing(self):
    return 0


GatewayReconciler.reconcile = _reconcile_nothing
"""


class Control(StrEnum):
    """The defect of a build."""

    REPEATS = "it repeats a POST of unknown outcome"
    RECEIPT = "it leaves the receipt out"
    RECONCILER = "nothing ends what a dead process has begun"

    @property
    def case(self) -> DeliveryCase:
        """The case that shows the defect."""
        if self is Control.REPEATS:
            return DeliveryCase(0, 1, upstream=(UpstreamFault.DROPS,), method="POST")
        if self is Control.RECEIPT:
            return DeliveryCase(0, 2, upstream=(UpstreamFault.STATUS,))
        return DeliveryCase(0, 3, upstream=(UpstreamFault.KILL,), leaves=True)

    def shows_in(self, outcome: DeliveryOutcome) -> bool:
        """Whether the outcome shows the defect."""
        return any(violation is _SHOWN[self] for violation, _ in outcome.findings)


_SHOWN: Final = {
    Control.REPEATS: DeliveryViolation.OVERDELIVERED,
    Control.RECEIPT: DeliveryViolation.RECEIPTS_MISSING,
    Control.RECONCILER: DeliveryViolation.UNRESOLVED,
}
_BROKEN: Final = {
    Control.REPEATS: ("gateway/delivery/pay.py", _REPEATS),
    Control.RECEIPT: ("gateway/responses.py", _NO_RECEIPT),
    Control.RECONCILER: ("gateway/delivery/reconcile.py", _NO_RECONCILER),
}


def timed_sources(folder: Path) -> Path:
    """Write a copy of the sources with short leases.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    return sources_with_ends(folder, TIMES)


def broken_sources(folder: Path, control: Control) -> Path:
    """Write such a copy with one defect.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    module, end = _BROKEN[control]
    start, known = TIMES.get(module, ("def receipt_header(", ""))
    return sources_with_ends(folder, {**TIMES, module: (start, known + end)})
