"""Builds of the service for the delivery proof: one with short times, and those that must fail."""

from typing import Final

from farebox.gateway.payment import MAX_ATTEMPTS
from prove.broken_build import Build, End
from prove.delivery_case import DeliveryCase, DeliveryOutcome
from prove.delivery_hostile import HostileKind, ShopCase
from prove.delivery_reports import ReportBatch
from prove.delivery_upstream import UpstreamFault
from prove.delivery_verdict import DeliveryViolation
from prove.run_cases import Control, finds

PlayedCase = DeliveryCase | ShopCase | ReportBatch
DeliveryControl = Control[PlayedCase, DeliveryOutcome]
# ledgers close fast, and no authorization may expire
LONG_OFFER: Final = End(
    "gateway/offers/offer.py", "MAX_TIMEOUT_S: Final = 60", "\n\nMAX_TIMEOUT_S = 3600\n"
)
# the leases of a dead process, in seconds of the proof; their order is that of the service
TIMED: Final = Build(
    (
        End(
            "gateway/delivery/pay.py",
            "HOLD_S: Final = 75.0",
            "\n\nHOLD_S = 6.0\nATTEMPT_EXTRA_S = 3.0\n_HELD_FOR = timedelta(seconds=HOLD_S)\n",
        ),
        End("gateway/delivery/deliver.py", "_RECORD_S: Final = 5.0", "\n\n_RECORD_S = 0.5\n"),
        End(
            "gateway/delivery/reconcile.py",
            "EVERY_S: Final = 5.0",
            "\n\nEVERY_S, _HELD_FOR = 0.5, timedelta(seconds=3)\n_UNCLAIMED_FOR = 4 * _HELD_FOR\n",
        ),
        End(
            "gateway/delivery/payment_store.py",
            "_LEFT_ALONE: Final = timedelta(seconds=10)",
            "\n\n_LEFT_ALONE, _SOONEST_LOOK = timedelta(seconds=1), timedelta(seconds=0.5)\n",
        ),
        LONG_OFFER,
    )
)
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
_CUT_SHORT: Final = "\n\nWholeResponseHandler._take_rest = lambda self: True\n"
_LOSSY: Final = "\n\nLosslessTls.read = ssl.SSLObject.read\n"
_KNOWN_BY_NONCE: Final = End("gateway/payment.py", "class PresentedRequest:", _BY_NONCE)
_DENIED_FIRST: Final = 3  # the seed whose node takes the first envelope and denies it
_REFUSALS: Final = 4  # the seed whose answers are refusals


def _pay(end: str) -> End:
    return End("gateway/delivery/pay.py", "class Payer:", end)


def _response(end: str) -> End:
    return End("outbound/response_handler.py", "class WholeResponseHandler(", end)


def _hostile(kind: HostileKind) -> ShopCase:
    return ShopCase(_DENIED_FIRST, 4, kind)


def _control(
    name: str, defect: str, violation: DeliveryViolation, case: PlayedCase, *ends: End
) -> DeliveryControl:
    return Control(name, (case,), TIMED.with_ends(*ends), finds(violation), defect)


CONTROLS: Final[tuple[DeliveryControl, ...]] = (
    _control(
        "repeats", "it repeats a POST of unknown outcome", DeliveryViolation.OVERDELIVERED,
        DeliveryCase(0, 1, upstream=(UpstreamFault.DROPS,), method="POST"), _pay(_REPEATS),
    ),
    _control(
        "receipt", "it leaves the receipt out", DeliveryViolation.RECEIPTS_MISSING,
        DeliveryCase(0, 2, upstream=(UpstreamFault.STATUS,)),
        End("gateway/responses.py", "def receipt_header(", _NO_RECEIPT),
    ),
    _control(
        "reconciler", "nothing ends what a dead process has begun", DeliveryViolation.UNRESOLVED,
        DeliveryCase(0, 3, upstream=(UpstreamFault.KILL,), leaves=True),
        End("gateway/delivery/reconcile.py", "class GatewayReconciler:", _NO_RECONCILER),
    ),
    _control(
        "price", "a retry reserves, whatever its terms", DeliveryViolation.GOODS_UNPAID,
        _hostile(HostileKind.TWO_PRICES), _pay(UNJUDGED + _RESERVES), _KNOWN_BY_NONCE,
    ),
    _control(
        "foreign", "a landing that was never claimed here counts as paid",
        DeliveryViolation.GOODS_UNPAID, _hostile(HostileKind.LANDED_BEFORE),
        End("gateway/delivery/landing.py", "async def _take_restored(", _FOREIGN), _pay(UNJUDGED),
    ),
    _control(
        "starved", "the oldest payments are looked at, and no others",
        DeliveryViolation.UNRESOLVED, _hostile(HostileKind.UNDECIDABLE),
        End("gateway/delivery/payment_store.py", "async def take_unattended(", _OLDEST),
    ),
    _control(
        "hasty", "one answer of the node proves that no envelope of a payment is out",
        DeliveryViolation.HONEST_REFUSED, _hostile(HostileKind.ENVELOPES),
        End("submission/deliver.py", "async def _after_try_again_later(", _HASTY),
    ),
    _control(
        "public", "whose payment it is, is told by its nonce", DeliveryViolation.TO_OTHERS,
        _hostile(HostileKind.LANDED_AFTER), _KNOWN_BY_NONCE,
    ),
    _control(
        "shared", "/settle gives the success of a sale to whoever has its bytes",
        DeliveryViolation.TO_OTHERS, _hostile(HostileKind.SETTLED_BY_STRANGER),
        End("facilitator/settling/settle_request.py", "def digest_at(", _SHARED),
    ),
    _control(
        "blind", "nobody looks whether the buyer is there", DeliveryViolation.HONEST_REFUSED,
        _hostile(HostileKind.LEAVES),
        End("gateway/buyer_connection.py", "async def _wait_until_left(", _BLIND),
    ),
    _control(
        "truncated", "a truncated response without a length counts as complete",
        DeliveryViolation.TO_NOBODY, DeliveryCase(0, 6, upstream=(UpstreamFault.UNENDED,)),
        _response(_CUT_SHORT),
    ),
    _control(
        "paused", "the last of many small chunks are dropped when the upstream has left",
        DeliveryViolation.HONEST_REFUSED, _hostile(HostileKind.READ_LATE), _response(_PAUSED),
    ),
    _control(
        "lossy", "an error of TLS drops the bytes before it", DeliveryViolation.UNRESOLVED,
        DeliveryCase(0, 7, upstream=(UpstreamFault.PLAIN,) * MAX_ATTEMPTS), _response(_LOSSY),
    ),
    # the buyer is no part of the service
    _control(
        "gullible", "farebox pay takes a seller's refusal for a disproof",
        DeliveryViolation.TOLD_WRONG, ReportBatch(_REFUSALS, 5, is_gullible=True),
    ),
)  # fmt: skip
