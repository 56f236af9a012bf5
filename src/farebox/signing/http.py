"""`/v1/payments/prepare` and `/v1/payments/complete`: the declared routes and their handlers."""

from typing import Final

import msgspec
from msgspec import UNSET
from starlette.types import Receive, Scope, Send

from farebox.facilitator.payment_http import PAYER_EXAMPLE, REQUEST_EXAMPLE, describe_reason
from farebox.facilitator.verification.verdict import Rejected
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import ErrorMember
from farebox.signing.complete import Completion
from farebox.signing.prepare import Preparation
from farebox.signing.wire import (
    CompletedBody,
    CompleteInput,
    CompleteRequest,
    PreparedBody,
    PrepareInput,
    PrepareRequest,
    RefusedDetail,
    RefusedPaymentBody,
    completed_body,
    has_objects,
    prepared_body,
    read_authorization,
    read_payer,
)
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
)
from farebox.web.request_body import UnreadableBody, read_json
from farebox.web.request_context import context_of
from farebox.web.responses import send_json
from farebox.x402.reasons import Reason
from farebox.x402.wire import TERMS_NAME, Unacceptable, read_requirements

_encode: Final = msgspec.json.Encoder().encode
_PREPARE: Final = msgspec.json.Decoder(PrepareInput)
_COMPLETE: Final = msgspec.json.Decoder(CompleteInput)
_PREPARE_SHAPE: Final = "{requirements, payer}"
_COMPLETE_SHAPE: Final = (
    "{entry, signature, requirements, publicKey?, resource?, extensions?}; the last two are objects"
)
_OF_TERMS: Final = (
    Reason.INVALID_PAYMENT_REQUIREMENTS,
    Reason.UNSUPPORTED_SCHEME,
    Reason.INVALID_NETWORK,
    Reason.MUXED_RECIPIENT,
    Reason.FEES_NOT_SPONSORED,
    Reason.UNSUPPORTED_ASSET,
    Reason.FACILITATOR_IS_RECIPIENT,
    Reason.FACILITATOR_IS_PAYER,
    Reason.PAYER_IS_RECIPIENT,
    Reason.EXPIRES_TOO_SOON,
)
_OF_ENTRY: Final = (
    Reason.MALFORMED,
    Reason.WRONG_ASSET,
    Reason.WRONG_FUNCTION_NAME,
    Reason.WRONG_RECIPIENT,
    Reason.WRONG_AMOUNT,
    Reason.FACILITATOR_IN_AUTH,
    Reason.HAS_SUBINVOCATIONS,
    Reason.MISSING_PAYER_SIGNATURE,
    Reason.INVALID_SIGNATURE,
    Reason.EXPIRED,
    Reason.EXPIRATION_TOO_FAR,
)


def _refusal(*reasons: Reason) -> ResponseDeclaration:
    codes = ", ".join(f"`{reason}`" for reason in reasons)
    words = f"The facilitator would refuse the payment, or the body is malformed: {codes}."
    return ResponseDeclaration(words, RefusedPaymentBody)


