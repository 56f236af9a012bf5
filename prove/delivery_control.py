"""Builds of the service for the delivery proof: one with short times, and those that must fail."""

from enum import StrEnum
from pathlib import Path
from typing import Final

from farebox.gateway.payment import MAX_ATTEMPTS
from prove.broken_build import sources_with_ends
from prove.delivery_case import DeliveryCase, DeliveryOutcome
from prove.delivery_hostile import HostileCase, HostileKind
from prove.delivery_reports import ReportBatch
from prove.delivery_upstream import UpstreamFault
from prove.delivery_verdict import DeliveryViolation

# the leases of a dead process, in seconds of the proof; their order is that of the service
TIMES: Final = {
    "gateway/delivery/pay.py": (
        "HOLD_S: Final = 75.0",
        "\n\nHOLD_S = 6.0\nATTEMPT_EXTRA_S = 3.0\n_HELD_FOR = timedelta(seconds=HOLD_S)\n",
    ),
    "gateway/delivery/deliver.py": ("_RECORD_S: Final = 5.0", "\n\n_RECORD_S = 0.5\n"),
    "gateway/delivery/reconcile.py": (
        "EVERY_S: Final = 5.0",
        "\n\nEVERY_S, _HELD_FOR = 0.5, timedelta(seconds=3)\n_UNCLAIMED_FOR = 4 * _HELD_FOR\n",
    ),
    "gateway/delivery/payment_store.py": (
        "_LEFT_ALONE: Final = timedelta(seconds=10)",
        "\n\n_LEFT_ALONE, _SOONEST_LOOK = timedelta(seconds=1), timedelta(seconds=0.5)\n",
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


UNJUDGED: Final = """

async def _reserve_unjudged(self, request):
    return await self._reserve(request, None)


Payer._admit = _reserve_unjudged
"""
_RESERVES: Final = """

async def _look_or_reserve(self, request, known):
    return await (self._admit(request) if known is None else self._continue(request, known))


Payer._look = _look_or_reserve
"""
_BY_NONCE: Final = """

def _owns_by_nonce(self, payment):
    return payment.binding == self.binding


PresentedRequest.owns = _owns_by_nonce
PresentedRequest.may_get_again = lambda self, payment, now: True
"""
_FOREIGN: Final = """

async def _take_nothing(db, held, *, has_buyer):
    return False


_take_restored = _take_nothing
"""
_OLDEST: Final = """

async def _take_oldest(db, network, *, limit):
    rows = await db.fetch(
        f"SELECT {COLUMNS} FROM gateway_payments WHERE state IN ('reserved', 'paid')"
        " AND (attempt_until IS NULL OR attempt_until < clock_timestamp())"
        " ORDER BY reserved_at LIMIT $1", limit)
    return [read_payment_row(row) for row in rows]


take_unattended = _take_oldest
"""
_HASTY: Final = """

async def _take_for_refused(self, answer):
    return Refused("try_again_later")


EnvelopeDelivery._after_try_again_later = _take_for_refused
"""
_SHARED: Final = """

SettleRequest.digest_at = lambda self, row: self.digest
"""
_PAUSED: Final = """

def _parse_while_paused(self, data=b""):
    if data:
        self.data_received(data)
    while self._reading_paused:
        self._reading_paused = False
        self.data_received(b"")


WholeResponseHandler._parse = _parse_while_paused
"""
_BLIND: Final = """

async def _wait_for_ever(self):
    await asyncio.Event().wait()


async def _take_for_taken(self):
    return


BuyerConnection._wait_until_left = _wait_for_ever
BuyerConnection.wait_until_taken = _take_for_taken
"""


class Control(StrEnum):
    """The defect of a build."""

    REPEATS = "it repeats a POST of unknown outcome"
    RECEIPT = "it leaves the receipt out"
    RECONCILER = "nothing ends what a dead process has begun"
    PRICE = "a retry reserves, whatever its terms"
    FOREIGN = "a landing that was never claimed here counts as paid"
    STARVED = "the oldest payments are looked at, and no others"
    HASTY = "one answer of the node proves that no envelope of a payment is out"
    PUBLIC = "whose payment it is, is told by its nonce"
    SHARED = "/settle gives the success of a sale to whoever has its bytes"
    BLIND = "nobody looks whether the buyer is there"
    TRUNCATED = "a truncated response without a length counts as complete"
    PAUSED = "the last of many small chunks are dropped when the upstream has left"
    LOSSY = "an error of TLS drops the bytes before it"
    GULLIBLE = "farebox pay takes a seller's refusal for a disproof"

    @property
    def case(self) -> DeliveryCase | HostileCase | ReportBatch:
        """The case that shows the defect."""
        match self:
            case Control.REPEATS:
                return DeliveryCase(0, 1, upstream=(UpstreamFault.DROPS,), method="POST")
            case Control.RECEIPT:
                return DeliveryCase(0, 2, upstream=(UpstreamFault.STATUS,))
            case Control.RECONCILER:
                return DeliveryCase(0, 3, upstream=(UpstreamFault.KILL,), leaves=True)
            case Control.TRUNCATED:
                return DeliveryCase(0, 6, upstream=(UpstreamFault.UNENDED,))
            case Control.LOSSY:
                return DeliveryCase(0, 7, upstream=(UpstreamFault.PLAIN,) * MAX_ATTEMPTS)
            case Control.GULLIBLE:
                return ReportBatch(_REFUSALS, 5, is_gullible=True)
            case _:
                return HostileCase(_DENIED_FIRST, 4, _KINDS[self])

    def shows_in(self, outcome: DeliveryOutcome) -> bool:
        """Whether the outcome shows the defect."""
        return any(violation is _SHOWN[self] for violation, _ in outcome.findings)


_DENIED_FIRST: Final = 3  # the seed whose node takes the first envelope and denies it
_REFUSALS: Final = 4  # the seed whose answers are refusals
_KINDS: Final = {
    Control.PRICE: HostileKind.TWO_PRICES,
    Control.FOREIGN: HostileKind.LANDED_BEFORE,
    Control.STARVED: HostileKind.UNDECIDABLE,
    Control.HASTY: HostileKind.ENVELOPES,
    Control.PUBLIC: HostileKind.LANDED_AFTER,
    Control.SHARED: HostileKind.SETTLED_BY_STRANGER,
    Control.BLIND: HostileKind.LEAVES,
    Control.PAUSED: HostileKind.READ_LATE,
}
_SHOWN: Final = {
    Control.REPEATS: DeliveryViolation.OVERDELIVERED,
    Control.RECEIPT: DeliveryViolation.RECEIPTS_MISSING,
    Control.RECONCILER: DeliveryViolation.UNRESOLVED,
    Control.PRICE: DeliveryViolation.GOODS_UNPAID,
    Control.FOREIGN: DeliveryViolation.GOODS_UNPAID,
    Control.STARVED: DeliveryViolation.UNRESOLVED,
    Control.HASTY: DeliveryViolation.HONEST_REFUSED,
    Control.PUBLIC: DeliveryViolation.TO_OTHERS,
    Control.SHARED: DeliveryViolation.TO_OTHERS,
    Control.BLIND: DeliveryViolation.HONEST_REFUSED,
    Control.TRUNCATED: DeliveryViolation.TO_NOBODY,
    Control.PAUSED: DeliveryViolation.HONEST_REFUSED,
    Control.LOSSY: DeliveryViolation.UNRESOLVED,
    Control.GULLIBLE: DeliveryViolation.TOLD_WRONG,
}
_PAYMENT: Final = "gateway/payment.py"
_RESPONSE: Final = "outbound/response_handler.py"
_BROKEN: Final[dict[Control, dict[str, str]]] = {
    Control.REPEATS: {"gateway/delivery/pay.py": _REPEATS},
    Control.RECEIPT: {"gateway/responses.py": _NO_RECEIPT},
    Control.RECONCILER: {"gateway/delivery/reconcile.py": _NO_RECONCILER},
    Control.PRICE: {"gateway/delivery/pay.py": UNJUDGED + _RESERVES, _PAYMENT: _BY_NONCE},
    Control.FOREIGN: {
        "gateway/delivery/landing.py": _FOREIGN,
        "gateway/delivery/pay.py": UNJUDGED,
    },
    Control.STARVED: {"gateway/delivery/payment_store.py": _OLDEST},
    Control.HASTY: {"submission/deliver.py": _HASTY},
    Control.PUBLIC: {_PAYMENT: _BY_NONCE},
    Control.SHARED: {"facilitator/settling/settle_request.py": _SHARED},
    Control.BLIND: {"gateway/buyer_connection.py": _BLIND},
    Control.TRUNCATED: {_RESPONSE: "\n\nWholeResponseHandler._take_rest = lambda self: True\n"},
    Control.PAUSED: {_RESPONSE: _PAUSED},
    Control.LOSSY: {_RESPONSE: "\n\nLosslessTls.read = ssl.SSLObject.read\n"},
    Control.GULLIBLE: {},  # it is no part of the service
}
# what each of those modules must still have
_REPLACED: Final = {
    "gateway/responses.py": "def receipt_header(",
    _PAYMENT: "class PresentedRequest:",
    _RESPONSE: "class WholeResponseHandler(",
    "gateway/delivery/landing.py": "async def _take_restored(",
    "facilitator/settling/settle_request.py": "def digest_at(",
    "submission/deliver.py": "async def _after_try_again_later(",
    "gateway/buyer_connection.py": "async def _wait_until_left(",
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
    ends = dict(TIMES)
    for module, end in _BROKEN[control].items():
        start, known = TIMES[module] if module in TIMES else (_REPLACED[module], "")
        ends[module] = (start, known + end)
    return sources_with_ends(folder, ends)
