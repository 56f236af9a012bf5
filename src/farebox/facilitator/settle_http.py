"""`POST /settle`: settle a payment, once.

request → outcome → listing report → response. The outcome is rendered before it is committed, so
that nothing stands between owning a success and writing it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final, assert_never

import msgspec
import structlog
from msgspec import UNSET, Meta, UnsetType
from starlette.types import Receive, Scope, Send

from farebox.facilitator.listing_report import ListingReports, render_report_header
from farebox.facilitator.payment_http import (
    PAYER_EXAMPLE,
    REQUEST_EXAMPLE,
    TOKEN_UNVERIFIED,
    PayerText,
    PaymentAccess,
    PaymentExtra,
    PaymentRequestBody,
    choose_status,
    describe_reason,
    read_failure_reason,
)
from farebox.facilitator.settlement import (
    KeyConflict,
    NothingSent,
    NotSettled,
    Pending,
    Settled,
    SettleOutcome,
    StoredResponse,
)
from farebox.facilitator.settling.idempotency import StoredResponses
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.settling.settle_request import SettleRequest, read_idempotency_key
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller, Grant
from farebox.kernel.errors import Outage, Refusal
from farebox.web.endpoint import (
    Example,
    FailureShape,
    Parameter,
    ParameterLocation,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    text,
)
from farebox.web.error_responses import Failure
from farebox.web.guard import Access, share_name
from farebox.web.request_body import read_body
from farebox.web.request_context import context_of
from farebox.web.responses import send_json
from farebox.web.written_bytes import UNTIL_TAKEN
from farebox.x402.headers import EXTENSION_RESPONSES
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment

log = structlog.get_logger(__name__)
_IDEMPOTENCY_KEY: Final = b"idempotency-key"
_SIGN_S: Final = 5.0  # that a caller which may have left has to give a sign
_EXTENSION_RESPONSES: Final = EXTENSION_RESPONSES.lower().encode()
_encode: Final = msgspec.json.Encoder().encode
Headers = tuple[tuple[bytes, bytes], ...]
_TransactionText = Annotated[
    str,
    Meta(
        description="The transaction's hash; empty when nothing was sent.",
        extra_json_schema={"pattern": "^([0-9a-f]{64})?$"},
    ),
]
_NetworkText = Annotated[str, Meta(description="As it was sent; empty when it was not.")]


class SettleResponse(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The body of an outcome. An unknown member is left out: stock clients refuse a null."""

    success: bool
    error_reason: str | UnsetType = msgspec.field(default=UNSET, name="errorReason")
    error_message: str | UnsetType = msgspec.field(default=UNSET, name="errorMessage")
    transaction: _TransactionText
    network: _NetworkText
    payer: PayerText | UnsetType = UNSET
    extra: PaymentExtra | UnsetType = UNSET


_decode: Final = msgspec.json.Decoder(SettleResponse).decode


@dataclass(frozen=True, slots=True)
class RenderedSettlement:
    """A response: its encoded body, the body's members, status and headers."""

    body: bytes
    response: SettleResponse
    status: int = 200
    headers: Headers = ()


