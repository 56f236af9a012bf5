"""What a node and the operator's accounts must be like before payments start."""

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
from support.scripted_node import Act, ScriptedNode, answering, by_method, fault, result

CLOSED = {
    "latestLedger": 90,
    "latestLedgerCloseTime": "1780000000",
    "oldestLedger": 10,
    "oldestLedgerCloseTime": "1779999000",
}
SOUND: dict[str, Act] = {
    "getHealth": result({**CLOSED, "status": "healthy"}),
    "getNetwork": result({"passphrase": Network.PUBNET.passphrase, "protocolVersion": 29}),
    "getLatestLedger": result({"sequence": 90, "closeTime": "1780000000", "protocolVersion": 29}),
    "getVersionInfo": result({"version": "30.0.0", "protocolVersion": 30}),
    "getTransactions": result({"transactions": []}),
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
        return [found.code for found in await check_node(Network.PUBNET, rpc)]


async def test_a_sound_node_has_no_fault_and_is_asked_for_its_latest_transactions() -> None:
    async with node_with() as (rpc, node):
        assert await check_node(Network.PUBNET, rpc) == ()
    looked_at = [asked.call for asked in node.asked if asked.call["method"] == "getTransactions"]
    assert looked_at[0]["params"]["startLedger"] == 40


async def test_a_node_of_another_network_is_told_apart_before_anything_else() -> None:
    other = result({"passphrase": Network.TESTNET.passphrase, "protocolVersion": 29})
    assert await codes_with(getNetwork=other, getVersionInfo=fault(-1, "")) == [
        FaultCode.WRONG_NETWORK
    ]


@pytest.mark.parametrize(("protocol", "faults"), [(28, 1), (29, 0), (30, 0), (31, 0)])
async def test_only_a_protocol_older_than_29_is_a_fault(protocol: int, faults: int) -> None:
    told = {"sequence": 90, "closeTime": "1780000000", "protocolVersion": protocol}
    assert await codes_with(getLatestLedger=result(told)) == [FaultCode.UNKNOWN_PROTOCOL] * faults


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
async def test_a_node_without_events_is_a_fault_as_seen_or_by_its_version(
    version: str, transactions: list[object], faults: int
) -> None:
    told = await codes_with(
        getVersionInfo=result({"version": version, "protocolVersion": 30}),
        getTransactions=result({"transactions": transactions}),
    )
    assert told == [FaultCode.NO_EVENTS] * faults


async def test_a_node_that_lags_is_an_outage_not_a_fault() -> None:
    with pytest.raises(RpcUnavailable):
        await codes_with(getHealth=fault(-32603, "latency"))


async def test_accounts_must_exist_and_hold_the_floor() -> None:
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
        lambda asked: {
            "latestLedger": 90,
            "entries": [
                {"key": key, "xdr": entries[key]}
                for key in asked.call["params"]["keys"]
                if key in entries
            ],
        }
    )
