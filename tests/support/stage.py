"""The whole service in process over real parts, with assertions on both payment routes."""

import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import asyncpg
from stellar_sdk import Keypair

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, Party, Scene
from farebox.x402.reasons import REGISTRY, Reason
from support.asgi import Answer, AsgiClient, started
from support.connection_cache import ConnectionCache
from support.ledger import Ledger
from support.node_proxy import NodeProxy
from support.payments import Draft, Json
from support.planted_secrets import plant_secret
from support.wallet_sign_in import SERVER
from testing.database import connected
from testing.waiting import until

KEPT: Final = ConnectionCache()  # closed with the stage's database
HASH: Final = re.compile(r"[0-9a-f]{64}\Z")
_PAYERS: Final = 8
_LIFE_LEDGERS: Final = 150
_VERDICT: Final = {"isValid", "invalidReason", "invalidMessage", "payer", "extra"}
_OUTCOME: Final = {"success", "transaction", "network", "payer"} | {"errorReason", "errorMessage"}
_NAMED: Final = re.compile(r" Look at [A-Za-z0-9.]+\.")  # the member at fault


_WRITTEN: Final = (
    "request_names",
    "settlements",
    "sponsor_spend",
    "sponsor_stops",
    "listing_attempts",
    "listing_decisions",
    "listings",
    "challenges",
    "ingress_counts",
    "usage_counts",
    "gateway_payments",
    "gateway_requests",
    "wrapper_days",
    "wrappers",
    "wrapper_slugs",
)


@dataclass(frozen=True, slots=True)
class NetworkStage:
    """One network of a stage."""

    devnet: Devnet
    ledger: Ledger  # the devnet, read directly
    node: NodeProxy  # the RPC node of the service
    scene: Scene
    relayer: Keypair


async def own_relayer(stage: "Stage") -> dict[str, str]:
    """A setting that gives a further service a relayer for itself on testnet.

    Two services on one relayer work, but each finds its sequence number used now and then, and
    what a test counts would depend on the tests before it.
    """
    relayer = await stage.ledger().account()
    plant_secret(relayer.secret)
    return {"FAREBOX_RELAYER_SECRET_TESTNET": relayer.secret}


