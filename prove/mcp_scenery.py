"""The parts of a case of PROOF=mcp: the service, its database, its listings, a broken upstream."""

import contextlib
import os
import secrets
from collections.abc import AsyncIterator
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
from prove.mcp_upstream import BEHAVIOURS, ECHO, NAME, SILENT, BrokenUpstream
from testing.listing_row import list_resource
from testing.machine import ROOT, OurProcess, ServedNetwork, our_process, say, subfolder
from testing.seller import Seller

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
