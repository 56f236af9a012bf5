"""Cases 1.11: the responses of both routes under faults of nodes and callers."""

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Final

import msgspec
import pytest

from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support.asgi import ClientDisconnected
from support.node_proxy import PLANTED_KEY, Step
from support.payments import Json, wrapper
from support.promises import case, promise
from support.stage import HASH, Stage, service

BUDGET_S: Final = 6.0  # of a service that waits a second for its node
JUNK: Final[list[Json]] = [{}, {"transaction": "AAAA"}, {"transaction": 7}, {"signature": "0x"}]
SIMULATE: Final = "simulateTransaction"


@case("PV-115", "PV-151")
@promise("settle:hash-and-network", "settle:waits-for-the-result", "settle:says-success")
@promise("facilitator:exact-on-both-networks")
@pytest.mark.parametrize("network", Network)
async def test_success_has_exactly_these_members(stage: Stage, network: Network) -> None:
    draft = await stage.draft(network)
    outcome = await stage.settle(draft.request())
    tx_hash = outcome["transaction"]
    assert outcome == {
        "success": True,
        "transaction": tx_hash,
        "network": network.value,
        "payer": draft.payer,
    }
    assert HASH.match(tx_hash)
    found = await stage.ledger(network).found(tx_hash)
    assert (found["status"], found["txHash"]) == ("SUCCESS", tx_hash)
    others = [each.node.counts() for name, each in stage.networks.items() if name is not network]
    assert [counts["sendTransaction"] for counts in others] == [0]


@case("PV-152")
@promise(
    "verify:reason-whenever-invalid", "settle:reason-whenever-failed", "error:verify-rejects",
    "error:settle-fails",
)  # fmt: skip
async def test_refusal_has_exactly_these_members_on_both_routes(stage: Stage) -> None:
    draft = await stage.draft()
    body = wrapper(draft.terms(), draft.terms(), draft.but(amount=1).envelope())
    sentence = REGISTRY[Reason.WRONG_AMOUNT].sentence
    for _ in range(2):
        assert await stage.verify(body) == {
            "isValid": False,
            "invalidReason": "invalid_exact_stellar_payload_wrong_amount",
            "invalidMessage": sentence,
            "payer": draft.payer,
        }
        assert await stage.settle(body) == {
            "success": False,
            "errorReason": "invalid_exact_stellar_payload_wrong_amount",
            "errorMessage": sentence,
            "transaction": "",
            "network": draft.network.value,
            "payer": draft.payer,
        }


@case("PV-152")
async def test_refusal_is_the_same_after_restart_and_from_replica(stage: Stage) -> None:
    draft = await stage.draft()
    bodies = [
        draft.request(amount="-1"),
        draft.request(b"AAAA"),
        draft.request(draft.without_entries()),
        draft.but(expires_at_ledger=1).request(),
    ]
    here = [[await stage.verify(body), await stage.settle(body)] for body in bodies]
    async with service(stage.environment) as client:
        other = Stage(client, stage.networks, stage.environment)
        there = [[await other.verify(body), await other.settle(body)] for body in bodies]
    assert there == here


@case("PV-153")
@promise(
    "supported:kinds", "supported:extensions", "supported:signers", "supported:fees-are-sponsored",
    "facilitator:three-routes", "upto:not-advertised",
)  # fmt: skip
async def test_supported_returns_whole_document(stage: Stage) -> None:
    answer = await stage.client.get("/supported")
    assert answer.status == 200
    body = answer.json()
    assert body == {
        "kinds": [
            {
                "x402Version": 2,
                "scheme": "exact",
                "network": network.value,
                "extra": {"areFeesSponsored": True},
            }
            for network in Network
        ],
        "extensions": body["extensions"],
        "signers": {"stellar:*": sorted(stage.relayer(network).public_key for network in Network)},
    }
    assert body["extensions"] == ["bazaar", "payment-identifier"]
    assert b"upto" not in answer.body


@case("PV-154")
async def test_every_advertised_kind_answers_junk_with_a_verdict(stage: Stage) -> None:
    for kind in (await stage.client.get("/supported")).json()["kinds"]:
        draft = await stage.draft(Network(kind["network"]))
        body = draft.request(scheme=kind["scheme"], extra=kind["extra"])
        for junk in JUNK:
            body["paymentPayload"] |= {"x402Version": kind["x402Version"], "payload": junk}
            await stage.assert_refused(body, by_rule=True)


@case("PV-155")
@promise("error:one-network-away")
@pytest.mark.parametrize(
    "step",
    [
        node_proxy.http(429),
        node_proxy.http(503),
        node_proxy.http(500, b"<html>internal"),
        node_proxy.http(200, b"{"),
        node_proxy.http(200, b"[]"),
        node_proxy.http(302),
        node_proxy.refused("busy"),
        node_proxy.fixed(None),
        node_proxy.fixed("text"),
        node_proxy.fixed([]),
        node_proxy.fixed({}),
    ],
)
async def test_network_is_unavailable_when_node_gives_no_valid_response(
    stage: Stage, step: Step
) -> None:
    draft = await stage.draft()
    stage.node().on(SIMULATE, step)
    reason = await stage.assert_refused(
        draft.request(), Reason.NETWORK_UNAVAILABLE, payer=draft.payer
    )
    assert REGISTRY[reason].retry is Retry.LATER


