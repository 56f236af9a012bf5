"""Each fault that a test can set on the devnet, as a client sees it."""

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


def test_delay_fault_delays_one_method(devnet: RunningDevnet) -> None:
    devnet.fault({"kind": "delay", "ms": 300}, methods=["getNetwork"])
    others = [_seconds(devnet, "getHealth") for _ in range(5)]
    assert min(others) < 0.2, "the machine may be slow for a moment, a fault is every time"
    assert _seconds(devnet, "getNetwork") > 0.3


def _seconds(devnet: RunningDevnet, method: str) -> float:
    """How long a call takes."""
    started = time.monotonic()
    devnet.result(method)
    return time.monotonic() - started


def test_drop_fault_prevents_the_call_or_follows_it(devnet: RunningDevnet) -> None:
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


def test_http_fault_replaces_the_response(devnet: RunningDevnet) -> None:
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


def test_rpc_error_fault_returns_an_error(devnet: RunningDevnet) -> None:
    devnet.fault({"kind": "rpc_error", "code": -32603, "message": "no disk"}, skip=1, count=1)
    assert "result" in devnet.call("getHealth")
    assert devnet.call("getHealth")["error"] == {"code": -32603, "message": "no disk"}
    assert "result" in devnet.call("getHealth")


def test_stale_fault_returns_an_earlier_ledger(devnet: RunningDevnet) -> None:
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


def test_ingestion_delay_fault_delays_transactions(devnet: RunningDevnet) -> None:
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


def test_two_nodes_fault_alternates_between_nodes(devnet: RunningDevnet) -> None:
    devnet.close(3)
    true = latest(devnet)
    devnet.fault({"kind": "two_nodes", "ledgers": 2}, methods=["getLatestLedger"])
    assert [latest(devnet) for _ in range(4)] == [true, true - 2, true, true - 2]


def test_trimmed_history_fault_trims_the_retained_ledgers(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    assert send(devnet, envelope) == "PENDING"
    last = devnet.close(4)
    devnet.fault({"kind": "trimmed_history", "ledgers": 3})
    assert devnet.result("getHealth")["oldestLedger"] == last - 2
    assert status_of(devnet, envelope) == "NOT_FOUND"
    assert devnet.call("getTransactions", {"startLedger": last - 3})["error"]["code"] == -32600


def test_try_again_later_fault_affects_one_account(devnet: RunningDevnet) -> None:
    one, other = funded(devnet), funded(devnet)
    devnet.fault({"kind": "try_again_later"}, source=one.public_key)
    refused = payment(devnet, one)
    assert send(devnet, refused) == "TRY_AGAIN_LATER"
    assert send(devnet, payment(devnet, other)) == "PENDING"
    devnet.close()
    assert status_of(devnet, refused) == "NOT_FOUND"
    devnet.clear_faults()
    assert send(devnet, refused) == "PENDING"


def test_faults_are_listed_with_their_uses(devnet: RunningDevnet) -> None:
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
def test_invalid_fault_is_refused(devnet: RunningDevnet, rule: object) -> None:
    status, answered = devnet.admin("/faults", rule)
    assert status == 400
    assert answered["error"]


def test_foreign_envelope_lands_without_the_queue(devnet: RunningDevnet) -> None:
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


def test_wrap_replaces_a_queued_envelope_with_a_foreign_fee_bump(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    assert send(devnet, envelope) == "PENDING"
    status, landed = devnet.admin("/land", {"wrap": envelope.hash_hex()})
    assert status == 200, landed
    devnet.close()
    by_inner = devnet.result("getTransaction", {"hash": envelope.hash_hex()})
    by_outer = devnet.result("getTransaction", {"hash": landed["hash"]})
    assert (by_inner["status"], by_inner["feeBump"]) == ("SUCCESS", True)
    assert by_inner["envelopeXdr"] == by_outer["envelopeXdr"] != envelope.to_xdr()


def test_queued_envelope_is_dropped_after_four_empty_ledgers(devnet: RunningDevnet) -> None:
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


def test_jump_expires_a_queued_envelope() -> None:
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
