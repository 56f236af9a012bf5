"""The tokens of a listing are read from the ledger and shown as it has them."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest
from stellar_sdk import Asset, Keypair

from farebox.catalog.browsing.store import get_listings
from farebox.catalog.tokens.lookup import TokenLookup
from farebox.catalog.tokens.token import Token, TokenKind, identify_token
from farebox.catalog.wire import listing_body, token_body
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.asset_contract import asset_contract
from farebox.stellar.contract_instance import AssetCode, ExternalCode, WasmCode
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.storage.pool import Database
from support.contracts import sha256_of, token
from support.fake_rpc import FakeRpc
from support.listing_rows import ListingRow, insert_listings
from support.manual_clock import ManualClock
from support.stage import NetworkStage

NOWHERE: Final = contract_address(bytes([77]) * 32)
OWNER: Final = contract_address(bytes([5]) * 32)
ISSUER: Final = Address(Keypair.from_raw_ed25519_seed(b"7" * 32).public_key)
NATIVE: Final = asset_contract("native", Network.TESTNET)
USD: Final = asset_contract(f"USD:{ISSUER}", Network.TESTNET)
Networks = dict[Network, NetworkStage]


async def listed(database: Database, *assets: str, network: Network = Network.TESTNET) -> list[int]:
    """One listing an asset; their ids."""
    shown = [ListingRow(f"{network.label}-{n}", network=network) for n in range(len(assets))]
    async with database.connection() as db:
        ids = await insert_listings(db, *shown)
        for listing_id, asset in zip(ids, assets, strict=True):
            change = "UPDATE listing_terms SET asset = $2 WHERE listing_id = $1"
            await db.execute(change, listing_id, asset)
    return ids


async def tokens(database: Database, ids: Sequence[int]) -> list[dict[str, Any] | None]:
    """What each listing shows of its one token."""
    async with database.connection() as db:
        bodies = [
            json.loads(msgspec.json.encode(listing_body(each)))
            for each in await get_listings(db, ids)
        ]
    shown: list[dict[str, Any] | None] = []
    for body in bodies:
        held: Any = body.get("tokens")
        accepts: Any = body["accepts"]
        shown.append(held[accepts[0]["asset"]] if held else None)
    return shown


class Node(FakeRpc):
    """A node that holds nothing, and may be away."""

    def __init__(self) -> None:
        self.requests: list[int] = []
        self.is_away = False

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self.requests.append(len(keys))
        if self.is_away:
            raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=True)
        return LedgerEntries((), 9)


class RestingClock:
    """A clock that stops at the end of the loop's first round and sets `rests`."""

    def __init__(self, clock: ManualClock, rests: asyncio.Event) -> None:
        self._clock, self._rests = clock, rests
        self.now, self.monotonic = clock.now, clock.monotonic

    async def sleep(self, seconds: float) -> None:
        if seconds >= 1:
            self._rests.set()
            await asyncio.Event().wait()


async def test_listing_shows_each_kind_of_token_as_the_ledger_has_it(
    database: Database, clock: ManualClock, stage_networks: Networks
) -> None:
    stage = stage_networks[Network.TESTNET]
    issuer = await stage.ledger.account()
    own = Asset("FAREBOXUSD", issuer.public_key)
    asset = await stage.ledger.deploy_asset(own, issuer)
    custom = (await token(stage)).address
    assert NATIVE is not None
    ids = await listed(database, asset, NATIVE, custom, NOWHERE)
    assert await tokens(database, ids) == [None] * 4  # before any lookup
    async with HttpSorobanRpc(Network.TESTNET, Secret(stage.ledger.rpc_url)) as rpc:
        lookup = TokenLookup(database, {Network.TESTNET: rpc}, clock)
        assert await lookup.look_up_batch(Network.TESTNET) == 4
        assert await lookup.look_up_batch(Network.TESTNET) == 0
    assert await tokens(database, ids) == [
        {"kind": "asset_contract", "code": "FAREBOXUSD", "issuer": issuer.public_key},
        {"kind": "asset_contract", "code": "XLM"},
        {"kind": "wasm", "wasmHash": sha256_of("mannered_token")},
        {"kind": "absent"},
    ]


async def test_look_up_batch_reads_each_distinct_token_once_per_period(
    database: Database, clock: ManualClock
) -> None:
    assets = [contract_address(n.to_bytes(32, "big")) for n in range(130)]
    await listed(database, *assets, *assets)
    await listed(database, NOWHERE, network=Network.PUBNET)
    testnet, pubnet = Node(), Node()
    nodes: Any = {Network.TESTNET: testnet, Network.PUBNET: pubnet}
    lookup = TokenLookup(database, nodes, clock)
    assert [await lookup.look_up_batch(Network.TESTNET) for _ in range(3)] == [100, 30, 0]
    assert [await lookup.look_up_batch(Network.PUBNET) for _ in range(2)] == [1, 0]
    assert (testnet.requests, pubnet.requests) == ([100, 30], [1])
    clock.turn(6 * 3600 + 1)
    assert await lookup.look_up_batch(Network.TESTNET) == 100


async def test_look_up_batch_leaves_tokens_due_when_the_node_is_unavailable(
    database: Database, clock: ManualClock
) -> None:
    await listed(database, NOWHERE)
    node = Node()
    node.is_away = True
    nodes: Any = {Network.TESTNET: node}
    lookup = TokenLookup(database, nodes, clock)
    with pytest.raises(RpcUnavailable):
        await lookup.look_up_batch(Network.TESTNET)
    node.is_away = False
    assert await lookup.look_up_batch(Network.TESTNET) == 1


async def test_lookup_loop_survives_an_unavailable_node_and_database(
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
    assert (away.requests, there.requests) == ([1], [100, 1])


def test_identify_token_ignores_a_name_that_does_not_match_the_contract_id() -> None:
    assert NATIVE is not None
    assert USD is not None
    lie = identify_token(AssetCode(f"USD:{ISSUER}"), NATIVE, Network.TESTNET)
    assert lie == Token(TokenKind.ASSET_CONTRACT)
    elsewhere = identify_token(AssetCode("native"), NATIVE, Network.PUBNET)
    assert elsewhere == Token(TokenKind.ASSET_CONTRACT)
    assert identify_token(AssetCode(None), USD, Network.TESTNET) == Token(TokenKind.ASSET_CONTRACT)
    true = identify_token(AssetCode(f"USD:{ISSUER}"), USD, Network.TESTNET)
    assert msgspec.to_builtins(token_body(true)) == {
        "kind": "asset_contract",
        "code": "USD",
        "issuer": ISSUER,
    }


def test_identify_token_shows_an_external_reference_with_its_owner() -> None:
    found = identify_token(ExternalCode(OWNER), NOWHERE, Network.TESTNET)
    assert msgspec.to_builtins(token_body(found)) == {"kind": "external", "owner": OWNER}
    odd = identify_token(ExternalCode(None), NOWHERE, Network.TESTNET)
    assert msgspec.to_builtins(token_body(odd)) == {"kind": "external"}
    own = identify_token(WasmCode(bytes(32)), NOWHERE, Network.TESTNET)
    assert msgspec.to_builtins(token_body(own)) == {"kind": "wasm", "wasmHash": "00" * 32}
