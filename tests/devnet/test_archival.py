"""Archived entries are restored by the call that needs them, or on request."""

from collections.abc import Iterator

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, scval
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.operation import RestoreFootprint
from stellar_sdk.soroban_rpc import GetTransactionStatus, SendTransactionStatus

from farebox.stellar.simulation import NeedsRestore, read_simulation
from support.running_devnet import TESTNET, RunningDevnet
from support.sdk_ledger_keys import resource_data
from support.sdk_user import SdkUser
from testing.contracts import call

MIN_PERSISTENT_TTL = 120_960
Scene = tuple[RunningDevnet, Keypair, Asset]


@pytest.fixture(scope="module")
def aged() -> Iterator[Scene]:
    """A scene on which every contract entry expired, and no other account acts.

    One test restores the contract of the scene's asset, the other that of the native coin.
    """
    options = ["--passphrase", TESTNET, "--limits", "testnet", "--retention-ledgers", "50"]
    devnet = RunningDevnet.start(*options, "--close-ms", "manual")
    status, scene = devnet.admin("/scene", {"payers": 1, "payees": 1})
    assert status == 200, scene
    payer = Keypair.from_secret(scene["payers"][0]["secret"])
    devnet.close(MIN_PERSISTENT_TTL)
    yield devnet, payer, Asset("USDC", scene["asset"]["issuer"])
    assert devnet.stop() == 0


def instance(asset: Asset) -> stellar_xdr.LedgerKey:
    address = scval.to_address(asset.contract_id(TESTNET)).address
    assert address is not None
    return stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.CONTRACT_DATA,
        contract_data=stellar_xdr.LedgerKeyContractData(
            address,
            stellar_xdr.SCVal(stellar_xdr.SCValType.SCV_LEDGER_KEY_CONTRACT_INSTANCE),
            stellar_xdr.ContractDataDurability.PERSISTENT,
        ),
    )


def live_until(devnet: RunningDevnet, asset: Asset) -> int:
    request = {"keys": [instance(asset).to_xdr()]}
    (entry,) = devnet.result("getLedgerEntries", request)["entries"]
    return int(entry["liveUntilLedgerSeq"])


def test_a_call_restores_the_archived_contract_it_needs(aged: Scene) -> None:
    devnet, payer, dollar = aged
    latest = devnet.result("getLatestLedger")["sequence"]
    assert live_until(devnet, dollar) == 0, "an archived entry"
    with SorobanServer(devnet.rpc_url) as server:
        user = SdkUser(server, TESTNET)
        parties = [scval.to_address(payer.public_key), scval.to_address(dollar.issuer or "")]
        operation = call(dollar.contract_id(TESTNET), "transfer", [*parties, scval.to_int128(1)])
        unprepared = user.build(payer, operation)
        read = devnet.result("simulateTransaction", {"transaction": unprepared.to_xdr()})
        assert isinstance(read_simulation(read), NeedsRestore), "as the service reads it"
        envelope = server.prepare_transaction(unprepared)
        data = envelope.transaction.soroban_data
        assert data is not None
        assert data.ext.v == 1  # it names what is to be restored
        envelope.sign(payer)
        sent = server.send_transaction(envelope)
        assert sent.status == SendTransactionStatus.PENDING, sent
        devnet.close()
        assert user.wait(envelope.hash_hex()).status == GetTransactionStatus.SUCCESS
    assert live_until(devnet, dollar) > latest


def test_an_archived_contract_is_restored_on_request(aged: Scene) -> None:
    devnet, payer, _ = aged
    coin = Asset.native()
    latest = devnet.result("getLatestLedger")["sequence"]
    assert live_until(devnet, coin) == 0, "an archived entry"
    with SorobanServer(devnet.rpc_url) as server:
        user = SdkUser(server, TESTNET)
        unprepared = user.build(payer, RestoreFootprint())
        unprepared.transaction.soroban_data = resource_data(
            read_write=[instance(coin)], sizes=(0, 0, 0), fee=0
        )
        envelope = server.prepare_transaction(unprepared)
        envelope.sign(payer)
        sent = server.send_transaction(envelope)
        assert sent.status == SendTransactionStatus.PENDING, sent
        devnet.close()
        assert user.wait(envelope.hash_hex()).status == GetTransactionStatus.SUCCESS
    assert live_until(devnet, coin) > latest
