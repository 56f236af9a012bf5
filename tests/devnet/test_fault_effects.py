"""The effects of faults inside one response."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, TransactionBuilder, TransactionEnvelope
from stellar_sdk import xdr as stellar_xdr

from support.running_devnet import TESTNET, RunningDevnet

METADATA_QUOTA = 1_000_000


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


def payment(devnet: RunningDevnet, key: Keypair) -> TransactionEnvelope:
    """A signed payment to itself, next in its sequence."""
    with SorobanServer(devnet.rpc_url) as server:
        account = server.load_account(key.public_key)
    builder = TransactionBuilder(account, TESTNET, base_fee=100).set_timeout(300)
    builder.append_payment_op(key.public_key, Asset.native(), "1")
    envelope = builder.build()
    envelope.sign(key)
    return envelope


def send(devnet: RunningDevnet, envelope: TransactionEnvelope) -> str:
    return str(devnet.result("sendTransaction", {"transaction": envelope.to_xdr()})["status"])


def look_up(devnet: RunningDevnet, envelope: TransactionEnvelope) -> Any:
    return devnet.result("getTransaction", {"hash": envelope.hash_hex()})


def settled(devnet: RunningDevnet) -> tuple[TransactionEnvelope, int]:
    """A payment in a ledger, and that ledger."""
    envelope = payment(devnet, funded(devnet))
    assert send(devnet, envelope) == "PENDING"
    return envelope, devnet.close()


def simulation(devnet: RunningDevnet) -> Any:
    """The answer to the simulation of a contract that does not exist: an error with events."""
    with SorobanServer(devnet.rpc_url) as server:
        account = server.load_account(funded(devnet).public_key)
    builder = TransactionBuilder(account, TESTNET).set_timeout(0)
    builder.append_invoke_contract_function_op(Asset.native().contract_id("elsewhere"), "f", [])
    return devnet.result("simulateTransaction", {"transaction": builder.build().to_xdr()})


def test_simulation_error_answers_its_text_and_the_latest_ledger(devnet: RunningDevnet) -> None:
    devnet.fault({"kind": "simulation_error", "text": "preflight queue full"}, count=1)
    latest = devnet.result("getLatestLedger")["sequence"]
    answered = devnet.result("simulateTransaction", {"transaction": "AAAA"})
    assert answered == {"error": "preflight queue full", "latestLedger": latest}
    answered = devnet.result("simulateTransaction", {"transaction": "AAAA"})
    assert answered["error"] == "Could not unmarshal transaction"


def test_no_simulation_events_leaves_the_member_out(devnet: RunningDevnet) -> None:
    with_events = simulation(devnet)
    assert with_events["error"].startswith("HostError: ")
    assert "Event log" in with_events["error"]
    assert with_events["events"]
    devnet.fault({"kind": "no_simulation_events"})
    without_events = simulation(devnet)
    assert set(without_events) == set(with_events) - {"events"}
    assert without_events["error"] == with_events["error"].split("\n")[0] + "\n"


def test_rpc_error_after_the_call_hides_a_queued_envelope(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    params = {"transaction": envelope.to_xdr()}
    effect: dict[str, object] = {"kind": "rpc_error", "code": -32603, "message": "lost"}
    devnet.fault(effect, methods=["sendTransaction"], count=1)
    assert devnet.call("sendTransaction", params)["error"]["message"] == "lost"
    devnet.fault({**effect, "when": "after"}, methods=["sendTransaction"], count=1)
    refused = devnet.call("sendTransaction", params)
    assert refused["error"] == {"code": -32603, "message": "lost"}
    assert send(devnet, envelope) == "DUPLICATE", "queued by the second call, not by the first"


@pytest.mark.parametrize(
    ("body", "expected"), [(None, b"Service Unavailable\n"), ("", b""), ("busy", b"busy")]
)
def test_http_fault_sends_the_body_it_is_given(
    devnet: RunningDevnet, body: str | None, expected: bytes
) -> None:
    effect: dict[str, object] = {"kind": "http", "status": 503}
    devnet.fault(effect if body is None else {**effect, "body": body}, count=1)
    connection = http.client.HTTPConnection(urlsplit(devnet.rpc_url).netloc, timeout=30)
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "getHealth"})
    with closing(connection):
        connection.request("POST", "/", call, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (503, expected)


def test_two_nodes_without_methods_alternate_on_every_call(devnet: RunningDevnet) -> None:
    latest = devnet.close(3)
    devnet.fault({"kind": "two_nodes", "ledgers": 2})
    stated = [
        devnet.result("getHealth")["latestLedger"],
        devnet.result("getLatestLedger")["sequence"],
        devnet.result("getFeeStats")["latestLedger"],
        devnet.result("getEvents", {"startLedger": 2})["latestLedger"],
    ]
    assert stated == [latest, latest - 2, latest, latest - 2]


def test_ahead_states_a_future_ledger_over_true_content(devnet: RunningDevnet) -> None:
    envelope, latest = settled(devnet)
    truth = devnet.result("getLatestLedger")
    devnet.fault({"kind": "ahead", "ledgers": 100})
    lie = devnet.result("getLatestLedger")
    assert lie["sequence"] == latest + 100
    assert int(lie["closeTime"]) == int(truth["closeTime"]) + 500
    assert (lie["id"], lie["metadataXdr"]) == (truth["id"], truth["metadataXdr"])
    params: dict[str, Any] = {
        "getHealth": None,
        "getFeeStats": None,
        "getLedgerEntries": {"keys": [account_key(funded(devnet))]},
        "getEvents": {"startLedger": latest},
        "getLedgers": {"startLedger": latest},
        "getTransactions": {"startLedger": latest},
        "getTransaction": {"hash": envelope.hash_hex()},
    }
    true_latest = devnet.close()
    for method, request in params.items():
        assert devnet.result(method, request)["latestLedger"] == true_latest + 100, method
    assert look_up(devnet, envelope)["ledger"] == latest
    devnet.clear_faults()
    assert devnet.result("getLatestLedger")["sequence"] == true_latest


def account_key(key: Keypair) -> str:
    return stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.ACCOUNT,
        account=stellar_xdr.LedgerKeyAccount(key.xdr_account_id()),
    ).to_xdr()


def test_torn_lookup_misses_a_transaction_within_the_range_it_states(devnet: RunningDevnet) -> None:
    envelope, landed = settled(devnet)
    devnet.fault({"kind": "torn_lookup", "ledgers": 2})
    torn = look_up(devnet, envelope)
    assert (torn["status"], torn["latestLedger"]) == ("NOT_FOUND", landed)
    assert devnet.result("getHealth")["latestLedger"] == landed
    devnet.close()
    assert look_up(devnet, envelope)["status"] == "NOT_FOUND"
    devnet.close()
    assert look_up(devnet, envelope)["status"] == "SUCCESS"


def test_cursor_mode_decides_the_cursor_of_an_empty_page_alone(devnet: RunningDevnet) -> None:
    _, landed = settled(devnet)

    def page(params: dict[str, object]) -> tuple[int, str]:
        answered = devnet.result("getTransactions", params)
        return len(answered["transactions"]), str(answered["cursor"])

    listed, cursor = page({"startLedger": landed})
    assert listed == 1
    behind: dict[str, object] = {"pagination": {"cursor": cursor}}
    start_of_ledger = str(landed << 32 | 1)
    for mode, expected in [
        ("zero", "0"),
        ("rewind", start_of_ledger),
        ("echo", cursor),
        ("empty", ""),
    ]:
        number = devnet.fault({"kind": "cursor", "mode": mode})
        assert page(behind) == (0, expected)
        assert page({"startLedger": landed}) == (1, cursor), "a page that lists something"
        devnet.clear_faults(number)
    assert page({"pagination": {"cursor": start_of_ledger}}) == (1, cursor), "listed again"


def test_empty_list_hides_transactions_and_events(devnet: RunningDevnet) -> None:
    _, landed = settled(devnet)
    devnet.fault({"kind": "empty_list"})
    transactions = devnet.result("getTransactions", {"startLedger": landed})
    events = devnet.result("getEvents", {"startLedger": landed})
    assert (transactions["transactions"], transactions["latestLedger"]) == ([], landed)
    assert (events["events"], events["latestLedger"]) == ([], landed)
    devnet.clear_faults()
    assert devnet.result("getTransactions", {"startLedger": landed})["transactions"]
    assert devnet.result("getEvents", {"startLedger": landed})["events"]


def test_pad_grows_metadata_where_there_is_some_and_adds_a_member_elsewhere(
    devnet: RunningDevnet,
) -> None:
    latest = devnet.result("getLatestLedger")
    health = devnet.result("getHealth")
    devnet.fault({"kind": "pad", "bytes": METADATA_QUOTA})
    padded = devnet.result("getLatestLedger")
    assert len(padded["metadataXdr"]) == len(latest["metadataXdr"]) + METADATA_QUOTA
    assert set(padded) == set(latest)
    ledgers = devnet.result("getLedgers", {"startLedger": latest["sequence"]})
    assert len(ledgers["ledgers"][-1]["metadataXdr"]) > METADATA_QUOTA
    assert "padding" not in ledgers
    assert devnet.result("getHealth") == {**health, "padding": "A" * METADATA_QUOTA}


def test_out_of_sync_answers_pending_and_queues_nothing(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    devnet.fault({"kind": "out_of_sync"}, count=2)
    assert [send(devnet, envelope), send(devnet, envelope)] == ["PENDING", "PENDING"]
    devnet.close()
    assert look_up(devnet, envelope)["status"] == "NOT_FOUND"
    assert send(devnet, envelope) == "PENDING"
    devnet.close()
    assert look_up(devnet, envelope)["status"] == "SUCCESS"


def test_filtered_answers_the_error_for_an_unknown_status(devnet: RunningDevnet) -> None:
    envelope = payment(devnet, funded(devnet))
    devnet.fault({"kind": "filtered"}, count=1)
    refused = devnet.call("sendTransaction", {"transaction": envelope.to_xdr()})
    assert refused["error"] == {"code": -32603, "message": "invalid status from stellar-core"}
    assert send(devnet, envelope) == "PENDING", "it was not queued before"


def test_answer_bytes_are_counted_by_method_until_the_reset(devnet: RunningDevnet) -> None:
    devnet.admin("/counts/reset", {})
    devnet.result("getHealth")
    once = devnet.admin("/bytes")[1]["getHealth"]
    assert once > 100
    devnet.fault({"kind": "pad", "bytes": 5_000}, count=1)
    devnet.result("getHealth")
    status, counted = devnet.admin("/bytes")
    assert status == 200
    assert counted["getHealth"] == 2 * once + 5_000 + len(',"padding":""')
    assert counted["getNetwork"] == 0
    devnet.admin("/counts/reset", {})
    assert set(devnet.admin("/bytes")[1].values()) == {0}
