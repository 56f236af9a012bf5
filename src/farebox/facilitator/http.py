"""`/supported`, `/verify`, `/settle` and `/v1/errors` over HTTP."""

import asyncio
import re
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import msgspec
import structlog
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.facilitator.channels.operators import Operators
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.listing_report import SENTENCES, ListingReports
from farebox.facilitator.requests.answer import Answer, Answering
from farebox.facilitator.requests.name import read_idempotency_key
from farebox.facilitator.settling.outcome import NotAdmitted, NothingSent, SettleOutcome
from farebox.facilitator.verification.verdict import Accepted, Verdict
from farebox.facilitator.verification.verify import Verifier
from farebox.facilitator.wire import (
    Body,
    errors_body,
    invalid_body,
    not_admitted_body,
    nothing_sent_body,
    settle_body,
    settlement_body,
    supported_body,
    unsettled_body,
    verify_body,
)
from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.networks import Network
from farebox.web.answers import send_json
from farebox.web.errors import Failure, FailureBody
from farebox.web.guard import Needs, known_caller_of, require
from farebox.web.limits import read_body
from farebox.web.request_note import RequestNote, note_of
from farebox.x402.headers import EXTENSION_RESPONSES
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment

log = structlog.get_logger(__name__)
_encode: Final = msgspec.json.Encoder().encode
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
VERIFY: Final = "/verify"
SETTLE: Final = "/settle"
IDEMPOTENCY_KEY: Final = b"idempotency-key"
_EXTENSION_RESPONSES: Final = EXTENSION_RESPONSES.lower().encode()
Headers = tuple[tuple[bytes, bytes], ...]


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


class Meter(Protocol):
    """Is told how callers are answered."""

    def verified(self, owner: OwnerId, network: Network, *, is_accepted: bool) -> None:
        """A payment was judged; returns at once."""
        ...

    def not_settled(self, owner: OwnerId, network: Network) -> None:
        """A settlement was refused and nothing was sent; returns at once."""
        ...


class Guards(Protocol):
    """Puts an endpoint behind whatever a caller has to pass."""

    def __call__(self, endpoint: ASGIApp, *, goes_on: bool) -> ASGIApp:
        """One that `goes_on` needs no caller while nobody can tell who it is."""
        ...


@dataclass(frozen=True, slots=True)
class Ingress:
    """Who may have payments judged and settled on each network, and where that is counted."""

    needs: Mapping[Network, Needs]
    meter: Meter
    guarded: Guards

    def owner(self, scope: Scope, network: Network) -> OwnerId | None:
        """Who asks; None for a caller without credentials where none are needed.

        Raises:
            Refusal: the network asks for more than the caller has shown.
            Outage: nobody can tell now who it is.
        """
        needs = self.needs.get(network)
        caller = known_caller_of(scope) if needs is None else require(scope, needs)
        return None if caller is None else caller.owner


class VerifyEndpoint:
    """Every verdict is HTTP 200; only a body that is no JSON object is 400."""

    def __init__(self, verifier: Verifier, ingress: Ingress) -> None:
        self._verifier, self._ingress = verifier, ingress

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        payment = read_payment(await read_body(receive))
        if isinstance(payment, Unacceptable):
            verdict: Verdict | Unacceptable = payment
        else:
            verdict = await self._judged(scope, payment)
        note_of(scope).say(reason="" if isinstance(verdict, Accepted) else verdict.reason)
        await send_json(send, _status(payment), _encode(verify_body(verdict)))

    async def _judged(self, scope: Scope, payment: Payment) -> Verdict:
        network = payment.terms.network
        owner = self._ingress.owner(scope, network)
        verdict = await self._verifier.verify(payment, caller=owner)
        if owner is not None:
            is_accepted = isinstance(verdict, Accepted)
            self._ingress.meter.verified(owner, network, is_accepted=is_accepted)
        return verdict


