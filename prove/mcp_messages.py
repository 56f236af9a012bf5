"""Generate messages to `/mcp`, ordinary, odd and broken ones, from one seed."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, Final

from prove.query_generator import HOSTILE_TEXTS

_LARGEST_BODY: Final = 256 * 1024
_TERMS: Final = {
    "scheme": "exact", "network": "stellar:testnet", "asset": "C", "amount": "1", "payTo": "G",
    "maxTimeoutSeconds": 60, "extra": {"areFeesSponsored": True},
}  # fmt: skip
_PAYMENT: Final = {"x402Version": 2, "accepted": _TERMS, "payload": {"transaction": "AAAA"}}
_VALUES: Final[tuple[object, ...]] = (
    None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, 10**18, 2**63, 2**64, 10**400, [], {}, [[]],
    [None] * 200, {"a": {"a": {}}}, {"": ""}, {"__proto__": {}}, {"t": "x", "n": [1, 2]},
    "GET", "POST", "PUT", "get", "https://", "http://127.0.0.1:1/", "https://api.example.com/:a/:b",
    "https://user:pass@api.example.com/echo", "https://[::1]/",
    "https://api.example.com/\x00", "https://\u2025/", "\ud800",
    {"\udfff": "\ud800"}, {"city": "..", "day": "/"}, {"city": "\u202e\x00"}, "x" * 5_000,
    {f"m{n}": n for n in range(500)},
)  # fmt: skip
_ODD_IDS: Final[tuple[object, ...]] = (
    None, True, False, 1.5, 1e400, [], {}, [1], {"a": 1}, 2**53 + 1, 2**64, -(10**30), "x" * 257,
)  # fmt: skip
_HEADERS: Final[tuple[Mapping[str, str], ...]] = (
    {"content-type": "text/plain"},
    {"content-type": "application/jsonx"},
    {"content-type": ""},
    {"content-type": "application/json; charset=utf-16"},
    {"mcp-protocol-version": "2099-01-01"},
    {"mcp-protocol-version": ""},
    {"mcp-protocol-version": "x" * 4_000},
    {"origin": "https://evil.example.com"},
    {"origin": "null"},
    {"authorization": "Bearer nobody"},
    {"authorization": "Basic "},
    {"accept": "image/png"},
    {"mcp-session-id": "a" * 100},
    {"last-event-id": "1"},
    {"payment-signature": "e30="},
    {"idempotency-key": "a"},
    {"content-encoding": "gzip"},
)
_PARTS: Final = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b'"', b"{", b"}", b"[", b"]", b",",
    b":", b"1e999", b"NaN", b"-", b"null", b"\r\n", b'"id":1,', b'"jsonrpc":"2.0",', b"/*",
    b"[" * 200, b'{"a":' * 2_000, b"9" * 5_000,
)  # fmt: skip


def odd_value(random: Random) -> Any:
    """Draw a JSON value that hardly any member expects."""
    return random.choice(_VALUES) if random.random() < 0.6 else random.choice(HOSTILE_TEXTS)


def odd_ids(random: Random) -> object:
    """Draw an id that is none."""
    return random.choice(_ODD_IDS)


def odd_headers(random: Random) -> Mapping[str, str]:
    """Draw a header that does not fit, or hardly."""
    return random.choice(_HEADERS)


def odd_signature(random: Random, params: dict[str, Any]) -> None:
    """Put a payment into the parameters of `paid_call`: a well-formed one or another text."""
    header = base64.b64encode(json.dumps(_PAYMENT).encode()).decode()
    arguments = params["arguments"]
    match random.randrange(8):
        case 0 | 1 | 2:
            arguments["paymentSignature"] = header
        case 3:
            params["_meta"] = {"x402/payment": _PAYMENT}
        case 4:
            params["_meta"] = {"x402/payment": json.dumps(_PAYMENT)}
        case 5:
            params["_meta"] = {"x402/payment": odd_value(random)}
        case 6:
            at = random.randrange(len(header))
            arguments["paymentSignature"] = header[:at] + random.choice("%\u00e9 \n") + header[at:]
        case _:
            arguments["paymentSignature"] = random.choice(
                (header * 200, "e30=", "W10=", "bnVsbA==")
            )


def mutate_bytes(random: Random, body: bytes) -> bytes:
    """Change bytes of a body: a few, or all."""
    match random.randrange(8):
        case 0:
            return body[: random.randrange(len(body))]
        case 1:
            return random.randbytes(random.randrange(300))
        case 2:
            return body + body[: random.randrange(1, len(body))]
        case 3:
            at = random.randrange(len(body))
            return body[:at] + bytes([random.randrange(256)]) + body[at + 1 :]
        case 4:
            return body[:1] + b'"id":7,' + body[1:]
        case 5:
            return body.decode().encode(random.choice(("utf-16", "utf-32", "utf-8-sig")))
        case 6 if random.random() < 0.05:
            return body + b" " * (_LARGEST_BODY - len(body) + random.choice((0, 1, 4_096)))
        case _:
            at = random.randrange(len(body))
            return body[:at] + random.choice(_PARTS) + body[at:]


VERSION: Final = "2025-06-18"
_SEARCH: Final = "search_services"
_CALL: Final = "paid_call"
_LEAVES: Final = 0.03  # of the callers of paid_call
_IDS: Final = (0, 1, 2, 3, -1, 2**53, "a", "1", "")  # few: they repeat on every connection
_METHODS: Final = (
    "resources/list", "prompts/list", "completion/complete", "logging/setLevel", "server/discover",
    "PING", "ping ", "", "tools/Call", "rpc.discover", "__proto__", "initialise",
)  # fmt: skip

Json = dict[str, Any]


class Shape(StrEnum):
    """The result that a request must get, if it gets a result."""

    ANY = "anything"
    EMPTY = "an empty object"
    INITIALIZED = "the protocol version"
    TOOLS = "the list of tools"
    SEARCH = "a search result"
    CALL = "the result of a paid call"
    ERROR = "no result"
    NOTHING = "no response"


@dataclass(frozen=True, slots=True)
class Sent:
    """A message; `ids` are those that its response may have."""

    body: bytes
    ids: tuple[object, ...]
    shape: Shape
    token: str  # no other message has it
    headers: Mapping[str, str] = field(default_factory=dict)
    is_echoed: bool = False  # a response of status 200 has the token
    leaves_after_s: float | None = None  # the caller disconnects


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What messages are made of: search texts, and URLs of listings."""

    queries: Sequence[str]
    urls: Sequence[str]
    echo_urls: Sequence[str]
    silent_urls: Sequence[str]
    shaped_urls: Sequence[str]  # whose listings have a schema


