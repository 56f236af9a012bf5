"""The whole service in process over real parts, and what two routes may be held to at once."""

import asyncio
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
from support.kept_connections import KeptConnections
from support.ledger import Ledger
from support.node import ScriptedNode
from support.payments import Draft, Json
from support.planted import planted
from support.signing_in import SERVER

KEPT: Final = KeptConnections()  # closed with the stage's database
HASH: Final = re.compile(r"[0-9a-f]{64}\Z")
_PAYERS: Final = 8
_LIFE_LEDGERS: Final = 150
_LOOKS: Final = 200
_LOOK_PAUSE_S: Final = 0.05
_VERDICT: Final = {"isValid", "invalidReason", "invalidMessage", "payer", "extra"}
_OUTCOME: Final = {"success", "transaction", "network", "payer"} | {"errorReason", "errorMessage"}


@dataclass(frozen=True, slots=True)
class NetworkStage:
    """One network as a test meets it."""

    devnet: Devnet
    ledger: Ledger  # the devnet, as any client reads it
    node: ScriptedNode  # what Farebox takes for its RPC node
    scene: Scene
    relayer: Keypair


async def own_relayer(stage: "Stage") -> dict[str, str]:
    """A setting that gives a further service a relayer for itself on testnet.

    Two services on one relayer work, but each finds its sequence number used now and then, and
    what a test counts would depend on the tests before it.
    """
    relayer = await stage.ledger().account()
    planted(relayer.secret)
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

    def node(self, network: Network = Network.TESTNET) -> ScriptedNode:
        """The node of a network, which may be told to lie."""
        return self.networks[network].node

    def ledger(self, network: Network = Network.TESTNET) -> Ledger:
        """The network itself."""
        return self.networks[network].ledger

    def relayer(self, network: Network = Network.TESTNET) -> Keypair:
        """The operator's account."""
        return self.networks[network].relayer

    async def draft(self, network: Network = Network.TESTNET, **changes: Any) -> Draft:
        """A payment that will be accepted, unless the changes make it otherwise."""
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
        """A funded payer that no other test knows."""
        scene = await self.networks[network].devnet.scene(payers=1, payees=0)
        return scene.payers[0]

    async def verify(self, body: object) -> Json:
        """The verdict, which is always a 200."""
        return _told(await self.client.post("/verify", body))

    async def settle(self, body: object) -> Json:
        """The outcome, which is always a 200."""
        return _told(await self.client.post("/settle", body))

    async def refused(
        self,
        body: object,
        *reasons: Reason,
        payer: str | None = None,
        by_rule: bool = False,
    ) -> Reason:
        """Both routes refuse the body alike, and again alike; nothing is sent or written.

        `reasons` are those allowed, any when none is given. `by_rule`: without asking the node.
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

    async def turned_away(
        self,
        body: bytes | list[bytes],
        status: int,
        reason: Reason,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Both routes answer a status that is no verdict, with a body that is one all the same."""
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

    async def settled(self, body: Any) -> str:
        """The body verifies and settles; the hash, which the network itself resolves."""
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
        """How many settlements the journal holds."""
        return int((await self.query("SELECT count(*) AS n FROM settlements"))[0]["n"])

    async def query(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Rows of the service's own database."""
        return await KEPT.fetch(self.environment["FAREBOX_DATABASE_URL"], sql, *args)


def key_of(party: Party) -> Keypair:
    """The key of a scene's account."""
    return Keypair.from_secret(party.secret.reveal())


def _told(answer: Answer) -> Json:
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
    assert verdict.get("invalidMessage", sentence) == sentence
    assert outcome.get("errorMessage", sentence) == sentence
    return reason


def environment_for(
    networks: Mapping[Network, NetworkStage], database_url: str, **settings: str
) -> dict[str, str]:
    """The settings the service is started with, as an operator would write them."""
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
    """The service started with exactly this environment, ready unless it cannot get so."""
    app = create_app(read_settings(environment))
    async with started(app):
        client = AsgiClient(app)
        if is_ready:
            await until_ready(client)
        yield client


async def until_ready(client: AsgiClient, status: int = 200) -> None:
    """Return once readiness is answered with this status."""
    answer = await client.get("/health/ready")
    for _ in range(_LOOKS):
        if answer.status == status:
            return
        await asyncio.sleep(_LOOK_PAUSE_S)
        answer = await client.get("/health/ready")
    raise TimeoutError(f"readiness stays {answer.status}: {answer.body.decode()}")


@contextlib.asynccontextmanager
async def network_stage(network: Network, devnet: Devnet) -> AsyncIterator[NetworkStage]:
    """A node in front of a devnet, with a scene and an operator's account on it."""
    ledger = Ledger(network, devnet.rpc_url)
    relayer = await ledger.account()
    planted(relayer.secret)
    scene = await devnet.scene(payers=_PAYERS, payees=2)
    async with ScriptedNode(devnet.rpc_url) as node:
        yield NetworkStage(devnet, ledger, node, scene, relayer)
