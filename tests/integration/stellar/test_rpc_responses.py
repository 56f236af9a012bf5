"""Every method returns its response as a value and raises on a malformed one."""

import base64
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.rpc import (
    LatestLedger,
    LedgerStatus,
    NodeNetwork,
    NodeVersion,
    RpcUnavailable,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from farebox.stellar.rpc_http import HttpSorobanRpc
from support.scripted_node import (
    Act,
    ReceivedRequest,
    answering,
    fault,
    raw,
    result,
    scripted_rpc,
)

HASH, OTHER_HASH = "ab" * 32, "cd" * 32
ACCOUNT = Address(Keypair.random().public_key)
CLOSED = {
    "latestLedger": 90,
    "latestLedgerCloseTime": "1780000000",
    "oldestLedger": 10,
    "oldestLedgerCloseTime": "1779999000",
}
FEES = {
    "max": "900",
    "min": "100",
    "mode": "100",
    **{f"p{n}0": str(100 * n) for n in range(1, 10)},
    "p95": "950",
    "p99": "990",
    "transactionCount": "12",
    "ledgerCount": 50,
}


def result_xdr(code: int, *, fee: int = 100) -> str:
    body = fee.to_bytes(8, "big") + code.to_bytes(4, "big", signed=True)
    if code in {0, -1}:
        call = bytes.fromhex("0000000000000018") + (0 if code == 0 else -2).to_bytes(
            4, "big", signed=True
        )
        body += bytes.fromhex("00000001") + call + (bytes(32) if code == 0 else b"")
    return base64.b64encode(body + bytes(4)).decode()


def bumped_xdr(inner_hash: str) -> str:
    body = (345).to_bytes(8, "big") + (1).to_bytes(4, "big") + bytes.fromhex(inner_hash)
    call = bytes.fromhex("00000001000000000000001800000000") + bytes(32)
    return base64.b64encode(body + bytes(8) + bytes(4) + call + bytes(4) + bytes(4)).decode()


def found(**changes: object) -> dict[str, object]:
    response: dict[str, object] = {
        **CLOSED,
        "status": "SUCCESS",
        "txHash": HASH,
        "ledger": 80,
        "createdAt": "1779999900",
        "applicationOrder": 1,
        "feeBump": False,
        "resultXdr": result_xdr(0, fee=23_456),
        "resultMetaXdr": "not read at all",
        "events": {"transactionEventsXdr": ["x"], "contractEventsXdr": [["AAAA", "BBBB"]]},
    }
    return {**response, **changes}


async def test_simulate_returns_the_nodes_result() -> None:
    async with scripted_rpc(result({"latestLedger": 7, "minResourceFee": "12"})) as (rpc, node):
        simulation = await rpc.simulate("AAAA")
    assert simulation.result == {"latestLedger": 7, "minResourceFee": "12"}
    assert node.requests[0].call["params"] == {"transaction": "AAAA", "authMode": "enforce"}


@pytest.mark.parametrize("status", ["PENDING", "DUPLICATE", "TRY_AGAIN_LATER"])
async def test_send_returns_no_result_code_for_an_accepted_or_deferred_envelope(
    status: str,
) -> None:
    response = {**CLOSED, "status": status, "hash": HASH, "more": {"later": "versions"}}
    async with scripted_rpc(result(response)) as (rpc, _):
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.hash, answer.latest_ledger) == (SendStatus(status), HASH, 90)
    assert answer.result_code is None


async def test_send_returns_the_result_code_of_a_refused_envelope() -> None:
    response = {**CLOSED, "status": "ERROR", "hash": HASH, "errorResultXdr": result_xdr(-5)}
    async with scripted_rpc(result(response)) as (rpc, _):
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.result_code, answer.required_fee) == (
        SendStatus.ERROR,
        "txBAD_SEQ",
        None,
    )


@pytest.mark.parametrize(("shown_fee", "wanted"), [(5_200, 5_200), (0, None)])
async def test_send_returns_the_required_fee_after_a_low_fee(
    shown_fee: int, wanted: int | None
) -> None:
    refused = result_xdr(-9, fee=shown_fee)
    response = {**CLOSED, "status": "ERROR", "hash": HASH, "errorResultXdr": refused}
    async with scripted_rpc(result(response)) as (rpc, _):
        answer = await rpc.send("AAAA")
    assert (answer.result_code, answer.required_fee) == ("txINSUFFICIENT_FEE", wanted)


@pytest.mark.parametrize("extra", [{}, {"errorResultXdr": "!!"}, {"errorResultXdr": "AAAA"}])
async def test_send_returns_no_result_code_for_an_unreadable_error_result(
    extra: dict[str, str],
) -> None:
    response = {**CLOSED, "status": "ERROR", "hash": HASH, **extra}
    async with scripted_rpc(result(response)) as (rpc, _):
        assert (await rpc.send("AAAA")).result_code is None


