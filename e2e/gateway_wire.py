"""What real clients send to the gateway and to the service beside a payment, and what they get."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from e2e.clients import SignedPayment
from e2e.crawler import Wanted, crawl, crawl_faults
from e2e.crowd import CROWD_STATUSES, crowd_faults
from e2e.plan_wire import PlanTargets, plan_cases
from e2e.stated import stated_faults
from e2e.wire import (
    CLOSE,
    JSON_TYPE,
    RawCase,
    WireCase,
    answers_of,
    faults_in,
    post,
    raw_answers_of,
    raw_faults_in,
    statuses_in,
)

PRICED: Final = "priced-reports"
PAID_PATH: Final = f"/gateway/{PRICED}/city/lima"
_LIVE: Final = b"GET /health/live HTTP/1.1\r\n"
_PING: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
_SCHEMA: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
_ALERTS: Final = f"/gateway/{PRICED}/alerts"
_BELOW: Final = b"/gateway/"
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
    """The wrappers that the cases are about, what plans call, and the key that manages them."""

    slug: str  # of the wrapper without an input
    key: str
    priced: str  # the id of the wrapper `PRICED`
    targets: PlanTargets
    spare: str = ""  # the id of a wrapper that a case deletes


def priced_wrapper(upstream_url: str, term: dict[str, Any]) -> dict[str, Any]:
    """Return the wrapper with a template, and with a body that has a required member."""
    return {
        "name": "Priced reports",
        "slug": PRICED,
        "upstreamUrl": upstream_url,
        "otherPaths": "refused",
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
        *(WireCase(shop + each, 400) for each in ("/..%2Fa", "/%20..", "/%2e%2E%2Fa", "/a%0Ab")),
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
        WireCase(shop, 400, headers=(("payment-signature", "e30="),)),
        WireCase(PAID_PATH, 405, "DELETE"),
        WireCase(f"/gateway/{PRICED}/none", 404),
        WireCase(PAID_PATH, 402),
        WireCase(
            _ALERTS, 402, "POST", json_type, "{}", says=('"required":["city"]',)
        ),
        *_managed(shelf),
    )  # fmt: skip


def _is_paid(case: WireCase) -> bool:
    return case.target.startswith(_BELOW.decode()) and case.method != "OPTIONS"


def _deleting(shelf: Shelf) -> RawCase:
    """Delete a wrapper: 204, without a length."""
    head = f"DELETE /v1/wrappers/{shelf.spare} HTTP/1.1\r\nHost: localhost\r\n"
    sent = f"{head}Authorization: Bearer {shelf.key}\r\n".encode() + CLOSE
    return RawCase("a deletion", sent, (204,), absent=b"content-length")


def _paid_raw(shop: str) -> Iterator[RawCase]:
    """Return what is refused of a paid path before it is the gateway's."""
    host, start = b"Host: localhost\r\n", f"GET {shop}".encode()
    end = b" HTTP/1.1\r\n"
    yield RawCase("a paid path without a host", start + end + CLOSE, (400,))
    yield RawCase(
        "another host of a paid path",
        start.replace(b" ", b" http://evil.example", 1) + end + host + CLOSE,
        (421,),
    )
    yield RawCase("a long URL", start + b"?" + b"x" * 9_000 + end + host + CLOSE, (414,))
    field = b"x-field: " + b"x" * 40_000 + b"\r\n"
    yield RawCase("a large head", start + end + host + field + CLOSE, (431,))


def _verified(signed: SignedPayment) -> Iterator[WireCase]:
    """Verify a payment whose whole numbers have a fraction, of zero or not, or are too large."""
    body = {
        "x402Version": 2,
        "paymentPayload": signed.payment,
        "paymentRequirements": signed.terms,
    }
    text, whole, name = json.dumps(body), signed.terms["maxTimeoutSeconds"], '"maxTimeoutSeconds": '
    for number, is_valid in (
        (f"{whole}", True),
        (f"{whole}.0", True),
        (f"{whole / 10:g}e1", True),
        (f"{whole}.5", False),
        ("86401", False),
        ("1e400", False),
    ):
        sent = text.replace(f"{name}{whole}", f"{name}{number}")
        if number.endswith(".0"):
            sent = sent.replace('"x402Version": 2', '"x402Version": 2.0')
        verdict = f'"isValid":{json.dumps(is_valid)}'
        yield WireCase("/verify", 200, "POST", (JSON_TYPE,), sent, says=(verdict,))
    refused = ('"isValid":false', "paymentPayload.accepted.maxTimeoutSeconds")
    for number in (f"{whole}.5", "0", "86401", "1e30", "1e400"):
        accepted = text.replace(f"{name}{whole}", f"{name}{number}", 1)
        yield WireCase("/verify", 200, "POST", (JSON_TYPE,), accepted, says=refused)
    huge = text.replace('"x402Version": 2', '"x402Version": 2e400', 1)
    other = ('"invalidReason":"invalid_x402_version"',)
    yield WireCase("/verify", 200, "POST", (JSON_TYPE,), huge, says=other)
    for broken in ('{"note": "\\ud800"}', '{"note": ' + "[" * 2_000 + "]" * 2_000 + "}"):
        unread = ('"invalidReason":"invalid_json"', "surrogate pair", "nested too deeply")
        yield WireCase("/verify", 400, "POST", (JSON_TYPE,), broken, says=unread)


def _managed(shelf: Shelf) -> Sequence[WireCase]:
    """Return the requests of a management client: whole numbers, wrong members and bounds."""
    own = (JSON_TYPE, ("authorization", f"Bearer {shelf.key}"))
    wrapper = f"/v1/wrappers/{shelf.priced}"

    def change(body: str, status: int, **holds: Any) -> WireCase:
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


async def wire_faults(url: str, shelf: Shelf, signed: SignedPayment) -> tuple[int, list[str]]:
    """Send every case to a replica by each client; return how many were sent, and the faults.

    The payment is one for `PAID_PATH` that is not settled.
    """
    shop = f"/gateway/{shelf.slug}"
    answered = await answers_of(url, [*_verified(signed)])  # first: it does not live long
    plans = plan_cases(shelf.targets, shelf.key, datetime.now(UTC))
    answered += await answers_of(url, [*_cases(shelf), *plans])
    raw = await raw_answers_of(url, [*_RAW, *_paid_raw(shop), _deleting(shelf)])
    sent, faults = await stated_faults(url, shelf.key)
    faults += faults_in(answered) + raw_faults_in(raw) + await crowd_faults(url)
    given = {
        status for case, answer in raw if _BELOW in case.sent for status in statuses_in(answer)
    }
    given.update(CROWD_STATUSES, (each.answer.status for each in answered if _is_paid(each.case)))
    city = f"/gateway/{PRICED}/city/{{name}}"
    operations = (("GET", shop), ("GET", city), ("POST", _ALERTS))
    wanted = Wanted(
        paths=(shop, city, _ALERTS),
        bodies={_ALERTS: _SCHEMA},
        statuses=dict.fromkeys(operations, given),
    )
    faults += crawl_faults(await crawl(url), wanted)
    return len(answered) + len(raw) + sent + len(CROWD_STATUSES), faults
