"""The parts of a case of PROOF=mcp: the service, its database, listings, a broken upstream."""

import asyncio
import base64
import contextlib
import json
import os
import re
import secrets
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from eval.ground import list_all
from eval.labelled import Labelled
from farebox.kernel.networks import Network
from farebox.local.certificates import Authority
from farebox.local.devnet import DevnetOptions, Scene, start_devnet
from farebox.local.gateway_settings import gateway_settings, operator_setting
from farebox.local.postgres import EmbeddedPostgres
from farebox.mcp.call_target import listing_key
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from prove.database_link import DatabaseLink
from prove.mcp_messages import Vocabulary
from testing.listing_row import list_resource
from testing.machine import ROOT, OurProcess, ServedNetwork, our_process, say, subfolder
from testing.seller import Seller
from testing.servers import listening

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
        async with (
            listening(self._respond) as self.port,
            listening(self._respond, tls=tls) as self.tls_port,
        ):
            yield

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


_SLUG: Final = "prove-agents"
_FREE: Final[dict[str, Any]] = {}
_STRICT: Final = {
    "type": "object",
    "properties": {
        "input": {
            "type": "object",
            "properties": {
                "pathParams": {"type": "object", "properties": {"city": {"pattern": "^[a-z]+$"}}},
                "queryParams": {"type": "object", "required": ["month"]},
                "body": {"type": "object", "required": ["a"]},
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class Scenery:
    """The running parts of a case."""

    service: OurProcess
    link: DatabaseLink
    upstream: BrokenUpstream
    vocabulary: Vocabulary
    reasons: frozenset[str]


@asynccontextmanager
async def open_scenery(
    folder: Path, labelled: Labelled, sources: Path = ROOT / "src"
) -> AsyncIterator[Scenery]:
    """Start the service of these sources, with listings, a wrapper and a broken upstream."""
    async with contextlib.AsyncExitStack() as stack:
        authority, upstream, key = Authority(folder), BrokenUpstream(), secrets.token_urlsafe(32)
        await stack.enter_async_context(upstream.serving(authority.server(NAME)))
        database = stack.enter_context(
            EmbeddedPostgres(subfolder(folder, "postgres"), is_throwaway=True)
        )
        await migrate(database.url, packaged_migrations())
        urls = _urls(upstream)
        async with Database(database.url) as filled:
            await list_all(filled, labelled.listings)
            shaped = await _list_upstream(filled, urls)
        link = await stack.enter_async_context(DatabaseLink(database.url.reveal()).serving())
        options = DevnetOptions(passphrase=Network.TESTNET.passphrase, close_ms=1000)
        devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
        scene = await devnet.scene(payers=1, payees=1)
        settings = {
            "FAREBOX_DATABASE_URL": link.url,
            "FAREBOX_CATALOG_LOCAL": "1",
            "FAREBOX_SEARCH_SEMANTIC": "off",
            "PYTHONPATH": os.pathsep.join([str(sources), str(ROOT)]),
            **operator_setting(key),
            **gateway_settings(authority, NAME, upstream.tls_port),
        }
        served = ServedNetwork(Network.TESTNET, devnet, scene.payers[0].secret)
        service = await stack.enter_async_context(
            our_process([served], folder=folder, settings=settings)
        )
        sold = await _sell(Seller(service.url, key), scene)
        vocabulary = Vocabulary(
            queries=[each.text for each in labelled.queries],
            urls=[*urls, *sold],
            echo_urls=[url for url in urls if url.endswith(ECHO)],
            silent_urls=[url for url in urls if url.endswith(SILENT)],
            shaped_urls=shaped,
        )
        yield Scenery(service, link, upstream, vocabulary, await _reasons(service))


def _urls(upstream: BrokenUpstream) -> list[str]:
    """Return the URLs of the broken upstream: every behaviour, over TLS and without."""
    origins = (f"https://{NAME}", f"http://127.0.0.1:{upstream.port}")
    return [f"{origin}/{name}" for origin in origins for name in BEHAVIOURS]


async def _list_upstream(database: Database, urls: list[str]) -> list[str]:
    """List these URLs; and with a schema a resource with parameters, one with a body, and a tool.

    Returns the URLs of those with a schema.
    """
    origin = urls[0].rpartition("/")[0]
    shaped = [f"{origin}/{path}" for path in (":city/:day", "post", "mcp")]
    async with database.connection() as db:
        for url in urls:
            await list_resource(db, url, url, "GET", _FREE)
        await list_resource(db, listing_key(shaped[0]), shaped[0], "GET", _STRICT)
        await list_resource(db, shaped[1], shaped[1], "POST", _STRICT)
        await list_resource(db, f"{shaped[2]}#t", shaped[2], None, _FREE)
    return shaped


async def _sell(seller: Seller, scene: Scene) -> list[str]:
    """Create a wrapper of the upstream; return its URL."""
    term = {
        "network": Network.TESTNET.value,
        "asset": scene.asset,
        "amount": "1000",
        "payTo": scene.payees[0].address,
    }
    body = {
        "name": "Agents",
        "slug": _SLUG,
        "upstreamUrl": f"https://{NAME}/{ECHO}",
        "requestsPerMinute": 10_000,
        "accepts": [term],
    }
    wrapper = await seller.send("POST", "/v1/wrappers", body)
    await seller.send("POST", f"/v1/wrappers/{wrapper['id']}/enable")
    return [str(wrapper["endpoint"])]


async def _reasons(service: OurProcess) -> frozenset[str]:
    """Read the documented reasons of `/mcp`."""
    async with (
        aiohttp.ClientSession(service.url) as session,
        session.get("/v1/errors") as response,
    ):
        return frozenset(each["code"] for each in (await response.json())["mcp"])
