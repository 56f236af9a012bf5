"""The start check of a node and of the operator's accounts."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from stellar_sdk import Keypair

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.account_entry import account_key
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.start_check import FaultCode, check_accounts, check_node
from support.events import transfer_event
from support.scripted_node import (
    Act,
    ReceivedRequest,
    ScriptedNode,
    answering,
    by_method,
    fault,
    result,
)
from support.sdk_ledger_keys import resource_data

CLOSED = {
    "latestLedger": 90,
    "latestLedgerCloseTime": "1780000000",
    "oldestLedger": 10,
    "oldestLedgerCloseTime": "1779999000",
}
SOUND: dict[str, Act] = {
    "getHealth": result({**CLOSED, "status": "healthy"}),
    "getNetwork": result({"passphrase": Network.PUBNET.passphrase, "protocolVersion": 29}),
    "getVersionInfo": result({"version": "30.0.0", "protocolVersion": 30}),
    "getTransactions": result({"transactions": []}),
    "getEvents": result({"latestLedger": 90, "events": []}),
    "simulateTransaction": result({"latestLedger": 90, "error": "HostError: Error(Contract, #6)"}),
}
RELAYER = Address(Keypair.random().public_key)
SIMULATED = {
    "latestLedger": 90,
    "transactionData": resource_data(read_only=[], read_write=[]).to_xdr(),
}


@asynccontextmanager
async def node_with(**changes: Act) -> AsyncIterator[tuple[HttpSorobanRpc, ScriptedNode]]:
    async with (
        ScriptedNode([by_method({**SOUND, **changes})]) as node,
        HttpSorobanRpc(Network.PUBNET, Secret(node.url)) as rpc,
    ):
        yield rpc, node


async def codes_with(**changes: Act) -> list[FaultCode]:
    async with node_with(**changes) as (rpc, _):
        return [found.code for found in await check_node(Network.PUBNET, rpc, RELAYER)]


async def test_check_node_finds_no_fault_in_a_sound_node() -> None:
    async with node_with() as (rpc, node):
        assert await check_node(Network.PUBNET, rpc, RELAYER) == ()
    looked_at = [
        request.call for request in node.requests if request.call["method"] == "getTransactions"
    ]
    assert looked_at[0]["params"]["startLedger"] == 40


async def test_check_node_reports_another_network_first() -> None:
    other = result({"passphrase": Network.TESTNET.passphrase, "protocolVersion": 29})
    assert await codes_with(getNetwork=other, getVersionInfo=fault(-1, "")) == [
        FaultCode.WRONG_NETWORK
    ]


@pytest.mark.parametrize(("protocol", "faults"), [(28, 1), (29, 0), (30, 0), (31, 0)])
async def test_check_node_reports_a_protocol_older_than_29(protocol: int, faults: int) -> None:
    network = {"passphrase": Network.PUBNET.passphrase, "protocolVersion": protocol}
    assert await codes_with(getNetwork=result(network)) == [FaultCode.UNKNOWN_PROTOCOL] * faults


@pytest.mark.parametrize(
    ("version", "transactions", "faults"),
    [
        ("30.0.0", [{"events": {}}], 0),
        ("30.0.0", [{"status": "SUCCESS"}], 1),
        ("22.1.3", [{"events": {}}], 0),
        ("v23.0.4-rc1", [], 0),
        ("22.1.3", [], 1),
        ("unreleased", [], 1),
    ],
)
async def test_check_node_reports_a_node_without_events(
    version: str, transactions: list[object], faults: int
) -> None:
    found = await codes_with(
        getVersionInfo=result({"version": version, "protocolVersion": 30}),
        getTransactions=result({"transactions": transactions}),
    )
    assert found == [FaultCode.NO_EVENTS] * faults


@pytest.mark.parametrize(
    ("simulated", "faults"),
    [
        (SIMULATED, 1),
        (SIMULATED | {"events": []}, 1),
        (SIMULATED | {"events": [transfer_event(None, RELAYER, RELAYER, 1)]}, 0),
        ({"latestLedger": 90, "error": "HostError: Error(Contract, #10)"}, 0),
    ],
)
async def test_check_node_reports_simulations_without_events(
    simulated: dict[str, object], faults: int
) -> None:
    async with node_with(simulateTransaction=result(simulated)) as (rpc, _):
        found = await check_node(Network.PUBNET, rpc, RELAYER)
    assert [each.code for each in found] == [FaultCode.NO_SIMULATION_EVENTS] * faults
    assert all("PREFLIGHT_ENABLE_DEBUG" in each.sentence for each in found)


async def test_check_node_raises_when_the_node_is_too_busy_to_simulate() -> None:
    busy = result({"latestLedger": 90, "error": "preflight queue full"})
    with pytest.raises(RpcUnavailable):
        await codes_with(simulateTransaction=busy)


async def test_check_node_reports_a_node_without_event_search() -> None:
    assert await codes_with(getEvents=fault(-32601, "method not found")) == [
        FaultCode.NO_EVENT_SEARCH
    ]
    assert await codes_with(getEvents=fault(-32600, "behind")) == []


@pytest.mark.parametrize(("kept", "faults"), [(119, 1), (120, 0), (120_960, 0)])
async def test_check_node_reports_a_short_retention(kept: int, faults: int) -> None:
    health = {**CLOSED, "status": "healthy", "ledgerRetentionWindow": kept}
    assert await codes_with(getHealth=result(health)) == [FaultCode.SHORT_HISTORY] * faults


@pytest.mark.parametrize(("limit", "faults"), [(199, 1), (200, 0), (0, 0)])
async def test_check_node_reports_a_low_page_limit(limit: int, faults: int) -> None:
    async def pages(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
        is_refused = request.call["params"]["pagination"]["limit"] > limit
        is_trial = "cursor" in request.call["params"]["pagination"]
        act = fault(-32600, "limit") if is_refused and is_trial else SOUND["getTransactions"]
        await act(writer, request)

    assert await codes_with(getTransactions=pages) == [FaultCode.SMALL_PAGES] * faults


async def test_check_node_raises_when_the_node_lags() -> None:
    with pytest.raises(RpcUnavailable):
        await codes_with(getHealth=fault(-32603, "latency"))


async def test_check_accounts_reports_missing_and_underfunded_accounts() -> None:
    rich, low, poor, absent = (Address(Keypair.random().public_key) for _ in range(4))
    ledger = accounts({rich: 10_0000000, low: 5_0000000, poor: 4_9999999})
    async with node_with(getLedgerEntries=ledger) as (rpc, _):
        faults = await check_accounts(Network.PUBNET, rpc, [rich, low, poor, absent])
    assert [found.code for found in faults] == [
        FaultCode.ACCOUNT_LOW,
        FaultCode.ACCOUNT_UNFUNDED,
        FaultCode.ACCOUNT_MISSING,
    ]
    assert [found.is_warning for found in faults] == [True, False, False]
    assert [found.account for found in faults] == [low, poor, absent]
    assert all(str(found.account) in found.sentence for found in faults)


def accounts(balances: dict[Address, int]) -> Act:
    """A ledger with these accounts and no other entry."""
    entries = {
        base64.b64encode(account_key(account)).decode(): base64.b64encode(
            account_key(account) + balance.to_bytes(8, "big") + bytes(8) + b"the rest"
        ).decode()
        for account, balance in balances.items()
    }
    return answering(
        lambda request: {
            "latestLedger": 90,
            "entries": [
                {"key": key, "xdr": entries[key]}
                for key in request.call["params"]["keys"]
                if key in entries
            ],
        }
    )