@case("PV-155")
async def test_verify_ends_at_its_deadline_when_node_is_silent(
    stage: Stage,
) -> None:
    draft, never = await stage.draft(), asyncio.Event()
    soon = stage.environment | {"FAREBOX_RPC_TIMEOUT_S": "1"}
    async with service(soon) as client:
        stage.node().on(SIMULATE, node_proxy.silence(never))
        before = time.monotonic()
        try:
            verdict = await Stage(client, stage.networks, soon).verify(draft.request())
        finally:
            never.set()
    assert verdict["invalidReason"] == Reason.NETWORK_UNAVAILABLE
    assert time.monotonic() - before < BUDGET_S


@case("PV-155")
async def test_network_is_unavailable_when_node_refuses_connections(stage: Stage) -> None:
    draft = await stage.draft()
    gone = stage.environment | {"FAREBOX_RPC_URL_TESTNET": "http://127.0.0.1:9"}
    async with service(gone, is_ready=False) as client:
        other = Stage(client, stage.networks, gone)
        verdict = await other.verify(draft.request())
        outcome = await other.settle(draft.request())
    assert verdict["invalidReason"] == outcome["errorReason"] == Reason.NETWORK_UNAVAILABLE
    assert outcome["transaction"] == ""


@case("PV-156")
@promise("log:no-secrets")
async def test_node_url_is_never_shown(log_text: Callable[[], str], hasty: Stage) -> None:
    draft = await hasty.draft()
    words = f"Get {hasty.node().url}: dial tcp: lookup failed"
    steps = (
        node_proxy.refused(words),
        node_proxy.http(502, words.encode()),
        node_proxy.fixed({"error": words}),
    )
    for method in (SIMULATE, "getTransactions", "sendTransaction"):
        hasty.node().reset()
        for step, path in itertools.product(steps, ("/verify", "/settle")):
            hasty.node().on(method, step)
            answer = await hasty.client.post(path, draft.but().request())
            assert PLANTED_KEY.encode() not in answer.body, (method, path)
            assert b"dial tcp" not in answer.body, (method, path)
    assert PLANTED_KEY not in log_text()
    assert hasty.relayer().secret not in log_text()


@case("PV-157")
async def test_malformed_payloads_make_no_rpc_call(stage: Stage) -> None:
    """One body for each step of the rules; `support/payment_rules.py` holds every other one."""
    draft = await stage.draft()
    raw = draft.envelope().to_xdr_bytes()
    flood = [
        draft.request(raw[:-4]),
        draft.request(raw + bytes(4)),
        draft.request(amount="1.0"),
        draft.request(asset="native"),
        draft.request(draft.without_entries()),
        wrapper(draft.terms(), draft.terms(), draft.but(amount=1).envelope()),
        draft.request(draft.envelope(draft.entry(network=Network.PUBNET))),
        draft.request(draft.around([draft.operation(source=stage.relayer().public_key)])),
        draft.request(network="eip155:84532"),
        draft.request() | {"x402Version": 1},
    ]
    for body in flood:
        await stage.assert_refused(body, by_rule=True)
    stage.node().calls.clear()
    verdicts = await asyncio.gather(*(stage.verify(body) for body in flood * 20))
    assert all(verdict["isValid"] is False for verdict in verdicts)
    assert stage.node().counts()[SIMULATE] == 0


@case("PV-157")
@promise("verify:moves-nothing")
async def test_verify_makes_one_rpc_call_and_writes_nothing(stage: Stage) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.payer)
    for _ in range(5):
        stage.node().calls.clear()
        assert await stage.verify(draft.request()) == {"isValid": True, "payer": draft.payer}
        counts = stage.node().counts()
        assert counts[SIMULATE] == 1
        assert counts["sendTransaction"] == counts["getTransaction"] == 0
    assert await stage.rows() == 0
    assert await stage.ledger().balance(draft.asset, draft.payer) == before


@case("PV-158")
async def test_disconnected_caller_is_settled_and_collects_success_later(
    stage: Stage,
) -> None:
    draft, leave = await stage.draft(), asyncio.Event()

    async def leave_once_sent(
        call: node_proxy.Call, forward: node_proxy.Forward
    ) -> node_proxy.Json:
        del call
        leave.set()
        return await forward()

    stage.node().on("sendTransaction", leave_once_sent)
    body = msgspec.json.encode(draft.request())
    with pytest.raises(ClientDisconnected):
        await stage.client.request("POST", "/settle", body=body, leave=leave)
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True
    assert stage.node().counts()["sendTransaction"] == 1
    again = await stage.settle(draft.request())
    assert again["errorReason"] == Reason.DUPLICATE_SETTLEMENT
    assert again["transaction"] == outcome["transaction"]


@case("PV-159")
@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE", "PATCH"])
async def test_other_method_is_a_405_with_allow_header(stage: Stage, method: str) -> None:
    for path in ("/verify", "/settle"):
        answer = await stage.client.request(method, path)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
        if method != "HEAD":
            body = answer.json()
            reason = body.get("invalidReason") or body.get("errorReason")
            assert reason == Reason.METHOD_NOT_ALLOWED
    assert (await stage.client.request("POST", "/supported")).status == 405


@promise("error:no-internals")
async def test_unknown_path_is_a_404_without_internal_detail(stage: Stage) -> None:
    for path in ("/nothing", "/verify/", "/settle/x", "/v1/nothing"):
        answer = await stage.client.request("POST", path, body=b"{}")
        assert answer.status == 404
        assert answer.json()["error"]["code"] == "not_found"
