"""What real clients send to the gateway and to the service beside a payment, and what they get."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_LIVE: Final = b"GET /health/live HTTP/1.1\r\n"
_CLOSE: Final = b"Connection: close\r\n\r\n"
_WAIT_S: Final = 20.0
_PING: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
_FETCH: Final = """
const [url, method, headers, body] = process.argv.slice(1);
const sent = { method, headers: JSON.parse(headers), body: body || undefined };
const response = await fetch(url, sent);
console.log(JSON.stringify([response.status, Object.fromEntries(response.headers)]));
"""


@dataclass(frozen=True, slots=True)
class _Case:
    """A request with the status that is right, and headers that must and must not be there."""

    target: str
    status: int
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    there: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _RawCase:
    """Bytes that no client library writes; `half_closed` when the sending side then ends."""

    name: str
    sent: bytes
    statuses: tuple[int, ...]
    half_closed: bool = False


_RAW: Final = (
    _RawCase("no host", _LIVE + _CLOSE, (400,)),
    _RawCase("two hosts", _LIVE + b"Host: localhost\r\nHost: localhost\r\n" + _CLOSE, (400,)),
    _RawCase(
        "a target against its host",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n" + _CLOSE,
        (421,),
    ),
    _RawCase(
        "an expectation from HTTP/1.0",
        b"POST /verify HTTP/1.0\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        b"Content-Length: 2\r\n\r\n{}",
        (200,),
    ),
    _RawCase("a half-closed request", _LIVE + b"Host: localhost\r\n\r\n", (200,), True),
)


def _cases(slug: str) -> Sequence[_Case]:
    """Return the requests of the stock clients; no path of them is normalized by one."""
    shop, json_type = f"/gateway/{slug}", (("content-type", "application/json"),)
    wanted = (("access-control-request-headers", "payment-signature"),)
    paths = ("?q={%22take%22:50}", "?a|b^[c]", "?discount=5%", "/a%2Fb", "/a|b", "/[a]^b")
    return (
        *(_Case(shop + each, 402) for each in paths),
        _Case(f"{shop}/..%2Fa", 400),
        _Case(f"{shop}/%20..", 400),
        _Case(shop, 204, "OPTIONS", wanted, absent=("content-length",)),
        _Case("/supported", 204, "OPTIONS", wanted, absent=("content-length",)),
        _Case("/health%2Flive", 404),
        _Case("/mcp/", 200, "POST", json_type, _PING),
        _Case(
            "/verify", 415, "POST", (*json_type, ("content-encoding", "gzip")), "x",
            there=("accept-encoding",),
        ),
        _Case("/supported", 200, there=("access-control-expose-headers",)),
    )  # fmt: skip


async def wire_faults(url: str, slug: str) -> tuple[int, list[str]]:
    """Send every case to a replica by each client; return how many were sent, and the faults."""
    faults: list[str] = []
    cases = _cases(slug)
    for case in cases:
        for name, answer in (("curl", await _curl(url, case)), ("fetch", await _fetch(url, case))):
            if fault := _fault_of(case, *answer):
                faults.append(f"{name} {case.method} {case.target}: {fault}")
    for raw in _RAW:
        statuses = await _send(url, raw)
        if statuses != raw.statuses:
            faults.append(f"{raw.name}: {statuses}")
    return 2 * len(cases) + len(_RAW), faults


def _fault_of(case: _Case, status: int, names: Sequence[str]) -> str:
    missing = [name for name in case.there if name not in names]
    present = [name for name in case.absent if name in names]
    is_right = status == case.status and not missing and not present
    return "" if is_right else f"{status}, without {missing}, with {present}"


async def _curl(url: str, case: _Case) -> tuple[int, list[str]]:
    headers = [part for name, value in case.headers for part in ("-H", f"{name}: {value}")]
    body = ["--data-binary", case.body] if case.body else []
    output = await _output(
        "curl", "-sS", "-g", "--path-as-is", "--noproxy", "*", "-o", "/dev/null", "-D", "-",
        "-X", case.method, *headers, *body, url + case.target,
    )  # fmt: skip
    first, *fields = output.strip().splitlines()
    return int(first.split()[1]), [field.partition(":")[0].lower() for field in fields]


async def _fetch(url: str, case: _Case) -> tuple[int, list[str]]:
    headers = json.dumps(dict(case.headers))
    output = await _output(
        "node", "--input-type=module", "-e", _FETCH, url + case.target, case.method, headers,
        case.body,
    )  # fmt: skip
    status, found = json.loads(output)
    return status, list(found)


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await asyncio.wait_for(process.communicate(), _WAIT_S)
    return output.decode()


async def _send(url: str, case: _RawCase) -> tuple[int, ...]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(case.sent)
        if case.half_closed:
            writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), _WAIT_S)
    finally:
        writer.close()
    return tuple(int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:])
