"""Cases 6.2 and 6.3: what nodes do wrong, beside a fallback and without one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest
from aiohttp import web
from stellar_sdk import TransactionEnvelope, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node
from support.payments import Json
from support.promises import case
from support.stage import Stage, own_relayer, service, until_ready

SEND: Final = "sendTransaction"
EVERY_METHOD: Final = (
    "getFeeStats",
    "getHealth",
    "getLatestLedger",
    "getLedgerEntries",
    "getNetwork",
    "getTransaction",
    "getTransactions",
    "getVersionInfo",
    SEND,
    "simulateTransaction",
)
_LOOKS: Final = 100


@dataclass(frozen=True, slots=True)
class Twin:
    """A service whose testnet has a second node."""

    stage: Stage
    fallback: node.ScriptedNode

    async def readiness(self) -> tuple[int, Json]:
        """The status, and what is said of testnet."""
        answer = await self.stage.client.get("/health/ready")
        for each in (self.stage.node().url, self.fallback.url, node.PLANTED_KEY):
            assert each.encode() not in answer.body
        assert (await self.stage.client.get("/health/live")).status == 200
        return answer.status, answer.json()["parts"]["stellar:testnet"]

    async def until_said(self, *reasons: str, status: int = 200) -> None:
        """Return once readiness says exactly this of testnet."""
        wanted = {"status": "ok" if status == 200 else "unavailable"}
        expected = wanted | ({"reasons": list(reasons)} if reasons else {})
        told = await self.readiness()
        for _ in range(_LOOKS):
            if told == (status, expected):
                return
            await asyncio.sleep(0.1)
            told = await self.readiness()
        raise TimeoutError(f"readiness stays {told}")


@pytest.fixture
async def twin(stage: Stage) -> AsyncIterator[Twin]:
    """A service of its own with a fallback node on testnet, both nodes honest so far."""
    devnet = stage.networks[Network.TESTNET].devnet
    async with node.ScriptedNode(devnet.rpc_url) as fallback:
        environment = stage.environment | await own_relayer(stage)
        environment |= {"FAREBOX_FALLBACK_RPC_URL_TESTNET": fallback.url}
        async with service(environment) as client:
            made = Twin(Stage(client, stage.networks, environment), fallback)
            await made.until_said()
            yield made


def _everywhere(of: node.ScriptedNode, step: node.Step) -> None:
    for method in EVERY_METHOD:
        of.on(method, step)


def _hash_of(call: node.Call) -> str:
    text = call.params["transaction"]
    return TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).hash_hex()


def _refusal(code: str, *, fee: int = 0) -> str:
    kind = xdr.TransactionResultCode[code]
    result = xdr.TransactionResultResult(kind)
    return xdr.TransactionResult(xdr.Int64(fee), result, xdr.TransactionResultExt(0)).to_xdr()


def _refused_once(result_xdr: str) -> node.Step:
    """The queue refuses the first envelope, and takes those after it."""
    refused: list[str] = []

    async def step(call: node.Call, forward: node.Forward) -> Json:
        tx_hash = _hash_of(call)
        if refused and tx_hash not in refused:
            return await forward()
        refused.append(tx_hash)
        answer = {"status": "ERROR", "hash": tx_hash, "latestLedger": 10**9}
        return {"jsonrpc": "2.0", "result": answer | {"errorResultXdr": result_xdr}}

    return step


def _sent(of: node.ScriptedNode) -> list[str]:
    return [call.params["transaction"] for call in of.calls if call.method == SEND]


@case("RL-017")
async def test_a_bid_that_is_too_low_is_raised_to_what_the_node_wants(stage: Stage) -> None:
    draft = await stage.draft()
    wanted = 60_000
    stage.node().on(SEND, _refused_once(_refusal("txINSUFFICIENT_FEE", fee=wanted)))
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    low, high = [
        TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).transaction.fee
        for text in _sent(stage.node())
    ]
    assert low < wanted <= high


@case("RL-017")
async def test_a_fee_beyond_the_operators_ceiling_is_not_bid_and_leaves_the_payment_free(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    stage.node().on(SEND, _refused_once(_refusal("txINSUFFICIENT_FEE", fee=500_001)))
    outcome = await stage.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.SUBMISSION_FAILED, "")
    assert REGISTRY[Reason.SUBMISSION_FAILED].retry is Retry.LATER
    assert len(_sent(stage.node())) == 1
    stage.node().reset()
    await stage.settled(draft.request())


@case("RL-018")
@pytest.mark.parametrize("code", ["txBAD_AUTH", "txMALFORMED", "txSOROBAN_INVALID", "txNO_ACCOUNT"])
async def test_a_refusal_with_a_code_ends_it_and_leaves_the_payment_free(
    stage: Stage, code: str, log_text: Callable[[], str]
) -> None:
    draft = await stage.draft()
    stage.node().on(SEND, _refused_once(_refusal(code)))
    outcome = await stage.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.SUBMISSION_FAILED, "")
    assert await stage.rows() == 0
    assert code in log_text()


@case("RL-018")
@pytest.mark.parametrize("result_xdr", [None, "", "AAAA", "no base64 at all"])
async def test_an_error_nobody_can_read_is_waited_out_until_something_is_proven(
    stage: Stage, result_xdr: str | None
) -> None:
    """The queue has the envelope all the same: a failure answered here would land later."""

    async def unreadable(call: node.Call, forward: node.Forward) -> Json:
        await forward()
        answer: Json = {"status": "ERROR", "hash": _hash_of(call), "latestLedger": 10**9}
        if result_xdr is not None:
            answer["errorResultXdr"] = result_xdr
        return {"jsonrpc": "2.0", "result": answer}

    draft = await stage.draft()
    stage.node().on(SEND, unreadable)
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    assert len(_sent(stage.node())) == 1


def _late(status: int, *, pause: str | None = None, body: bytes = b"") -> node.Step:
    """The call is made, and a gateway answers for the node."""

    async def step(call: node.Call, forward: node.Forward) -> web.StreamResponse:
        del call
        await forward()
        headers = {} if pause is None else {"Retry-After": pause}
        return web.Response(status=status, headers=headers, body=body)

    return step


async def _cut(call: node.Call, forward: node.Forward) -> web.StreamResponse:
    """The call is made and the connection breaks before an answer."""
    del call
    await forward()
    raise ConnectionResetError


LOST: Final = {
    "cut off": _cut,
    "502 with a page": _late(502, body=b"<html>bad gateway</html>"),
    "503 with a pause": _late(503, pause="1"),
    "429": _late(429),
    "429 with a pause": _late(429, pause="1"),
    "429 with a date": _late(429, pause="Wed, 21 Oct 2026 07:28:00 GMT"),
    "broken JSON": _late(200, body=b'{"jsonrpc":"2.0","id":1,"resu'),
}


@case("RL-019")
@pytest.mark.parametrize("fault", LOST)
async def test_a_lost_answer_to_a_send_ends_by_hash_as_the_ledger_has_it(
    stage: Stage, fault: str
) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    stage.node().on(SEND, LOST[fault])
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    assert len(set(_sent(stage.node()))) == 1, "the same envelope, however often"
    after = await stage.ledger().balance(draft.asset, draft.pay_to)
    assert after == before + draft.amount


@case("RL-019", "RL-045")
@pytest.mark.parametrize("status", [429, 502])
async def test_a_node_that_is_out_is_left_alone_while_the_fallback_serves(
    twin: Twin, status: int
) -> None:
    stage = twin.stage
    await stage.settled((await stage.draft()).request())
    assert _sent(twin.fallback) == []
    _everywhere(stage.node(), node.http(status))
    await stage.settled((await stage.draft()).request())
    await twin.until_said("primary_rpc_unavailable")
    assert len(_sent(twin.fallback)) == 1
    await stage.settled((await stage.draft(Network.PUBNET)).request())
    stage.node().calls.clear()
    await stage.settled((await stage.draft()).request())
    assert stage.node().counts()["simulateTransaction"] == 0, "its breaker is open"
    stage.node().reset()
    await twin.until_said()
    twin.fallback.calls.clear()
    await stage.settled((await stage.draft()).request())
    assert _sent(twin.fallback) == []


@case("RL-019")
@pytest.mark.parametrize("fault", ["cut off", "502 with a page", "429 with a pause"])
async def test_an_envelope_goes_on_to_the_fallback_and_lands_once(twin: Twin, fault: str) -> None:
    stage = twin.stage
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    stage.node().on(SEND, LOST[fault])
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    assert set(_sent(stage.node())) == set(_sent(twin.fallback))
    after = await stage.ledger().balance(draft.asset, draft.pay_to)
    assert after == before + draft.amount


@case("RL-045")
async def test_readiness_names_the_network_whose_nodes_are_both_out(twin: Twin) -> None:
    for each in (twin.stage.node(), twin.fallback):
        _everywhere(each, node.http(503))
    await twin.until_said(
        "rpc_unavailable", "primary_rpc_unavailable", "fallback_rpc_unavailable", status=503
    )
    ready = (await twin.stage.client.get("/health/ready")).json()["parts"]
    assert ready["stellar:pubnet"] == ready["database"] == {"status": "ok"}
    for each in (twin.stage.node(), twin.fallback):
        each.reset()
    await twin.until_said()


@case("RL-045")
async def test_readiness_warns_of_a_node_that_is_behind_and_nobody_waits_for_it(
    twin: Twin,
) -> None:
    def old(told: Json) -> None:
        told["latestLedger"] = 1

    twin.stage.node().on("getHealth", node.result(old))
    await twin.until_said("primary_rpc_behind")
    await twin.stage.settled((await twin.stage.draft()).request())


@case("RL-045")
async def test_a_fallback_of_another_network_is_a_warning_and_never_asked(stage: Stage) -> None:
    pubnet = stage.networks[Network.PUBNET].devnet
    async with node.ScriptedNode(pubnet.rpc_url) as wrong:
        environment = stage.environment | await own_relayer(stage)
        environment |= {"FAREBOX_FALLBACK_RPC_URL_TESTNET": wrong.url}
        environment |= {"FAREBOX_SETTLE_DEADLINE_S": "2", "FAREBOX_CHANNEL_WAIT_S": "1"}
        async with service(environment) as client:
            twin = Twin(Stage(client, stage.networks, environment), wrong)
            await twin.until_said("fallback_wrong_network")
            stage.node().on(SEND, node.http(502))
            outcome = await twin.stage.settle((await stage.draft()).request())
            assert outcome["success"] is False
            assert _sent(wrong) == []
            assert wrong.counts()["simulateTransaction"] == 0


@case("PV-132")
async def test_a_stale_simulation_is_asked_for_again_at_the_other_node(twin: Twin) -> None:
    def old(told: Json) -> None:
        told["latestLedger"] = 1
        told["error"] = "HostError: Error(Contract, #10)"

    twin.stage.node().on("simulateTransaction", node.result(old))
    await twin.stage.settled((await twin.stage.draft()).request())
    assert twin.fallback.counts()["simulateTransaction"] > 0


def _of_another(told: Json) -> None:
    told["txHash"] = "ab" * 32


def _upper_case(told: Json) -> None:
    told["txHash"] = told["txHash"].upper()


def _in_list(change: Callable[[Json], None]) -> Callable[[Json], None]:
    def changed(told: Json) -> None:
        for each in told["transactions"]:
            change(each)

    return changed


def _if_found(change: Callable[[Json], None]) -> Callable[[Json], None]:
    def changed(told: Json) -> None:
        if told["status"] != "NOT_FOUND":
            change(told)

    return changed


@case("RL-025")
@pytest.mark.parametrize("change", [_of_another, _upper_case])
async def test_a_result_of_another_transaction_is_nobodys(
    hasty: Stage, change: Callable[[Json], None]
) -> None:
    draft = await hasty.draft()
    hasty.node().on("getTransaction", node.result(_if_found(change)))
    hasty.node().on("getTransactions", node.result(_in_list(change)))
    pending = await hasty.settle(draft.request())
    assert (pending["success"], pending["errorReason"]) == (False, Reason.SETTLEMENT_PENDING)
    hasty.node().reset()
    outcome = await hasty.settle(draft.request())
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])
    assert (await hasty.ledger().found(outcome["transaction"]))["status"] == "SUCCESS"


@case("RL-026")
@pytest.mark.parametrize("told", ["cd" * 32, "", "upper"])
async def test_our_own_hash_is_the_record_and_another_one_an_alarm(
    stage: Stage, told: str, log_text: Callable[[], str]
) -> None:
    def other(result: Json) -> None:
        result["hash"] = result["hash"].upper() if told == "upper" else told

    draft = await stage.draft()
    stage.node().on(SEND, node.result(other))
    outcome: Any = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    (text,) = _sent(stage.node())
    own = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).hash_hex()
    assert outcome["transaction"] == own
    assert "submission.hash_differs" in log_text()


@case("RL-045")
async def test_every_fault_of_a_node_leaves_the_process_alive(stage: Stage) -> None:
    for step in (node.http(503), node.http(429), node.refused("internal"), node.fixed(None)):
        _everywhere(stage.node(), step)
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
async def test_two_nodes_behind_one_address_never_make_a_good_payment_bad_for_good(
    hasty: Stage,
) -> None:
    devnet = hasty.networks[Network.TESTNET].devnet
    await asyncio.sleep(2)  # the relayer is older than what the second node is behind
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
