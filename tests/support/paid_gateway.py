"""The whole service with its gateway, a TLS upstream behind it, and a seller who has signed in."""

import itertools
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from farebox.gateway.relay import breaker
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.certificates import Authority
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.callers import Wallet, send_request, sign_in_wallet
from support.outbound import SELLER
from support.payment_headers import payment_header, required
from support.payments import Draft, encoded
from support.stage import Stage, own_relayer, service
from support.upstream import Answer as UpstreamAnswer
from support.upstream import Upstream, answers, upstream
from support.vault import VAULT_SETTING, create_secret
from testing.waiting import until

ORIGIN: Final = "https://pay.example.com"
UPSTREAM_URL: Final = f"https://{SELLER}/base"
WRAPPERS: Final = "/v1/wrappers"
# names that a nameserver of the attacker answers
NAMES: Final = (
    "zero.example.com=0.0.0.0",
    "private.example.com=10.0.0.1",
    "metadata.example.com=169.254.169.254",
    "mixed.example.com=8.8.8.8",
    "mixed.example.com=127.0.0.1",
)
OTHER_NAME: Final = "other.example.com"  # of the same server, whose certificate does not have it
PAYMENTS: Final = "/v1/payments"
_SLUGS: Final = itertools.count(100)
Json = dict[str, Any]


@dataclass(slots=True)
class PaidGateway:
    """A gateway with a seller; every wrapper's upstream is the one TLS server."""

    stage: Stage
    upstream: Upstream
    seller: Wallet

    @property
    def client(self) -> AsgiClient:
        """The service."""
        return self.stage.client

    async def send(
        self, method: str, path: str, value: object = None, *, wallet: Wallet | None = None
    ) -> Answer:
        """Send a request as the seller, or as another wallet."""
        headers = (wallet or self.seller).headers
        return await send_request(self.client, method, path, headers, value)

    def body(self, *, network: Network = Network.TESTNET, **members: Any) -> Json:
        """Return the body of a request that creates a wrapper."""
        scene = self.stage.networks[network].scene
        return {
            "name": "City weather",
            "upstreamUrl": UPSTREAM_URL,
            "network": network.value,
            "asset": scene.asset,
            "amount": "10000",
            "payTo": scene.payees[0].address,
        } | members

    async def create(self, *, network: Network = Network.TESTNET, **members: Any) -> Json:
        """Create a wrapper with a slug that no test has used; None leaves a member out."""
        body: Json = {"slug": f"city-weather-{next(_SLUGS)}"} | self.body(
            network=network, **members
        )
        given = {name: value for name, value in body.items() if value is not None}
        answer = await self.send("POST", WRAPPERS, given)
        assert answer.status == 201, answer.body
        return answer.json()

    async def enable(self, wrapper: Mapping[str, Any]) -> Json:
        """Enable a wrapper."""
        answer = await self.send("POST", f"{WRAPPERS}/{wrapper['id']}/enable")
        assert answer.status == 200, answer.body
        return answer.json()

    async def serve(self, **members: Any) -> Json:
        """Create and enable a wrapper."""
        return await self.enable(await self.create(**members))

    async def analytics(self, wrapper: Mapping[str, Any], *, requests: int) -> Json:
        """Return the analytics of a wrapper, once so many requests are recorded."""
        path = f"{WRAPPERS}/{wrapper['id']}/analytics"

        async def is_recorded() -> bool:
            return len((await self.send("GET", path)).json()["requests"]) == requests

        await until(is_recorded)
        return (await self.send("GET", path)).json()

    async def set_upstream(self, wrapper: Mapping[str, Any], url: str) -> None:
        """Store an upstream URL that no request could store, as an older version might have."""
        await self.stage.query(
            "UPDATE wrappers SET revision = revision + 1,"
            " settings = jsonb_set(settings, '{upstream,url}', to_jsonb($2::text)) WHERE id = $1",
            wrapper["id"],
            url,
        )

    async def secret(self, **members: Any) -> Json:
        """Create a secret of the seller."""
        return await create_secret(self.client, self.seller.headers, **members)

    async def offer(self, wrapper: Mapping[str, Any], path: str = "", method: str = "GET") -> Json:
        """Send an unpaid request; return the PaymentRequired object."""
        answer = await self.client.request(method, gateway_path(wrapper, path))
        assert answer.status == 402, (answer.status, answer.body)
        return required(answer)

    async def sign(self, terms: Mapping[str, Any], **changes: Any) -> str:
        """Sign a payment for these terms; return the value of `PAYMENT-SIGNATURE`."""
        network = Network(terms["network"])
        draft = await self.stage.draft(
            network,
            asset=terms["asset"],
            pay_to=terms["payTo"],
            amount=int(terms["amount"]),
            **changes,
        )
        return signature(terms, draft)

    async def buy(
        self,
        wrapper: Mapping[str, Any],
        path: str = "",
        *,
        method: str = "GET",
        body: bytes = b"",
        payment: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a paid request; without a payment a new one is signed."""
        if payment is None:
            payment = await self.sign((await self.offer(wrapper, path, method))["accepts"][0])
        sent = {"payment-signature": payment, **(headers or {})}
        return await self.client.request(
            method, gateway_path(wrapper, path), body=body, headers=sent
        )


def gateway_path(wrapper: Mapping[str, Any], path: str = "") -> str:
    """Return the path of a wrapper at the service."""
    return f"/gateway/{wrapper['slug']}{path}"


def signature(terms: Mapping[str, Any], draft: Draft) -> str:
    """Return the value of `PAYMENT-SIGNATURE`."""
    return payment_header(terms, encoded(draft.envelope()))


@asynccontextmanager
async def shared_gateway(
    stage: Stage, url: str, folder: Path, **settings: str
) -> AsyncIterator[PaidGateway]:
    """Start a service that several tests share: failures in one open no breaker for the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(breaker, "FAILURES", sys.maxsize)
        async with paid_gateway(stage, url, folder, answer=None, **settings) as opened:
            yield opened


@asynccontextmanager
async def paid_gateway(
    stage: Stage,
    url: str,
    folder: Path,
    *,
    answer: UpstreamAnswer | None = None,
    **settings: str,
) -> AsyncIterator[PaidGateway]:
    """Start a service on the stage's networks, with an upstream on loopback.

    `url` is of a database that no service with another public URL uses: the replicas of a service
    agree on the URLs that are their gateway's.
    """
    authority = Authority(folder)
    async with (
        upstream(authority.server(SELLER), answer or answers(b"sunny")) as served,
        Database(Secret(url), connections=2) as database,
    ):
        environment = (
            stage.environment
            | await own_relayer(stage)
            | VAULT_SETTING
            | {
                "FAREBOX_DATABASE_URL": url,
                "FAREBOX_PUBLIC_URL": ORIGIN,
                "FAREBOX_OUTBOUND_TEST_AUTHORITY": str(authority.file),
                "FAREBOX_OUTBOUND_TEST_RESOLVER": ",".join(
                    (*(f"{name}=127.0.0.1:{served.port}" for name in (SELLER, OTHER_NAME)), *NAMES)
                ),
                "FAREBOX_CHANGES_PER_MINUTE": "0",
                "FAREBOX_ALLOWED_HOSTS": "farebox.test",
            }
            | settings
        )
        async with service(environment) as client:
            seller = await sign_in_wallet(database)
            own = Stage(client, stage.networks, environment)
            yield PaidGateway(own, served, seller)
            await own.delete_rows()
