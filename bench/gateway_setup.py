"""The setup of BENCH=gateway: our service, the npm middleware and one upstream, on loopback."""

import asyncio
import base64
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from bench.cores import Cores
from bench.facilitators import sign_payments
from bench.payloads import NETWORK, Terms
from farebox.gateway.wrapper import Upstream, WrapperLimits, WrapperSettings, WrapperTerm
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.local.certificates import Authority
from farebox.local.devnet import DevnetOptions, start_devnet
from farebox.local.gateway_settings import gateway_settings
from farebox.local.postgres import EmbeddedPostgres
from testing.database import connected
from testing.machine import (
    ROOT,
    OurProcess,
    ServedNetwork,
    node_server,
    our_process,
    say,
    subfolder,
)

NAME: Final = "api.example.com"
PRICE_UNITS: Final = 100_000
_PRICE: Final = "$0.01"
_SIGNERS: Final = 8
_PROGRAM: Final = (sys.executable, "-c", "from bench.gateway_service import main; main()")
_PEER: Final = ROOT / "e2e" / "gateway_peer.mjs"


@dataclass(frozen=True, slots=True)
class GatewaySetup:
    """The running parts; `database` is the URL of our service's database."""

    ours: OurProcess
    theirs: str
    upstream: str
    authority: Path
    database: str
    terms: Terms
    payments: Sequence[str]  # envelopes, none of them used

    async def execute(self, statement: str, *args: object) -> None:
        """Run a statement in the service's database."""
        async with connected(self.database) as db:
            await db.execute(statement, *args)

    def paid_requests(self, slug: str, path: str, envelopes: Sequence[str]) -> tuple[bytes, ...]:
        """Build paid requests to one of our wrappers."""
        return tuple(
            raw_request(self.ours.url, f"/gateway/{slug}{path}", self.terms.requirements(), each)
            for each in envelopes
        )


def raw_request(
    url: str, path: str, accepted: dict[str, Any] | None = None, envelope: str = ""
) -> bytes:
    """Build a GET request; with terms it carries a payment."""
    head = f"GET {path} HTTP/1.1\r\nHost: {url.partition('//')[2]}\r\n"
    if accepted is not None:
        payload = {
            "x402Version": 2,
            "accepted": accepted,
            "payload": {"transaction": envelope},
        }
        head += f"PAYMENT-SIGNATURE: {base64.b64encode(json.dumps(payload).encode()).decode()}\r\n"
    return f"{head}\r\n".encode()


async def offered(url: str) -> dict[str, Any]:
    """Return the first terms that an unpaid request is offered."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        header = response.headers["PAYMENT-REQUIRED"]
    terms: dict[str, Any] = json.loads(base64.b64decode(header))["accepts"][0]
    return terms


def wrapper_settings(terms: Terms) -> str:
    """Return the settings of the bench's wrappers, as they are stored."""
    term = WrapperTerm(
        Network(NETWORK), Address(terms.asset), BaseUnits(terms.amount), Address(terms.pay_to)
    )
    limits = WrapperLimits(
        requests_per_minute=10_000,
        concurrent_requests=1_000,
        max_response_bytes=20 * 1024 * 1024,
        timeout_s=120,
    )
    upstream = Upstream(f"https://{NAME}")
    settings = WrapperSettings(name="Bench", upstream=upstream, terms=(term,), limits=limits)
    return msgspec.json.encode(settings).decode()


@contextlib.asynccontextmanager
async def open_gateway_setup(
    folder: Path, cores: Cores, *, payments: int
) -> AsyncIterator[GatewaySetup]:
    """Start every part, and sign the payments."""
    async with contextlib.AsyncExitStack() as stack:
        options = DevnetOptions(
            passphrase=Network.TESTNET.passphrase, close_ms=5_000, log=folder / "devnet.log"
        )
        devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
        scene = await devnet.scene(payers=_SIGNERS + 2, payees=1)
        terms = Terms(scene.asset, scene.payees[0].address, PRICE_UNITS, 60)
        say(f"signing {payments} payments")
        signed = await asyncio.to_thread(sign_payments, devnet.rpc_url, scene, terms, payments)
        authority = Authority(folder)
        certificate = str(authority.issue(NAME, "localhost"))
        upstream = await _start(stack, folder, "upstream", certificate=certificate)
        port = int(upstream.rpartition(":")[2])
        facilitator = await _start(stack, folder, "facilitator", network=NETWORK)
        theirs = await _start(
            stack,
            folder,
            "seller",
            prefix=cores.pin_service(),
            authority=authority.file,
            facilitator=facilitator,
            upstream=f"https://localhost:{port}",
            network=NETWORK,
            payTo=terms.pay_to,
            price=_PRICE,
        )
        database = stack.enter_context(
            EmbeddedPostgres(subfolder(folder, "postgres"), is_throwaway=True)
        )
        ours = await stack.enter_async_context(
            our_process(
                [ServedNetwork(Network.TESTNET, devnet, scene.payers[-1].secret)],
                folder=folder,
                prefix=cores.pin_service(),
                program=_PROGRAM,
                settings={
                    "FAREBOX_DATABASE_URL": database.url.reveal(),
                    "FAREBOX_PUBLIC_URL": "https://pay.example.com",
                    **gateway_settings(authority, NAME, port),
                    "FAREBOX_SEARCH_SEMANTIC": "off",
                },
            )
        )
        url = database.url.reveal()
        yield GatewaySetup(ours, theirs, upstream, authority.file, url, terms, signed)


async def _start(
    stack: contextlib.AsyncExitStack,
    folder: Path,
    part: str,
    *,
    prefix: Sequence[str] = (),
    authority: Path | None = None,
    **given: str,
) -> str:
    """Start one part of the peer; return its URL."""
    env = {"PEER": json.dumps({"part": part, **given}), "NODE_ENV": "production"}
    if authority is not None:
        env["NODE_EXTRA_CA_CERTS"] = str(authority)
    return await stack.enter_async_context(
        node_server(_PEER, env=env, log=folder / f"{part}.log", prefix=prefix)
    )
