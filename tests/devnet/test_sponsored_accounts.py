"""A sponsored entry, as the public SDK makes it and the wire shows it."""

from collections.abc import Iterator

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer, TransactionBuilder, TransactionEnvelope
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.soroban_rpc import GetTransactionStatus, SendTransactionStatus

from support.running_devnet import TESTNET, RunningDevnet


@pytest.fixture
def server(manual: RunningDevnet) -> Iterator[SorobanServer]:
    with SorobanServer(manual.rpc_url) as connected:
        yield connected


def funded(devnet: RunningDevnet) -> Keypair:
    key = Keypair.random()
    status, answered = devnet.friendbot(key.public_key)
    assert status == 200, answered
    return key


def settled(devnet: RunningDevnet, server: SorobanServer, envelope: TransactionEnvelope) -> None:
    sent = server.send_transaction(envelope)
    assert sent.status == SendTransactionStatus.PENDING, sent
    devnet.close()
    found = server.get_transaction(sent.hash)
    assert found.status == GetTransactionStatus.SUCCESS, found.result_xdr


def builder(server: SorobanServer, source: Keypair) -> TransactionBuilder:
    account_of_source = server.load_account(source.public_key)
    return TransactionBuilder(account_of_source, TESTNET, base_fee=100).set_timeout(900)


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
