"""The settle benches: each of their figures would be zero if it were read wrongly."""

import asyncio
import json
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from stellar_sdk import xdr

from bench.settle_audit import Row, find_faults
from bench.settle_capacity import Usage, admitted
from bench.settle_ledger import Landed
from bench.settle_load import Answer, Plan, run_plan
from bench.settle_payments import Payment
from bench.settle_relay import BadSequence, RpcRelay
from bench.settle_run import Run
from farebox.stellar.network_settings import LedgerLimits
from testing.servers import listening

CONFIRMED, ANSWERED = Row("confirmed", is_answered=False), Row("confirmed", is_answered=True)
DEAD, SENT = Row("dead", is_answered=False), Row("submitted", is_answered=False)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _answer(index: int = 0, *, successes: int = 1, reason: str = "", status: int = 200) -> Answer:
    return Answer(
        index=index,
        sent_at=0.0,
        answered_at=5.0,
        status=status,
        success=successes > 0,
        reason=reason,
        successes=successes,
    )


FAILURE = _answer(successes=0, reason="settle_exact_stellar_transaction_failed")
DUPLICATE = _answer(successes=0, reason="duplicate_settlement")
PENDING = _answer(successes=0, reason="settlement_pending")
SILENCE = _answer(successes=0, reason="no_answer", status=0)


@pytest.mark.parametrize(
    ("answer", "landings", "row", "expected"),
    [
        (_answer(), 1, ANSWERED, []),
        (FAILURE, 0, DEAD, []),
        (DUPLICATE, 1, ANSWERED, ["answer_cut"]),
        (_answer(), 0, DEAD, ["success_not_landed"]),
        (FAILURE, 0, CONFIRMED, ["success_not_landed"]),
        (FAILURE, 1, DEAD, ["landed_unconfirmed", "failure_landed"]),
        (FAILURE, 1, CONFIRMED, ["failure_landed"]),
        (_answer(), 2, ANSWERED, ["landed_twice"]),
        (_answer(successes=2), 1, ANSWERED, ["success_twice"]),
        (PENDING, 0, DEAD, ["unresolved"]),
        (SILENCE, 0, None, ["unresolved"]),
        (_answer(), 1, SENT, ["unresolved"]),
    ],
)
def test_faults_names_each_payment_with_a_wrong_outcome(
    answer: Answer, landings: int, row: Row | None, expected: list[str]
) -> None:
    assert find_faults(answer, landings, row) == expected


def test_run_counts_the_ledger_and_not_the_responses() -> None:
    payments = [Payment((b"payer", number), b"") for number in range(4)]
    landed = [
        _landed(payments[0], 7, "a"),
        _landed(payments[2], 7, "b"),
        _landed(payments[2], 8, "c"),
    ]
    run = Run(
        side="farebox",
        payments=payments,
        answers=[_answer(0), _answer(1), _answer(2), _answer(3, successes=0, reason="other")],
        landed=landed,
        ledgers=range(7, 9),
        window=(0.0, 10.0),
        calls=Counter(sendTransaction=6),
        sends=Counter(PENDING=3, txBAD_SEQ=3),
        bad_sequences=[BadSequence("b", 8), BadSequence("b", 6), BadSequence("none", 8)],
        cpu_share=None,
    )
    assert (run.failed, run.rpc_per_settle) == (3, 2.0)
    assert (run.sequence_errors, run.resent_after_landing) == (2, 1)
    assert (run.series, run.per_ledger, run.latency_s(0.5)) == ([2, 1], 1.5, 5.0)


def _landed(payment: Payment, ledger: int, tx_hash: str) -> Landed:
    return Landed(payment.identity, ledger, tx_hash, is_success=True, code="", envelope=b"")


def test_admitted_is_limited_by_the_scarcest_resource() -> None:
    use = Usage(
        transactions=1,
        transaction_bytes=1212,
        instructions=676_740,
        disk_read_entries=3,
        write_entries=3,
        write_bytes=308,
    )
    mainnet = LedgerLimits(
        instructions=580_000_000,
        clusters=2,
        disk_read_entries=1000,
        write_entries=1000,
        write_bytes=286_720,
        transaction_bytes=266_240,
        transactions=2000,
    )
    assert admitted(mainnet, use) == 219


def _refusal() -> str:
    result = _refused_for_its_sequence()
    result_body = {"status": "ERROR", "hash": "ab", "latestLedger": 7, "errorResultXdr": result}
    return json.dumps({"result": result_body})


async def _request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)


async def _closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the other side leaves
    writer.close()
    await writer.wait_closed()


def _http_response(body: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n{body}".encode()


def _refused_for_its_sequence() -> str:
    inner = xdr.InnerTransactionResult(
        xdr.Int64(0),
        xdr.InnerTransactionResultResult(xdr.TransactionResultCode.txBAD_SEQ),
        xdr.InnerTransactionResultExt(0),
    )
    pair = xdr.InnerTransactionResultPair(xdr.Hash(bytes(32)), inner)
    result = xdr.TransactionResultResult(
        xdr.TransactionResultCode.txFEE_BUMP_INNER_FAILED, inner_result_pair=pair
    )
    return xdr.TransactionResult(xdr.Int64(0), result, xdr.TransactionResultExt(0)).to_xdr()


async def test_tap_counts_a_bad_sequence_inside_a_fee_bump() -> None:
    answers = ['{"result":{"status":"PENDING"}}', _refusal(), '{"result":{"sequence":5}}']

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for body in answers:
            await _request(reader)
            writer.write(_http_response(body))
        await _closed(reader, writer)

    async with listening(node) as port, aiohttp.ClientSession() as session:
        relay = RpcRelay(f"http://127.0.0.1:{port}")
        async with relay.serving() as url:
            for method, expected in zip(
                ("sendTransaction", "sendTransaction", "getLatestLedger"), answers, strict=True
            ):
                async with session.post(url, json={"method": method}) as answer:
                    assert await answer.text() == expected
    assert relay.calls == {"sendTransaction": 2, "getLatestLedger": 1}
    assert relay.sends == {"PENDING": 1, "txBAD_SEQ": 1}
    assert relay.bad_sequences == [BadSequence("ab", 7)]


async def test_load_repeats_at_the_other_replica_when_a_connection_breaks() -> None:
    async def dies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.close()
        await writer.wait_closed()

    async def lives(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(_http_response('{"success":true,"transaction":"ab","errorReason":null}'))
        await _closed(reader, writer)

    async with listening(dies) as first, listening(lives) as second:
        now = time.monotonic()
        plan = Plan(
            servers=[("127.0.0.1", first), ("127.0.0.1", second)],
            bodies=[b64encode(b"{}").decode()],
            in_flight=1,
            start_at=now,
            stop_at=now + 5,
            answer_s=5.0,
            patience_s=5.0,
        )
        (answer,) = (await run_plan(plan)).answers
    assert (answer.success, answer.attempts, answer.successes) == (True, 2, 1)
    assert answer.transaction == "ab"
