"""Cases 6.2 and 6.3: faults of a node with and without a fallback, and readiness."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support.asgi import AsgiClient
from support.node_proxy import LOST_RESPONSES
from support.payments import Json
from support.promises import case
from support.stage import Stage, environment_for, own_relayer, service, until_ready
from support.stage_fixtures import Networks
from testing.waiting import until


@dataclass(frozen=True, slots=True)
class Twin:
    """A service whose testnet has a second node."""

    stage: Stage
    fallback: node_proxy.NodeProxy

    async def readiness(self) -> tuple[int, Json]:
        """Return the status and the entry of testnet."""
        answer = await self.stage.client.get("/health/ready")
        for each in (self.stage.node().url, self.fallback.url, node_proxy.PLANTED_KEY):
            assert each.encode() not in answer.body
        assert (await self.stage.client.get("/health/live")).status == 200
        return answer.status, answer.json()["parts"]["stellar:testnet"]

    async def until_reported(self, *reasons: str, status: int = 200) -> None:
        """Return once readiness reports exactly this of testnet."""
        wanted = {"status": "ok" if status == 200 else "unavailable"}
        expected = wanted | ({"reasons": list(reasons)} if reasons else {})

        async def is_reported() -> bool:
            return await self.readiness() == (status, expected)

        await until(is_reported)


@pytest.fixture(scope="module")
async def kept_twin(
    stage_client: AsgiClient, stage_networks: Networks, stage_database: str
) -> AsyncIterator[Twin]:
    environment = environment_for(stage_networks, stage_database)
    stage = Stage(stage_client, stage_networks, environment)
    devnet = stage_networks[Network.TESTNET].devnet
    async with node_proxy.NodeProxy(devnet.rpc_url) as fallback:
        environment |= await own_relayer(stage)
        environment |= {"FAREBOX_FALLBACK_RPC_URL_TESTNET": fallback.url}
        async with service(environment) as client:
            yield Twin(Stage(client, stage_networks, environment), fallback)


@pytest.fixture
async def twin(stage: Stage, kept_twin: Twin) -> Twin:
    """The service with a fallback node on testnet that these tests share, both nodes honest.

    No circuit breaker is open: readiness would warn of it.
    """
    del stage  # its nodes and its journal are reset
    kept_twin.fallback.reset()
    await kept_twin.until_reported()
    return kept_twin


@case("RL-019", "RL-045")
@pytest.mark.parametrize("status", [429, 502])
async def test_failed_node_is_not_called_while_fallback_serves(twin: Twin, status: int) -> None:
    stage = twin.stage
    await stage.assert_settles((await stage.draft()).request())
    assert twin.fallback.sent_envelopes() == []
    stage.node().on_every_method(node_proxy.http(status))
    await stage.assert_settles((await stage.draft()).request())
    await twin.until_reported("primary_rpc_unavailable")
    assert len(twin.fallback.sent_envelopes()) == 1
    await stage.assert_settles((await stage.draft(Network.PUBNET)).request())
    stage.node().calls.clear()
    await stage.assert_settles((await stage.draft()).request())
    assert stage.node().counts()["simulateTransaction"] == 0, "its breaker is open"
    stage.node().reset()
    await twin.until_reported()
    twin.fallback.calls.clear()
    await stage.assert_settles((await stage.draft()).request())
    assert twin.fallback.sent_envelopes() == []


@case("RL-019")
@pytest.mark.parametrize("fault", ["cut off", "502 with a page", "429 with a pause"])
async def test_envelope_is_sent_to_fallback_and_lands_once(twin: Twin, fault: str) -> None:
    stage = twin.stage
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    stage.node().on(node_proxy.SEND, LOST_RESPONSES[fault])
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    assert set(stage.node().sent_envelopes()) == set(twin.fallback.sent_envelopes())
    after = await stage.ledger().balance(draft.asset, draft.pay_to)
    assert after == before + draft.amount


@case("RL-045")
async def test_ready_names_network_when_both_nodes_fail(twin: Twin) -> None:
    for each in (twin.stage.node(), twin.fallback):
        each.on_every_method(node_proxy.http(503))
    await twin.until_reported(
        "rpc_unavailable", "primary_rpc_unavailable", "fallback_rpc_unavailable", status=503
    )
    ready = (await twin.stage.client.get("/health/ready")).json()["parts"]
    assert ready["stellar:pubnet"] == ready["database"] == {"status": "ok"}
    for each in (twin.stage.node(), twin.fallback):
        each.reset()
    await twin.until_reported()


@case("RL-045")
async def test_ready_warns_of_lagging_node_and_requests_do_not_wait(
    twin: Twin,
) -> None:
    def old(result: Json) -> None:
        result["latestLedger"] = 1

    twin.stage.node().on("getHealth", node_proxy.result(old))
    await twin.until_reported("primary_rpc_behind")
    await twin.stage.assert_settles((await twin.stage.draft()).request())


@case("RL-045")
async def test_fallback_of_another_network_is_warned_of_and_not_called(stage: Stage) -> None:
    pubnet = stage.networks[Network.PUBNET].devnet
    async with node_proxy.NodeProxy(pubnet.rpc_url) as wrong:
        environment = stage.environment | await own_relayer(stage)
        environment |= {"FAREBOX_FALLBACK_RPC_URL_TESTNET": wrong.url}
        environment |= {"FAREBOX_SETTLE_DEADLINE_S": "2", "FAREBOX_CHANNEL_WAIT_S": "1"}
        async with service(environment) as client:
            twin = Twin(Stage(client, stage.networks, environment), wrong)
            await twin.until_reported("fallback_wrong_network")
            stage.node().on(node_proxy.SEND, node_proxy.http(502))
            outcome = await twin.stage.settle((await stage.draft()).request())
            assert outcome["success"] is False
            assert wrong.sent_envelopes() == []
            assert wrong.counts()["simulateTransaction"] == 0


@case("PV-132")
async def test_stale_simulation_is_repeated_at_other_node(twin: Twin) -> None:
    def old(result: Json) -> None:
        result["latestLedger"] = 1
        result["error"] = "HostError: Error(Contract, #10)"

    twin.stage.node().on("simulateTransaction", node_proxy.result(old))
    await twin.stage.assert_settles((await twin.stage.draft()).request())
    assert twin.stage.node().counts()["simulateTransaction"] > 0, "it was asked first"
    assert twin.fallback.counts()["simulateTransaction"] > 0


@case("RL-045")
async def test_every_node_fault_leaves_the_process_alive(stage: Stage) -> None:
    for step in (
        node_proxy.http(503),
        node_proxy.http(429),
        node_proxy.refused("internal"),
        node_proxy.fixed(None),
    ):
        stage.node().on_every_method(step)
        await until_ready(stage.client, 503)
        parts = (await stage.client.get("/health/ready")).json()["parts"]
        assert parts["stellar:testnet"] == {
            "status": "unavailable",
            "reasons": ["rpc_unavailable"],
        }
        assert parts["stellar:pubnet"] == parts["database"] == {"status": "ok"}
        assert (await stage.client.get("/health/live")).json() == {"status": "ok"}
        stage.node().reset()
        await until_ready(stage.client)


@case("PV-132")
async def test_two_nodes_behind_one_address_fail_no_payment_for_good(
    hasty: Stage,
) -> None:
    devnet = hasty.networks[Network.TESTNET].devnet
    ledger = hasty.ledger()  # the relayer is older than the lag of the second node
    await ledger.wait_past(await ledger.latest() + 6)
    for _ in range(3):
        draft = await hasty.draft()
        before = await hasty.ledger().balance(draft.asset, draft.pay_to)
        number = await devnet.fault({"kind": "two_nodes", "ledgers": 6})
        try:
            outcome = await hasty.settle(draft.request())
        finally:
            await devnet.clear_faults(number)
        if outcome["success"] is not True:
            assert REGISTRY[Reason(outcome["errorReason"])].retry is not Retry.NEVER, outcome
        again = await hasty.settle(draft.request())
        assert [outcome["success"], again["success"]].count(True) == 1, (outcome, again)
        after = await hasty.ledger().balance(draft.asset, draft.pay_to)
        assert after == before + draft.amount
