"""The wire of Stellar RPC: fields, types and refusals as in the original, and hostile input."""

import base64
import hashlib
import json
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stellar_sdk import Keypair, TransactionBuilder
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.account import Account
from stellar_sdk.asset import Asset
from stellar_sdk.operation import BumpSequence, CreateAccount, Payment

from support.running_devnet import TESTNET, RunningDevnet

METHODS = [
    "getEvents",
    "getFeeStats",
    "getHealth",
    "getLatestLedger",
    "getLedgerEntries",
    "getLedgers",
    "getNetwork",
    "getTransaction",
    "getTransactions",
    "getVersionInfo",
    "sendTransaction",
    "simulateTransaction",
]

ROOT_KEY = stellar_xdr.LedgerKey(
    stellar_xdr.LedgerEntryType.ACCOUNT,
    account=stellar_xdr.LedgerKeyAccount(
        Keypair.from_raw_ed25519_seed(hashlib.sha256(TESTNET.encode()).digest()).xdr_account_id()
    ),
).to_xdr()


def shape(value: Any) -> Any:
    """The value with its leaves replaced by the names of their types."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def funded(devnet: RunningDevnet) -> Keypair:
    key = Keypair.random()
    status, answered = devnet.friendbot(key.public_key)
    assert status == 200, answered
    return key


def sequence(devnet: RunningDevnet, key: Keypair) -> int:
    ledger_key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.ACCOUNT,
        account=stellar_xdr.LedgerKeyAccount(key.xdr_account_id()),
    )
    (entry,) = devnet.result("getLedgerEntries", {"keys": [ledger_key.to_xdr()]})["entries"]
    account = stellar_xdr.LedgerEntryData.from_xdr(entry["xdr"]).account
    assert account is not None
    return account.seq_num.sequence_number.int64


def payment(devnet: RunningDevnet, key: Keypair, *, skip: int = 0, stroops: int = 1) -> str:
    """A signed payment to itself, `skip` places behind the next in its sequence."""
    account = Account(key.public_key, sequence(devnet, key) + skip)
    builder = TransactionBuilder(account, devnet.passphrase, base_fee=100)
    amount = f"{stroops / 10**7:.7f}"
    builder.append_operation(Payment(key.public_key, Asset.native(), amount))
    envelope = builder.set_timeout(300).build()
    envelope.sign(key)
    return envelope.to_xdr()


def test_every_response_has_the_fields_and_types_of_stellar_rpc(manual: RunningDevnet) -> None:
    assert shape(manual.result("getHealth")) == {
        "status": "str",
        "latestLedger": "int",
        "latestLedgerCloseTime": "str",
        "oldestLedger": "int",
        "oldestLedgerCloseTime": "str",
        "ledgerRetentionWindow": "int",
    }
    assert shape(manual.result("getLatestLedger")) == {
        "id": "str",
        "protocolVersion": "int",
        "sequence": "int",
        "closeTime": "str",
        "headerXdr": "str",
        "metadataXdr": "str",
    }
    fees = dict.fromkeys(
        [
            "max",
            "min",
            "mode",
            "p10",
            "p20",
            "p30",
            "p40",
            "p50",
            "p60",
            "p70",
            "p80",
            "p90",
            "p95",
            "p99",
        ],
        "str",
    )
    fees |= {"transactionCount": "str", "ledgerCount": "int"}
    assert shape(manual.result("getFeeStats")) == {
        "sorobanInclusionFee": fees,
        "inclusionFee": fees,
        "latestLedger": "int",
    }
    assert shape(manual.result("getVersionInfo")) == {
        "version": "str",
        "commitHash": "str",
        "buildTimestamp": "str",
        "captiveCoreVersion": "str",
        "protocolVersion": "int",
    }
    latest = manual.result("getLatestLedger")["sequence"]
    assert shape(manual.result("getLedgers", {"startLedger": latest})) == {
        "ledgers": [
            {
                "hash": "str",
                "sequence": "int",
                "ledgerCloseTime": "str",
                "headerXdr": "str",
                "metadataXdr": "str",
            }
        ],
        "latestLedger": "int",
        "latestLedgerCloseTime": "int",
        "oldestLedger": "int",
        "oldestLedgerCloseTime": "int",
        "cursor": "str",
    }


def test_a_transaction_is_read_back_with_all_its_fields(manual: RunningDevnet) -> None:
    key = funded(manual)
    sent = manual.result("sendTransaction", {"transaction": payment(manual, key)})
    assert shape(sent) == {
        "status": "str",
        "hash": "str",
        "latestLedger": "int",
        "latestLedgerCloseTime": "str",
    }
    missing = manual.result("getTransaction", {"hash": sent["hash"]})
    assert missing["status"] == "NOT_FOUND"
    assert (missing["ledger"], missing["createdAt"], missing["events"]) == (0, "0", {})
    closed = manual.close()
    found = manual.result("getTransaction", {"hash": sent["hash"]})
    assert found["status"] == "SUCCESS"
    assert found["ledger"] == closed
    assert (found["applicationOrder"], found["feeBump"]) == (1, False)
    assert isinstance(found["createdAt"], str)
    assert found["events"]["transactionEventsXdr"]
    listed = manual.result("getTransactions", {"startLedger": closed})
    assert isinstance(listed["transactions"][0]["createdAt"], int)
    assert isinstance(listed["latestLedgerCloseTimestamp"], int)
    events = manual.result("getEvents", {"startLedger": closed})
    assert {event["txHash"] for event in events["events"]} == {sent["hash"]}
    assert shape(events["events"][0]) == {
        "type": "str",
        "ledger": "int",
        "ledgerClosedAt": "str",
        "contractId": "str",
        "id": "str",
        "operationIndex": "int",
        "transactionIndex": "int",
        "txHash": "str",
        "topic": ["str"],
        "value": "str",
    }
    fee = events["events"][0]
    assert (fee["transactionIndex"], fee["operationIndex"]) == (0, 0)
    assert fee["id"] == f"{closed << 32:019d}-0000000000"


def test_send_transaction_statuses_match_stellar_core(manual: RunningDevnet) -> None:
    key = funded(manual)
    first = payment(manual, key)

    def send(envelope: str) -> dict[str, str]:
        answered: dict[str, str] = manual.result("sendTransaction", {"transaction": envelope})
        return answered

    assert send(first)["status"] == "PENDING"
    assert send(first)["status"] == "DUPLICATE"
    assert send(payment(manual, key, stroops=2))["status"] == "TRY_AGAIN_LATER"
    for _ in range(9):
        manual.close()
        assert send(first)["status"] == "TRY_AGAIN_LATER"
    manual.close()
    late = send(first)
    assert late["status"] == "ERROR"
    result = stellar_xdr.TransactionResult.from_xdr(late["errorResultXdr"])
    assert result.result.code == stellar_xdr.TransactionResultCode.txBAD_SEQ


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("nonsense", None, -32601, "method not found"),
        ("sendTransaction", {"transaction": "AAAA"}, -32602, "invalid_xdr"),
        ("sendTransaction", {}, -32602, "invalid_xdr"),
        ("getTransaction", {"hash": "ab"}, -32602, "unexpected hash length (2)"),
        ("getTransaction", {"hash": "zz" * 32}, -32602, "incorrect hash"),
        ("getTransaction", ["ab" * 32], -32602, "invalid parameters"),
        ("getTransaction", {"hash": 5}, -32602, "invalid parameters"),
        ("getTransaction", {"hash": "ab" * 32, "xdrFormat": "hex"}, -32602, "got 'hex': expected"),
        ("getLedgerEntries", {"keys": ["AAAA"] * 201}, -32602, "key count (201) exceeds"),
        ("getLedgerEntries", {"keys": ["!"]}, -32602, "cannot unmarshal key value ! at index 0"),
        (
            "getLedgerEntries",
            {"keys": [base64.b64encode(b"\0\0\0\x09" + bytes(32)).decode()]},
            -32602,
            "ledger ttl entries cannot be queried directly",
        ),
        ("getLedgerEntries", {}, -32603, "could not query captive core: no keys specified"),
        ("getLedgerEntries", {"keys": [ROOT_KEY] * 2}, -32603, "non-200 status code (404)"),
        ("getEvents", {}, -32602, "startLedger must be positive"),
        ("getEvents", {"startLedger": 10**9}, -32600, "startLedger must be within the ledger"),
        (
            "getEvents",
            {"startLedger": 1, "pagination": {"limit": 10_001}},
            -32602,
            "limit must not",
        ),
        (
            "getEvents",
            {"startLedger": 1, "pagination": {"cursor": "x"}},
            -32602,
            "invalid event id",
        ),
        ("getEvents", {"startLedger": 1, "filters": [{}] * 6}, -32602, "maximum 5 filters"),
        ("getLedgers", {"startLedger": 10**9}, -32600, "must be between the oldest ledger"),
        ("getTransactions", {"startLedger": 0}, -32600, "must be between the oldest ledger"),
        ("getTransactions", {"startLedger": 2, "pagination": {"limit": 201}}, -32600, "limit must"),
        ("simulateTransaction", {"transaction": 7}, -32602, "invalid parameters"),
    ],
)
def test_wrong_call_is_refused_with_the_code_and_message_of_stellar_rpc(
    manual: RunningDevnet, method: str, params: object, code: int, message: str
) -> None:
    refused = manual.call(method, params)["error"]
    assert refused["code"] == code
    assert message in refused["message"]


@pytest.mark.parametrize(
    ("transaction", "error"),
    [
        ("", "Could not unmarshal transaction"),
        ("%%%", "Could not unmarshal transaction"),
        (base64.b64encode(bytes(2_000)).decode(), "Could not unmarshal transaction"),
    ],
)
def test_simulation_of_no_transaction_returns_an_error_in_its_result(
    manual: RunningDevnet, transaction: str, error: str
) -> None:
    answered = manual.call("simulateTransaction", {"transaction": transaction})
    assert answered["result"] == {"error": error, "latestLedger": 0}


def test_a_classic_transaction_is_not_simulated(manual: RunningDevnet) -> None:
    builder = TransactionBuilder(Account(Keypair.random().public_key, 1), manual.passphrase)
    builder.append_operation(BumpSequence(5)).set_timeout(0)
    simulated = manual.result("simulateTransaction", {"transaction": builder.build().to_xdr()})
    wanted = "transaction contains unsupported operation type: OperationTypeBumpSequence"
    assert simulated["error"] == wanted
    builder.append_operation(CreateAccount(Keypair.random().public_key, "1"))
    simulated = manual.result("simulateTransaction", {"transaction": builder.build().to_xdr()})
    assert simulated["error"] == "Transaction contains more than one operation"


def test_body_without_a_call_is_refused_by_its_status(manual: RunningDevnet) -> None:
    assert manual.post(b"{}", content_type="text/plain")[0] == 415
    assert manual.post(b"not json")[0] == 500
    assert manual.post(b"{}", path="/elsewhere")[0] == 404
    assert manual.post(b" " * 600_000)[0] == 413
    assert manual.post(b"[]") == (204, b"")


def test_a_batch_is_answered_in_its_order(manual: RunningDevnet) -> None:
    calls = [{"jsonrpc": "2.0", "id": str(n), "method": "getHealth"} for n in range(3)]
    status, body = manual.post(json.dumps(calls).encode())
    assert status == 200
    assert [answered["id"] for answered in json.loads(body)] == ["0", "1", "2"]


def deeply_nested(depth: int) -> str:
    """A simulation's envelope whose only argument is a vector of vectors."""
    builder = TransactionBuilder(Account(Keypair.random().public_key, 1), "x")
    builder.append_invoke_contract_function_op(
        "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
        "f",
        [stellar_xdr.SCVal(stellar_xdr.SCValType.SCV_U64, u64=stellar_xdr.Uint64(2**64 - 1))],
    )
    raw = builder.set_timeout(0).build().to_xdr_object().to_xdr_bytes()
    value = b"\0\0\0\x05" + b"\xff" * 8
    level = b"\0\0\0\x10\0\0\0\x01\0\0\0\x01"
    assert raw.count(value) == 1
    return base64.b64encode(raw.replace(value, level * depth + b"\0\0\0\x01")).decode()


