"""`/v1/usage` over HTTP."""

from typing import Final
from urllib.parse import parse_qsl

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.ingress.usage import Usage
from farebox.ingress.usage_day import BadPeriod, read_period
from farebox.ingress.wire import usage_response
from farebox.kernel.caller import Grant
from farebox.web.answers import send_json
from farebox.web.guard import Authenticates, Guarded, Needs, caller_of

USAGE: Final = "/v1/usage"
_FIELDS: Final = 16
_encode: Final = msgspec.json.Encoder().encode


class UsageEndpoint:
    """What the caller has used, by day and network."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _parameters(scope["query_string"])
        period = read_period(given.get("from"), given.get("to"), today=self._usage.today())
        days = await self._usage.of(caller_of(scope).owner, period)
        await send_json(send, 200, _encode(usage_response(period, days)))


def _parameters(query: bytes) -> dict[str, str]:
    """The two parameters that are read, each given once at most.

    Raises:
        BadPeriod: the query string cannot be read, or one is given twice.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        raise BadPeriod from None
    read = [(name, value) for name, value in pairs if name in ("from", "to")]
    if len(dict(read)) != len(read):
        raise BadPeriod
    return dict(read)


def usage_routes(usage: Usage, authenticates: Authenticates) -> list[BaseRoute]:
    """The route that shows a caller its metering."""
    endpoint = Guarded(UsageEndpoint(usage), authenticates, Needs(Grant.READ))
    return [Route(USAGE, endpoint, methods=["GET"])]
