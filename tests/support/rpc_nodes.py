"""Nodes for `RpcNodes`: each responds as the test sets it."""

import base64
import json
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.rpc import RpcUnavailable, SendStatus
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.soroban_rpc import RpcCall, SorobanRpc
from support.manual_clock import ManualClock

A = TypeVar("A")
HASH = "ab" * 32
ACCOUNT = account_address(bytes(32))
ENTRY = base64.b64encode(account_key(ACCOUNT) + struct.pack(">qq", 1, 6)).decode()
CLOSED_AT = 1_780_000_000
RANGE = {
    "latestLedgerCloseTime": str(CLOSED_AT),
    "oldestLedger": 1,
    "oldestLedgerCloseTime": str(CLOSED_AT),
}
RANGE_OF_PAGE = {
    "latestLedgerCloseTimestamp": CLOSED_AT,
    "oldestLedger": 1,
    "oldestLedgerCloseTimestamp": CLOSED_AT,
}
FEES = {"max": "7", "p99": "7"}


def outage(
    *, unsent: bool = False, code: int | None = None, pause: float | None = None
) -> RpcUnavailable:
    return RpcUnavailable(
        Network.TESTNET, "away", certainly_not_sent=unsent, code=code, retry_after_s=pause
    )


def _result_xdr(code: int) -> str:
    return base64.b64encode(struct.pack(">qii", 100, code, 0)).decode()


@dataclass
class Node(SorobanRpc):
    """A node at `ledger`, or with `fault`; each call decodes its responses from JSON."""

    ledger: int = 100
    fault: RpcUnavailable | None = None
    passphrase: str = Network.TESTNET.passphrase
    sends: SendStatus = SendStatus.PENDING
    refuses: int | None = None  # the code of a TransactionResult, with `SendStatus.ERROR`
    simulates: Mapping[str, object] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    envelopes: list[str] = field(default_factory=list)
    has_close_times: bool = True
    is_closed: bool = False

    async def close(self) -> None:
        self.is_closed = True

    async def call(self, call: RpcCall[Any, A]) -> A:
        self.calls.append(call.method)
        params = call.params or {}
        if call.method == "sendTransaction":
            self.envelopes.append(str(params["transaction"]))
        if self.fault is not None:
            raise self.fault
        result = self._results(params)[call.method] | {"latestLedger": self.ledger}
        response = call.decoder.decode(json.dumps({"id": 1, "result": result}))
        return call.read(response.result)

    def _results(self, params: Mapping[str, Any]) -> dict[str, dict[str, object]]:
        keys = params.get("keys", [])
        return {
            "getEvents": {"events": []},
            "getFeeStats": {"sorobanInclusionFee": FEES},
            "getHealth": (RANGE if self.has_close_times else {"oldestLedger": 1})
            | {"status": "healthy"},
            "getLedgerEntries": {"entries": [{"key": each, "xdr": ENTRY} for each in keys]},
            "getNetwork": {"passphrase": self.passphrase, "protocolVersion": 30},
            "getTransaction": {**RANGE, "status": "NOT_FOUND"},
            "getTransactions": {**RANGE_OF_PAGE, "transactions": []},
            "getVersionInfo": {"version": "30.0.0", "protocolVersion": 30},
            "sendTransaction": {
                "status": self.sends,
                "hash": HASH,
                "errorResultXdr": None if self.refuses is None else _result_xdr(self.refuses),
            },
            "simulateTransaction": dict(self.simulates),
        }


@asynccontextmanager
async def nodes(*given: Node, clock: ManualClock | None = None) -> AsyncIterator[RpcNodes]:
    time = clock or ManualClock()
    async with RpcNodes(Network.TESTNET, given, time, relayer=ACCOUNT, wait_s=0) as rpc:
        await rpc.check()
        for each in given:
            each.calls.clear()
        yield rpc
    assert all(each.is_closed for each in given)
