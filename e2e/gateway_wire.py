"""What real clients send to the gateway and to the service beside a payment, and what they get."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from e2e.wire import CLOSE, JSON_TYPE, RawCase, WireCase, faults_of, post, raw_faults_of

PRICED: Final = "priced-reports"
_LIVE: Final = b"GET /health/live HTTP/1.1\r\n"
_PING: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
_SCHEMA: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
_EXPOSED: Final = "Retry-After"  # a value of Access-Control-Expose-Headers
_RAW: Final = (
    RawCase("no host", _LIVE + CLOSE, (400,)),
    RawCase("two hosts", _LIVE + b"Host: localhost\r\nHost: localhost\r\n" + CLOSE, (400,)),
    RawCase(
        "a target against its host",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n" + CLOSE,
        (421,),
    ),
    RawCase(
        "an expectation from HTTP/1.0",
        post("/verify", "{}", version="1.0", head="Host: localhost\nExpect: 100-continue"),
        (200,),
    ),
    RawCase("a half-closed request", _LIVE + b"Host: localhost\r\n\r\n", (200,), True),
    RawCase(
        "a half-closed settlement",
        post("/settle", "{}", head="Host: localhost", keep_alive=True),
        (200,),
        True,
    ),
)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The wrappers that the cases are about, and the key that manages them."""

    slug: str  # of the wrapper without an input
    key: str
    priced: str  # the id of the wrapper `PRICED`


def priced_wrapper(upstream_url: str, term: dict[str, Any]) -> dict[str, Any]:
    """Return the wrapper with a template, and with a body that has a required member."""
    return {
        "name": "Priced reports",
        "slug": PRICED,
        "upstreamUrl": upstream_url,
        **term,
        "routes": [
            {"method": "GET", "path": "/city/:name", "amount": term["amount"]},
            {"method": "POST", "path": "/alerts", "amount": term["amount"], "input": _SCHEMA},
        ],
    }


def _cases(shelf: Shelf) -> Sequence[WireCase]:
    """Return the requests of the stock clients; no path of them is normalized by one."""
    shop, json_type = f"/gateway/{shelf.slug}", (JSON_TYPE,)
    wanted = (("access-control-request-headers", "payment-signature"),)
    paths = ("?q={%22take%22:50}", "?a|b^[c]", "?discount=5%", "/a%2Fb", "/a|b", "/[a]^b")
    return (
        *(WireCase(shop + each, 402) for each in paths),
        WireCase(f"{shop}/..%2Fa", 400),
        WireCase(f"{shop}/%20..", 400),
        WireCase(shop, 204, "OPTIONS", wanted, absent=("content-length",)),
        WireCase("/supported", 204, "OPTIONS", wanted, absent=("content-length",)),
        WireCase("/health%2Flive", 404),
        WireCase("/mcp/", 200, "POST", json_type, _PING),
        WireCase(
            "/verify", 415, "POST", (*json_type, ("content-encoding", "gzip")), "x",
            there=("accept-encoding",),
        ),
        WireCase("/supported", 200, says=(_EXPOSED,)),
        WireCase(shop, 402, says=(_EXPOSED, '"queryParams":{"type":"object"}')),
        WireCase(f"/gateway/{PRICED}/city/lima", 402),
        WireCase(
            f"/gateway/{PRICED}/alerts", 402, "POST", json_type, "{}", says=('"required":["city"]',)
        ),
        WireCase("/openapi.json", 200, says=('"openapi":"3.1',)),
        WireCase("/.well-known/x402", 200),
        *_managed(shelf),
    )  # fmt: skip


def _managed(shelf: Shelf) -> Sequence[WireCase]:
    """Return the requests of a management client: whole numbers, wrong members and bounds."""
    own = (JSON_TYPE, ("authorization", f"Bearer {shelf.key}"))
    wrapper = f"/v1/wrappers/{shelf.priced}"

    def change(body: str, status: int, **holds: tuple[str, ...]) -> WireCase:
        return WireCase(wrapper, status, "PATCH", own, body, **holds)

    return (
        change('{"timeoutSeconds": 60.0}', 200, says=('"timeoutSeconds":60',)),
        change('{"timeoutSeconds": 6e1}', 200, says=('"timeoutSeconds":60',)),
        change('{"timeoutSeconds": 60.5}', 400),
        change('{"hidden-name": 1}', 400, omits=("hidden-name",)),
        change('{"timeoutSeconds": 30, "timeoutSeconds": 31}', 400),
        *(
            WireCase(f"/v1/payments?role=settled&{query}", 400, headers=own)
            for query in ("limit=0", "limit=1000000", "limit=1.5", f"wrapper={'x' * 300}")
        ),
        WireCase("/v1/payments?role=settled&limit=100", 200, headers=own),
    )


async def wire_faults(url: str, shelf: Shelf) -> tuple[int, list[str]]:
    """Send every case to a replica by each client; return how many were sent, and the faults."""
    cases = _cases(shelf)
    faults = await faults_of(url, cases) + await raw_faults_of(url, _RAW)
    return 2 * len(cases) + len(_RAW), faults
