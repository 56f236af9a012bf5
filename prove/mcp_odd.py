"""Odd values, payments, headers and bytes for messages to `/mcp`."""

import base64
import json
from collections.abc import Mapping
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
_IDS: Final[tuple[object, ...]] = (
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
    return random.choice(_IDS)


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
