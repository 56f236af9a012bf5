"""Reading a simulation: a cost with events, a refusal, a restore or an unreadable response."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import xdr

from farebox.stellar.events import ContractEvent, read_transfer_event
from farebox.stellar.simulation import (
    MAX_EVENTS,
    NeedsRestore,
    RefusalKind,
    Simulated,
    SimulationErrorKind,
    SimulationRefused,
    UnreadableSimulation,
    classify_simulation_error,
    read_simulation,
)
from support.examples import examples
from support.raw_envelopes import NONE, ONE, u32
from support.sdk_ledger_keys import resource_data
from support.sdk_values import account, address_value, contract, i128, nested, symbol, void

LEDGER = 4_242
RESOURCES = resource_data(
    read_only=[], read_write=[], sizes=(512_345, 100, 600), fee=23_456, archived=None
)


def _event(
    *topics: xdr.SCVal,
    data: xdr.SCVal,
    kind: xdr.ContractEventType = xdr.ContractEventType.CONTRACT,
    succeeded: bool = True,
    contract_id: bytes | None = b"\x0a" * 32,
) -> str:
    held = None if contract_id is None else xdr.ContractID(xdr.Hash(contract_id))
    body = xdr.ContractEventBody(0, xdr.ContractEventV0(list(topics), data))
    event = xdr.ContractEvent(xdr.ExtensionPoint(0), held, kind, body)
    return xdr.DiagnosticEvent(succeeded, event).to_xdr()


TRANSFER = _event(
    symbol(b"transfer"),
    address_value(account(b"\x0b" * 32)),
    address_value(contract(b"\x0c" * 32)),
    data=i128(7),
)
DIAGNOSTIC = xdr.ContractEventType.DIAGNOSTIC
FN_CALL = _event(symbol(b"fn_call"), data=void(), kind=DIAGNOSTIC, contract_id=None)
FN_RETURN = _event(symbol(b"fn_return"), data=nested(60), kind=DIAGNOSTIC)
SUCCESS: dict[str, Any] = {
    "latestLedger": LEDGER,
    "transactionData": RESOURCES.to_xdr(),
    "minResourceFee": "23456",
    "events": [FN_CALL, TRANSFER, FN_RETURN],
    "results": [{"auth": [], "xdr": "AAAAAQ=="}],
    "anUnknownMember": {"x": 1},
}


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in SUCCESS.items() if key != name}


def test_simulation_success_has_fee_resources_and_contract_events() -> None:
    read = read_simulation(SUCCESS)
    assert isinstance(read, Simulated)
    assert read.latest_ledger == LEDGER
    assert read.soroban_data == RESOURCES.to_xdr_bytes()
    assert read.resource_fee == 23_456
    assert read.resources.instructions == 512_345
    assert read.resources.disk_read_bytes == 100
    assert read.resources.write_bytes == 600
    (event,) = read.events
    transfer = read_transfer_event(event)
    assert transfer is not None
    assert transfer.amount == 7


def test_system_events_and_events_of_failed_calls_are_kept() -> None:
    system = _event(void(), data=void(), kind=xdr.ContractEventType.SYSTEM)
    failed = _event(symbol(b"mint"), data=void(), succeeded=False)
    read = read_simulation(SUCCESS | {"events": [system, failed]})
    assert isinstance(read, Simulated)
    assert [event.in_successful_call for event in read.events] == [True, False]
    assert [event.kind.name for event in read.events] == ["SYSTEM", "CONTRACT"]


def test_simulation_without_events_is_read() -> None:
    read = read_simulation(SUCCESS | {"events": []})
    assert isinstance(read, Simulated)
    assert read.events == ()


def _failed(error: str, *words: str) -> str:
    """An error in the node's wording: the outermost error, then the log, newest first."""
    log = [
        f"   {n}: [Diagnostic Event] topics:[error], data:{word}" for n, word in enumerate(words)
    ]
    return "\n".join([f"HostError: Error({error})", "", "Event log (newest first):", *log])