class SettleEndpoint:
    """Every outcome is HTTP 200; 503 says that nothing was sent, 409 that a name is taken.

    A success says in a header what became of the listing, where the payload asks for one.
    """

    def __init__(
        self, answering: Answering, ingress: Ingress, reports: ListingReports | None = None
    ) -> None:
        self._answering, self._ingress, self._reports = answering, ingress, reports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = read_idempotency_key([v for n, v in scope["headers"] if n == IDEMPOTENCY_KEY])
        payment = read_payment(await read_body(receive))
        if isinstance(key, Reason):
            network = "" if isinstance(payment, Unacceptable) else payment.terms.network.value
            payment = Unacceptable(key, network)
        note = note_of(scope)
        if isinstance(payment, Unacceptable):
            body = unsettled_body(payment.reason, payment.network)
            note.say(reason=payment.reason.value)
            await send_json(send, _status(payment), _encode(body))
            return
        owner = self._ingress.owner(scope, payment.terms.network)

        def told(outcome: SettleOutcome) -> bytes:
            body = settle_body(outcome)
            note.say(reason=str(body.get("errorReason", "")), tx_hash=str(body["transaction"]))
            return _encode(body)

        listing = _Listing(self._reports, payment)
        answering = self._answering.answer(
            payment,
            key=key,
            caller=owner,
            body=told,
            on_settled=listing.look,
            has_left=partial(has_left, receive),
        )
        reply = await self._reply(payment, answering, listing, note)
        if reply is not None:
            if owner is not None and reply.status < 500 and _is_refusal(reply.body):
                self._ingress.meter.not_settled(owner, payment.terms.network)
            await send_json(send, reply.status, reply.body, reply.headers)

    async def _reply(
        self,
        payment: Payment,
        answering: Awaitable[Answer | None],
        listing: "_Listing",
        note: RequestNote,
    ) -> "_Reply | None":
        """What goes out; None to a caller who has left."""
        try:
            answer = await answering
            if answer is None:
                return None
            is_success = _OUTCOME.decode(answer.body).success
            headers = await listing.headers(answer) if is_success else ()
            return _Reply(200, answer.body, headers)
        except NothingSent as nothing:
            retry_after = (b"retry-after", b"%d" % nothing.retry_after_s)
            return _Reply(503, _encode(nothing_sent_body(nothing)), (retry_after,))
        except NotAdmitted as refused:
            note.say(reason=refused.reason.value)
            return _Reply(409, _encode(not_admitted_body(refused)))
        except (Refusal, Outage):
            raise
        except Exception:  # a bug: the caller learns what may have been sent
            log.exception("request.broken")
            note.say(error="internal_error")
            return _Reply(500, _encode(await self._broken_body(payment)))

    async def _broken_body(self, payment: Payment) -> Body:
        """With the hash of what may have been sent, where one is recorded."""
        network, tx_hash = payment.terms.network.value, ""
        with suppress(Exception):  # whatever broke may be broken here too
            tx_hash = await self._answering.known_hash(payment)
        return unsettled_body(_SETTLE_BUG, network, tx_hash=tx_hash)


class _Listing:
    """What a success says of its listing; looked up once, whoever asks first."""

    def __init__(self, reports: ListingReports | None, payment: Payment) -> None:
        self._reports, self._discovery = reports, payment.discovery
        self._found: Headers | None = None

    async def look(self, identity: PaymentIdentity) -> None:
        """List the resource of a settled payment, or learn why it is not listed."""
        if self._reports is not None and self._discovery is not None:
            header = await self._reports.header(identity, self._discovery)
            self._found = ((_EXTENSION_RESPONSES, header),)

    async def headers(self, answer: Answer) -> Headers:
        """What goes out with a success; a kept one is looked up now."""
        if self._found is None and answer.identity is not None:
            await self.look(answer.identity)
        return self._found or ()


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes
    headers: Headers = ()


class _Outcome(msgspec.Struct):
    """What the answer that goes out, made now or kept, says."""

    success: bool
    transaction: str


_OUTCOME: Final = msgspec.json.Decoder(_Outcome)


def _is_refusal(body: bytes) -> bool:
    """Whether it says that nothing was sent."""
    said = _OUTCOME.decode(body)
    return not said.success and not said.transaction


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
    answering: Answering,
    journal: SettlementJournal,
    operators: Mapping[Network, Operators],
    ingress: Ingress,
    reports: ListingReports | None = None,
    listing_reasons: Mapping[str, str] = SENTENCES,
) -> list[BaseRoute]:
    """The facilitator's routes; without `reports` nothing is said of listings.

    `listing_reasons` are the codes that `reports` may give, with their sentences.
    """
    # to judge a payment takes no database
    verify = ingress.guarded(VerifyEndpoint(verifier, ingress), goes_on=True)
    settle = ingress.guarded(SettleEndpoint(answering, ingress, reports), goes_on=False)
    return [
        Route(VERIFY, verify, methods=["POST"]),
        Route(SETTLE, settle, methods=["POST"]),
        Route("/supported", SupportedEndpoint(operators), methods=["GET"]),
        Route("/v1/settlements/{transaction}", SettlementEndpoint(journal), methods=["GET"]),
        Route("/v1/errors", FixedEndpoint(errors_body(listing_reasons)), methods=["GET"]),
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


_BAD_REQUESTS: Final = frozenset(
    (
        Reason.INVALID_JSON,
        Reason.INVALID_IDEMPOTENCY_KEY,
        Reason.INVALID_PAYMENT_IDENTIFIER,
        Reason.PAYMENT_IDENTIFIER_REQUIRED,
    )
)


def _status(payment: object) -> int:
    return 400 if isinstance(payment, Unacceptable) and payment.reason in _BAD_REQUESTS else 200
