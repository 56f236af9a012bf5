"""Behaviour of real nodes, by release."""

import base64
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, TransactionBuilder

from support.running_devnet import TESTNET, RunningDevnet

META_BYTES = 300_000


@contextlib.contextmanager
def started(*options: str) -> Iterator[RunningDevnet]:
    devnet = RunningDevnet.start("--passphrase", TESTNET, "--close-ms", "manual", *options)
    try:
        yield devnet
    finally:
        assert devnet.stop() == 0


def settle_one(devnet: RunningDevnet) -> int:
    """The ledger that a new account was created in."""
    status, answered = devnet.friendbot(Keypair.random().public_key)
    assert status == 200, answered
    return int(answered["ledger"])


def page(devnet: RunningDevnet, cursor: str) -> Any:
    return devnet.call("getTransactions", {"pagination": {"cursor": cursor}})


@pytest.mark.parametrize(
    ("release", "version", "has_close_times", "has_call_success"),
    [
        ("25", "25.", False, True),
        ("27.0", "27.0.0", False, True),
        ("28", "28.0.0", True, True),
        ("30", "30.0.0", True, False),
    ],
)
def test_response_members_follow_the_release(
    release: str, version: str, has_close_times: bool, has_call_success: bool
) -> None:
    with started("--rpc-behaviour", release) as devnet:
        landed = settle_one(devnet)
        assert devnet.result("getVersionInfo")["version"].startswith(version)
        health = devnet.result("getHealth")
        assert ("latestLedgerCloseTime" in health) == has_close_times
        assert ("oldestLedgerCloseTime" in health) == has_close_times
        (event, *_) = devnet.result("getEvents", {"startLedger": landed})["events"]
        assert event.get("inSuccessfulContractCall") == (True if has_call_success else None)
        assert devnet.result("getLatestLedger")["metadataXdr"]


@pytest.mark.parametrize("release", ["28", "30"])
def test_cursor_at_the_end_is_reset_before_release_30_and_echoed_since(release: str) -> None:
    with started("--rpc-behaviour", release) as devnet:
        landed = settle_one(devnet)
        first = devnet.result("getTransactions", {"startLedger": landed})
        assert first["transactions"]
        cursor = first["cursor"]
        again = page(devnet, cursor)["result"]
        assert again["transactions"] == []
        assert again["cursor"] == (cursor if release == "30" else str(landed << 32 | 1))
        next_look = page(devnet, again["cursor"])["result"]["transactions"]
        assert bool(next_look) == (release == "28"), "a reset cursor lists the ledger again"


@pytest.mark.parametrize("release", ["28", "30"])
def test_a_node_behind_the_cursor_answers_an_empty_page(release: str) -> None:
    with started("--rpc-behaviour", release) as devnet:
        landed = settle_one(devnet)
        cursor = devnet.result("getTransactions", {"startLedger": landed})["cursor"]
        devnet.close()
        devnet.fault({"kind": "stale", "ledgers": 2})
        behind = page(devnet, cursor)["result"]
        assert (behind["transactions"], behind["latestLedger"]) == ([], landed - 1)
        assert behind["cursor"] == (cursor if release == "30" else "0")
        devnet.clear_faults()
        refused = page(devnet, "0")["error"]
        wanted = "database does not contain metadata for ledger: 0"
        assert refused == {"code": -32602, "message": wanted}


def test_a_start_ledger_beyond_a_node_that_is_behind_is_refused(manual: RunningDevnet) -> None:
    latest = manual.close(3)
    number = manual.fault({"kind": "stale", "ledgers": 2})
    for method, words in [
        ("getTransactions", f"start ledger ({latest}) must be between the oldest ledger"),
        ("getLedgers", f"start ledger ({latest}) must be between the oldest ledger"),
        ("getEvents", "startLedger must be within the ledger range: "),
    ]:
        refused = manual.call(method, {"startLedger": latest})["error"]
        assert refused["code"] == -32600
        assert refused["message"].startswith(words)
    manual.clear_faults(number)


def test_a_cursor_in_a_ledger_that_was_trimmed_is_refused(manual: RunningDevnet) -> None:
    landed = settle_one(manual)
    cursor = manual.result("getTransactions", {"startLedger": landed})["cursor"]
    manual.close(4)
    number = manual.fault({"kind": "trimmed_history", "ledgers": 3})
    refused = page(manual, cursor)["error"]
    wanted = f"database does not contain metadata for ledger: {landed}"
    assert refused == {"code": -32602, "message": wanted}
    manual.clear_faults(number)


@pytest.mark.parametrize("release", ["28", "30"])
def test_get_ledgers_at_the_latest_ledger_is_refused_before_release_30(release: str) -> None:
    with started("--rpc-behaviour", release) as devnet:
        latest = devnet.close()
        answered = devnet.call("getLedgers", {"pagination": {"cursor": str(latest)}})
        if release == "30":
            assert (answered["result"]["ledgers"], answered["result"]["cursor"]) == (
                [],
                str(latest),
            )
        else:
            assert answered["error"]["code"] == -32602
        old = devnet.call("getLedgers", {"pagination": {"cursor": "4294967295"}})
        assert old["error"]["code"] == -32602


def test_ledger_meta_is_padded_to_its_least_size() -> None:
    with started("--ledger-meta-bytes", str(META_BYTES)) as devnet:
        latest = devnet.result("getLatestLedger")
        (listed,) = devnet.result("getLedgers", {"startLedger": latest["sequence"]})["ledgers"]
        for text in (latest["metadataXdr"], listed["metadataXdr"]):
            raw = base64.b64decode(text, validate=True)
            assert META_BYTES <= len(raw) < META_BYTES + 3
        assert len(base64.b64decode(latest["headerXdr"])) < 1_000


def test_a_page_over_the_limit_of_the_service_is_refused() -> None:
    with started("--max-transactions-limit", "10") as devnet:
        request: dict[str, Any] = {"startLedger": 2, "pagination": {"limit": 11}}
        refused = devnet.call("getTransactions", request)["error"]
        assert refused == {"code": -32600, "message": "limit must not exceed 10"}
        request["pagination"]["limit"] = 10
        assert "result" in devnet.call("getTransactions", request)
        assert "result" in devnet.call("getTransactions", {"startLedger": 2})


def test_a_service_without_preflight_debugging_has_no_simulation_events() -> None:
    for options, has_events in [((), True), (("--no-simulation-events",), False)]:
        with started(*options) as devnet:
            status, scene = devnet.admin("/scene", {"payers": 1})
            assert status == 200, scene
            with SorobanServer(devnet.rpc_url) as server:
                account = server.load_account(scene["payers"][0]["address"])
            builder = TransactionBuilder(account, TESTNET).set_timeout(0)
            native = Asset.native().contract_id(TESTNET)
            builder.append_invoke_contract_function_op(native, "decimals", [])
            transaction = {"transaction": builder.build().to_xdr()}
            simulated = devnet.result("simulateTransaction", transaction)
            assert simulated["results"]
            assert ("events" in simulated) == has_events, simulated
