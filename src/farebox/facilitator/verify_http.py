"""`POST /verify`: verify a payment; nothing moves."""

from typing import Final, assert_never

import msgspec
from msgspec import UNSET, UnsetType
from starlette.types import Receive, Scope, Send

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
from farebox.facilitator.settling.journal_verifier import (
    CollectableSuccess,
    JournalVerifier,
    RecordedPayment,
)
from farebox.facilitator.verification.verdict import Accepted, Rejected
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Grant
from farebox.web.endpoint import (
    Example,
    FailureShape,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
)
from farebox.web.error_responses import Failure
from farebox.web.guard import Access, share_name
from farebox.web.request_body import read_body
from farebox.web.request_context import context_of
from farebox.web.responses import send_json
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment

_encode: Final = msgspec.json.Encoder().encode
Verification = Accepted | Rejected | CollectableSuccess | RecordedPayment | Unacceptable


class VerifyResponse(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The body of a verdict. An unknown member is left out: stock clients refuse a null."""

    is_valid: bool
    invalid_reason: Reason | UnsetType = UNSET
    invalid_message: str | UnsetType = UNSET
    payer: PayerText | UnsetType = UNSET
    extra: PaymentExtra | UnsetType = UNSET


class VerifyPaymentEndpoint:
    """Answers every verdict with 200; only a body that cannot be read as a JSON object with 400."""

    def __init__(self, verifier: JournalVerifier, access: PaymentAccess) -> None:
        self._verifier, self._access = verifier, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        payment = read_payment(await read_body(receive))
        if isinstance(payment, Unacceptable):
            status, response = choose_status(payment), build_verify_response(payment)
        else:
            status, response = 200, await self._verify(scope, payment)
        context_of(scope).add_log_fields(reason=response.invalid_reason or "")
        await send_json(send, status, _encode(response))

    async def _verify(self, scope: Scope, payment: Payment) -> VerifyResponse:
        network = payment.terms.network
        caller = self._access.caller(scope, network)
        client = share_name(scope)
        verdict = await self._verifier.verify(payment, caller=caller, client=client)
        response = build_verify_response(verdict)
        if caller is not None:
            is_valid = response.is_valid
            self._access.meter.count_verification(caller.owner, network, is_accepted=is_valid)
        return response


def build_verify_response(verdict: Verification) -> VerifyResponse:
    """Build the response body of a verdict."""
    match verdict:
        case Accepted(token_is_verified=verified):
            extra = UNSET if verified else TOKEN_UNVERIFIED
            return VerifyResponse(is_valid=True, payer=verdict.payer, extra=extra)
        case CollectableSuccess(payer):
            return VerifyResponse(is_valid=True, payer=payer)
        case RecordedPayment(reason, payer, tx_hash):
            known = PaymentExtra(transaction=tx_hash) if tx_hash else UNSET
            return _build_invalid(reason, payer=payer, extra=known)
        case Rejected(reason, payer):
            return _build_invalid(reason, payer=payer)
        case Unacceptable(reason, _, member):
            return _build_invalid(reason, member=member)
        case _:
            assert_never(verdict)


def render_verify_failure(failure: Failure) -> bytes:
    """Render the failing verdict of a request that failed before it had a verdict."""
    return _encode(_build_invalid(read_failure_reason(failure, Reason.UNEXPECTED_VERIFY_ERROR)))


def _build_invalid(
    reason: Reason,
    *,
    payer: Address | None = None,
    member: str = "",
    extra: PaymentExtra | UnsetType = UNSET,
) -> VerifyResponse:
    message = describe_reason(reason, member)
    return VerifyResponse(
        is_valid=False,
        invalid_reason=reason,
        invalid_message=message,
        payer=payer or UNSET,
        extra=extra,
    )


VERIFY: Final = RouteDeclaration(
    method="POST",
    path="/verify",
    tag="facilitator",
    summary="Verify a payment; nothing moves.",
    request=PaymentRequestBody,
    responses={
        200: ResponseDeclaration("The verdict.", VerifyResponse),
        400: ResponseDeclaration("The body is not a JSON object.", VerifyResponse),
    },
    # a verification needs no database: a payment the ledger refuses is looked up if it is there
    access=Access(Grant.FACILITATOR, fails_open=True),
    rate=Rate(RateClass.VERIFY),
    failure=FailureShape(VerifyResponse, render_verify_failure),
    example=Example(request=REQUEST_EXAMPLE, response={"isValid": True, "payer": PAYER_EXAMPLE}),
)