async def test_get_transaction_returns_a_confirmed_transaction() -> None:
    async with scripted_rpc(result(found())) as (rpc, node):
        answer = await rpc.get_transaction(HASH)
    assert answer == TransactionFound(
        hash=HASH,
        status=LedgerStatus.SUCCESS,
        ledger=80,
        closed_at=datetime.fromtimestamp(1779999900, UTC),
        result_code="txSUCCESS",
        operation_code="invokeSUCCESS",
        fee_charged=Stroops(23_456),
        contract_events=(("AAAA", "BBBB"),),
    )
    assert node.requests[0].call["params"] == {"hash": HASH}


async def test_get_transaction_returns_the_operation_code_of_a_failed_transaction() -> None:
    response = found(status="FAILED", resultXdr=result_xdr(-1), events=None)
    async with scripted_rpc(result(response)) as (rpc, _):
        answer = await rpc.get_transaction(HASH)
    assert isinstance(answer, TransactionFound)
    assert (answer.status, answer.result_code) == (LedgerStatus.FAILED, "txFAILED")
    assert (answer.operation_code, answer.contract_events) == ("invokeTRAPPED", ())


async def test_get_transaction_resolves_an_inner_hash_to_its_fee_bump() -> None:
    response = found(txHash=OTHER_HASH, resultXdr=bumped_xdr(HASH))
    async with scripted_rpc(result(response)) as (rpc, _):
        answer = await rpc.get_transaction(HASH)
    assert isinstance(answer, TransactionFound)
    assert (answer.hash, answer.inner_hash) == (OTHER_HASH, HASH)
    assert (answer.result_code, answer.fee_charged) == ("txSUCCESS", 345)


async def test_get_transaction_returns_the_retained_ledgers_when_not_found() -> None:
    response = {**CLOSED, "status": "NOT_FOUND", "ledger": 0, "createdAt": "0", "txHash": HASH}
    async with scripted_rpc(result(response)) as (rpc, _):
        answer = await rpc.get_transaction(HASH)
    assert answer == TransactionNotFound(
        latest_ledger=90,
        latest_close_at=datetime.fromtimestamp(1780000000, UTC),
        oldest_ledger=10,
        oldest_close_at=datetime.fromtimestamp(1779999000, UTC),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"txHash": OTHER_HASH},
        {"txHash": HASH.upper()},
        {"txHash": None},
        {"status": "PENDING"},
        {"resultXdr": None},
        {"resultXdr": "AAAA"},
        {"resultXdr": result_xdr(-1)},
        {"status": "FAILED"},
        {"events": None},
        {"events": {"contractEventsXdr": ["AAAA"]}},
        {"events": {"contractEventsXdr": [[7]]}},
        {"ledger": "80"},
        {"createdAt": 1779999900},
        {"createdAt": "-1"},
        {"createdAt": "9" * 18},
        {"oldestLedger": None},
    ],
    ids=str,
)
async def test_get_transaction_raises_on_a_malformed_response(change: dict[str, Any]) -> None:
    async with scripted_rpc(result(found(**change))) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.get_transaction(HASH)


HEALTHY = {**CLOSED, "status": "healthy"}
UNDATED = {"status": "healthy", "latestLedger": 90, "oldestLedger": 10}  # before 27.1


async def test_latest_ledger_uses_get_health() -> None:
    async with scripted_rpc(result(HEALTHY)) as (rpc, node):
        latest = await rpc.latest_ledger()
    assert latest == LatestLedger(90, datetime.fromtimestamp(1780000000, UTC))
    assert [request.call["method"] for request in node.requests] == ["getHealth"]


async def test_health_reads_a_missing_close_time_once_per_ledger() -> None:
    calls: list[str] = []
    ledger = 90

    def response(request: ReceivedRequest) -> object:
        calls.append(request.call["method"])
        if calls[-1] == "getHealth":
            return UNDATED | {"latestLedger": ledger, "ledgerRetentionWindow": 720}
        return {**CLOSED, "latestLedger": ledger, "status": "NOT_FOUND"}

    async with scripted_rpc(answering(response)) as (rpc, _):
        for ledger in (90, 90, 90, 91):
            health = await rpc.health()
            assert (health.latest_ledger, health.retention_ledgers) == (ledger, 720)
            assert health.latest_close_at == datetime.fromtimestamp(1780000000, UTC)
    assert calls == ["getHealth", "getTransaction", *["getHealth"] * 3, "getTransaction"]


