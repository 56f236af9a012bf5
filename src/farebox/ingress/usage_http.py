"""`/v1/usage`: the declared route, its handler and its body."""

from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.ingress.usage import Usage
from farebox.ingress.usage_day import BadPeriod, Period, UsageDay, read_period
from farebox.kernel.caller import Grant
from farebox.kernel.error_codes import ErrorCode
from farebox.web.endpoint import (
    Endpoint,
    Example,
    JsonSchema,
    Parameter,
    ResponseDeclaration,
    RouteDeclaration,
)
from farebox.web.guard import Access, caller_of
from farebox.web.query_string import read_pairs
from farebox.web.responses import send_json

_MAX_FIELDS: Final = 16
_DAY: Final[JsonSchema] = {"type": "string", "format": "date"}
_encode: Final = msgspec.json.Encoder().encode


class VerificationsBody(msgspec.Struct, rename="camel", frozen=True):
    """Responses of `/verify`."""

    accepted: int
    refused: int


class SettlementsBody(msgspec.Struct, rename="camel", frozen=True):
    """Settlements by status; `refused` are those refused before anything was sent."""

    accepted: int
    failed: int
    pending: int
    refused: int


class UsageDayBody(msgspec.Struct, rename="camel", frozen=True):
    """One UTC day on one network; `feesSponsored` in stroops."""

    date: str
    network: str
    verifications: VerificationsBody
    settlements: SettlementsBody
    fees_sponsored: str


class UsageResponse(msgspec.Struct, rename={"first": "from", "last": "to"}, frozen=True):
    """The days with any usage, the newest first."""

    first: str
    last: str
    items: list[UsageDayBody]


USAGE: Final = RouteDeclaration(
    method="GET",
    path="/v1/usage",
    tag="accounts",
    summary="Your usage by UTC day and network.",
    responses={200: ResponseDeclaration("The days with any usage.", UsageResponse)},
    parameters=(
        Parameter("from", "The first day.", _DAY),
        Parameter("to", "The last day.", _DAY),
    ),
    access=Access(Grant.READ),
    errors=(ErrorCode.INVALID_PERIOD,),
    example=Example(
        response={
            "from": "2026-11-20",
            "to": "2026-11-21",
            "items": [
                {
                    "date": "2026-11-21",
                    "network": "stellar:testnet",
                    "verifications": {"accepted": 12, "refused": 1},
                    "settlements": {"accepted": 11, "failed": 0, "pending": 1, "refused": 0},
                    "feesSponsored": "330000",
                }
            ],
        }
    ),
)


class UsageEndpoint:
    """Answers with the caller's usage by day and network."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        days = _read_days(scope["query_string"])
        period = read_period(days.get("from"), days.get("to"), today=self._usage.today())
        usage = await self._usage.of(caller_of(scope).owner, period)
        await send_json(send, 200, _encode(usage_response(period, usage)))


def _read_days(query: bytes) -> dict[str, str]:
    """Read `from` and `to`, each given once at most.

    Raises:
        BadPeriod: the query string cannot be read, or one is given twice.
    """
    try:
        pairs = read_pairs(query, max_fields=_MAX_FIELDS)
    except ValueError:
        raise BadPeriod from None
    days = [(name, value) for name, value in pairs if name in ("from", "to")]
    if len(dict(days)) != len(days):
        raise BadPeriod
    return dict(days)


def usage_response(period: Period, days: list[UsageDay]) -> UsageResponse:
    """Make the body of `/v1/usage`."""
    return UsageResponse(
        first=period.first.isoformat(),
        last=period.last.isoformat(),
        items=[_day_body(day) for day in days],
    )


def _day_body(day: UsageDay) -> UsageDayBody:
    requests, settlements = day.requests, day.settlements
    return UsageDayBody(
        date=day.used_on.isoformat(),
        network=day.network.value,
        verifications=VerificationsBody(requests.verify_accepted, requests.verify_refused),
        settlements=SettlementsBody(
            accepted=settlements.confirmed,
            failed=settlements.failed,
            pending=settlements.pending,
            refused=requests.settle_refused,
        ),
        fees_sponsored=str(settlements.fees),
    )


def usage_endpoints(usage: Usage) -> list[Endpoint]:
    """Return the route of a caller's usage."""
    return [Endpoint(USAGE, UsageEndpoint(usage))]
