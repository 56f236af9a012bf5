"""`/v1/discovery/validate`: the declared route, its handler and its bodies."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, UnsetType
from starlette.types import Receive, Scope, Send

from farebox.catalog.validate import (
    NOBODY,
    MetadataSubmission,
    UrlSubmission,
    ValidationReport,
)
from farebox.catalog.wire import AmountText, ResourceBody, resource_body
from farebox.kernel.addresses import parse_party
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal, TooManyRequests
from farebox.kernel.json_text import UNDECODABLE, decode_json
from farebox.kernel.networks import Network
from farebox.kernel.quota import Quota
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
)
from farebox.web.guard import share_name
from farebox.web.request_body import member_of, read_body, with_member
from farebox.web.request_context import context_of
from farebox.web.responses import send_json
from farebox.x402.extensions import read_discovery_text
from farebox.x402.wire import SCHEME

VALIDATIONS_PER_MINUTE: Final = 10
_ABSENT: Final = msgspec.Raw()
_encode: Final = msgspec.json.Encoder().encode


class MetadataValidation(Protocol):
    """Validates without writing."""

    async def validate(
        self, submission: MetadataSubmission | UrlSubmission
    ) -> ValidationReport: ...


class UnreadableSubmission(Refusal):
    """The body names nothing that can be validated, or two things."""

    def __init__(self, member: str = "") -> None:
        code = ErrorCode.INVALID_VALIDATION_REQUEST
        super().__init__(code, with_member(member, code.sentence), field=member)


class SubmittedPayload(msgspec.Struct, rename="camel"):
    """The members of a payment payload that are validated."""

    resource: msgspec.Raw | UnsetType = UNSET
    extensions: msgspec.Raw | UnsetType = UNSET
    accepted: Any = None


class ValidationRequest(msgspec.Struct, rename="camel"):
    """`paymentPayload`, or `resource` with `extensions`, or `url`."""

    url: str | None = None
    method: str | None = None
    payment_payload: SubmittedPayload | None = None
    payment_requirements: Any = None
    resource: msgspec.Raw | UnsetType = UNSET
    extensions: msgspec.Raw | UnsetType = UNSET
    pay_to: Any = None


class FlawBody(msgspec.Struct, frozen=True):
    """A reason why the resource would not be listed."""

    code: str
    message: str


class FieldWarningBody(msgspec.Struct, frozen=True):
    """A member that a listing would leave out or change."""

    field: str
    message: str


class OfferBody(msgspec.Struct, frozen=True, rename="camel"):
    """A way to pay that the URL's own 402 names."""

    scheme: str
    network: Network
    asset: str
    amount: AmountText
    pay_to: str


class ReportBody(msgspec.Struct, frozen=True, rename="camel"):
    """The report; `listing` is the part of the listing that describes the resource."""

    is_valid: bool
    reasons: list[FlawBody]
    warnings: list[FieldWarningBody]
    key: str | UnsetType = UNSET
    listing: ResourceBody | UnsetType = UNSET
    offers: list[OfferBody] | UnsetType = UNSET


VALIDATE: Final = RouteDeclaration(
    method="POST",
    path="/v1/discovery/validate",
    tag="discovery",
    summary="Validate metadata, or a URL's own 402, without writing.",
    request=ValidationRequest,
    responses={200: ResponseDeclaration("The report.", ReportBody)},
    rate=Rate(RateClass.DISCOVERY),
    errors=(ErrorCode.INVALID_VALIDATION_REQUEST,),
    example=Example(
        request={"url": "https://api.example.com/weather", "method": "GET"},
        response={
            "isValid": False,
            "reasons": [
                {
                    "code": "origin_no_payment_asked",
                    "message": "The resource did not answer 402.",
                }
            ],
            "warnings": [],
        },
    ),
)
_REQUEST: Final = msgspec.json.Decoder(ValidationRequest)


class ValidateEndpoint:
    """Answers with a report, always 200; too many requests of one client with 429."""

    def __init__(self, validation: MetadataValidation, quota: Quota) -> None:
        self._validation, self._quota = validation, quota

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait_s = await self._quota.acquire(share_name(scope))
        if wait_s is not None:
            message = f"{VALIDATIONS_PER_MINUTE} validations a minute are answered."
            raise TooManyRequests(message, retry_after_s=wait_s)
        report = await self._validation.validate(read_submission(await read_body(receive)))
        context_of(scope).add_log_fields(reason=report.flaws[0].code if report.flaws else "")
        await send_json(send, 200, _encode(report_body(report)))


def read_submission(body: bytes) -> MetadataSubmission | UrlSubmission:
    """Read the metadata or the URL to validate.

    Raises:
        UnreadableSubmission: the body names nothing, or both a URL and metadata.
    """
    try:
        request = decode_json(body, _REQUEST)
    except UNDECODABLE as error:
        raise UnreadableSubmission(member_of(error, body)) from None
    given = [bool(request.url), request.payment_payload is not None, bool(request.resource)]
    if given.count(True) != 1:
        raise UnreadableSubmission
    if request.url:
        return UrlSubmission(request.url, request.method)
    payload = request.payment_payload or SubmittedPayload(request.resource, request.extensions)
    text = read_discovery_text(payload.resource or _ABSENT, payload.extensions or _ABSENT)
    named = (request.pay_to, _pay_to(request.payment_requirements), _pay_to(payload.accepted))
    recipients = (parse_party(each) for each in named if isinstance(each, str))
    return MetadataSubmission(text, next((each for each in recipients if each is not None), NOBODY))


def _pay_to(terms: object) -> object:
    return terms.get("payTo") if isinstance(terms, Mapping) else None


def report_body(report: ValidationReport) -> ReportBody:
    """Make the body of a report."""
    read, offers = report.read, report.offers
    return ReportBody(
        is_valid=report.is_valid,
        reasons=[FlawBody(flaw.code, flaw.sentence) for flaw in report.flaws],
        warnings=[
            FieldWarningBody(each.field, f"{each.field} {each.sentence}")
            for each in (read.dropped if read else ())
        ],
        key=read.resource.key if read else UNSET,
        listing=resource_body(read.resource) if read else UNSET,
        offers=UNSET
        if offers is None
        else [
            OfferBody(SCHEME, offer.network, offer.asset, str(offer.amount), offer.pay_to)
            for offer in offers
        ],
    )


def validate_endpoints(validation: MetadataValidation, quota: Quota) -> list[Endpoint]:
    """Return the route that validates without writing."""
    return [Endpoint(VALIDATE, ValidateEndpoint(validation, quota))]