class Stage:
    """The running service, the two networks behind it and its journal."""

    def __init__(
        self,
        client: AsgiClient,
        networks: Mapping[Network, NetworkStage],
        environment: dict[str, str],
    ) -> None:
        self.client = client
        self.networks = networks
        self.environment = environment

    def node(self, network: Network = Network.TESTNET) -> NodeProxy:
        """Return the node of a network, whose responses a test may change."""
        return self.networks[network].node

    def ledger(self, network: Network = Network.TESTNET) -> Ledger:
        """Return the network itself."""
        return self.networks[network].ledger

    def relayer(self, network: Network = Network.TESTNET) -> Keypair:
        """Return the relayer's key."""
        return self.networks[network].relayer

    async def draft(self, network: Network = Network.TESTNET, **changes: Any) -> Draft:
        """Draft a valid payment with `changes` to its fields."""
        stage = self.networks[network]
        payer, payee = stage.scene.payers[0], stage.scene.payees[0]
        honest = Draft(
            network=network,
            asset=stage.scene.asset,
            payer=payer.address,
            signers=(key_of(payer),),
            pay_to=payee.address,
            expires_at_ledger=await stage.ledger.latest() + _LIFE_LEDGERS,
        )
        return honest.but(**changes)

    async def another_payer(self, network: Network = Network.TESTNET) -> Party:
        """Fund a payer that no other test uses."""
        scene = await self.networks[network].devnet.scene(payers=1, payees=0)
        return scene.payers[0]

    async def until_seen(self, sequence: int, network: Network = Network.TESTNET) -> None:
        """Return once the service's own clock has reached this ledger; it polls the node."""

        async def is_seen() -> bool:
            listed = (await self.client.get("/v1/networks")).json()["networks"]
            (own,) = [each for each in listed if each["network"] == network.value]
            return bool(own.get("ledger", {"sequence": 0})["sequence"] >= sequence)

        await until(is_seen)

    async def verify(self, body: object) -> Json:
        """Verify and return the verdict, which is always a 200."""
        return _ok_body(await self.client.post("/verify", body))

    async def settle(self, body: object) -> Json:
        """Settle and return the outcome, which is always a 200."""
        return _ok_body(await self.client.post("/settle", body))

    async def assert_refused(
        self,
        body: object,
        *reasons: Reason,
        payer: str | None = None,
        by_rule: bool = False,
    ) -> Reason:
        """Assert that both routes refuse the body twice alike and send and write nothing.

        `reasons` are those allowed, any when none is given. `by_rule`: without a simulation.
        Returns the reason.
        """
        for node in (stage.node for stage in self.networks.values()):
            node.calls.clear()
        before = await self.rows()
        verdicts = [await self.verify(body) for _ in range(2)]
        outcomes = [await self.settle(body) for _ in range(2)]
        reason = _same_refusal(verdicts, outcomes)
        assert not reasons or reason in reasons, (reason, reasons)
        if payer is not None:
            assert verdicts[0].get("payer") == outcomes[0].get("payer") == payer
        assert await self.rows() == before, "a refusal leaves no row"
        for stage in self.networks.values():
            counts = stage.node.counts()
            assert counts["sendTransaction"] == 0
            assert not by_rule or counts["simulateTransaction"] == 0, "asked before it was checked"
        return reason

    async def assert_http_refusal(
        self,
        body: bytes | list[bytes],
        status: int,
        reason: Reason,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Assert that both routes answer with this error status and the body of a refusal."""
        sent = {"content-type": "application/json"} if headers is None else headers
        pairs = []
        for path in ("/verify", "/settle"):
            answers = [
                await self.client.request("POST", path, body=body, headers=sent) for _ in range(2)
            ]
            assert [answer.status for answer in answers] == [status, status], answers[0].body
            pairs.append([answer.json() for answer in answers])
        assert _same_refusal(*pairs) == reason
        assert await self.rows() == 0

    async def assert_settles(self, body: Any) -> str:
        """Assert that the body verifies, settles and lands; return the transaction hash."""
        network = Network(body["paymentRequirements"]["network"])
        verdict = await self.verify(body)
        assert verdict["isValid"] is True, verdict
        outcome = await self.settle(body)
        assert outcome["success"] is True, outcome
        assert outcome["network"] == network.value
        assert outcome.get("payer") == verdict.get("payer")
        tx_hash = outcome["transaction"]
        assert HASH.match(tx_hash)
        assert (await self.ledger(network).found(tx_hash))["status"] == "SUCCESS"
        return str(tx_hash)

    async def rows(self) -> int:
        """Return the number of settlements in the journal."""
        return int((await self.query("SELECT count(*) AS n FROM settlements"))[0]["n"])

    async def query(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Return rows of the service's database."""
        return await KEPT.fetch(self.environment["FAREBOX_DATABASE_URL"], sql, *args)

    async def delete_rows(self, *tables: str) -> None:
        """Empty these tables in one call, or every one that tests write to.

        Each in a transaction of its own, since the service runs: one transaction would hold the
        locks of the first tables while it waits for a row whose holder waits for one of those.
        """
        deleting = " ".join(f"DELETE FROM {name}; COMMIT;" for name in tables or _WRITTEN)
        await self.query(f"DO $$ BEGIN {deleting} END $$")

    @contextlib.asynccontextmanager
    async def locked(self, table: str) -> AsyncIterator[None]:
        """Lock a table of the service's database: other statements on it wait."""
        url = self.environment["FAREBOX_DATABASE_URL"]
        async with connected(url) as db, db.transaction():
            await db.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield


def key_of(party: Party) -> Keypair:
    """Return the key of a scene's account."""
    return Keypair.from_secret(party.secret.reveal())


def _ok_body(answer: Answer) -> Json:
    assert answer.status == 200, (answer.status, answer.body[:500])
    assert answer.headers["content-type"].startswith("application/json")
    return answer.json()


def _same_refusal(verdicts: list[Json], outcomes: list[Json]) -> Reason:
    """The one reason of two verdicts and two outcomes, each held to its whole shape."""
    assert verdicts[0] == verdicts[1]
    assert outcomes[0] == outcomes[1]
    verdict, outcome = verdicts[0], outcomes[0]
    assert verdict["isValid"] is False, verdict
    assert outcome["success"] is False, outcome
    assert set(verdict) <= _VERDICT
    assert set(outcome) <= _OUTCOME
    assert None not in (*verdict.values(), *outcome.values()), "optional fields are left out"
    assert outcome["transaction"] == ""
    assert isinstance(outcome["network"], str)
    reason = Reason(verdict["invalidReason"])
    assert outcome["errorReason"] == reason
    sentence = REGISTRY[reason].sentence
    message = verdict.get("invalidMessage", sentence)
    assert message == sentence or _NAMED.fullmatch(message.removeprefix(sentence)), message
    assert outcome.get("errorMessage", message) == message
    return reason


def environment_for(
    networks: Mapping[Network, NetworkStage], database_url: str, **settings: str
) -> dict[str, str]:
    """Return the environment variables that a staged service is started with."""
    environment = {
        "FAREBOX_DATABASE_URL": database_url,
        "FAREBOX_CLOCK_POLL_S": "0.1",
        "FAREBOX_SETTLE_DEADLINE_S": "15",
        "FAREBOX_AUTH_SIGNING_SECRET": SERVER.secret,
        "FAREBOX_CHALLENGES_PER_MINUTE": "0",  # every test comes from one address
        "FAREBOX_RATE_PER_ADDRESS": "0",  # every test asks from one address
        "FAREBOX_SEARCH_SEMANTIC": "off",  # a second of loading that no settlement needs
    }
    for network, stage in networks.items():
        label = network.label.upper()
        environment[f"FAREBOX_RPC_URL_{label}"] = stage.node.url
        environment[f"FAREBOX_RELAYER_SECRET_{label}"] = stage.relayer.secret
        environment[f"FAREBOX_FACILITATOR_AUTH_{label}"] = "open"
    return environment | settings


@contextlib.asynccontextmanager
async def service(
    environment: Mapping[str, str], *, is_ready: bool = True
) -> AsyncIterator[AsgiClient]:
    """Start the service with exactly this environment and wait until it is ready.

    `is_ready` is False for a service that cannot become ready.
    """
    app = create_app(read_settings(environment))
    async with started(app):
        client = AsgiClient(app)
        if is_ready:
            await until_ready(client)
        yield client


async def until_ready(client: AsgiClient, status: int = 200) -> None:
    """Return once `/health/ready` answers with this status."""

    last = await client.get("/health/ready")

    async def is_answered() -> bool:
        nonlocal last
        last = await client.get("/health/ready")
        return last.status == status

    try:
        await until(is_answered)
    except TimeoutError:
        raise AssertionError(f"not {status}, but {last.status}: {last.body!r}") from None


@contextlib.asynccontextmanager
async def network_stage(network: Network, devnet: Devnet) -> AsyncIterator[NetworkStage]:
    """Open a node in front of a devnet, with a scene and a relayer account on it."""
    ledger = Ledger(network, devnet.rpc_url)
    relayer = await ledger.account()
    plant_secret(relayer.secret)
    scene = await devnet.scene(payers=_PAYERS, payees=2)
    async with NodeProxy(devnet.rpc_url) as node:
        yield NetworkStage(devnet, ledger, node, scene, relayer)
