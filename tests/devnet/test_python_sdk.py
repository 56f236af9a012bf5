"""The public Python SDK makes a full round trip on the devnet, with either form of header."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from stellar_sdk import Asset, Keypair, Network, SorobanServer, TransactionBuilder, scval
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.auth import authorize_entry
from stellar_sdk.operation import ChangeTrust, Payment
from stellar_sdk.soroban_rpc import (
    EventFilter,
    EventFilterType,
    GetTransactionResponse,
    GetTransactionStatus,
)

from support.running_devnet import TESTNET, RunningDevnet
from support.sdk_user import SdkUser
from testing.contracts import call, operation_of

UNITS = 10_000_000


@dataclass(frozen=True, slots=True)
class Stage:
    """Funded accounts, an issued asset and its contract, all made through the SDK."""

    devnet: RunningDevnet
    header: str
    user: SdkUser
    issuer: Keypair
    payer: Keypair
    payee: Keypair
    relayer: Keypair
    dollar: Asset

    @property
    def server(self) -> SorobanServer:
        return self.user.server

    @property
    def contract(self) -> str:
        return self.dollar.contract_id(self.devnet.passphrase)

    def transfer(self, units: int) -> tuple[str, str, list[stellar_xdr.SCVal]]:
        parties = [scval.to_address(key.public_key) for key in (self.payer, self.payee)]
        return self.contract, "transfer", [*parties, scval.to_int128(units)]

    def signed_entry(
        self, units: int, *, use_upgraded_auth: bool
    ) -> stellar_xdr.SorobanAuthorizationEntry:
        """The payer's signed authorization of a transfer, as a simulation recorded it."""
        envelope = self.user.build(self.relayer, call(*self.transfer(units)))
        recorded = self.server.simulate_transaction(envelope, use_upgraded_auth=use_upgraded_auth)
        assert recorded.results is not None, recorded.error
        assert recorded.results[0].auth is not None
        (entry,) = recorded.results[0].auth
        until = recorded.latest_ledger + 1_000
        return authorize_entry(entry, self.payer, until, self.devnet.passphrase)


