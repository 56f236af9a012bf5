"""What is said of a payment that may be out while the database is away."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Settlement, SettlementState
from farebox.facilitator.settling.departure import Departure
from farebox.facilitator.settling.outcome import NotSettled, Pending, Settled, SettleOutcome
from farebox.facilitator.settling.send_payment import PaymentSender, Waits
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.payment import Payment, PaymentTerms
from support.manual_clock import START, ManualClock

PAYER = account_address(bytes([1]) * 32)
IDENTITY = PaymentIdentity(Network.TESTNET, PAYER, 5)
TERMS = PaymentTerms(
    Network.TESTNET, contract_address(bytes(32)), BaseUnits(1), account_address(bytes(32)), 60
)
PAYMENT = Payment(TERMS, Secret(b"signed"))
SENT = SentEnvelope(
    tx_hash=bytes([7]) * 32,
    inner_hash=None,
    envelope=Secret(b"envelope"),
    source=PAYER,
    source_sequence=1,
    max_time=START + timedelta(seconds=45),
    fee_limit=Stroops(1),
    sent_after_ledger=1,
)
ROW = Settlement(
    identity=IDENTITY,
    state=SettlementState.SUBMITTED,
    claim_id=UUID(int=1),
    request_digest=PAYMENT.request_digest(),
    asset=TERMS.asset,
    amount=TERMS.amount,
    pay_to=TERMS.pay_to,
    sent=SENT,
    reason=None,
    is_answered=False,
)
WAITS = Waits(answer_s=30, turn_s=1)


class FailingJournal(SettlementJournal):
    """Finds the row as often as it is told to, then the database is away."""

    def __init__(self, *, finds: int) -> None:
        super().__init__(Database(Secret("postgresql://nobody@127.0.0.1:1/none")), ManualClock())
        self._finds = finds

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        self._finds -= 1
        if self._finds < 0:
            raise DatabaseUnavailable("away")
        return ROW


class Examined:
    """A verifier that has nothing against the payment."""

    def examine(self, payment: Payment) -> Any:
        return SimpleNamespace(payer=PAYER, payment=payment, entry=SimpleNamespace(nonce=5))


class Watching:
    """A sender whose call goes on until the test ends it."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def resume(self, known: Settlement, sent: SentEnvelope) -> SettleOutcome:
        await self.ended.wait()
        return Settled(known.identity, known.request_digest, sent.tx_hash.hex())


def settler(journal: SettlementJournal, sender: Watching) -> Settler:
    senders = {Network.TESTNET: cast("PaymentSender", sender)}
    return Settler(
        cast("Verifier", Examined()),
        senders,
        journal,
        ManualClock(),
        WAITS,
        Departure(),
        foreign={},
    )


async def test_a_success_nobody_can_own_now_is_pending_and_never_nothing_sent() -> None:
    confirmed = Settled(IDENTITY, PAYMENT.request_digest(), "07" * 32)
    own = await settler(FailingJournal(finds=0), Watching()).own_success(confirmed)
    assert own == Pending(Network.TESTNET, PAYER, "07" * 32)


async def test_a_database_lost_while_a_sent_payment_is_awaited_leaves_it_pending() -> None:
    sender = Watching()
    settling = settler(FailingJournal(finds=2), sender)
    found = settling.identify(PAYMENT)
    assert not isinstance(found, NotSettled)
    first = asyncio.create_task(settling.settle(*found))
    await asyncio.sleep(0.01)
    assert await settling.settle(*found) == Pending(Network.TESTNET, PAYER, "07" * 32)
    sender.ended.set()
    assert isinstance(await first, Settled)
