"""Each call of a node is declared once, and every client makes it the same way."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.soroban_rpc import SorobanRpc, rpc_error_proves_unsent

SOURCES = Path(__file__).parents[3] / "src" / "farebox"
_METHOD = re.compile(
    r"""["'](?:(?:get|send|simulate)Transactions?|getEvents|getFeeStats|getHealth"""
    r"""|getLatestLedger|getLedgerEntries|getNetwork|getVersionInfo)["']"""
)
OWN_POLICY = {
    "send",
    "simulate",
    "simulate_to_send",
}  # which node gets an envelope, and which one gave an answer


def modules_that_name_a_method(sources: Mapping[str, str]) -> set[str]:
    return {name for name, text in sources.items() if _METHOD.search(text)}


def test_json_rpc_methods_are_named_only_in_soroban_rpc() -> None:
    sources = {path.name: path.read_text() for path in SOURCES.rglob("*.py")}
    assert modules_that_name_a_method(sources) == {"soroban_rpc.py"}


def test_second_declaration_of_a_method_is_noticed() -> None:
    sources = {"soroban_rpc.py": '"getHealth"', "other.py": "method = 'getHealth'"}
    assert modules_that_name_a_method(sources) == {"soroban_rpc.py", "other.py"}


def test_rpc_clients_redeclare_no_call() -> None:
    calls = {name for name in vars(SorobanRpc) if not name.startswith("_")} - {"call", "close"}
    assert calls.isdisjoint(vars(HttpSorobanRpc))
    assert calls & set(vars(RpcNodes)) == OWN_POLICY


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32600, "invalid request ID"),
        (-32601, "method not found"),
        (-32602, "invalid_xdr"),
        (-32700, "invalid request value"),
        (-32603, "invalid status from stellar-core"),
        (-32098, "rpc queue for sendTransaction surpassed queue limit of 500 requests"),
        (-32603, "rpc queue for sendTransaction surpassed queue limit of 500 requests"),
    ],
)
def test_rpc_error_proves_unsent_when_refused_before_stellar_core(code: int, message: str) -> None:
    assert rpc_error_proves_unsent(code, message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32603, "could not submit transaction to stellar-core"),
        (-32603, "received exception from stellar-core"),
        (-32603, "could not decode diagnostic events"),
        (-32603, ""),
        (-32001, "request exceeded processing limit threshold"),
        (-32003, "panic"),
        (-32000, "invalid status from stellar-core"),
        (0, "the rpc queue for sendTransaction surpassed queue limit of 500 requests"),
    ],
)
def test_rpc_error_proves_nothing_when_stellar_core_may_have_the_envelope(
    code: int, message: str
) -> None:
    assert not rpc_error_proves_unsent(code, message)
