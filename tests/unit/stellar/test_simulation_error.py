"""Which error texts of a simulation are verdicts; the samples are what nodes and the host print."""

import pytest

from farebox.stellar.simulation_error import SimulationErrorKind, classify_simulation_error

LOG = "\n\nEvent log (newest first):\n   0: [Diagnostic Event] contract:CAS3, topics:[error]\n"


@pytest.mark.parametrize(
    "error",
    [
        "Contract, #10",
        "Contract, #4294967295",
        "Auth, ExistingValue",
        "Auth, InvalidInput",
        "Auth, InvalidAction",
        "Budget, ExceededLimit",
        "Storage, InvalidInput",
        "Storage, ExceededLimit",
        "Value, UnexpectedType",
        "Value, UnexpectedSize",
        "WasmVm, InvalidAction",
        "WasmVm, IndexBounds",
        "Object, ArithDomain",
        "Crypto, InvalidInput",
        "Events, ExceededLimit",
        "Context, InvalidAction",
    ],
)
def test_a_refusal_by_the_host_is_a_verdict(error: str) -> None:
    kind = classify_simulation_error(f"HostError: Error({error}){LOG}")
    assert kind is SimulationErrorKind.VERDICT


@pytest.mark.parametrize(
    "error", ["Storage, MissingValue", "Contract, #6", "Contract, #13", "Contract, #14"]
)
def test_a_missing_entry_may_be_the_nodes_fault(error: str) -> None:
    kind = classify_simulation_error(f"HostError: Error({error}){LOG}")
    assert kind is SimulationErrorKind.MISSING_ENTRY


def test_an_entry_that_authentication_missed_may_be_the_nodes_fault() -> None:
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
def test_every_other_text_is_the_nodes_failure(text: str) -> None:
    assert classify_simulation_error(text) is SimulationErrorKind.NODE_FAILURE
