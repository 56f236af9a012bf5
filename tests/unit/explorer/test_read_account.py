"""Accounts read from a node that answers in every known and unknown form."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
from stellar_sdk import scval, xdr

from farebox.explorer.holding import Asset, HoldingState, usual_assets
from farebox.explorer.ledger_reads import LedgerReads, ReadUnavailable
from farebox.explorer.read_account import Account, AccountNotFound, AccountReader
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.contract_balance import balance_key
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.rpc import LedgerEntries, LedgerEntry, RawSimulation
from support.fake_rpc import FakeRpc
from support.promises import case
from support.raw_entries import contract_instance, contract_value
from support.sdk_ledger_keys import resource_data

HOLDER: Final = Address("GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3")
WALLET: Final = contract_address(bytes([9]) * 32)
TOKEN: Final = contract_address(bytes([8]) * 32)
LATEST: Final = 70
NATIVE, USDC = usual_assets(Network.TESTNET)
RESOURCES: Final = resource_data(read_only=[], read_write=[], fee=1).to_xdr()
Entry = tuple[bytes, int | None]  # the data, and the last ledger it lives in


class Node(FakeRpc):
    """A ledger of some entries, and one simulation."""

    def __init__(
        self, entries: Mapping[bytes, Entry], simulation: Mapping[str, Any] | None = None
    ) -> None:
        self.held, self.simulation = entries, simulation
        self.simulated: list[str] = []

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """Return the entries that there are."""
        found = tuple(LedgerEntry(key, *self.held[key]) for key in keys if key in self.held)
        return LedgerEntries(found, LATEST)

    async def simulate(self, envelope: str) -> RawSimulation:
        """Return the simulation."""
        self.simulated.append(envelope)
        assert self.simulation is not None
        return RawSimulation({"latestLedger": LATEST, **self.simulation})


async def read(node: Node, address: Address, *assets: Asset) -> Account:
    """Read an account."""
    reader = AccountReader(Network.TESTNET, LedgerReads(Network.TESTNET, node))
    return await reader.read(address, (NATIVE, USDC, *assets))


def returned(value: xdr.SCVal) -> dict[str, Any]:
    """A simulation that succeeded with this value."""
    results = [{"xdr": value.to_xdr(), "auth": []}]
    return {"transactionData": RESOURCES, "results": results, "events": ["not", "read"]}


TOKEN_ENTRY: Final = {instance_key(TOKEN): (contract_instance(TOKEN, bytes(32)), 99)}
WALLET_ENTRY: Final = {instance_key(WALLET): (contract_instance(WALLET, bytes(32)), 99)}


def usdc_balance(amount: int, live_until: int) -> dict[bytes, Entry]:
    """The wallet's balance of USDC."""
    value = scval.to_map(
        {
            scval.to_symbol("amount"): scval.to_int128(amount),
            scval.to_symbol("authorized"): scval.to_bool(True),
            scval.to_symbol("clawback"): scval.to_bool(False),
        }
    )
    key = balance_key(USDC.contract, WALLET)
    return {key: (contract_value(key, value), live_until)}


async def test_archived_balance_of_a_contract_is_known_and_marked() -> None:
    for live_until, state in ((LATEST, HoldingState.HELD), (LATEST - 1, HoldingState.ARCHIVED)):
        account = await read(Node({**WALLET_ENTRY, **usdc_balance(5, live_until)}), WALLET)
        _, usdc = account.holdings
        assert (usdc.state, usdc.amount) == (state, 5)


async def test_contract_that_is_not_on_the_ledger_and_holds_tokens_is_shown() -> None:
    account = await read(Node(usdc_balance(5, LATEST)), WALLET)
    assert not account.exists
    assert account.code is None
    with pytest.raises(AccountNotFound):
        await read(Node(usdc_balance(0, LATEST)), WALLET)
    with pytest.raises(AccountNotFound):
        await read(Node({}), WALLET)


async def test_account_that_is_not_on_the_ledger_is_not_found_whatever_it_names() -> None:
    node = Node(TOKEN_ENTRY, returned(scval.to_int128(7)))
    with pytest.raises(AccountNotFound):
        await read(node, HOLDER, Asset(TOKEN))
    assert node.simulated == []


@case("WA-022")
@pytest.mark.parametrize(
    ("simulation", "state", "amount"),
    [
        (returned(scval.to_int128(7)), HoldingState.HELD, 7),
        (returned(scval.to_int128(2**127 - 1)), HoldingState.HELD, 2**127 - 1),
        (returned(scval.to_int128(-1)), HoldingState.NOT_A_TOKEN, None),
        (returned(scval.to_uint64(7)), HoldingState.NOT_A_TOKEN, None),
        (returned(scval.to_bytes(bytes(5_000))), HoldingState.NOT_A_TOKEN, None),
        ({"transactionData": RESOURCES, "results": []}, HoldingState.NOT_A_TOKEN, None),
        ({"transactionData": RESOURCES}, HoldingState.NOT_A_TOKEN, None),
        ({"transactionData": RESOURCES, "results": [7]}, HoldingState.NOT_A_TOKEN, None),
        ({"transactionData": RESOURCES, "results": [{"xdr": "%"}]}, HoldingState.NOT_A_TOKEN, None),
        ({"error": "HostError: Error(WasmVm, InvalidAction)"}, HoldingState.NOT_A_TOKEN, None),
        ({"error": "HostError: Error(Budget, ExceededLimit)"}, HoldingState.NOT_A_TOKEN, None),
        (
            {"error": "HostError: Error(Storage, InvalidAction)\narchived entry"},
            HoldingState.ARCHIVED,
            None,
        ),
        ({"transactionData": RESOURCES, "restorePreamble": {}}, HoldingState.ARCHIVED, None),
    ],
)
async def test_balance_of_a_token_is_what_its_simulation_returns(
    simulation: Mapping[str, Any], state: HoldingState, amount: int | None
) -> None:
    node = Node({**WALLET_ENTRY, **TOKEN_ENTRY}, simulation)
    account = await read(node, WALLET, Asset(TOKEN))
    holding = account.holdings[2]
    assert (holding.state, holding.amount) == (state, amount)
    assert len(node.simulated) == 1


async def test_asset_without_a_contract_is_not_simulated() -> None:
    node = Node(WALLET_ENTRY)
    account = await read(node, WALLET, Asset(TOKEN))
    assert account.holdings[2].state is HoldingState.NO_CONTRACT


@pytest.mark.parametrize("simulation", [{}, {"error": "node is overloaded"}])
async def test_simulation_that_cannot_be_read_is_an_outage(simulation: Mapping[str, Any]) -> None:
    with pytest.raises(ReadUnavailable):
        await read(Node({**WALLET_ENTRY, **TOKEN_ENTRY}, simulation), WALLET, Asset(TOKEN))


async def test_entry_in_an_unknown_form_is_an_outage() -> None:
    with pytest.raises(ReadUnavailable):
        await read(Node({account_key(HOLDER): (account_key(HOLDER) + b"later", None)}), HOLDER)