AUTHENTICATION = '["failed account authentication with error", GABC, Error(Contract, #5)]'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            _failed("Auth, ExistingValue", '["nonce already exists for address", GABC]'),
            RefusalKind.NONCE_USED,
        ),
        (
            _failed("Auth, InvalidInput", '["signature has expired", GABC, 5, 4]'),
            RefusalKind.EXPIRED,
        ),
        (
            _failed("Auth, InvalidAction", AUTHENTICATION, '["signer does not belong to account"]'),
            RefusalKind.SIGNATURE,
        ),
        (_failed("Auth, InvalidAction", AUTHENTICATION), RefusalKind.SIGNATURE),
        (_failed("Contract, #10", '["balance is not sufficient to spend"]'), RefusalKind.BALANCE),
        (
            _failed("Storage, InvalidInput", '["trying to access an archived entry"]'),
            RefusalKind.ARCHIVED,
        ),
        (_failed("Budget, ExceededLimit"), RefusalKind.BUDGET),
        (_failed("Contract, #100"), RefusalKind.OTHER),
        (_failed("Contract, #2", "[Error(Contract, #10)]"), RefusalKind.OTHER),
        (_failed("Contract, #2") + "x" * 5_000_000 + "nonce already exists", RefusalKind.OTHER),
    ],
)
def test_refusal_kind_follows_the_error_text(text: str, kind: RefusalKind) -> None:
    answer = {"latestLedger": LEDGER, "error": text}
    assert read_simulation(answer) == SimulationRefused(kind, LEDGER)
    assert read_simulation(SUCCESS | answer) == SimulationRefused(kind, LEDGER)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (_failed("Contract, #13", '["trustline entry is missing"]'), RefusalKind.TRUSTLINE),
        (_failed("Contract, #6", '["account entry is missing"]'), RefusalKind.OTHER),
        (
            _failed("Storage, MissingValue", '["trying to get non-existing value"]'),
            RefusalKind.OTHER,
        ),
    ],
)
def test_refusal_for_a_missing_entry_is_marked(text: str, kind: RefusalKind) -> None:
    answer = {"latestLedger": LEDGER, "error": text}
    assert read_simulation(answer) == SimulationRefused(kind, LEDGER, entry_is_missing=True)


@pytest.mark.parametrize("text", ["", "preflight queue full", _failed("Context, InternalError")])
def test_error_of_the_node_itself_is_unreadable(text: str) -> None:
    assert read_simulation({"latestLedger": LEDGER, "error": text}) == UnreadableSimulation("error")


def test_archived_entry_gives_needs_restore() -> None:
    preamble = {"minResourceFee": "1", "transactionData": RESOURCES.to_xdr()}
    assert read_simulation(SUCCESS | {"restorePreamble": preamble}) == NeedsRestore(LEDGER)
    on_the_way = resource_data(read_only=[], read_write=[], archived=[0]).to_xdr()
    assert read_simulation(SUCCESS | {"transactionData": on_the_way}) == NeedsRestore(LEDGER)
    nothing = resource_data(read_only=[], read_write=[], archived=[]).to_xdr()
    assert isinstance(read_simulation(SUCCESS | {"transactionData": nothing}), Simulated)
    assert isinstance(read_simulation(SUCCESS | {"restorePreamble": None}), Simulated)


NOT_LEDGERS: list[object] = ["4242", 0, -1, 2**32, 1.5, True, None, []]
NOT_RESOURCES: list[object] = [
    None,
    7,
    "",
    "AAAA",
    "not base64",
    RESOURCES.to_xdr()[:-4],
    "AAAA" + RESOURCES.to_xdr(),
    resource_data(read_only=[], read_write=[], fee=-1).to_xdr(),
    "A" * 50_000_000,
]
NOT_EVENTS: list[object] = [
    None,
    {},
    "AAAA",
    [7],
    [None],
    [TRANSFER, "A"],
    [TRANSFER[:-1]],
    ["A" * 50_000_000],
    ["!" * 60],
    [FN_CALL] * (MAX_EVENTS + 1),
]


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        ({}, "latestLedger"),
        (_without("latestLedger"), "latestLedger"),
        *((SUCCESS | {"latestLedger": ledger}, "latestLedger") for ledger in NOT_LEDGERS),
        (SUCCESS | {"error": 7}, "error"),
        (SUCCESS | {"error": {"message": "x"}}, "error"),
        (_without("transactionData"), "transactionData"),
        *((SUCCESS | {"transactionData": data}, "transactionData") for data in NOT_RESOURCES),
        (_without("events"), "events"),
        *((SUCCESS | {"events": events}, "events") for events in NOT_EVENTS),
    ],
)
def test_malformed_simulation_is_unreadable_and_names_its_part(
    answer: dict[str, Any], part: str
) -> None:
    assert read_simulation(answer) == UnreadableSimulation(part)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        ONE + NONE + NONE + ONE + NONE + NONE + u32(23),  # a value of an unknown arm
        ONE + NONE + NONE + u32(3) + NONE + NONE + ONE,  # an event of an unknown kind
        ONE + NONE + NONE + ONE + NONE + NONE + nested(33).to_xdr_bytes(),  # beyond the bounds
        ONE + ONE + NONE + ONE + NONE + NONE + ONE,  # an extension
    ],
)
def test_unreadable_contract_event_is_a_refusal(raw: bytes) -> None:
    events = [TRANSFER, base64.b64encode(raw).decode()]
    assert read_simulation(SUCCESS | {"events": events}) == SimulationRefused(
        RefusalKind.UNREADABLE_EVENT, LEDGER
    )


