"""`/supported`, `/verify`, `/settle` and `/v1/errors` over HTTP."""

import asyncio
import re
from collections.abc import Mapping
from typing import Final

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.facilitator.journal import SettlementJournal
from farebox.facilitator.operators import Operators
from farebox.facilitator.outcome import NothingSent, Settled
from farebox.facilitator.settle import Settler
from farebox.facilitator.verdict import Accepted, Verdict
from farebox.facilitator.verify import Verifier
from farebox.facilitator.wire import (
    Body,
    errors_body,
    invalid_body,
    nothing_sent_body,
    settle_body,
    settlement_body,
    supported_body,
    unsettled_body,
    verify_body,
)
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.web.answers import send_json
from farebox.web.errors import Failure, FailureBody
from farebox.web.limits import read_body
from farebox.web.request_note import note_of
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment

_encode: Final = msgspec.json.Encoder().encode
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
VERIFY: Final = "/verify"
SETTLE: Final = "/settle"


class FixedEndpoint:
    """Answers with a body that does not change while the service runs."""

    def __init__(self, body: Body) -> None:
        self._body = _encode(body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, self._body)


class SupportedEndpoint:
    """Every configured network, and every account that can send or pay, channels included."""

    def __init__(self, operators: Mapping[Network, Operators]) -> None:
        self._operators = operators

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        signers = {each for own in self._operators.values() for each in own.usable}
        body = supported_body(list(self._operators), sorted(signers))
        await send_json(send, 200, _encode(body))


class VerifyEndpoint:
    """Every verdict is HTTP 200; only a body that is no JSON object is 400."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        payment = read_payment(await read_body(receive))
        if isinstance(payment, Unacceptable):
            verdict: Verdict | Unacceptable = payment
        else:
            verdict = await self._verifier.verify(payment)
        note_of(scope).say(reason="" if isinstance(verdict, Accepted) else verdict.reason)
        await send_json(send, _status(payment), _encode(verify_body(verdict)))


class SettleEndpoint:
    """Every outcome is HTTP 200; 503 says that nothing was sent."""

    def __init__(self, settler: Settler) -> None:
        self._settler = settler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        payment = read_payment(await read_body(receive))
        if isinstance(payment, Unacceptable):
            body = unsettled_body(payment.reason, payment.network)
            note_of(scope).say(reason=payment.reason.value)
            await send_json(send, _status(payment), _encode(body))
            return
        try:
            outcome = await self._settler.settle(payment)
        except NothingSent as nothing:
            retry_after = (b"retry-after", b"%d" % nothing.retry_after_s)
            await send_json(send, 503, _encode(nothing_sent_body(nothing)), [retry_after])
            return
        if isinstance(outcome, Settled):
            if await has_left(receive):
                return  # the success stays free for the same request, sent again
            outcome = await self._settler.own_success(outcome)
        body = settle_body(outcome)
        note_of(scope).say(
            reason=str(body.get("errorReason", "")), tx_hash=str(body["transaction"])
        )
        await send_json(send, 200, _encode(body))


class SettlementNotFound(Refusal):
    """No settlement of ours has this hash."""

    def __init__(self) -> None:
        super().__init__("not_found", "No settlement of this service has this transaction hash.")


class SettlementEndpoint:
    """What became of the settlement with this transaction hash, outer or inner."""

    def __init__(self, journal: SettlementJournal) -> None:
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        text = str(scope["path_params"]["transaction"])
        settlement = None
        if _HASH.match(text):
            settlement = await self._journal.find_by_hash(bytes.fromhex(text))
        if settlement is None:
            raise SettlementNotFound
        await send_json(send, 200, _encode(settlement_body(settlement, text)))


async def has_left(receive: Receive) -> bool:
    """Whether the caller has disconnected, as far as the server knows now."""
    pending = asyncio.ensure_future(receive())
    try:
        done, _ = await asyncio.wait({pending}, timeout=0)
        if not done:
            await asyncio.sleep(0)
        return pending.done() and pending.result()["type"] == "http.disconnect"
    finally:
        pending.cancel()


def facilitator_routes(
    verifier: Verifier,
    settler: Settler,
    journal: SettlementJournal,
    operators: Mapping[Network, Operators],
) -> list[BaseRoute]:
    """The facilitator's routes."""
    return [
        Route(VERIFY, VerifyEndpoint(verifier), methods=["POST"]),
        Route(SETTLE, SettleEndpoint(settler), methods=["POST"]),
        Route("/supported", SupportedEndpoint(operators), methods=["GET"]),
        Route("/v1/settlements/{transaction}", SettlementEndpoint(journal), methods=["GET"]),
        Route("/v1/errors", FixedEndpoint(errors_body()), methods=["GET"]),
    ]


def failure_bodies() -> Mapping[str, FailureBody]:
    """What `/verify` and `/settle` answer when they failed before they had a verdict.

    Such a body is a valid failing verdict too, so that stock clients find a reason in it.
    """
    return {
        VERIFY: lambda failure: _encode(invalid_body(_reason(failure, _VERIFY_BUG))),
        SETTLE: lambda failure: _encode(unsettled_body(_reason(failure, _SETTLE_BUG), "")),
    }


_VERIFY_BUG: Final = Reason.UNEXPECTED_VERIFY_ERROR
_SETTLE_BUG: Final = Reason.UNEXPECTED_SETTLE_ERROR


def _reason(failure: Failure, otherwise: Reason) -> Reason:
    return Reason(failure.code) if failure.code in _CODES else otherwise


_CODES: Final = frozenset(Reason)


def _status(payment: object) -> int:
    is_unread = isinstance(payment, Unacceptable) and payment.reason is Reason.INVALID_JSON
    return 400 if is_unread else 200
