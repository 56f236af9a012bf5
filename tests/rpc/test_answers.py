"""Every call's answer as a value, and every answer of another form as an outage."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from stellar_sdk import Keypair, xdr

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import (
    AccountState,
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
from support.scripted_node import Act, Asked, ScriptedNode, answering, fault, raw, result

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


@asynccontextmanager
async def asking(*acts: Act) -> AsyncIterator[tuple[HttpSorobanRpc, ScriptedNode]]:
    async with (
        ScriptedNode(list(acts)) as node,
        HttpSorobanRpc(Network.TESTNET, Secret(node.url)) as rpc,
    ):
        yield rpc, node


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
    told: dict[str, object] = {
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
    return {**told, **changes}


async def test_a_simulation_comes_back_as_the_node_gave_it() -> None:
    async with asking(result({"latestLedger": 7, "minResourceFee": "12"})) as (rpc, node):
        simulation = await rpc.simulate("AAAA")
    assert simulation.result == {"latestLedger": 7, "minResourceFee": "12"}
    assert node.asked[0].call["params"] == {"transaction": "AAAA", "authMode": "enforce"}


@pytest.mark.parametrize("status", ["PENDING", "DUPLICATE", "TRY_AGAIN_LATER"])
async def test_an_envelope_that_was_taken_or_put_off_has_no_result_code(status: str) -> None:
    told = {**CLOSED, "status": status, "hash": HASH, "more": {"later": "versions"}}
    async with asking(result(told)) as (rpc, _):
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.hash, answer.latest_ledger) == (SendStatus(status), HASH, 90)
    assert answer.result_code is None


async def test_a_refused_envelope_says_which_code_the_network_gave() -> None:
    told = {**CLOSED, "status": "ERROR", "hash": HASH, "errorResultXdr": result_xdr(-5)}
    async with asking(result(told)) as (rpc, _):
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.result_code, answer.fee_wanted) == (
        SendStatus.ERROR,
        "txBAD_SEQ",
        None,
    )


@pytest.mark.parametrize(("told_fee", "wanted"), [(5_200, 5_200), (0, None)])
async def test_a_fee_that_was_too_low_comes_with_the_fee_that_is_wanted(
    told_fee: int, wanted: int | None
) -> None:
    refused = result_xdr(-9, fee=told_fee)
    told = {**CLOSED, "status": "ERROR", "hash": HASH, "errorResultXdr": refused}
    async with asking(result(told)) as (rpc, _):
        answer = await rpc.send("AAAA")
    assert (answer.result_code, answer.fee_wanted) == ("txINSUFFICIENT_FEE", wanted)


@pytest.mark.parametrize("extra", [{}, {"errorResultXdr": "!!"}, {"errorResultXdr": "AAAA"}])
async def test_an_error_without_a_readable_result_proves_nothing(extra: dict[str, str]) -> None:
    told = {**CLOSED, "status": "ERROR", "hash": HASH, **extra}
    async with asking(result(told)) as (rpc, _):
        assert (await rpc.send("AAAA")).result_code is None


async def test_a_transaction_on_the_ledger_is_read_whole() -> None:
    async with asking(result(found())) as (rpc, node):
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
    assert node.asked[0].call["params"] == {"hash": HASH}


async def test_a_failed_transaction_says_how_its_call_ended() -> None:
    told = found(status="FAILED", resultXdr=result_xdr(-1), events=None)
    async with asking(result(told)) as (rpc, _):
        answer = await rpc.get_transaction(HASH)
    assert isinstance(answer, TransactionFound)
    assert (answer.status, answer.result_code) == (LedgerStatus.FAILED, "txFAILED")
    assert (answer.operation_code, answer.contract_events) == ("invokeTRAPPED", ())


async def test_an_inner_hash_resolves_to_the_fee_bump_around_it() -> None:
    told = found(txHash=OTHER_HASH, resultXdr=bumped_xdr(HASH))
    async with asking(result(told)) as (rpc, _):
        answer = await rpc.get_transaction(HASH)
    assert isinstance(answer, TransactionFound)
    assert (answer.hash, answer.inner_hash) == (OTHER_HASH, HASH)
    assert (answer.result_code, answer.fee_charged) == ("txSUCCESS", 345)


async def test_an_unknown_transaction_says_how_far_the_node_remembers() -> None:
    told = {**CLOSED, "status": "NOT_FOUND", "ledger": 0, "createdAt": "0", "txHash": HASH}
    async with asking(result(told)) as (rpc, _):
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
async def test_a_transaction_told_in_another_form_is_no_answer(change: dict[str, Any]) -> None:
    async with asking(result(found(**change))) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.get_transaction(HASH)


HEALTHY = {**CLOSED, "status": "healthy"}
UNDATED = {"status": "healthy", "latestLedger": 90, "oldestLedger": 10}  # before 27.1


async def test_the_latest_ledger_is_asked_for_without_its_contents() -> None:
    async with asking(result(HEALTHY)) as (rpc, node):
        latest = await rpc.latest_ledger()
    assert latest == LatestLedger(90, datetime.fromtimestamp(1780000000, UTC))
    assert [asked.call["method"] for asked in node.asked] == ["getHealth"]


async def test_a_close_time_that_an_older_node_leaves_out_is_asked_for_once_a_ledger() -> None:
    calls: list[str] = []
    ledger = 90

    def told(asked: Asked) -> object:
        calls.append(asked.call["method"])
        if calls[-1] == "getHealth":
            return UNDATED | {"latestLedger": ledger, "ledgerRetentionWindow": 720}
        return {**CLOSED, "latestLedger": ledger, "status": "NOT_FOUND"}

    async with asking(answering(told)) as (rpc, _):
        for ledger in (90, 90, 90, 91):
            health = await rpc.health()
            assert (health.latest_ledger, health.retention_ledgers) == (ledger, 720)
            assert health.latest_close_at == datetime.fromtimestamp(1780000000, UTC)
    assert calls == ["getHealth", "getTransaction", *["getHealth"] * 3, "getTransaction"]


@pytest.mark.parametrize("sequence", [0, -1, 2**32, "77", None])
async def test_a_ledger_that_cannot_be_is_no_answer(sequence: object) -> None:
    async with asking(result(HEALTHY | {"latestLedger": sequence})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.latest_ledger()


async def test_fee_stats_are_those_of_contract_calls() -> None:
    told = {"sorobanInclusionFee": FEES, "inclusionFee": {}, "latestLedger": 90}
    async with asking(result(told)) as (rpc, _):
        stats = await rpc.fee_stats()
    assert (stats.soroban.p90, stats.soroban.p99, stats.soroban.maximum) == (900, 990, 900)
    assert (stats.soroban.transactions, stats.soroban.ledgers) == (12, 50)


@pytest.mark.parametrize("fee", ["", "1.5", "-5", "1e3", "٣", 100])
async def test_a_fee_that_is_no_number_text_is_no_answer(fee: object) -> None:
    told = {"sorobanInclusionFee": {**FEES, "p90": fee}, "latestLedger": 90}
    async with asking(result(told)) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.fee_stats()


def account_entry(account: str, *, balance: int, sequence: int) -> str:
    entry = xdr.AccountEntry(
        account_id=Keypair.from_public_key(account).xdr_account_id(),
        balance=xdr.Int64(balance),
        seq_num=xdr.SequenceNumber(xdr.Int64(sequence)),
        num_sub_entries=xdr.Uint32(0),
        inflation_dest=None,
        flags=xdr.Uint32(0),
        home_domain=xdr.String32(b""),
        thresholds=xdr.Thresholds(b"\1\0\0\0"),
        signers=[],
        ext=xdr.AccountEntryExt(0),
    )
    data = xdr.LedgerEntryData(xdr.LedgerEntryType.ACCOUNT, account=entry)
    return data.to_xdr()


def account_key_text(account: str) -> str:
    return base64.b64encode(bytes(8) + raw_key(Address(account))).decode()


async def test_an_account_is_read_by_its_own_key() -> None:
    entry = {
        "key": account_key_text(ACCOUNT),
        "xdr": account_entry(ACCOUNT, balance=55, sequence=2**40 + 3),
        "lastModifiedLedgerSeq": 5,
    }
    async with asking(result({"entries": [entry], "latestLedger": 90})) as (rpc, node):
        state = await rpc.account(ACCOUNT)
        sequence = await rpc.account_sequence(ACCOUNT)
    assert state == AccountState(2**40 + 3, Stroops(55), 90, Stroops(10_000_000))
    assert sequence == 2**40 + 3
    key = xdr.LedgerKey.from_xdr(node.asked[0].call["params"]["keys"][0])
    assert key.account is not None
    assert key.account.account_id == Keypair.from_public_key(ACCOUNT).xdr_account_id()


@pytest.mark.parametrize("entries", [[], None])
async def test_an_account_that_is_not_there_has_no_sequence(entries: object) -> None:
    async with asking(result({"entries": entries, "latestLedger": 90})) as (rpc, _):
        assert await rpc.account_sequence(ACCOUNT) is None


@pytest.mark.parametrize(
    ("key_of", "entry_of"), [(ACCOUNT, "other"), ("other", ACCOUNT)], ids=["entry", "key"]
)
async def test_another_accounts_entry_is_no_answer(key_of: str, entry_of: str) -> None:
    other = Keypair.random().public_key
    key, entry = (other if name == "other" else name for name in (key_of, entry_of))
    told = {"key": account_key_text(key), "xdr": account_entry(entry, balance=1, sequence=1)}
    async with asking(result({"entries": [told], "latestLedger": 90})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.account(ACCOUNT)


@pytest.mark.parametrize("entry", ["!", "AAAA"])
async def test_an_entry_that_cannot_be_read_is_no_answer(entry: str) -> None:
    told = {"key": account_key_text(ACCOUNT), "xdr": entry}
    async with asking(result({"entries": [told], "latestLedger": 90})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.account(ACCOUNT)


async def test_no_more_keys_than_a_node_answers_are_asked_for() -> None:
    async with asking(result({})) as (rpc, node):
        with pytest.raises(ValueError, match="more ledger keys"):
            await rpc.ledger_entries([bytes(40)] * 201)
    assert node.asked == []


async def test_network_version_and_health_are_read() -> None:
    told = {
        **CLOSED,
        "status": "healthy",
        "passphrase": Network.TESTNET.passphrase,
        "protocolVersion": 30,
        "version": "30.0.0",
    }
    async with asking(result(told)) as (rpc, _):
        assert await rpc.network() == NodeNetwork(Network.TESTNET.passphrase, 30)
        assert await rpc.version() == NodeVersion("30.0.0", 30)
        assert (await rpc.health()).oldest_ledger == 10


async def test_a_node_that_is_not_healthy_is_an_outage() -> None:
    async with asking(result({**CLOSED, "status": "behind"}), fault(-32603, "latency")) as (rpc, _):
        for _try in range(2):
            with pytest.raises(RpcUnavailable):
                await rpc.health()


@pytest.mark.parametrize(
    ("transactions", "seen"),
    [([], None), ([{"events": {}}], True), ([{"status": "SUCCESS"}], False)],
)
async def test_whether_a_node_gives_events_is_seen_on_a_transaction(
    transactions: list[object], seen: bool | None
) -> None:
    async with asking(result({"transactions": transactions, "latestLedger": 9})) as (rpc, node):
        assert await rpc.gives_events(from_ledger=3) is seen
    assert node.asked[0].call["params"] == {"startLedger": 3, "pagination": {"limit": 1}}


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
@pytest.mark.parametrize("told", [{"not": "it"}, None, "text", 7, []], ids=repr)
async def test_no_call_takes_an_answer_of_another_form(
    call: Callable[[HttpSorobanRpc], Awaitable[object]], told: object
) -> None:
    async with asking(result(told)) as (rpc, _):
        if told == {"not": "it"} and call is CALLS["simulate"]:
            return  # its members are the simulation's to read
        with pytest.raises(RpcUnavailable):
            await call(rpc)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_json_rpc_error_keeps_its_code_and_not_its_words(
    call: Callable[[HttpSorobanRpc], Awaitable[object]],
) -> None:
    async with asking(fault(-32602, "key-4f1c9e is not allowed")) as (rpc, _):
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
async def test_only_a_refusal_before_submission_proves_that_nothing_was_sent(
    act: Act, *, is_unsent: bool
) -> None:
    async with asking(act) as (rpc, _):
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
    assert caught.value.certainly_not_sent == is_unsent


@pytest.mark.parametrize("error", ["preflight queue full", "", "HostError: Error(Auth, #1)"])
async def test_a_simulation_that_the_node_failed_to_make_is_no_answer(error: str) -> None:
    async with asking(result({"latestLedger": 9, "error": error})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.simulate("AAAA")


async def test_a_refusal_by_the_host_is_an_answer() -> None:
    told = {"latestLedger": 9, "error": "HostError: Error(Contract, #10)"}
    async with asking(result(told)) as (rpc, _):
        assert (await rpc.simulate("AAAA")).result == told


@pytest.mark.parametrize("call", ["health", "network", "version", "fee_stats"])
async def test_a_call_of_the_steady_state_reads_64_kilobytes_at_most(call: str) -> None:
    async with asking(result({"x": "y" * 70_000})) as (rpc, _):
        with pytest.raises(RpcUnavailable, match="the answer is too large"):
            await CALLS[call](rpc)