_TERMS_EXAMPLE: Final = REQUEST_EXAMPLE["paymentRequirements"]
_ENTRY_EXAMPLE: Final = "AAAAAQAAAAAAAAAA4G4bbwu…"
PREPARE: Final = RouteDeclaration(
    method="POST",
    path="/v1/payments/prepare",
    tag="wallets",
    summary="Prepare a payment for its signature: the entry, the hash to sign, and what it allows.",
    request=PrepareRequest,
    responses={
        200: ResponseDeclaration("The unsigned authorization.", PreparedBody),
        400: _refusal(*_OF_TERMS),
    },
    rate=Rate(RateClass.DISCOVERY),
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_ADDRESS,
        ErrorCode.MUXED_ACCOUNT_UNSUPPORTED,
    ),
    is_cross_origin=True,
    example=Example(
        request={"requirements": _TERMS_EXAMPLE, "payer": PAYER_EXAMPLE},
        response={
            "entry": _ENTRY_EXAMPLE,
            "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "preimage": "AAAACc7gMC1ZhE0yvcqRXIID3URzP…",
            "expirationLedger": 1_204_512,
            "expiresAt": "2026-11-23T09:31:00Z",
            "network": "stellar:testnet",
            "payer": PAYER_EXAMPLE,
            "statements": [
                "Transfer 10000 base units of the token C… from G… to G… on stellar:testnet, once.",
                "This is allowed until ledger 1204512 closes, at about 2026-11-23 09:31:00 UTC.",
                "Nothing else is allowed: no other amount, token or recipient, no second transfer.",
            ],
        },
    ),
)
COMPLETE: Final = RouteDeclaration(
    method="POST",
    path="/v1/payments/complete",
    tag="wallets",
    summary="Put the signature into a prepared entry: the payment, ready for PAYMENT-SIGNATURE.",
    request=CompleteRequest,
    responses={
        200: ResponseDeclaration("The payment.", CompletedBody),
        400: _refusal(*_OF_TERMS, *_OF_ENTRY),
    },
    rate=Rate(RateClass.DISCOVERY),
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_ENTRY,
        ErrorCode.INVALID_SIGNATURE,
    ),
    is_cross_origin=True,
    example=Example(
        request={
            "entry": _ENTRY_EXAMPLE,
            "signature": "SZyZ8mN7…",
            "requirements": _TERMS_EXAMPLE,
            "resource": {"url": "https://api.example.com/weather"},
        },
        response={
            "paymentSignature": "eyJ4NDAyVmVyc2lvbiI6Miwi…",
            "paymentPayload": {
                "x402Version": 2,
                "accepted": _TERMS_EXAMPLE,
                "payload": {"transaction": "AAAAAgAAAAAAAAAAAAAA…"},
                "resource": {"url": "https://api.example.com/weather"},
            },
        },
    ),
)


class PreparePayment:
    """Prepare a payment for its signature."""

    def __init__(self, preparation: Preparation) -> None:
        self._preparation = preparation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _PREPARE, _PREPARE_SHAPE)
        payer, terms = read_payer(request.payer), read_requirements(bytes(request.requirements))
        if isinstance(terms, Unacceptable):
            await _refuse(scope, send, terms.reason, terms.member)
            return
        prepared = self._preparation.prepare(terms, payer)
        if isinstance(prepared, Rejected):
            await _refuse(scope, send, prepared.reason)
            return
        await send_json(send, 200, _encode(prepared_body(prepared)))


class CompletePayment:
    """Put the signature into a prepared entry, and build the payment."""

    def __init__(self, completion: Completion) -> None:
        self._completion = completion

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _COMPLETE, _COMPLETE_SHAPE)
        if not has_objects(request):
            raise UnreadableBody(_COMPLETE_SHAPE)
        terms = read_requirements(bytes(request.requirements))
        if isinstance(terms, Unacceptable):
            await _refuse(scope, send, terms.reason, terms.member)
            return
        payment = self._completion.complete(read_authorization(request), terms)
        if isinstance(payment, Rejected):
            await _refuse(scope, send, payment.reason)
            return
        await send_json(send, 200, _encode(completed_body(payment, request)))


def signing_endpoints(preparation: Preparation, completion: Completion) -> list[Endpoint]:
    """Return the routes by which a wallet signs a payment."""
    return [
        Endpoint(PREPARE, PreparePayment(preparation)),
        Endpoint(COMPLETE, CompletePayment(completion)),
    ]


async def _refuse(scope: Scope, send: Send, reason: Reason, member: str = "") -> None:
    context = context_of(scope)
    context.add_log_fields(reason=reason)
    path = f"requirements{member.removeprefix(TERMS_NAME)}" if member else ""
    message = describe_reason(reason, path)
    details = ErrorMember(path) if path else UNSET
    detail = RefusedDetail(reason, message, context.request_id, details)
    await send_json(send, 400, _encode(RefusedPaymentBody(detail)))
