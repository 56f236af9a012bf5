"""Closed ledgers: the chain of headers, failed payments, nonces, network settings."""

import base64
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, TransactionEnvelope, scval
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.auth import authorize_entry

from support.running_devnet import TESTNET, RunningDevnet
from support.sdk_user import SdkUser
from testing.contracts import call


@dataclass(frozen=True, slots=True)
class Party:
    """A payer of a scene, as the SDK knows it, and what surrounds it."""

    user: SdkUser
    payer: Keypair
    relayers: list[Keypair]
    dollar: Asset
    payee: str

    @classmethod
    def of_scene(cls, server: SorobanServer, scene: Any) -> "Party":
        """The first payer pays, the others relay."""
        payer, *relayers = [Keypair.from_secret(one["secret"]) for one in scene["payers"]]
        user = SdkUser(server, TESTNET)
        dollar = Asset("USDC", scene["asset"]["issuer"])
        return cls(user, payer, relayers, dollar, scene["payees"][0]["address"])

    def payment(self, relayer: Keypair, units: int) -> tuple[TransactionEnvelope, int]:
        """A signed and prepared payment, and the nonce of its authorization."""
        contract = self.dollar.contract_id(TESTNET)
        parties = [scval.to_address(self.payer.public_key), scval.to_address(self.payee)]
        arguments = [*parties, scval.to_int128(units)]
        recorded = self.user.simulate(relayer, call(contract, "transfer", arguments))
        assert recorded.results is not None, recorded.error
        assert recorded.results[0].auth is not None
        until = recorded.latest_ledger + 100
        entry = authorize_entry(recorded.results[0].auth[0], self.payer, until, TESTNET)
        operation = call(contract, "transfer", arguments, auth=[entry])
        server = self.user.server
        envelope = server.prepare_transaction(self.user.build(relayer, operation))
        envelope.sign(relayer)
        credentials = entry.credentials.address_v2 or entry.credentials.address
        assert credentials is not None
        return envelope, credentials.nonce.int64


def party(devnet: RunningDevnet, server: SorobanServer, *, payer_units: int) -> Party:
    wanted = {"payers": 3, "payees": 1, "payer_units": str(payer_units)}
    status, scene = devnet.admin("/scene", wanted)
    assert status == 200, scene
    return Party.of_scene(server, scene)


def test_payment_that_fails_on_the_ledger_has_a_result_and_a_fee(manual: RunningDevnet) -> None:
    with SorobanServer(manual.rpc_url) as server:
        stage = party(manual, server, payer_units=10)
        sent = []
        for relayer in stage.relayers:
            envelope, _ = stage.payment(relayer, 6)
            sent.append(envelope.hash_hex())
            assert server.send_transaction(envelope).status.value == "PENDING"
        ledger = manual.close()
    found = [manual.result("getTransaction", {"hash": one}) for one in sent]
    assert sorted(one["status"] for one in found) == ["FAILED", "SUCCESS"]
    assert {one["ledger"] for one in found} == {ledger}
    (failed,) = [one for one in found if one["status"] == "FAILED"]
    result = stellar_xdr.TransactionResult.from_xdr(failed["resultXdr"])
    assert result.result.code == stellar_xdr.TransactionResultCode.txFAILED
    assert result.fee_charged.int64 > 100
    assert "contractEventsXdr" not in failed["events"]
    assert failed["events"]["transactionEventsXdr"]
    messages = [
        stellar_xdr.DiagnosticEvent.from_xdr(one).to_json() for one in failed["diagnosticEventsXdr"]
    ]
    assert any("not within the allowed range" in one for one in messages), messages
    listed = manual.result("getEvents", {"startLedger": ledger})["events"]
    contract = stage.dollar.contract_id(TESTNET)
    moved = [one["txHash"] for one in listed if one["contractId"] == contract]
    assert moved == [one for one in sent if one != failed["txHash"]]
    assert failed["txHash"] in [one["txHash"] for one in listed]
    assert [one["id"] for one in listed] == sorted(one["id"] for one in listed)


