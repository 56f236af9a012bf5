"""The devnet devnet_by_hand by this project: time, ledgers, faults, and a journal."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, TransactionBuilder

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, start_devnet
from farebox.local.faults import LocalFault
from support.ledger import Ledger

OPTIONS = DevnetOptions(passphrase=Network.TESTNET.passphrase, close_ms=None)


@pytest.fixture
async def devnet_by_hand() -> AsyncIterator[Devnet]:
    """A network whose ledgers close only when the test says so."""
    async with await start_devnet(OPTIONS) as running:
        yield running


async def _payment(ledger: Ledger, key: Keypair) -> tuple[Secret[bytes], str]:
    """A signed payment to itself, next in its sequence, and its hash."""
    account = await asyncio.to_thread(SorobanServer(ledger.rpc_url).load_account, key.public_key)
    builder = TransactionBuilder(account, Network.TESTNET.passphrase, base_fee=100)
    builder.append_payment_op(key.public_key, Asset.native(), "1").add_time_bounds(0, 0)
    envelope = builder.build()
    envelope.sign(key)
    return Secret(envelope.to_xdr_object().to_xdr_bytes()), envelope.hash_hex()


async def test_empty_close_leaves_the_queue_to_the_next_ledger(devnet_by_hand: Devnet) -> None:
    ledger = Ledger(Network.TESTNET, devnet_by_hand.rpc_url)
    key = await ledger.account()
    envelope, tx_hash = await _payment(ledger, key)
    text = base64.b64encode(envelope.reveal()).decode()
    sent = await ledger.call("sendTransaction", {"transaction": text})
    assert sent["status"] == "PENDING", sent
    before = await ledger.latest()
    assert await devnet_by_hand.close(empty=True) == before + 1
    assert (await ledger.found(tx_hash))["status"] == "NOT_FOUND"
    assert await devnet_by_hand.close() == before + 2
    assert (await ledger.found(tx_hash))["ledger"] == before + 2


async def test_land_bypasses_the_queue_and_refuses_an_invalid_envelope(
    devnet_by_hand: Devnet,
) -> None:
    ledger = Ledger(Network.TESTNET, devnet_by_hand.rpc_url)
    key = await ledger.account()
    envelope, tx_hash = await _payment(ledger, key)
    assert await devnet_by_hand.land(envelope) == tx_hash
    await devnet_by_hand.close()
    assert (await ledger.found(tx_hash))["status"] == "SUCCESS"
    with pytest.raises(LocalFault, match="not valid"):
        await devnet_by_hand.land(envelope)


async def test_jump_moves_the_time_and_faults_are_set_and_cleared(devnet_by_hand: Devnet) -> None:
    ledger = Ledger(Network.TESTNET, devnet_by_hand.rpc_url)
    before = int((await ledger.call("getLatestLedger"))["closeTime"])
    await devnet_by_hand.jump(3600, ledgers=2)
    assert int((await ledger.call("getLatestLedger"))["closeTime"]) >= before + 3600
    refusing = await devnet_by_hand.fault(
        {"kind": "rpc_error", "code": -1, "message": "no"}, count=5
    )
    with pytest.raises(AssertionError, match="no"):
        await ledger.latest()
    assert await devnet_by_hand.clear_faults(refusing) == 1
    assert await ledger.latest() > 0
    assert await devnet_by_hand.clear_faults() == 0
    with pytest.raises(LocalFault, match="refused /faults"):
        await devnet_by_hand.fault({"kind": "nonsense"})


async def test_options_reach_the_devnet() -> None:
    options = DevnetOptions(
        OPTIONS.passphrase,
        close_ms=None,
        ledger_meta_bytes=30_000,
        rpc_behaviour="27.0",
        max_transactions_limit=7,
        no_simulation_events=True,
    )
    assert "--no-simulation-events" in options.arguments()
    async with await start_devnet(options) as running:
        ledger = Ledger(Network.TESTNET, running.rpc_url)
        assert (await ledger.call("getVersionInfo"))["version"] == "27.0.0"
        with pytest.raises(AssertionError, match="limit must not exceed 7"):
            await ledger.call("getTransactions", {"startLedger": 1, "pagination": {"limit": 8}})
        await running.reset_counts()
        await ledger.call("getLatestLedger")
        assert (await running.answer_bytes())["getLatestLedger"] > 40_000
        assert (await running.counts())["getLatestLedger"] == 1


async def test_journal_restores_the_network(tmp_path: Path) -> None:
    options = DevnetOptions(OPTIONS.passphrase, close_ms=None, journal=tmp_path / "journal")
    async with await start_devnet(options) as running:
        latest = await running.close(3)
    async with await start_devnet(options) as running:
        assert await Ledger(Network.TESTNET, running.rpc_url).latest() == latest
