"""What a listing's tokens are is looked up on the ledger and shown, whoever says what of them."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import pytest
from stellar_sdk import Asset, Keypair

from farebox.catalog.shown.store import get_listings
from farebox.catalog.tokens.lookup import TokenLookup
from farebox.catalog.tokens.token import Token, TokenKind, token_body, token_of
from farebox.catalog.wire import listing_body
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.asset_contract import asset_contract
from farebox.stellar.contract_instance import AssetCode, ExternalCode, WasmCode
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.storage.pool import Database
from support.contracts import sha256_of, token
from support.manual_clock import ManualClock
from support.shown_rows import Shown, write
from support.stage import NetworkStage

NOWHERE: Final = contract_address(bytes([77]) * 32)
OWNER: Final = contract_address(bytes([5]) * 32)
ISSUER: Final = Address(Keypair.from_raw_ed25519_seed(b"7" * 32).public_key)
NATIVE: Final = asset_contract("native", Network.TESTNET)
USD: Final = asset_contract(f"USD:{ISSUER}", Network.TESTNET)
Networks = dict[Network, NetworkStage]


async def listed(database: Database, *assets: str, network: Network = Network.TESTNET) -> list[int]:
    """One listing an asset; their ids."""
    shown = [Shown(f"{network.label}-{n}", network=network) for n in range(len(assets))]
    async with database.connection() as db:
        ids = await write(db, *shown)
        for listing_id, asset in zip(ids, assets, strict=True):
            change = "UPDATE listing_terms SET asset = $2 WHERE listing_id = $1"
            await db.execute(change, listing_id, asset)
    return ids


async def tokens(database: Database, ids: Sequence[int]) -> list[dict[str, Any] | None]:
    """What each listing shows of its one token."""
    async with database.connection() as db:
        bodies = [listing_body(each) for each in await get_listings(db, ids)]
    shown: list[dict[str, Any] | None] = []
    for body in bodies:
        held: Any = body.get("tokens")
        accepts: Any = body["accepts"]
        shown.append(held[accepts[0]["asset"]] if held else None)
    return shown


class Node:
    """A node that holds nothing, and may be away."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.is_away = False

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self.asked.append(len(keys))
        if self.is_away:
            raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=True)
        return LedgerEntries((), 9)


class RestingClock:
    """Stands still, and says when the loop has done its round."""

    def __init__(self, clock: ManualClock, rests: asyncio.Event) -> None:
        self._clock, self._rests = clock, rests
        self.now, self.monotonic = clock.now, clock.monotonic

    async def sleep(self, seconds: float) -> None:
        if seconds:
            self._rests.set()
            await asyncio.Event().wait()


async def test_each_kind_of_token_is_shown_as_the_ledger_has_it(
    database: Database, clock: ManualClock, stage_networks: Networks
) -> None:
    stage = stage_networks[Network.TESTNET]
    issuer = await stage.ledger.account()
    own = Asset("FAREBOXUSD", issuer.public_key)
    asset = await stage.ledger.deploy_asset(own, issuer)
    custom = (await token(stage)).address
    assert NATIVE is not None
    ids = await listed(database, asset, NATIVE, custom, NOWHERE)
    assert await tokens(database, ids) == [None] * 4  # before anybody has looked
    async with HttpSorobanRpc(Network.TESTNET, Secret(stage.ledger.rpc_url)) as rpc:
        lookup = TokenLookup(database, {Network.TESTNET: rpc}, clock)
        assert await lookup.turn(Network.TESTNET) == 4
        assert await lookup.turn(Network.TESTNET) == 0
    assert await tokens(database, ids) == [
        {"kind": "asset_contract", "code": "FAREBOXUSD", "issuer": issuer.public_key},
        {"kind": "asset_contract", "code": "XLM"},
        {"kind": "wasm", "wasmHash": sha256_of("mannered_token")},
        {"kind": "absent"},
    ]


async def test_the_distinct_tokens_of_a_network_are_asked_for_once_a_time(
    database: Database, clock: ManualClock
) -> None:
    assets = [contract_address(n.to_bytes(32, "big")) for n in range(130)]
    await listed(database, *assets, *assets)
    await listed(database, NOWHERE, network=Network.PUBNET)
    testnet, pubnet = Node(), Node()
    nodes: Any = {Network.TESTNET: testnet, Network.PUBNET: pubnet}
    lookup = TokenLookup(database, nodes, clock)
    assert [await lookup.turn(Network.TESTNET) for _ in range(3)] == [100, 30, 0]
    assert [await lookup.turn(Network.PUBNET) for _ in range(2)] == [1, 0]
    assert (testnet.asked, pubnet.asked) == ([100, 30], [1])
    clock.turn(6 * 3600 + 1)
    assert await lookup.turn(Network.TESTNET) == 100


async def test_a_node_that_is_away_leaves_the_tokens_to_be_looked_up(
    database: Database, clock: ManualClock
) -> None:
    await listed(database, NOWHERE)
    node = Node()
    node.is_away = True
    nodes: Any = {Network.TESTNET: node}
    lookup = TokenLookup(database, nodes, clock)
    with pytest.raises(RpcUnavailable):
        await lookup.turn(Network.TESTNET)
    node.is_away = False
    assert await lookup.turn(Network.TESTNET) == 1


async def test_the_loop_outlives_a_node_and_a_database_that_are_away(
    database: Database, postgres_url: Secret[str], clock: ManualClock
) -> None:
    away, there = Node(), Node()
    away.is_away = True
    await listed(database, NOWHERE)
    many = [contract_address(n.to_bytes(32, "big")) for n in range(101)]
    await listed(database, *many, network=Network.PUBNET)
    nodes: Any = {Network.TESTNET: away, Network.PUBNET: there}
    for opened in (Database(postgres_url), database):  # the first is closed
        rests = asyncio.Event()
        resting = RestingClock(clock, rests)
        running = asyncio.ensure_future(TokenLookup(opened, nodes, resting).run())
        await asyncio.wait_for(rests.wait(), 20)
        assert not running.done()
        running.cancel()
        await asyncio.wait({running})
    assert (away.asked, there.asked) == ([1], [100, 1])


def test_a_name_that_the_contracts_id_was_not_made_from_is_not_repeated() -> None:
    assert NATIVE is not None
    assert USD is not None
    lie = token_of(AssetCode(f"USD:{ISSUER}"), NATIVE, Network.TESTNET)
    assert lie == Token(TokenKind.ASSET_CONTRACT)
    elsewhere = token_of(AssetCode("native"), NATIVE, Network.PUBNET)
    assert elsewhere == Token(TokenKind.ASSET_CONTRACT)
    assert token_of(AssetCode(None), USD, Network.TESTNET) == Token(TokenKind.ASSET_CONTRACT)
    true = token_of(AssetCode(f"USD:{ISSUER}"), USD, Network.TESTNET)
    assert token_body(true) == {"kind": "asset_contract", "code": "USD", "issuer": ISSUER}


def test_an_external_reference_is_shown_with_its_owner() -> None:
    found = token_of(ExternalCode(OWNER), NOWHERE, Network.TESTNET)
    assert token_body(found) == {"kind": "external", "owner": OWNER}
    odd = token_of(ExternalCode(None), NOWHERE, Network.TESTNET)
    assert token_body(odd) == {"kind": "external"}
    own = token_of(WasmCode(bytes(32)), NOWHERE, Network.TESTNET)
    assert token_body(own) == {"kind": "wasm", "wasmHash": "00" * 32}
