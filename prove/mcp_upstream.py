"""An upstream of paid calls that is broken in a way of its own at every path."""

import asyncio
import base64
import contextlib
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Final

NAME: Final = "api.example.com"
ECHO: Final = "echo"  # responds 200 with the token of the request's query
SILENT: Final = "silent"
_SILENT_S: Final = 2.0
_ENDED: Final = (
    OSError,
    asyncio.IncompleteReadError,
    asyncio.LimitOverrunError,
    asyncio.CancelledError,  # at the end of the run
)
_LARGE: Final = 5 * 1024 * 1024 + 1
_TOKEN: Final = re.compile(rb"[?&]t=(zq[0-9]+q)")
_DEEP: Final = b"[" * 20_000 + b"]" * 20_000
_TERMS: Final = {
    "scheme": "exact", "network": "stellar:testnet", "asset": "C", "amount": "1", "payTo": "G",
    "maxTimeoutSeconds": 60, "extra": {"areFeesSponsored": True},
}  # fmt: skip


def encode(value: object) -> bytes:
    """Encode a value as headers of x402 are."""
    return base64.b64encode(json.dumps(value).encode())


def _response(status: bytes, body: bytes = b"", *fields: bytes) -> bytes:
    head = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), b"Connection: close", *fields]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


_CHALLENGE: Final = {"x402Version": 2, "resource": {"url": "https://x"}, "accepts": [_TERMS]}
_RECEIPT: Final = {"success": True, "transaction": "ab" * 32, "network": "stellar:testnet"}
_JSON: Final = b"Content-Type: application/json"
_GOOD: Final = b"PAYMENT-RESPONSE: " + encode(_RECEIPT)
_402: Final = b"402 Pay"
_200: Final = b"200 OK"
# the bytes of a response, after which the connection is closed
RESPONSES: Final[Mapping[str, bytes]] = {
    "challenge": _response(_402, b"{}", b"PAYMENT-REQUIRED: " + encode(_CHALLENGE)),
    "challenge-in-body": _response(_402, json.dumps(_CHALLENGE).encode(), _JSON),
    "challenge-twice": _response(_402, b"", *[b"PAYMENT-REQUIRED: " + encode(_CHALLENGE)] * 2),
    "no-challenge": _response(_402, b"pay first"),
    "empty-accepts": _response(_402, json.dumps(_CHALLENGE | {"accepts": []}).encode(), _JSON),
    "accepts-of-numbers": _response(_402, json.dumps(_CHALLENGE | {"accepts": [1]}).encode()),
    "deep-challenge": _response(_402, b'{"x402Version":2,"accepts":%s}' % _DEEP, _JSON),
    "broken-challenge": _response(_402, b"", b"PAYMENT-REQUIRED: %%%"),
    "receipt": _response(_200, b'{"a":1}', _JSON, _GOOD),
    "receipt-on-402": _response(_402, b"", _GOOD),
    "receipt-on-503": _response(b"503 Later", b"", _GOOD, b"Retry-After: 3"),
    "receipt-of-failure": _response(_402, b"", b"PAYMENT-RESPONSE: " + encode({"success": False})),
    "receipt-of-numbers": _response(_200, b"", b"PAYMENT-RESPONSE: " + encode([1, 2])),
    "receipt-malformed": _response(_200, b"", b"PAYMENT-RESPONSE: e30=x\xff"),
    "receipt-pending": _response(
        _402, b"", b"PAYMENT-RESPONSE: " + encode({"errorReason": "settlement_pending"})
    ),
    "retry-of-digits": _response(b"429 Slow", b"", b"Retry-After: " + b"9" * 5_000),
    "retry-odd": _response(b"503 Later", b"", "Retry-After: \u00b2".encode("latin-1")),
    "redirect": _response(b"302 There", b"", b"Location: http://169.254.169.254/"),
    "status-599": _response(b"599 Odd", b"odd"),
    "status-000": b"HTTP/1.1 000 None\r\n\r\n",
    "status-of-letters": b"HTTP/1.1 abc OK\r\n\r\n",
    "no-content": b"HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nwords",
    "continued": b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + _response(_200, b"late"),
    "no-http": b"\x00\x01\x02 this is no HTTP \xff\r\n\r\n",
    "nothing": b"",
    "half-head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half-body": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length-of-letters": b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\nab",
    "chunks-broken": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n",
    "chunks-cut": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nab",
    "said-gzip": _response(_200, b"no gzip", b"Content-Encoding: gzip"),
    "long-field": _response(_200, b"", b"X-Long: " + b"a" * 70_000),
    "many-fields": _response(_200, b"", *[b"X-%d: 1" % n for n in range(3_000)]),
    "said-json": _response(_200, b'{"a":', _JSON),
    "deep-json": _response(_200, _DEEP, _JSON, _GOOD),
    "huge-number": _response(_200, b"1" * 10_000, _JSON),
    "exponent": _response(_200, b"1e999999", _JSON),
    "surrogate": _response(_200, b'"\\ud800"', _JSON),
    "nul": _response(_200, b'{"\\u0000":"\\u0000"}', _JSON),
    "repeated-name": _response(_200, b'{"a":1,"a":2}', _JSON),
    "binary": _response(_200, bytes(range(256)), b"Content-Type: application/octet-stream"),
    "long-type": _response(_200, b"a", b"Content-Type: a/" + b"b" * 4_000),
    "latin-type": _response(_200, b"a", b"Content-Type: t\xe9xt/\xff"),
    "large": _response(_200, b"x" * _LARGE, _GOOD),
    "large-on-402": _response(_402, b"x" * _LARGE),
}
BEHAVIOURS: Final = (*RESPONSES, ECHO, SILENT)


class BrokenUpstream:
    """Serves every behaviour at the path of its name, over TLS and without."""

    def __init__(self) -> None:
        self.port, self.tls_port = 0, 0
        self.reached = 0

    @contextlib.asynccontextmanager
    async def serving(self, tls: ssl.SSLContext) -> AsyncIterator[None]:
        """Serve inside this context, on two free ports of the loopback."""
        plain = await asyncio.start_server(self._respond, "127.0.0.1", 0)
        secure = await asyncio.start_server(self._respond, "127.0.0.1", 0, ssl=tls)
        self.port = plain.sockets[0].getsockname()[1]
        self.tls_port = secure.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            plain.close()
            secure.close()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(*_ENDED):
            head = await reader.readuntil(b"\r\n\r\n")
            self.reached += 1
            target = head.split(b" ", 2)[1]
            name = target.partition(b"?")[0].strip(b"/").decode("latin-1")
            if name == SILENT:
                await asyncio.sleep(_SILENT_S)
            token = _TOKEN.search(target)
            text = token[1] if token else b"no token"
            writer.write(RESPONSES.get(name) or _response(_200, text, _GOOD))
            await writer.drain()
        writer.close()