@pytest.fixture(scope="module", params=["ms", "seconds"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    devnet = RunningDevnet.start(
        "--passphrase", TESTNET, "--close-ms", "100", "--header", request.param
    )
    keys = [Keypair.random() for _ in range(4)]
    issuer, payer, payee, relayer = keys
    with SorobanServer(devnet.rpc_url) as server:
        user = SdkUser(server, devnet.passphrase)
        for key in keys:
            status, answered = devnet.friendbot(key.public_key)
            assert status == 200, answered
        dollar = Asset("USDC", issuer.public_key)
        for holder in (payer, payee):
            succeeded(user.classic(holder, ChangeTrust(dollar)))
        succeeded(user.classic(issuer, Payment(payer.public_key, dollar, "1000")))
        created = operation_of(
            lambda b: b.append_create_stellar_asset_contract_from_asset_op(dollar)
        )
        succeeded(user.soroban(relayer, created))
        yield Stage(devnet, request.param, user, issuer, payer, payee, relayer, dollar)
    assert devnet.stop() == 0


def succeeded(found: GetTransactionResponse) -> GetTransactionResponse:
    assert found.status == GetTransactionStatus.SUCCESS, found.result_xdr
    return found


def test_network_and_version_are_served(stage: Stage) -> None:
    network = stage.server.get_network()
    assert network.passphrase == Network.TESTNET_NETWORK_PASSPHRASE
    assert network.protocol_version == stage.server.get_version_info().protocol_version == 30
    assert network.friendbot_url == f"{stage.devnet.rpc_url}/friendbot"
    assert stage.server.get_health().status == "healthy"
    latest = stage.server.get_latest_ledger()
    assert latest.sequence >= 2
    assert len(bytes.fromhex(latest.id)) == 32


def test_header_has_the_requested_form(stage: Stage) -> None:
    latest = stage.server.get_latest_ledger()
    if stage.header == "ms":
        # The form of protocol 30, which this SDK does not know yet.
        with pytest.raises(ValueError, match="3 is not a valid StellarValueType"):
            stellar_xdr.LedgerHeader.from_xdr(latest.header_xdr)
        return
    header = stellar_xdr.LedgerHeader.from_xdr(latest.header_xdr)
    assert header.scp_value.ext.v == stellar_xdr.StellarValueType.STELLAR_VALUE_SIGNED
    assert header.scp_value.close_time.time_point.uint64 == latest.close_time
    assert header.ledger_seq.uint32 == latest.sequence
    meta = stellar_xdr.LedgerCloseMeta.from_xdr(latest.metadata_xdr)
    assert meta.v == 2


def test_asset_contract_returns_issued_balances(stage: Stage) -> None:
    assert stage.user.balance(stage.relayer, stage.dollar, stage.payer.public_key) >= UNITS
    entry = stage.server.get_sac_balance(stage.contract, stage.dollar, stage.devnet.passphrase)
    assert entry.balance_entry is None  # the contract itself holds nothing


@pytest.mark.parametrize("use_upgraded_auth", [True, False])
def test_a_signed_authorization_settles_through_another_account(
    stage: Stage, use_upgraded_auth: bool
) -> None:
    before = stage.user.balance(stage.relayer, stage.dollar, stage.payee.public_key)
    entry = stage.signed_entry(25, use_upgraded_auth=use_upgraded_auth)
    kind = stellar_xdr.SorobanCredentialsType
    assert entry.credentials.type == (
        kind.SOROBAN_CREDENTIALS_ADDRESS_V2
        if use_upgraded_auth
        else kind.SOROBAN_CREDENTIALS_ADDRESS
    )

    paid = succeeded(stage.user.soroban(stage.relayer, call(*stage.transfer(25), auth=[entry])))

    after = stage.user.balance(stage.relayer, stage.dollar, stage.payee.public_key)
    assert after - before == 25
    assert paid.events is not None
    assert paid.events.contract_events_xdr is not None
    event = stellar_xdr.ContractEvent.from_xdr(paid.events.contract_events_xdr[0][0])
    assert event.body.v0 is not None
    topics = [scval.to_native(topic) for topic in event.body.v0.topics]
    assert topics[0] == "transfer"
    assert topics[3] == f"USDC:{stage.issuer.public_key}"
    assert scval.to_native(event.body.v0.data) == 25
    assert paid.result_meta_xdr is not None
    meta = stellar_xdr.TransactionMeta.from_xdr(paid.result_meta_xdr)
    assert meta.v == 4


def test_insufficient_balance_is_refused_in_simulation(stage: Stage) -> None:
    refused = stage.user.simulate(stage.relayer, call(*stage.transfer(10**15)))
    assert refused.error is not None
    assert "Error(Contract, #10)" in refused.error
    assert refused.results is None


def test_a_fee_bump_is_found_by_both_its_hashes(stage: Stage) -> None:
    entry = stage.signed_entry(2, use_upgraded_auth=False)
    inner = stage.server.prepare_transaction(
        stage.user.build(stage.relayer, call(*stage.transfer(2), auth=[entry]))
    )
    inner.sign(stage.relayer)
    bump = TransactionBuilder.build_fee_bump_transaction(
        stage.issuer, 200_000, inner, stage.devnet.passphrase
    )
    bump.sign(stage.issuer)
    outer = succeeded(stage.user.settle(bump))
    assert outer.fee_bump is True
    by_inner = stage.server.get_transaction(inner.hash_hex())
    assert by_inner.status == GetTransactionStatus.SUCCESS
    assert by_inner.ledger == outer.ledger
    assert outer.transaction_hash == bump.hash_hex()


def test_history_is_read_back_by_events_transactions_and_ledgers(stage: Stage) -> None:
    entry = stage.signed_entry(3, use_upgraded_auth=True)
    paid = succeeded(stage.user.soroban(stage.relayer, call(*stage.transfer(3), auth=[entry])))
    assert paid.ledger is not None
    topic = scval.to_symbol("transfer").to_xdr()
    wanted = EventFilter(
        type=EventFilterType.CONTRACT, contractIds=[stage.contract], topics=[[topic, "*", "*", "*"]]
    )
    found = stage.server.get_events(start_ledger=paid.ledger, filters=[wanted])
    (event,) = [event for event in found.events if event.transaction_hash == paid.transaction_hash]
    assert scval.to_native(event.value) == 3
    assert event.ledger == paid.ledger
    after = stage.server.get_events(filters=[wanted], cursor=event.id)
    assert event.id not in [later.id for later in after.events]

    listed = stage.server.get_transactions(start_ledger=paid.ledger, limit=10)
    assert paid.transaction_hash in [one.transaction_hash for one in listed.transactions]
    ledgers = stage.server.get_ledgers(start_ledger=paid.ledger - 1, limit=1)
    assert [ledger.sequence for ledger in ledgers.ledgers] == [paid.ledger - 1]
    more = stage.server.get_ledgers(cursor=ledgers.cursor, limit=1)
    assert [ledger.sequence for ledger in more.ledgers] == [paid.ledger]


def test_fees_and_network_settings_are_served(stage: Stage) -> None:
    stats = stage.server.get_fee_stats()
    assert stats.soroban_inclusion_fee.transaction_count >= 1
    assert stats.soroban_inclusion_fee.min >= 100
    key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.CONFIG_SETTING,
        config_setting=stellar_xdr.LedgerKeyConfigSetting(
            stellar_xdr.ConfigSettingID.CONFIG_SETTING_CONTRACT_BANDWIDTH_V0
        ),
    )
    (entry,) = stage.server.get_ledger_entries([key]).entries or []
    setting = stellar_xdr.LedgerEntryData.from_xdr(entry.xdr).config_setting
    assert setting is not None
    assert setting.contract_bandwidth is not None
    assert setting.contract_bandwidth.tx_max_size_bytes.uint32 == 132_096


def test_ttl_of_an_entry_is_extended(stage: Stage) -> None:
    address = scval.to_address(stage.contract).address
    assert address is not None
    key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.CONTRACT_DATA,
        contract_data=stellar_xdr.LedgerKeyContractData(
            address,
            stellar_xdr.SCVal(stellar_xdr.SCValType.SCV_LEDGER_KEY_CONTRACT_INSTANCE),
            stellar_xdr.ContractDataDurability.PERSISTENT,
        ),
    )
    (entry,) = stage.server.get_ledger_entries([key]).entries or []
    assert entry.live_until_ledger is not None
    succeeded(stage.user.extend(stage.relayer, key))
    (extended,) = stage.server.get_ledger_entries([key]).entries or []
    assert extended.live_until_ledger is not None
    assert extended.live_until_ledger >= entry.live_until_ledger
