"""Accounts without lumens, sponsored and merged back through the public SDK."""

from collections.abc import Iterator

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, TransactionBuilder, TransactionEnvelope
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.soroban_rpc import GetTransactionStatus, SendTransactionStatus

from support.running_devnet import TESTNET, RunningDevnet

CHANNELS = 19


@pytest.fixture
def server(manual: RunningDevnet) -> Iterator[SorobanServer]:
    with SorobanServer(manual.rpc_url) as connected:
        yield connected


def funded(devnet: RunningDevnet) -> Keypair:
    key = Keypair.random()
    status, answered = devnet.friendbot(key.public_key)
    assert status == 200, answered
    return key


def account(server: SorobanServer, key: Keypair) -> stellar_xdr.LedgerEntry | None:
    """The account's entry data and extension, as getLedgerEntries serves them."""
    ledger_key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.ACCOUNT,
        account=stellar_xdr.LedgerKeyAccount(key.xdr_account_id()),
    )
    found = server.get_ledger_entries([ledger_key]).entries
    if not found:
        return None
    data = stellar_xdr.LedgerEntryData.from_xdr(found[0].xdr)
    raw = found[0].model_dump(by_alias=True).get("extXdr")
    ext = stellar_xdr.LedgerEntryExt.from_xdr(raw) if raw else stellar_xdr.LedgerEntryExt(0)
    return stellar_xdr.LedgerEntry(stellar_xdr.Uint32(found[0].last_modified_ledger), data, ext)


def counts(entry: stellar_xdr.LedgerEntry | None) -> tuple[int, int]:
    """What the account pays for others, and what others pay for it."""
    assert entry is not None
    assert entry.data.account is not None
    extension = entry.data.account.ext.v1
    assert extension is not None
    assert extension.ext.v2 is not None
    counted = extension.ext.v2
    return counted.num_sponsoring.uint32, counted.num_sponsored.uint32


def settled(devnet: RunningDevnet, server: SorobanServer, envelope: TransactionEnvelope) -> None:
    sent = server.send_transaction(envelope)
    assert sent.status == SendTransactionStatus.PENDING, sent
    devnet.close()
    found = server.get_transaction(sent.hash)
    assert found.status == GetTransactionStatus.SUCCESS, found.result_xdr


def builder(server: SorobanServer, source: Keypair) -> TransactionBuilder:
    account_of_source = server.load_account(source.public_key)
    return TransactionBuilder(account_of_source, TESTNET, base_fee=100).set_timeout(900)


def test_nineteen_sponsored_accounts_are_created_and_merged_with_twenty_signatures(
    manual: RunningDevnet, server: SorobanServer
) -> None:
    sponsor = funded(manual)
    channels = [Keypair.random() for _ in range(CHANNELS)]
    creation = builder(server, sponsor)
    for channel in channels:
        creation.append_begin_sponsoring_future_reserves_op(channel.public_key)
        creation.append_create_account_op(channel.public_key, "0")
        creation.append_end_sponsoring_future_reserves_op(source=channel.public_key)
    envelope = creation.build()
    for signer in (sponsor, *channels):
        envelope.sign(signer)
    assert len(envelope.signatures) == CHANNELS + 1
    settled(manual, server, envelope)
    assert counts(account(server, sponsor)) == (2 * CHANNELS, 0)
    for channel in channels:
        entry = account(server, channel)
        assert counts(entry) == (0, 2)
        assert entry is not None
        assert entry.data.account is not None
        assert entry.data.account.balance.int64 == 0

    merging = builder(server, sponsor)
    for channel in channels:
        merging.append_account_merge_op(sponsor.public_key, source=channel.public_key)
    envelope = merging.build()
    for signer in (sponsor, *channels):
        envelope.sign(signer)
    settled(manual, server, envelope)
    assert counts(account(server, sponsor)) == (0, 0)
    assert all(account(server, channel) is None for channel in channels)


def test_a_sponsored_trustline_names_its_sponsor(
    manual: RunningDevnet, server: SorobanServer
) -> None:
    sponsor, holder, issuer = (funded(manual) for _ in range(3))
    dollar = Asset("USD", issuer.public_key)
    opening = builder(server, sponsor)
    opening.append_begin_sponsoring_future_reserves_op(holder.public_key)
    opening.append_change_trust_op(dollar, source=holder.public_key)
    opening.append_end_sponsoring_future_reserves_op(source=holder.public_key)
    envelope = opening.build()
    envelope.sign(sponsor)
    envelope.sign(holder)
    settled(manual, server, envelope)
    key = stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.TRUSTLINE,
        trust_line=stellar_xdr.LedgerKeyTrustLine(
            holder.xdr_account_id(), dollar.to_trust_line_asset_xdr_object()
        ),
    )
    answered = manual.result("getLedgerEntries", {"keys": [key.to_xdr()]})
    (line,) = answered["entries"]
    ext = stellar_xdr.LedgerEntryExt.from_xdr(line["extXdr"])
    assert ext.v1 is not None
    assert ext.v1.sponsoring_id.sponsorship_descriptor == sponsor.xdr_account_id()
    assert counts(account(server, holder)) == (0, 1)
