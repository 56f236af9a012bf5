"""Every method returns its response as a value and raises on a malformed one."""

import base64
from collections.abc import Awaitable, Callable, Iterable
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
    ReceivedRequest,
    answering,
    fault,
    raw,
    result,
    scripted_rpc,
)
from support.table_rows import in_row

Call = Callable[[HttpSorobanRpc], Awaitable[object]]

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


async def test_send_returns_no_result_code_for_an_accepted_or_deferred_envelope() -> None:
    more = {"more": {"later": "versions"}}
    async with scripted_rpc() as (rpc, node):
        for status in ("PENDING", "DUPLICATE", "TRY_AGAIN_LATER"):
            node.script[:] = [result({**CLOSED, "status": status, "hash": HASH} | more)]
            answer = await rpc.send("AAAA")
            assert (answer.status, answer.hash, answer.latest_ledger) == (
                SendStatus(status), HASH, 90,
            )  # fmt: skip
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


async def test_send_returns_the_required_fee_after_a_low_fee() -> None:
    async with scripted_rpc() as (rpc, node):
        for shown_fee, wanted in ((5_200, 5_200), (0, None)):
            refused = {"status": "ERROR", "errorResultXdr": result_xdr(-9, fee=shown_fee)}
            node.script[:] = [result({**CLOSED, "hash": HASH} | refused)]
            answer = await rpc.send("AAAA")
            assert (answer.result_code, answer.required_fee) == ("txINSUFFICIENT_FEE", wanted)


async def test_send_returns_no_result_code_for_an_unreadable_error_result() -> None:
    unreadable = ("", "!!", "AAAA")
    extras: list[dict[str, str]] = [{}, *({"errorResultXdr": each} for each in unreadable)]
    async with scripted_rpc() as (rpc, node):
        for extra in extras:
            node.script[:] = [result({**CLOSED, "status": "ERROR", "hash": HASH, **extra})]
            assert (await rpc.send("AAAA")).result_code is None, extra


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


MALFORMED: tuple[dict[str, Any], ...] = (
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
)


async def raise_on_each(call: Call, values: Iterable[object]) -> None:
    """Assert that a call raises on each result of the node."""
    async with scripted_rpc() as (rpc, node):
        for value in values:
            node.script[:] = [result(value)]
            with in_row(value), pytest.raises(RpcUnavailable):
                await call(rpc)


async def test_get_transaction_raises_on_a_malformed_response() -> None:
    await raise_on_each(
        lambda rpc: rpc.get_transaction(HASH), [found(**change) for change in MALFORMED]
    )


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


async def test_latest_ledger_raises_on_an_impossible_sequence() -> None:
    sequences: tuple[object, ...] = (0, -1, 2**32, "77", None)
    answers = [HEALTHY | {"latestLedger": each} for each in sequences]
    await raise_on_each(lambda rpc: rpc.latest_ledger(), answers)


async def test_fee_stats_returns_the_soroban_inclusion_fees() -> None:
    response = {"sorobanInclusionFee": FEES, "inclusionFee": {}, "latestLedger": 90}
    async with scripted_rpc(result(response)) as (rpc, _):
        stats = await rpc.fee_stats()
    assert (stats.p99, stats.maximum) == (990, 900)


async def test_fee_stats_raises_on_a_malformed_fee() -> None:
    fees: tuple[object, ...] = ("", "1.5", "-5", "1e3", "٣", 100)
    answers = [{"sorobanInclusionFee": {**FEES, "p99": fee}, "latestLedger": 90} for fee in fees]
    await raise_on_each(lambda rpc: rpc.fee_stats(), answers)


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


async def test_gives_events_looks_at_one_transaction() -> None:
    table: tuple[tuple[list[object], bool | None], ...] = (
        ([], None), ([{"events": {}}], True), ([{"status": "SUCCESS"}], False),
    )  # fmt: skip
    async with scripted_rpc() as (rpc, node):
        for transactions, seen in table:
            node.script[:] = [result({"transactions": transactions, "latestLedger": 9})]
            assert await rpc.gives_events(from_ledger=3) is seen
            asked = node.requests[-1].call["params"]
            assert asked == {"startLedger": 3, "pagination": {"limit": 1}}


CALLS: dict[str, Call] = {
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


async def test_every_method_raises_on_a_malformed_result() -> None:
    responses: tuple[object, ...] = (None, "text", 7, [], {"not": "it"})
    for name, call in CALLS.items():
        with in_row(name):  # the members of a simulation are its reader's
            await raise_on_each(call, responses[:-1] if name == "simulate" else responses)


async def test_every_method_keeps_the_json_rpc_code_and_drops_the_message() -> None:
    async with scripted_rpc(fault(-32602, "key-4f1c9e is not allowed")) as (rpc, _):
        for name, call in CALLS.items():
            with in_row(name):
                with pytest.raises(RpcUnavailable) as caught:
                    await call(rpc)
                assert caught.value.code == -32602
                assert "key-4f1c9e" not in str(caught.value)
                assert caught.value.certainly_not_sent == (name == "send")


SEND_FAULTS = {
    fault(-32603, "invalid status from stellar-core"): True,
    fault(-32098, "rpc queue for sendTransaction surpassed queue limit of 500 requests"): True,
    fault(-32603, "could not submit transaction to stellar-core"): False,
    fault(-32001, "request exceeded processing limit threshold"): False,
    raw(b"", status="503 Service Unavailable"): False,
    raw(b"", status="504 Gateway Timeout"): False,
}


async def test_send_is_certainly_not_sent_only_when_refused_before_submission() -> None:
    async with scripted_rpc(*SEND_FAULTS) as (rpc, _):
        for row, is_unsent in enumerate(SEND_FAULTS.values()):
            with pytest.raises(RpcUnavailable) as caught:
                await rpc.send("AAAA")
            assert caught.value.certainly_not_sent == is_unsent, row


async def test_simulate_raises_when_the_node_failed_to_simulate() -> None:
    errors = ("preflight queue full", "", "HostError: Error(Auth, #1)")
    answers = [{"latestLedger": 9, "error": each} for each in errors]
    await raise_on_each(CALLS["simulate"], answers)


async def test_simulate_returns_a_refusal_by_the_host() -> None:
    response = {"latestLedger": 9, "error": "HostError: Error(Contract, #10)"}
    async with scripted_rpc(result(response)) as (rpc, _):
        assert (await rpc.simulate("AAAA")).result == response


async def test_small_methods_read_at_most_64_kilobytes() -> None:
    async with scripted_rpc(result({"x": "y" * 70_000})) as (rpc, _):
        for call in ("health", "network", "version", "fee_stats"):
            with in_row(call), pytest.raises(RpcUnavailable, match="the answer is too large"):
                await CALLS[call](rpc)