class SettleEndpoint:
    """Every outcome is HTTP 200; 503 says that nothing was sent, 409 that a key is in use.

    A success carries the listing report in a header where the payload asks for a listing.
    """

    def __init__(
        self,
        settler: Settler,
        responses: StoredResponses,
        access: PaymentAccess,
        reports: ListingReports | None = None,
    ) -> None:
        self._settler, self._responses = settler, responses
        self._access, self._reports = access, reports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = read_idempotency_key([v for n, v in scope["headers"] if n == _IDEMPOTENCY_KEY])
        payment = read_payment(await read_body(receive))
        if isinstance(key, Reason):
            network = "" if isinstance(payment, Unacceptable) else payment.terms.network.value
            payment, key = Unacceptable(key, network), None
        if isinstance(payment, Unacceptable):
            rendered: RenderedSettlement | None = _render_refusal(payment)
        else:
            rendered = await self._respond(scope, receive, send, payment, key)
        if rendered is None:  # the caller has disconnected
            return
        response = rendered.response
        context_of(scope).add_log_fields(
            reason=response.error_reason or "", tx_hash=response.transaction
        )
        await send_json(send, rendered.status, rendered.body, rendered.headers)

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, payment: Payment, key: str | None
    ) -> RenderedSettlement | None:
        caller = self._access.caller(scope, payment.terms.network)
        request = None
        try:
            request = self._settler.identify(
                payment, key=key, caller=caller, client=share_name(scope)
            )
            if isinstance(request, NotSettled):
                rendered: RenderedSettlement | None = render(request)
            else:
                rendered = await self._settle(
                    request, lambda: has_disconnected(scope, receive, send)
                )
        except NothingSent as error:
            return _render_nothing_sent(error)
        except KeyConflict as error:
            failed = _build_failure(error.reason, error.network.value, payer=error.payer)
            rendered = _encode_response(failed, status=409)
        except (Refusal, Outage):
            raise
        except Exception:  # a bug: the response has the hash that may have been sent
            log.exception("request.broken")
            context_of(scope).add_log_fields(error="internal_error")
            return await self._render_fault(payment, request)
        self._meter(caller, payment, rendered)
        return rendered

    async def _settle(
        self, request: SettleRequest, has_left: Callable[[], Awaitable[bool]]
    ) -> RenderedSettlement | None:
        """Settle and render the response; None when the caller disconnected before a success.

        The success then stays free for a repeat of the same request.
        """
        if self._reports is not None and request.transfer.payment.discovery is not None:
            await self._reports.prepare()
        outcome = await self._settler.settle(request)
        rendered = render(outcome)
        headers = await self._listing_headers(request) if rendered.response.success else None
        if isinstance(outcome, Settled) and await has_left():
            return None
        committed = await self._responses.commit(request, outcome, rendered.body)
        if committed is not outcome:
            rendered = render(committed)
        if not rendered.response.success:
            return rendered
        if headers is None:  # a stored success, in place of another outcome
            headers = await self._listing_headers(request)
        return RenderedSettlement(rendered.body, rendered.response, headers=headers)

    async def _listing_headers(self, request: SettleRequest) -> Headers:
        """List the resource of a settled payment, and build the header with the report."""
        discovery = request.transfer.payment.discovery
        if self._reports is None or discovery is None:
            return ()
        report = await self._reports.report(request.identity, discovery)
        return ((_EXTENSION_RESPONSES, render_report_header(report)),)

    async def _render_fault(
        self, payment: Payment, request: SettleRequest | NotSettled | None
    ) -> RenderedSettlement:
        """Render the response to a bug, with the hash of an envelope that may have been sent."""
        tx_hash = ""
        if isinstance(request, SettleRequest):
            with suppress(Exception):  # the same fault may occur here
                tx_hash = await self._settler.find_hash(request.identity)
        network = payment.terms.network.value
        failed = _build_failure(Reason.UNEXPECTED_SETTLE_ERROR, network, tx_hash=tx_hash)
        return _encode_response(failed, status=500)

    def _meter(
        self, caller: Caller | None, payment: Payment, rendered: RenderedSettlement | None
    ) -> None:
        if caller is None or rendered is None:
            return
        if not rendered.response.success and not rendered.response.transaction:
            self._access.meter.count_refused_settlement(caller.owner, payment.terms.network)


def render(outcome: SettleOutcome | StoredResponse) -> RenderedSettlement:
    """Render an outcome; the response of a `Settled` may be written only once it is committed."""
    if isinstance(outcome, StoredResponse):
        return RenderedSettlement(outcome.body, _decode(outcome.body))
    return _encode_response(build_settle_response(outcome))


