"""Requests as real clients send them, by curl, by Node's fetch and over a bare socket."""

import asyncio
import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

JSON_TYPE: Final = ("content-type", "application/json")
CLOSE: Final = b"Connection: close\r\n\r\n"
_WAIT_S: Final = 20.0
_INTERIM: Final = 100  # what a half-closed caller may get before its response
_CHALLENGE: Final = "payment-required"
_FETCH: Final = """
let text = "";
for await (const part of process.stdin) text += part;
const answers = [];
for (const [url, method, headers, body] of JSON.parse(text)) {
  try {
    const response = await fetch(url, { method, headers, body: body || undefined });
    const fields = Object.fromEntries(response.headers);
    answers.push([response.status, fields, await response.text()]);
  } catch (error) {
    answers.push([0, {}, `${error.message}: ${error.cause}`]);
  }
}
console.log(JSON.stringify(answers));
"""


@dataclass(frozen=True, slots=True)
class WireCase:
    """A request with the status that is right.

    `there` and `absent` are headers that the response must and must not have; `says` and `omits`
    are texts for its headers (names in lower case), its body and the challenge. `judge` returns the
    fault of a JSON body, or "".
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
    judge: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True)
class RawCase:
    """Bytes that no client library writes; `half_closed` when the sending side then ends."""

    name: str
    sent: bytes
    statuses: tuple[int, ...]
    half_closed: bool = False
    there: bytes = b""  # in the response, in lower case
    absent: bytes = b""  # from it


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as its client has read it."""

    status: int  # 0: there was none
    headers: dict[str, str]
    body: str

    @property
    def text(self) -> str:
        """The headers, the body and the challenge among them, without blanks between members."""
        fields = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        challenge = _decoded(self.headers.get(_CHALLENGE, ""))
        return f"{fields}\n{self.body}\n{challenge}".replace(": ", ":")


@dataclass(frozen=True, slots=True)
class Answered:
    """A case, and what one client got for it."""

    client: str
    case: WireCase
    answer: Answer


async def answers_of(url: str, cases: Sequence[WireCase]) -> list[Answered]:
    """Send every case by both clients; return what each got."""
    by_curl = [await _curl(url, case) for case in cases]
    by_fetch = await _fetch_each(url, cases)
    return [
        Answered(client, case, answer)
        for case, *both in zip(cases, by_curl, by_fetch, strict=True)
        for client, answer in zip(("curl", "fetch"), both, strict=True)
    ]


def faults_in(answered: Iterable[Answered]) -> list[str]:
    """Return what was wrong."""
    return [
        f"{each.client} {each.case.method} {each.case.target[:120]} {each.case.body[:80]}: {fault}"
        for each in answered
        if (fault := _fault_of(each.case, each.answer))
    ]


async def faults_of(url: str, cases: Sequence[WireCase]) -> list[str]:
    """Send every case by both clients; return what was wrong."""
    return faults_in(await answers_of(url, cases))


async def raw_answers_of(url: str, cases: Iterable[RawCase]) -> list[tuple[RawCase, bytes]]:
    """Send every case over a socket of its own; return what came back."""
    return [(case, await _send(url, case)) for case in cases]


def raw_faults_in(answered: Iterable[tuple[RawCase, bytes]]) -> list[str]:
    """Return what was wrong."""
    faults = []
    for case, answer in answered:
        statuses = statuses_in(answer)
        found = tuple(each for each in statuses if each != _INTERIM or not case.half_closed)
        text = answer.lower()
        is_right = found == case.statuses and case.there in text
        if not is_right or (case.absent and case.absent in text):
            faults.append(f"{case.name}: {statuses}, {answer[-200:]!r}")
    return faults


async def raw_faults_of(url: str, cases: Iterable[RawCase]) -> list[str]:
    """Send every case over a socket of its own; return what was wrong."""
    return raw_faults_in(await raw_answers_of(url, cases))


def statuses_in(answer: bytes) -> list[int]:
    """Return the statuses of the responses that came over one connection."""
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


def post(
    path: str, body: str, *, keep_alive: bool = False, version: str = "1.1", head: str = ""
) -> bytes:
    """Return the bytes of a request with a JSON body; `head` has lines of its own."""
    lines = [f"POST {path} HTTP/{version}", "Content-Type: application/json", *head.split("\n")]
    lines.append(f"Content-Length: {len(body.encode())}")
    if not keep_alive:
        lines.append("Connection: close")
    return "\r\n".join([*filter(None, lines), "", body]).encode()


def _fault_of(case: WireCase, answer: Answer) -> str:
    wrong = {
        "without": [name for name in case.there if name not in answer.headers],
        "with": [name for name in case.absent if name in answer.headers],
        "does not say": [text for text in case.says if text not in answer.text],
        "says": [text for text in case.omits if text in answer.text],
    }
    found: dict[str, object] = {name: each for name, each in wrong.items() if each}
    judge = case.judge if answer.status == case.status else None
    if judge is not None and (judged := judge(json.loads(answer.body))):
        found["judged"] = judged
    is_right = answer.status == case.status and not found
    return "" if is_right else f"{answer.status} {found} {answer.body[:200]}"


def _decoded(header: str) -> str:
    try:
        return base64.b64decode(header).decode()
    except (binascii.Error, UnicodeDecodeError):
        return header


async def _curl(url: str, case: WireCase) -> Answer:
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
    return Answer(int(first.split()[1]), found, content)


async def _fetch_each(url: str, cases: Sequence[WireCase]) -> list[Answer]:
    requests = [(url + case.target, case.method, dict(case.headers), case.body) for case in cases]
    command = ("node", "--input-type=module", "-e", _FETCH)
    output = await _output(*command, given=json.dumps(requests), wait_s=_WAIT_S + len(cases))
    return [Answer(*each) for each in json.loads(output)]


async def _output(*command: str, given: str = "", wait_s: float = _WAIT_S) -> str:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    output, _ = await asyncio.wait_for(process.communicate(given.encode()), wait_s)
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
