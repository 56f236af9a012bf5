"""`/v1/discovery/validate` over HTTP."""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.catalog.validate import NOBODY, Asked, Report, Said
from farebox.catalog.wire import resource_body
from farebox.kernel.addresses import parse_party
from farebox.kernel.errors import Refusal, TooManyRequests
from farebox.web.answers import send_json
from farebox.web.client_address import client_name, client_of
from farebox.web.limits import read_body
from farebox.web.request_note import note_of
from farebox.x402.discovery import read_discovery_text
from farebox.x402.wire import SCHEME

VALIDATE: Final = "/v1/discovery/validate"
_encode: Final = msgspec.json.Encoder().encode
TURNS: Final = 10  # a minute
_EXPECTED: Final = (
    "Send {paymentPayload} or {resource, extensions} to have metadata judged, "
    "or {url, method} to have the URL's own 402 judged."
)


class Validating(Protocol):
    """Judges without writing."""

    async def judge(self, question: Said | Asked) -> Report: ...


class Turns(Protocol):
    """So many requests a minute of one client."""

    async def take(self, who: str) -> int | None:
        """A turn is taken (None), or the seconds after which there is one again."""
        ...


class UnreadableQuestion(Refusal):
    """The body asks for nothing that can be judged."""

    def __init__(self) -> None:
        super().__init__("invalid_validation_request", _EXPECTED)


class ValidateEndpoint:
    """Every report is HTTP 200, whatever it says of the listing; too many from one client 429."""

    def __init__(self, validation: Validating, turns: Turns) -> None:
        self._validation, self._turns = validation, turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait_s = await self._turns.take(client_name(client_of(scope)))
        if wait_s is not None:
            raise TooManyRequests(
                f"{TURNS} validations a minute are answered.", retry_after_s=wait_s
            )
        report = await self._validation.judge(read_question(await read_body(receive)))
        note_of(scope).say(reason=report.flaws[0].code if report.flaws else "")
        await send_json(send, 200, _encode(report_body(report)))


class _Payload(msgspec.Struct, rename="camel"):
    resource: msgspec.Raw = msgspec.Raw()
    extensions: msgspec.Raw = msgspec.Raw()
    accepted: object = None


class _Question(msgspec.Struct, rename="camel"):
    url: str | None = None
    method: str | None = None
    payment_payload: _Payload | None = None
    payment_requirements: object = None
    resource: msgspec.Raw = msgspec.Raw()
    extensions: msgspec.Raw = msgspec.Raw()
    pay_to: object = None


_QUESTION: Final = msgspec.json.Decoder(_Question)


def read_question(body: bytes) -> Said | Asked:
    """What is to be judged.

    Raises:
        UnreadableQuestion: nothing is named, or both a URL and metadata.
    """
    try:
        asked = _QUESTION.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnreadableQuestion from None
    given = [bool(asked.url), asked.payment_payload is not None, bool(asked.resource)]
    if given.count(True) != 1:
        raise UnreadableQuestion
    if asked.url:
        return Asked(asked.url, asked.method)
    payload = asked.payment_payload or _Payload(asked.resource, asked.extensions)
    text = read_discovery_text(payload.resource, payload.extensions)
    named = (asked.pay_to, _pay_to(asked.payment_requirements), _pay_to(payload.accepted))
    recipients = (parse_party(each) for each in named if isinstance(each, str))
    return Said(text, next((each for each in recipients if each is not None), NOBODY))


def _pay_to(terms: object) -> object:
    return terms.get("payTo") if isinstance(terms, Mapping) else None


def report_body(report: Report) -> dict[str, object]:
    """The report as JSON; `listing` is what would be shown."""
    read = report.read
    body: dict[str, object] = {
        "isValid": report.is_valid,
        "reasons": [{"code": flaw.code, "message": flaw.sentence} for flaw in report.flaws],
        "warnings": [
            {"field": each.field, "message": f"{each.field} {each.sentence}"}
            for each in (read.dropped if read else ())
        ],
    }
    if read is not None:
        body |= {"key": read.resource.key, "listing": resource_body(read.resource)}
    if report.offers is not None:
        body["offers"] = [
            {
                "scheme": SCHEME,
                "network": offer.network.value,
                "asset": offer.asset,
                "amount": str(offer.amount),
                "payTo": offer.pay_to,
            }
            for offer in report.offers
        ]
    return body


def validate_routes(validation: Validating, turns: Turns) -> list[BaseRoute]:
    """The route that judges and never writes."""
    return [Route(VALIDATE, ValidateEndpoint(validation, turns), methods=["POST"])]