def build_settle_response(outcome: SettleOutcome) -> SettleResponse:
    """Build the members of a response body."""
    match outcome:
        case Settled(identity, _, tx_hash, token_is_verified=verified):
            return SettleResponse(
                success=True,
                transaction=tx_hash,
                network=identity.network.value,
                payer=identity.payer,
                extra=UNSET if verified else TOKEN_UNVERIFIED,
            )
        case NotSettled(reason, network, payer, tx_hash):
            return _build_failure(reason, network.value, payer=payer, tx_hash=tx_hash)
        case Pending(network, payer, tx_hash):
            pending = Reason.SETTLEMENT_PENDING
            return _build_failure(pending, network.value, payer=payer, tx_hash=tx_hash)
        case _:
            assert_never(outcome)


def render_settle_failure(failure: Failure) -> bytes:
    """Render the failed settlement of a request that failed before it had an outcome."""
    return _encode(_build_failure(read_failure_reason(failure, Reason.UNEXPECTED_SETTLE_ERROR), ""))


async def has_disconnected(scope: Scope, receive: Receive, send: Send) -> bool:
    """Whether the caller has disconnected, as far as the server knows now.

    One that has ended its sending side may have left: it is asked for a sign first.
    """
    if UNTIL_TAKEN in scope.get("extensions", ()):
        try:
            async with asyncio.timeout(_SIGN_S):
                await send({"type": UNTIL_TAKEN, "but": 0})
        except (TimeoutError, OSError):
            return True
    pending = asyncio.ensure_future(receive())
    try:
        done, _ = await asyncio.wait({pending}, timeout=0)
        if not done:
            await asyncio.sleep(0)
        return pending.done() and pending.result()["type"] == "http.disconnect"
    finally:
        pending.cancel()


def _render_refusal(request: Unacceptable) -> RenderedSettlement:
    failed = _build_failure(request.reason, request.network, member=request.member)
    return _encode_response(failed, status=choose_status(request))


def _render_nothing_sent(error: NothingSent) -> RenderedSettlement:
    failed = _build_failure(Reason.SERVICE_UNAVAILABLE, error.network.value, payer=error.payer)
    retry_after = (b"retry-after", b"%d" % error.retry_after_s)
    return _encode_response(failed, status=503, headers=(retry_after,))


def _encode_response(
    response: SettleResponse, *, status: int = 200, headers: Headers = ()
) -> RenderedSettlement:
    return RenderedSettlement(_encode(response), response, status, headers)


def _build_failure(
    reason: Reason,
    network: str,
    *,
    payer: Address | None = None,
    tx_hash: str = "",
    member: str = "",
) -> SettleResponse:
    return SettleResponse(
        success=False,
        error_reason=reason,
        error_message=describe_reason(reason, member),
        transaction=tx_hash,
        network=network,
        payer=payer or UNSET,
    )


SETTLE: Final = RouteDeclaration(
    method="POST",
    path="/settle",
    tag="facilitator",
    summary="Settle a payment, once.",
    request=PaymentRequestBody,
    parameters=(
        Parameter(
            "Idempotency-Key",
            "A key of the seller: the final response is stored under it and replayed.",
            text(max_length=255, pattern="^[!-~]+$"),
            ParameterLocation.HEADER,
        ),
    ),
    responses={
        200: ResponseDeclaration(
            "The outcome.",
            SettleResponse,
            headers=(
                Parameter(
                    EXTENSION_RESPONSES,
                    "The listing report: base64 of JSON.",
                    {"type": "string"},
                    ParameterLocation.HEADER,
                ),
            ),
        ),
        400: ResponseDeclaration(
            "The body is not a JSON object, or a key is malformed.", SettleResponse
        ),
        409: ResponseDeclaration("The key belongs to another request.", SettleResponse),
    },
    access=Access(Grant.FACILITATOR),
    rate=Rate(RateClass.SETTLE),
    failure=FailureShape(SettleResponse, render_settle_failure),
    example=Example(
        request=REQUEST_EXAMPLE,
        response={
            "success": True,
            "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "network": "stellar:testnet",
            "payer": PAYER_EXAMPLE,
        },
    ),
)
