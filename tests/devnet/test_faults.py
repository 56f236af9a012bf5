"""The faults a test can ask the devnet for, one by one, as a client meets them."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPMessage
from urllib.parse import urlsplit

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, TransactionBuilder, TransactionEnvelope
from stellar_sdk import xdr as stellar_xdr

from support.running_devnet import TESTNET, RunningDevnet


@pytest.fixture
def devnet(manual: RunningDevnet) -> Iterator[RunningDevnet]:
    """A network without faults, before and after."""
    assert manual.clear_faults() == 0
    yield manual
    manual.clear_faults()


def funded(devnet: RunningDevnet) -> Keypair:
    key = Keypair.random()
    status, answered = devnet.friendbot(key.public_key)
    assert status == 200, answered
    return key


def payment(devnet: RunningDevnet, key: Keypair, stroops: int = 1) -> TransactionEnvelope:
    """A signed payment to itself, next in its sequence."""
    with SorobanServer(devnet.rpc_url) as server:
        account = server.load_account(key.public_key)
    builder = TransactionBuilder(account, TESTNET, base_fee=100).set_timeout(300)
    builder.append_payment_op(key.public_key, Asset.native(), f"{stroops / 10**7:.7f}")
    envelope = builder.build()
    envelope.sign(key)
    return envelope


def send(devnet: RunningDevnet, envelope: TransactionEnvelope) -> str:
    return str(devnet.result("sendTransaction", {"transaction": envelope.to_xdr()})["status"])


def status_of(devnet: RunningDevnet, envelope: TransactionEnvelope) -> str:
    return str(devnet.result("getTransaction", {"hash": envelope.hash_hex()})["status"])


def latest(devnet: RunningDevnet) -> int:
    return int(devnet.result("getLatestLedger")["sequence"])


def raw_call(devnet: RunningDevnet, method: str, params: object = None) -> tuple[int, HTTPMessage]:
    """Status and headers of one call on a connection of its own; raises as the connection does."""
    connection = http.client.HTTPConnection(urlsplit(devnet.rpc_url).netloc, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    with closing(connection):
        connection.request("POST", "/", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers


def test_an_answer_can_be_late_for_one_method_alone(devnet: RunningDevnet) -> None:
    devnet.fault({"kind": "delay", "ms": 300}, methods=["getNetwork"], count=1)
    started = time.monotonic()
    devnet.result("getHealth")
    assert time.monotonic() - started < 0.2
    devnet.result("getNetwork")
    assert time.monotonic() - started > 0.3


def test_a_connection_dropped_before_does_nothing_and_one_dropped_after_did_it(
    devnet: RunningDevnet,
) -> None:
    key = funded(devnet)
    envelope = payment(devnet, key)
    params = {"transaction": envelope.to_xdr()}
    for when, then in [("before", "PENDING"), ("after", "DUPLICATE")]:
        devnet.fault({"kind": "drop", "when": when}, methods=["sendTransaction"], count=1)
        with pytest.raises(http.client.RemoteDisconnected):
            raw_call(devnet, "sendTransaction", params)
        assert send(devnet, envelope) == then
        devnet.close()
        envelope = payment(devnet, key)
        params = {"transaction": envelope.to_xdr()}


def test_a_gateway_answers_instead_of_the_service(devnet: RunningDevnet) -> None:
    devnet.fault({"kind": "http", "status": 503}, count=1)
    assert raw_call(devnet, "getHealth")[0] == 503
    devnet.fault({"kind": "http", "status": 429, "retry_after_s": 7}, count=1)
    status, headers = raw_call(devnet, "getHealth")
    assert (status, headers["Retry-After"]) == (429, "7")
    envelope = payment(devnet, funded(devnet))
    devnet.fault({"kind": "http", "status": 504, "when": "after"}, methods=["sendTransaction"])
    status, _ = raw_call(devnet, "sendTransaction", {"transaction": envelope.to_xdr()})
    assert status == 504
    devnet.close()
    assert status_of(devnet, envelope) == "SUCCESS"


def test_a_call_can_end_in_an_error_of_the_service(devnet: RunningDevnet) -> None:
    devnet.fault({"kind": "rpc_error", "code": -32603, "message": "no disk"}, skip=1, count=1)
    assert "result" in devnet.call("getHealth")
    assert devnet.call("getHealth")["error"] == {"code": -32603, "message": "no disk"}
    assert "result" in devnet.call("getHealth")


def test_a_stale_node_answers_as_of_an_earlier_ledger(devnet: RunningDevnet) -> None:
    key = funded(devnet)
    before = devnet.close()
    envelope = payment(devnet, key)
    assert send(devnet, envelope) == "PENDING"
    after = devnet.close(2)
    devnet.fault({"kind": "stale", "ledgers": 2})
    assert latest(devnet) == after - 2 == before
    assert devnet.result("getHealth")["latestLedger"] == before
    found = devnet.result("getTransaction", {"hash": envelope.hash_hex()})
    assert (found["status"], found["latestLedger"]) == ("NOT_FOUND", before)
    ledger_key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.ACCOUNT,
        account=stellar_xdr.LedgerKeyAccount(key.xdr_account_id()),
    )
    params = {"keys": [ledger_key.to_xdr()]}
    (stale,) = devnet.result("getLedgerEntries", params)["entries"]
    assert devnet.clear_faults() == 1
    (fresh,) = devnet.result("getLedgerEntries", params)["entries"]
    assert stale["xdr"] != fresh["xdr"]
    assert status_of(devnet, envelope) == "SUCCESS"


def test_transactions_can_be_ingested_late(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    devnet.fault({"kind": "ingestion_delay", "ledgers": 2})
    assert send(devnet, envelope) == "PENDING"
    included = devnet.close()
    assert latest(devnet) == included
    seen = [status_of(devnet, envelope)]
    for _ in range(2):
        devnet.close()
        seen.append(status_of(devnet, envelope))
    assert seen == ["NOT_FOUND", "NOT_FOUND", "SUCCESS"]


def test_two_nodes_behind_one_address_disagree(devnet: RunningDevnet) -> None:
    devnet.close(3)
    true = latest(devnet)
    devnet.fault({"kind": "two_nodes", "ledgers": 2}, methods=["getLatestLedger"])
    assert [latest(devnet) for _ in range(4)] == [true, true - 2, true, true - 2]


def test_history_can_be_trimmed(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    assert send(devnet, envelope) == "PENDING"
    last = devnet.close(4)
    devnet.fault({"kind": "trimmed_history", "ledgers": 3})
    assert devnet.result("getHealth")["oldestLedger"] == last - 2
    assert status_of(devnet, envelope) == "NOT_FOUND"
    assert devnet.call("getTransactions", {"startLedger": last - 3})["error"]["code"] == -32600


def test_one_account_is_told_to_try_again_later(devnet: RunningDevnet) -> None:
    one, other = funded(devnet), funded(devnet)
    devnet.fault({"kind": "try_again_later"}, source=one.public_key)
    refused = payment(devnet, one)
    assert send(devnet, refused) == "TRY_AGAIN_LATER"
    assert send(devnet, payment(devnet, other)) == "PENDING"
    devnet.close()
    assert status_of(devnet, refused) == "NOT_FOUND"
    devnet.clear_faults()
    assert send(devnet, refused) == "PENDING"


def test_faults_are_listed_with_what_became_of_them(devnet: RunningDevnet) -> None:
    first = devnet.fault({"kind": "delay", "ms": 1}, probability=0.5, seed=11)
    second = devnet.fault({"kind": "stale", "ledgers": 1}, methods=["getNetwork"])
    for _ in range(40):
        devnet.result("getHealth")
    status, listed = devnet.admin("/faults")
    assert status == 200
    chance, never = listed["faults"]
    assert (chance["id"], chance["matched"]) == (first, 40)
    assert 5 < chance["struck"] < 35
    assert (never["id"], never["matched"], never["effect"]) == (
        second,
        0,
        {"kind": "stale", "ledgers": 1},
    )
    assert devnet.clear_faults(first) == 1
    assert devnet.clear_faults() == 1


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"effect": {"kind": "nonsense"}},
        {"effect": {"kind": "delay", "ms": -1}},
        {"effect": {"kind": "stale", "ledgers": 61}},
        {"effect": {"kind": "try_again_later"}, "methods": ["getNothing"]},
        {"effect": {"kind": "try_again_later"}, "surprise": 1},
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(devnet: RunningDevnet, rule: object) -> None:
    status, answered = devnet.admin("/faults", rule)
    assert status == 400
    assert answered["error"]


def test_a_foreign_envelope_lands_past_the_queue(devnet: RunningDevnet) -> None:
    key = funded(devnet)
    ours, foreign = payment(devnet, key, 1), payment(devnet, key, 2)
    assert send(devnet, ours) == "PENDING"
    status, landed = devnet.admin("/land", {"envelope": foreign.to_xdr()})
    assert (status, landed) == (200, {"hash": foreign.hash_hex()})
    devnet.close()
    assert status_of(devnet, foreign) == "SUCCESS"
    assert status_of(devnet, ours) == "NOT_FOUND"
    devnet.close()
    assert status_of(devnet, ours) == "NOT_FOUND"
    status, refused = devnet.admin("/land", {"envelope": ours.to_xdr()})
    assert (status, refused) == (400, {"error": "not valid: TxBadSeq"})


def test_a_stranger_wraps_what_waits(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    assert send(devnet, envelope) == "PENDING"
    status, landed = devnet.admin("/land", {"wrap": envelope.hash_hex()})
    assert status == 200, landed
    devnet.close()
    by_inner = devnet.result("getTransaction", {"hash": envelope.hash_hex()})
    by_outer = devnet.result("getTransaction", {"hash": landed["hash"]})
    assert (by_inner["status"], by_inner["feeBump"]) == ("SUCCESS", True)
    assert by_inner["envelopeXdr"] == by_outer["envelopeXdr"] != envelope.to_xdr()


def test_what_waits_slips_an_empty_ledger_and_gives_up_after_four(devnet: RunningDevnet) -> None:
    key = funded(devnet)
    envelope = payment(devnet, key)
    assert send(devnet, envelope) == "PENDING"
    before = latest(devnet)
    assert devnet.admin("/close", {"empty": True}) == (200, {"ledger": before + 1})
    assert status_of(devnet, envelope) == "NOT_FOUND"
    devnet.close()
    assert status_of(devnet, envelope) == "SUCCESS"
    late = payment(devnet, key)
    assert send(devnet, late) == "PENDING"
    devnet.admin("/close", {"empty": True, "count": 4})
    assert send(devnet, late) == "TRY_AGAIN_LATER"


def test_time_jumps_forward_and_ends_what_was_valid() -> None:
    running = RunningDevnet.start("--passphrase", TESTNET, "--close-ms", "manual")
    try:
        before = int(running.result("getLatestLedger")["closeTime"])
        envelope = payment(running, funded(running))
        assert send(running, envelope) == "PENDING"
        status, jumped = running.admin("/jump", {"seconds": 3_600, "ledgers": 1})
        assert status == 200
        assert int(jumped["closeTime"]) >= before + 3_600
        running.close()
        assert status_of(running, envelope) == "NOT_FOUND"
    finally:
        assert running.stop() == 0