def test_a_settled_authorization_leaves_its_nonce_in_the_ledger(manual: RunningDevnet) -> None:
    with SorobanServer(manual.rpc_url) as server:
        stage = party(manual, server, payer_units=10)
        envelope, nonce = stage.payment(stage.relayers[0], 1)
        server.send_transaction(envelope)
    payer = scval.to_address(stage.payer.public_key).address
    assert payer is not None
    kind = stellar_xdr.SCValType.SCV_LEDGER_KEY_NONCE
    key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.CONTRACT_DATA,
        contract_data=stellar_xdr.LedgerKeyContractData(
            payer,
            stellar_xdr.SCVal(kind, nonce_key=stellar_xdr.SCNonceKey(stellar_xdr.Int64(nonce))),
            stellar_xdr.ContractDataDurability.TEMPORARY,
        ),
    )
    request = {"keys": [key.to_xdr()]}
    assert manual.result("getLedgerEntries", request)["entries"] == []
    ledger = manual.close()
    (entry,) = manual.result("getLedgerEntries", request)["entries"]
    assert entry["key"] == key.to_xdr()
    assert entry["lastModifiedLedgerSeq"] == ledger
    assert entry["liveUntilLedgerSeq"] > ledger
    assert entry["extXdr"] == "AAAAAA=="


@pytest.mark.parametrize("header", ["ms", "seconds"])
def test_headers_form_a_chain(header: str) -> None:
    devnet = RunningDevnet.start("--close-ms", "manual", "--header", header)
    devnet.close(5)
    ledgers = devnet.result("getLedgers", {"startLedger": 2, "pagination": {"limit": 5}})["ledgers"]
    assert len(ledgers) == 5
    previous = None
    for ledger in ledgers:
        raw = base64.b64decode(ledger["headerXdr"])
        header_hash, header_bytes = raw[:32], raw[32:-4]
        assert header_hash.hex() == ledger["hash"] == sha256(header_bytes).hexdigest()
        if previous is not None:
            assert header_bytes[4:36] == previous
        previous = header_hash
    latest = devnet.result("getLatestLedger")
    assert sha256(base64.b64decode(latest["headerXdr"])).hexdigest() == latest["id"]
    assert devnet.stop() == 0


@pytest.mark.parametrize(
    ("limits", "ledger_bytes", "instructions"),
    [
        ("mainnet", 266_240, 400_000_000),
        ("testnet", 133_120, 100_000_000),
        ("slp7", 864_000, 400_000_000),
    ],
)
def test_configured_limits_are_served_as_ledger_entries(
    limits: str, ledger_bytes: int, instructions: int
) -> None:
    devnet = RunningDevnet.start("--close-ms", "manual", "--limits", limits)
    bandwidth = setting(devnet, "CONFIG_SETTING_CONTRACT_BANDWIDTH_V0").contract_bandwidth
    compute = setting(devnet, "CONFIG_SETTING_CONTRACT_COMPUTE_V0").contract_compute
    assert bandwidth is not None
    assert compute is not None
    assert bandwidth.ledger_max_txs_size_bytes.uint32 == ledger_bytes
    assert compute.tx_max_instructions.int64 == instructions
    assert devnet.stop() == 0


def setting(devnet: RunningDevnet, name: str) -> stellar_xdr.ConfigSettingEntry:
    key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.CONFIG_SETTING,
        config_setting=stellar_xdr.LedgerKeyConfigSetting(stellar_xdr.ConfigSettingID[name]),
    )
    (entry,) = devnet.result("getLedgerEntries", {"keys": [key.to_xdr()]})["entries"]
    found = stellar_xdr.LedgerEntryData.from_xdr(entry["xdr"]).config_setting
    assert found is not None
    return found
