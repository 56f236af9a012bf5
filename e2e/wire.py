"""Requests as real clients send them, by curl, by Node's fetch and over a bare socket."""

import asyncio
import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

JSON_TYPE: Final = ("content-type", "application/json")
CLOSE: Final = b"Connection: close\r\n\r\n"
_WAIT_S: Final = 20.0
_INTERIM: Final = 100  # what a half-closed caller may get before its response
_CHALLENGE: Final = "payment-required"
_FETCH: Final = """
const [url, method, headers, body] = process.argv.slice(1);
const sent = { method, headers: JSON.parse(headers), body: body || undefined };
const response = await fetch(url, sent);
const fields = Object.fromEntries(response.headers);
console.log(JSON.stringify([response.status, fields, await response.text()]));
"""


@dataclass(frozen=True, slots=True)
class WireCase:
    """A request with the status that is right.

    `there` and `absent` are headers that the response must and must not have; `says` and `omits`
    are texts for its headers (names in lower case), its body and the challenge.
    """

    target: str
    status: int
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    there: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    omits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RawCase:
    """Bytes that no client library writes; `half_closed` when the sending side then ends."""

    name: str
    sent: bytes
    statuses: tuple[int, ...]
    half_closed: bool = False
    there: bytes = b""  # in the response


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: dict[str, str]
    body: str

    @property
    def text(self) -> str:
        """The headers, the body and the challenge among them, without blanks between members."""
        fields = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        challenge = _decoded(self.headers.get(_CHALLENGE, ""))
        return f"{fields}\n{self.body}\n{challenge}".replace(": ", ":")


async def faults_of(url: str, cases: Sequence[WireCase]) -> list[str]:
    """Send every case by both clients; return what was wrong."""
    faults = []
    for case in cases:
        for name, answer in (("curl", await _curl(url, case)), ("fetch", await _fetch(url, case))):
            if fault := _fault_of(case, answer):
                faults.append(f"{name} {case.method} {case.target} {case.body[:80]}: {fault}")
    return faults


async def raw_faults_of(url: str, cases: Iterable[RawCase]) -> list[str]:
    """Send every case over a socket of its own; return what was wrong."""
    faults = []
    for case in cases:
        answer = await _send(url, case)
        statuses = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
        found = tuple(each for each in statuses if each != _INTERIM or not case.half_closed)
        if found != case.statuses or case.there not in answer.lower():
            faults.append(f"{case.name}: {statuses}, {answer[-200:]!r}")
    return faults


def post(
    path: str, body: str, *, keep_alive: bool = False, version: str = "1.1", head: str = ""
) -> bytes:
    """Return the bytes of a request with a JSON body; `head` has lines of its own."""
    lines = [f"POST {path} HTTP/{version}", "Content-Type: application/json", *head.split("\n")]
    lines.append(f"Content-Length: {len(body.encode())}")
    if not keep_alive:
        lines.append("Connection: close")
    return "\r\n".join([*filter(None, lines), "", body]).encode()


def _fault_of(case: WireCase, answer: _Answer) -> str:
    wrong = {
        "without": [name for name in case.there if name not in answer.headers],
        "with": [name for name in case.absent if name in answer.headers],
        "does not say": [text for text in case.says if text not in answer.text],
        "says": [text for text in case.omits if text in answer.text],
    }
    found = {name: each for name, each in wrong.items() if each}
    is_right = answer.status == case.status and not found
    return "" if is_right else f"{answer.status} {found} {answer.body[:200]}"


def _decoded(header: str) -> str:
    try:
        return base64.b64decode(header).decode()
    except (binascii.Error, UnicodeDecodeError):
        return header


async def _curl(url: str, case: WireCase) -> _Answer:
    headers = [part for name, value in case.headers for part in ("-H", f"{name}: {value}")]
    body = ["--data-binary", case.body] if case.body else []
    output = await _output(
        "curl", "-sS", "-g", "-i", "--path-as-is", "--noproxy", "*", "-X", case.method,
        *headers, *body, url + case.target,
    )  # fmt: skip
    head, _, content = output.partition("\r\n\r\n")
    first, *fields = head.split("\r\n")
    pairs = (field.partition(":") for field in fields)
    found = {name.lower(): value.strip() for name, _, value in pairs}
    return _Answer(int(first.split()[1]), found, content)


async def _fetch(url: str, case: WireCase) -> _Answer:
    headers = json.dumps(dict(case.headers))
    output = await _output(
        "node", "--input-type=module", "-e", _FETCH, url + case.target, case.method, headers,
        case.body,
    )  # fmt: skip
    return _Answer(*json.loads(output))


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await asyncio.wait_for(process.communicate(), _WAIT_S)
    return output.decode()


async def _send(url: str, case: RawCase) -> bytes:
    host, _, port = url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(case.sent)
        if case.half_closed:
            writer.write_eof()
        return await asyncio.wait_for(reader.read(), _WAIT_S)
    finally:
        writer.close()