def test_diagnostic_event_of_any_size_is_skipped_by_its_kind() -> None:
    huge = _event(symbol(b"log"), data=nested(300), kind=DIAGNOSTIC)
    read = read_simulation(SUCCESS | {"events": [huge, TRANSFER]})
    assert isinstance(read, Simulated)
    assert [type(event) for event in read.events] == [ContractEvent]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=examples(100), deadline=None)
@given(st.dictionaries(st.sampled_from(sorted({*SUCCESS, "error", "restorePreamble"})), _JSON))
def test_read_simulation_returns_a_value_for_every_mapping(changes: dict[str, Any]) -> None:
    for answer in (changes, SUCCESS | changes):
        read = read_simulation(json.loads(json.dumps(answer)))
        assert isinstance(read, Simulated | SimulationRefused | NeedsRestore | UnreadableSimulation)


LOG = "\n\nEvent log (newest first):\n   0: [Diagnostic Event] contract:CAS3, topics:[error]\n"


VERDICTS = (
    *("Contract, #10", "Contract, #4294967295", "Auth, ExistingValue", "Auth, InvalidInput"),
    *("Auth, InvalidAction", "Budget, ExceededLimit", "Storage, InvalidInput"),
    *("Storage, ExceededLimit", "Value, UnexpectedType", "Value, UnexpectedSize"),
    *("WasmVm, InvalidAction", "WasmVm, IndexBounds", "Object, ArithDomain"),
    *("Crypto, InvalidInput", "Events, ExceededLimit", "Context, InvalidAction"),
)
MISSING = ("Storage, MissingValue", "Contract, #6", "Contract, #13", "Contract, #14")


def test_host_error_is_a_verdict_unless_an_entry_may_be_missing_at_the_node() -> None:
    kinds = {
        each: classify_simulation_error(f"HostError: Error({each}){LOG}")
        for each in VERDICTS + MISSING
    }
    assert kinds == {
        **dict.fromkeys(VERDICTS, SimulationErrorKind.VERDICT),
        **dict.fromkeys(MISSING, SimulationErrorKind.MISSING_ENTRY),
    }


def test_entry_missing_during_authentication_may_be_the_nodes_fault() -> None:
    text = f"HostError: Error(Auth, InvalidAction){LOG}   1: data:[Error(Storage, MissingValue)]"
    assert classify_simulation_error(text) is SimulationErrorKind.MISSING_ENTRY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "preflight queue full",
        "preflight worker pool is closed",
        "panic during preflight() call: unknown cause",
        "unsupported protocol version: 31",
        "context deadline exceeded",
        "setting ConfigSettingContractMaxSizeBytes is not present in the snapshot",
        "Could not unmarshal transaction",
        "HostError: Error(Storage, InternalError)" + LOG,
        "HostError: Error(Context, InternalError)" + LOG,
        "HostError: Error(Context, SomethingNew)",
        "HostError: Error(Newer, InvalidAction)",
        "HostError: Error(Contract, InvalidAction)",
        "HostError: Error(Auth, #1)",
        "HostError: the entry is archived",
        "the host said: HostError: Error(Contract, #10)",
        "preflight queue full\nHostError: Error(Contract, #10)",
    ],
)
def test_other_error_text_is_a_failure_of_the_node(text: str) -> None:
    assert classify_simulation_error(text) is SimulationErrorKind.NODE_FAILURE