@pytest.mark.parametrize("depth", [1, 100, 490, 600, 20_000])
def test_deeply_nested_input_does_not_stop_the_network(manual: RunningDevnet, depth: int) -> None:
    transaction = deeply_nested(depth)
    for method in ("simulateTransaction", "sendTransaction"):
        answered = manual.call(method, {"transaction": transaction})
        assert "result" in answered or answered["error"]["code"] == -32602
    assert manual.result("getHealth")["status"] == "healthy"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "startLedger",
        "endLedger",
        "filters",
        "pagination",
        "xdrFormat",
        "keys",
        "hash",
        "transaction",
        "authMode",
        "resourceConfig",
        "useUpgradedAuth",
        "topics",
        "contractIds",
        "type",
        "cursor",
        "limit",
    ]
)
PARAMS = st.dictionaries(NAMES, JSON | st.dictionaries(NAMES, JSON, max_size=3), max_size=5)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(method=st.sampled_from(METHODS), params=PARAMS | JSON)
def test_arbitrary_parameters_never_give_an_internal_error(
    manual: RunningDevnet, method: str, params: object
) -> None:
    answered = manual.call(method, params)
    assert ("result" in answered) != ("error" in answered)
    error = answered.get("error", {"code": None, "message": ""})
    # Core's query server refuses no keys at all and keys that come twice.
    is_query = method == "getLedgerEntries" and error["message"].startswith("could not query")
    assert error["code"] != -32603 or is_query


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_envelope_never_breaks_the_network(
    manual: RunningDevnet, data: st.DataObject
) -> None:
    raw = bytearray(base64.b64decode(deeply_nested(3)))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    transaction = base64.b64encode(bytes(raw)).decode()
    for method in ("simulateTransaction", "sendTransaction"):
        answered = manual.call(method, {"transaction": transaction})
        assert answered.get("error", {}).get("code") in (None, -32602)


def test_a_connection_serves_many_calls(manual: RunningDevnet) -> None:
    address = urlsplit(manual.rpc_url)
    assert address.hostname is not None
    assert address.port is not None
    body = b'{"jsonrpc":"2.0","id":1,"method":"getHealth"}'
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    message = head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        for _ in range(5):
            connection.sendall(message)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")