def generate_message(random: Random, vocabulary: Vocabulary, number: int) -> Sent:
    """Generate the next message."""
    token = f"zq{number}q"
    make = random.choices(_MAKERS, _WEIGHTS)[0]
    return make(random, vocabulary, token)


def _whole(
    random: Random, method: str, params: object, shape: Shape, token: str, **more: Any
) -> Sent:
    """Make a well-formed request."""
    own = random.choice(_IDS)
    message = {"jsonrpc": "2.0", "id": own, "method": method, "params": params}
    if params is None:
        del message["params"]
    body = _encode(message)
    return Sent(body, _ids_of(body, own), shape, token, **more)


def _plain(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    del vocabulary
    choice = random.randrange(4)
    if choice == 0:
        return _whole(random, "ping", random.choice((None, {}, {"_meta": {}})), Shape.EMPTY, token)
    if choice == 1:
        return _whole(random, "tools/list", None, Shape.TOOLS, token)
    if choice == 2:
        asked = {"protocolVersion": random.choice((VERSION, "2024-11-05", "9", ""))}
        return _whole(random, "initialize", asked, Shape.INITIALIZED, token)
    return _whole(random, random.choice(_METHODS), {}, Shape.ERROR, token)


def _search(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    arguments: Json = {"query": random.choice(vocabulary.queries)}
    if random.random() < 0.5:
        arguments["limit"] = random.randint(1, 5)
    if random.random() < 0.3:
        arguments["network"] = random.choice(("stellar:testnet", "stellar:pubnet"))
    params = {"name": _SEARCH, "arguments": arguments}
    return _whole(random, "tools/call", params, Shape.SEARCH, token)


def _pay(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    """Call a listed URL, with a payment or without."""
    if random.random() < _LEAVES:
        return _leave(random, vocabulary, token)
    is_echo = random.random() < 0.4
    url = random.choice(vocabulary.echo_urls if is_echo else vocabulary.urls)
    arguments: Json = {"url": url, "query": {"t": token}}
    params: Json = {"name": _CALL, "arguments": arguments}
    if random.random() < 0.5:
        odd_signature(random, params)
    return _whole(random, "tools/call", params, Shape.CALL, token, is_echoed=is_echo)


def _pay_with_parameters(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    """Call a URL with the parameters that its listing describes, or nearly so."""
    arguments: Json = {"url": random.choice(vocabulary.shaped_urls)}
    fitting = {
        "pathParams": {"city": "paris", "day": 3},
        "query": {"month": "2026-11", "t": token},
        "body": {"a": token},
        "method": random.choice(("GET", "POST")),
    }
    for name in random.sample(list(fitting), random.randint(1, len(fitting))):
        arguments[name] = fitting[name] if random.random() < 0.8 else odd_value(random)
    params = {"name": _CALL, "arguments": arguments}
    return _whole(random, "tools/call", params, Shape.CALL, token)


def _leave(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    arguments = {"url": random.choice(vocabulary.silent_urls)}
    params = {"name": _CALL, "arguments": arguments}
    after_s = random.uniform(0, 0.3)
    return _whole(random, "tools/call", params, Shape.CALL, token, leaves_after_s=after_s)


def _odd_arguments(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    """Call a tool with some members replaced, removed or added."""
    is_search = random.random() < 0.5
    names = ["query", "network", "limit"] if is_search else [
        "url", "paymentSignature", "method", "body", "pathParams", "query",
    ]  # fmt: skip
    arguments: Json = {"query": "weather"} if is_search else {"url": random.choice(vocabulary.urls)}
    for name in random.sample(names, random.randint(0, len(names))):
        arguments[name] = odd_value(random)
    if random.random() < 0.3:
        arguments[f"x{token}"] = 1
    if not is_search and random.random() < 0.1:
        arguments["url"] = f"{random.choice(vocabulary.urls)}{random.choice(('/', '#', '?a', 'x'))}"
    if random.random() < 0.1:
        arguments.pop(next(iter(arguments)), None)
    params: Json = {"name": _SEARCH if is_search else _CALL, "arguments": arguments}
    if random.random() < 0.2:
        params["_meta"] = odd_value(random)
    if random.random() < 0.1:
        params[random.choice(("name", "arguments"))] = odd_value(random)
    return _whole(random, "tools/call", params, Shape.ANY, token)


def _odd_message(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    """Send a message whose members are odd: an error, or nothing where it has no id."""
    own = random.choice(_IDS)
    message: Json = {"jsonrpc": "2.0", "id": own, "method": "ping"}
    name = random.choice(("jsonrpc", "method", "params", "id", "result"))
    if name == "id":
        message["id"] = odd_ids(random)
        return Sent(_encode(message), (None,), Shape.ERROR, token)
    message[name] = odd_value(random)
    if random.random() < 0.2:
        del message["jsonrpc"]
    body = _encode(message)
    return Sent(body, _ids_of(body, own), Shape.ANY, token)


def _ids_of(body: bytes, own: object) -> tuple[object, ...]:
    """Return the ids of a response: its own, and none where half a surrogate pair is no JSON."""
    return (own, None) if b"\\ud" in body else (own,)


def _notification(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    del vocabulary
    methods = ("notifications/initialized", "notifications/cancelled", "tools/call", "ping", "x")
    message: Json = {"jsonrpc": "2.0", "method": random.choice(methods)}
    if random.random() < 0.3:
        message = {"jsonrpc": "2.0", "id": random.choice(_IDS), "result": {}}
    return Sent(_encode(message), (), Shape.NOTHING, token)


def _batch(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    bodies = [_plain(random, vocabulary, token).body for _ in range(random.randint(0, 4))]
    return Sent(b"[" + b",".join(bodies) + b"]", (None,), Shape.ERROR, token)


def _broken(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    """Send a message with bytes changed: it may have become anything."""
    make = random.choice((_plain, _search, _pay, _odd_arguments))
    body = mutate_bytes(random, make(random, vocabulary, token).body)
    return Sent(body, (None, _id_in(body)), Shape.ANY, token)


def _odd_head(random: Random, vocabulary: Vocabulary, token: str) -> Sent:
    sent = _plain(random, vocabulary, token)
    return Sent(sent.body, (None, *sent.ids), Shape.ANY, token, odd_headers(random))


def _id_in(body: bytes) -> object:
    """Return the id of a body; None without one that is a string or a whole number."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    own = value.get("id") if isinstance(value, dict) else None
    return own if type(own) in (str, int) else None


def _encode(message: object) -> bytes:
    return json.dumps(message).encode()


_Maker = Callable[[Random, Vocabulary, str], Sent]
_CHANCES: Final[tuple[tuple[_Maker, float], ...]] = (
    (_plain, 15),
    (_search, 10),
    (_pay, 15),
    (_pay_with_parameters, 5),
    (_odd_arguments, 20),
    (_odd_message, 10),
    (_notification, 4),
    (_batch, 3),
    (_broken, 15),
    (_odd_head, 3),
)
_MAKERS: Final = [make for make, _ in _CHANCES]
_WEIGHTS: Final = [weight for _, weight in _CHANCES]
