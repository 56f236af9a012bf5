"""Funding a wallet, with a network that records its calls."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from stellar_sdk import Asset, ChangeTrust, Keypair, Payment, TransactionEnvelope

from farebox.buyer.holdings import (
    FundingRefused,
    Holdings,
    UsdcFunding,
    WalletFunder,
    read_holdings,
)
from farebox.buyer.seller_client import SellerRequest, SellerResponse
from farebox.buyer.wallet import wallet_of
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.known_tokens import USDC
from farebox.stellar.rpc import (
    AccountState,
    LedgerEntries,
    LedgerStatus,
    SendResponse,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from support.fake_rpc import FakeRpc
from support.manual_clock import ManualClock

NETWORK = Network.TESTNET
WALLET = wallet_of(Secret(Keypair.random().secret))
GIVER = wallet_of(Secret(Keypair.random().secret))
FRIENDBOT = "http://friendbot.test/friendbot"
MOMENT = datetime(2026, 11, 21, tzinfo=UTC)
THERE = AccountState(sequence=41, balance=Stroops(10_000_000), as_of_ledger=1)
ASSET = Asset("USDC", USDC[NETWORK].issuer)


def found(status: LedgerStatus = LedgerStatus.SUCCESS) -> TransactionFound:
    return TransactionFound(
        "ab" * 32, status, 5, MOMENT, "txFAILED", None, Stroops(200), contract_events=()
    )


@dataclass
class RecordingNode(FakeRpc):
    """An account that appears after `absent` looks, and a fate for what is sent."""

    absent: int = 0
    answer: SendResponse = field(default_factory=lambda: SendResponse(SendStatus.PENDING, "", 1))
    fates: list[TransactionFound | None] = field(default_factory=lambda: [found()])
    sent: list[str] = field(default_factory=list)

    async def account(self, address: Address) -> AccountState | None:
        self.absent -= 1
        return None if self.absent >= 0 else THERE

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        return LedgerEntries((), 1)

    async def send(self, envelope: str) -> SendResponse:
        self.sent.append(envelope)
        return self.answer

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        fate = self.fates.pop(0) if len(self.fates) > 1 else self.fates[0]
        return fate or TransactionNotFound(1, MOMENT, 1, MOMENT)


@dataclass
class RecordingFriendbot:
    status: int = 200
    seen: list[str] = field(default_factory=list)

    async def send(
        self, request: SellerRequest, payment: Secret[str] | None = None
    ) -> SellerResponse:
        self.seen.append(request.url)
        return SellerResponse(self.status, b"")


def funder(node: RecordingNode, friendbot: RecordingFriendbot | None = None) -> WalletFunder:
    return WalletFunder(node, friendbot or RecordingFriendbot(), ManualClock(), NETWORK)


async def test_holdings_are_none_without_an_account_or_a_trustline() -> None:
    absent = await read_holdings(RecordingNode(absent=9), NETWORK, WALLET.address)
    assert absent == Holdings(None, None)
    there = await read_holdings(RecordingNode(), NETWORK, WALLET.address)
    assert there == Holdings(Stroops(10_000_000), None)


async def test_friendbot_is_called_once_and_waited_for() -> None:
    friendbot = RecordingFriendbot()
    await funder(RecordingNode(absent=3), friendbot).fund_from_friendbot(WALLET.address, FRIENDBOT)
    assert friendbot.seen == [f"{FRIENDBOT}?addr={WALLET.address}"]


async def test_friendbot_is_not_called_for_an_existing_account() -> None:
    friendbot = RecordingFriendbot()
    await funder(RecordingNode(), friendbot).fund_from_friendbot(WALLET.address, FRIENDBOT)
    assert friendbot.seen == []


async def test_funding_is_refused_when_the_friendbot_gives_nothing() -> None:
    refusing = funder(RecordingNode(absent=9), RecordingFriendbot(status=500))
    with pytest.raises(FundingRefused, match="answered 500"):
        await refusing.fund_from_friendbot(WALLET.address, FRIENDBOT)
    with pytest.raises(FundingRefused, match="does not appear"):
        await funder(RecordingNode(absent=10**6)).fund_from_friendbot(WALLET.address, FRIENDBOT)


async def test_trustline_and_payment_are_one_transaction_signed_by_both_accounts() -> None:
    node = RecordingNode(fates=[None, None, found()])
    hash_text = await funder(node).ensure_usdc_trustline(
        WALLET, UsdcFunding(GIVER, BaseUnits(12_500_000))
    )
    (sent,) = node.sent
    envelope = TransactionEnvelope.from_xdr(sent, NETWORK.passphrase)
    trust, payment = envelope.transaction.operations
    assert isinstance(trust, ChangeTrust)
    assert isinstance(payment, Payment)
    assert trust.asset == payment.asset == ASSET
    assert (payment.amount, payment.destination.account_id) == ("1.25", WALLET.address)
    assert payment.source is not None
    assert payment.source.account_id == GIVER.address
    assert envelope.transaction.sequence == 42
    assert envelope.hash_hex() == hash_text
    for signer, signature in zip((WALLET, GIVER), envelope.signatures, strict=True):
        signer.keypair().verify(envelope.hash(), signature.signature)


async def test_trustline_is_refused_without_an_account() -> None:
    with pytest.raises(FundingRefused, match="does not exist yet"):
        await funder(RecordingNode(absent=9)).ensure_usdc_trustline(WALLET)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (
            RecordingNode(answer=SendResponse(SendStatus.ERROR, "", 1, "txBAD_SEQ")),
            "refused the transaction: txBAD_SEQ",
        ),
        (
            RecordingNode(answer=SendResponse(SendStatus.TRY_AGAIN_LATER, "", 1)),
            "refused the transaction: TRY_AGAIN_LATER",
        ),
        (RecordingNode(fates=[found(LedgerStatus.FAILED)]), "failed: txFAILED"),
        (RecordingNode(fates=[None]), "did not appear on the ledger"),
    ],
)
async def test_funding_is_refused_when_its_transaction_does_not_land(
    node: RecordingNode, words: str
) -> None:
    with pytest.raises(FundingRefused, match=words):
        await funder(node).ensure_usdc_trustline(WALLET)
    assert len(node.sent) == 1