@pytest.mark.parametrize("sequence", [0, -1, 2**32, "77", None])
async def test_latest_ledger_raises_on_an_impossible_sequence(sequence: object) -> None:
    async with scripted_rpc(result(HEALTHY | {"latestLedger": sequence})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.latest_ledger()


async def test_fee_stats_returns_the_soroban_inclusion_fees() -> None:
    response = {"sorobanInclusionFee": FEES, "inclusionFee": {}, "latestLedger": 90}
    async with scripted_rpc(result(response)) as (rpc, _):
        stats = await rpc.fee_stats()
    assert (stats.p99, stats.maximum) == (990, 900)


@pytest.mark.parametrize("fee", ["", "1.5", "-5", "1e3", "٣", 100])
async def test_fee_stats_raises_on_a_malformed_fee(fee: object) -> None:
    response = {"sorobanInclusionFee": {**FEES, "p99": fee}, "latestLedger": 90}
    async with scripted_rpc(result(response)) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.fee_stats()


async def test_network_version_and_health_return_their_values() -> None:
    response = {
        **CLOSED,
        "status": "healthy",
        "passphrase": Network.TESTNET.passphrase,
        "protocolVersion": 30,
        "version": "30.0.0",
    }
    async with scripted_rpc(result(response)) as (rpc, _):
        assert await rpc.network() == NodeNetwork(Network.TESTNET.passphrase, 30)
        assert await rpc.version() == NodeVersion("30.0.0", 30)
        assert (await rpc.health()).oldest_ledger == 10


async def test_health_raises_when_the_node_is_unhealthy() -> None:
    async with scripted_rpc(result({**CLOSED, "status": "behind"}), fault(-32603, "latency")) as (
        rpc,
        _,
    ):
        for _try in range(2):
            with pytest.raises(RpcUnavailable):
                await rpc.health()


@pytest.mark.parametrize(
    ("transactions", "seen"),
    [([], None), ([{"events": {}}], True), ([{"status": "SUCCESS"}], False)],
)
async def test_gives_events_looks_at_one_transaction(
    transactions: list[object], seen: bool | None
) -> None:
    async with scripted_rpc(result({"transactions": transactions, "latestLedger": 9})) as (
        rpc,
        node,
    ):
        assert await rpc.gives_events(from_ledger=3) is seen
    assert node.requests[0].call["params"] == {"startLedger": 3, "pagination": {"limit": 1}}


CALLS: dict[str, Callable[[HttpSorobanRpc], Awaitable[object]]] = {
    "simulate": lambda rpc: rpc.simulate("AAAA"),
    "send": lambda rpc: rpc.send("AAAA"),
    "get_transaction": lambda rpc: rpc.get_transaction(HASH),
    "latest_ledger": lambda rpc: rpc.latest_ledger(),
    "fee_stats": lambda rpc: rpc.fee_stats(),
    "ledger_entries": lambda rpc: rpc.ledger_entries([bytes(8)]),
    "network": lambda rpc: rpc.network(),
    "version": lambda rpc: rpc.version(),
    "health": lambda rpc: rpc.health(),
    "gives_events": lambda rpc: rpc.gives_events(from_ledger=1),
    "account": lambda rpc: rpc.account(ACCOUNT),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("response", [{"not": "it"}, None, "text", 7, []], ids=repr)
async def test_every_method_raises_on_a_malformed_result(
    call: Callable[[HttpSorobanRpc], Awaitable[object]], response: object
) -> None:
    async with scripted_rpc(result(response)) as (rpc, _):
        if response == {"not": "it"} and call is CALLS["simulate"]:
            return  # its members are the simulation's to read
        with pytest.raises(RpcUnavailable):
            await call(rpc)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_every_method_keeps_the_json_rpc_code_and_drops_the_message(
    call: Callable[[HttpSorobanRpc], Awaitable[object]],
) -> None:
    async with scripted_rpc(fault(-32602, "key-4f1c9e is not allowed")) as (rpc, _):
        with pytest.raises(RpcUnavailable) as caught:
            await call(rpc)
    assert caught.value.code == -32602
    assert "key-4f1c9e" not in str(caught.value)
    assert caught.value.certainly_not_sent == (call is CALLS["send"])


@pytest.mark.parametrize(
    ("act", "is_unsent"),
    [
        (fault(-32603, "invalid status from stellar-core"), True),
        (
            fault(-32098, "rpc queue for sendTransaction surpassed queue limit of 500 requests"),
            True,
        ),
        (fault(-32603, "could not submit transaction to stellar-core"), False),
        (fault(-32001, "request exceeded processing limit threshold"), False),
        (raw(b"", status="503 Service Unavailable"), False),
        (raw(b"", status="504 Gateway Timeout"), False),
    ],
)
async def test_send_is_certainly_not_sent_only_when_refused_before_submission(
    act: Act, *, is_unsent: bool
) -> None:
    async with scripted_rpc(act) as (rpc, _):
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
    assert caught.value.certainly_not_sent == is_unsent


@pytest.mark.parametrize("error", ["preflight queue full", "", "HostError: Error(Auth, #1)"])
async def test_simulate_raises_when_the_node_failed_to_simulate(error: str) -> None:
    async with scripted_rpc(result({"latestLedger": 9, "error": error})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.simulate("AAAA")


async def test_simulate_returns_a_refusal_by_the_host() -> None:
    response = {"latestLedger": 9, "error": "HostError: Error(Contract, #10)"}
    async with scripted_rpc(result(response)) as (rpc, _):
        assert (await rpc.simulate("AAAA")).result == response


@pytest.mark.parametrize("call", ["health", "network", "version", "fee_stats"])
async def test_small_methods_read_at_most_64_kilobytes(call: str) -> None:
    async with scripted_rpc(result({"x": "y" * 70_000})) as (rpc, _):
        with pytest.raises(RpcUnavailable, match="the answer is too large"):
            await CALLS[call](rpc)
