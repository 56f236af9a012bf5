"""Settling while the database is unavailable, and repeats of one request to settle."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from farebox.facilitator.journal.claim_release import ClaimReleaser
from farebox.facilitator.journal.foreign_landing import LostRecord
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import (
    Claim,
    NotSettled,
    PaymentIdentity,
    Pending,
    Settled,
    Settlement,
    SettlementState,
    SettleOutcome,
    StoredResponse,
)
from farebox.facilitator.settling.idempotency import StoredResponses
from farebox.facilitator.settling.journal_verifier import (
    CollectableSuccess,
    RecordedPayment,
    judge_recorded,
)
from farebox.facilitator.settling.send_payment import SettleTimeouts
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.facilitator.settling.shutdown_signal import ShutdownSignal
from farebox.facilitator.verification.verdict import Accepted, Rejected, SignedTransfer, Verdict
from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.kernel.slots import Requester
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from support.accepted_payment import accepted_payment
from support.claims import signed_envelope
from support.manual_clock import START, ManualClock
from testing.waiting import until

ACCEPTED = accepted_payment()
PAYMENT = ACCEPTED.transfer.payment
PAYER = ACCEPTED.payer
TERMS = PAYMENT.terms
IDENTITY = PaymentIdentity(Network.TESTNET, PAYER, ACCEPTED.transfer.entry.nonce)
SENT = signed_envelope()
TX_HASH = SENT.tx_hash.hex()
ROW = Settlement(
    identity=IDENTITY,
    state=SettlementState.SUBMITTED,
    claim_id=UUID(int=1),
    claimed_at=START,
    ends_by=START + timedelta(seconds=50),
    request_digest=PAYMENT.request_digest(),
    asset=TERMS.asset,
    amount=TERMS.amount,
    pay_to=TERMS.pay_to,
    sent=SENT,
    reason=None,
    is_answered=False,
)
DATABASE = Database(Secret("postgresql://nobody@127.0.0.1:1/none"))
TIMEOUTS = SettleTimeouts(answer_s=30, channel_s=1)
SERVICE = Caller(OwnerId("user_seller"), CallerKind.SERVICE)


class ScriptedJournal:
    """Finds one row after the other, the last one for ever; every claim succeeds."""

    def __init__(self, *rows: Settlement | None) -> None:
        self._rows = list(rows)

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        return self._rows.pop(0) if len(self._rows) > 1 else self._rows[0]

    async def claim(self, claim: Claim) -> bool:
        return True

    async def restore(self, lost: LostRecord) -> bool:
        return False

    async def release(self, identity: PaymentIdentity, claim_id: UUID) -> bool:
        return True

    async def withdraw(self, identity: PaymentIdentity, tx_hash: bytes, *, claim_id: UUID) -> bool:
        return True


class FailingJournal(ScriptedJournal):
    """Finds the row so many times, then the database is unavailable."""

    def __init__(self, *, finds: int) -> None:
        super().__init__(ROW)
        self._left = finds

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        self._left -= 1
        if self._left < 0:
            raise DatabaseUnavailable("away")
        return await super().find(identity)


class AcceptingJudge:
    """Gives every payment the same verdict."""

    def __init__(self, verdict: Verdict = ACCEPTED) -> None:
        self.verdict, self.judged = verdict, 0

    def examine(self, payment: Payment) -> SignedTransfer:
        return ACCEPTED.transfer

    async def judge(
        self, transfer: SignedTransfer, requester: Requester, *, caller: Caller | None = None
    ) -> Verdict:
        self.judged += 1
        return self.verdict


class NoKeys:
    """No request has an idempotency key."""

    async def find(self, request: SettleRequest) -> StoredResponse | None:
        return None

    async def reserve(self, request: SettleRequest) -> None:
        return None


class WaitingSender:
    """A sender whose call goes on until the test ends it."""

    def __init__(self) -> None:
        self.ended, self.is_sent = asyncio.Event(), asyncio.Event()
        self.sends = 0
        self.resumed_until: list[float] = []
        self.sends = 0

    async def send(
        self, claim: Claim, accepted: Accepted, *, client: str, began: float
    ) -> SettleOutcome:
        self.sends += 1
        await self.is_sent.wait()
        return Settled(claim.identity, claim.request_digest, TX_HASH)

    async def resume(
        self, known: Settlement, sent: SentEnvelope, *, until: float, may_take_over: bool
    ) -> SettleOutcome | None:
        self.resumed_until.append(until)
        await self.ended.wait()
        return Settled(known.identity, known.request_digest, sent.tx_hash.hex())


def settler(
    journal: ScriptedJournal,
    sender: WaitingSender,
    clock: ManualClock | None = None,
    judge: AcceptingJudge | None = None,
) -> Settler:
    return Settler(
        judge or AcceptingJudge(),
        {Network.TESTNET: sender},
        journal,
        NoKeys(),
        ClaimReleaser(journal, ManualClock()),
        clock or ManualClock(),
        TIMEOUTS,
        ShutdownSignal(),
        foreign={},
    )


def identified(settling: Settler) -> SettleRequest:
    request = settling.identify(PAYMENT, key=None, caller=None, client="")
    assert isinstance(request, SettleRequest)
    return request


async def test_success_is_pending_when_the_database_cannot_record_its_owner() -> None:
    confirmed = Settled(IDENTITY, PAYMENT.request_digest(), TX_HASH)
    journal = SettlementJournal(DATABASE, ManualClock())
    responses = StoredResponses(DATABASE, journal, {}, ManualClock())
    request = identified(settler(ScriptedJournal(ROW), WaitingSender()))
    committed = await responses.commit(request, confirmed, b"a success")
    assert committed == Pending(Network.TESTNET, PAYER, TX_HASH)


async def test_settle_returns_pending_when_the_database_is_lost_after_submission() -> None:
    sender = WaitingSender()
    settling = settler(FailingJournal(finds=2), sender)
    request = identified(settling)
    first = asyncio.create_task(settling.settle(request))
    await until(lambda: sender.resumed_until)
    assert await settling.settle(request) == Pending(Network.TESTNET, PAYER, TX_HASH)
    sender.ended.set()
    assert isinstance(await first, Settled)


async def test_settle_keeps_the_second_call_when_the_first_one_ends() -> None:
    """Control: with the first call's end the second is forgotten, and its envelope resumed."""
    sender = WaitingSender()
    settling = settler(ScriptedJournal(ROW, None, ROW), sender)
    request = identified(settling)
    first = asyncio.create_task(settling.settle(request))
    await until(lambda: sender.resumed_until)
    second = asyncio.create_task(settling.settle(request))  # the row was withdrawn meanwhile
    await until(lambda: sender.sends)
    sender.ended.set()
    assert isinstance(await first, Settled)
    assert isinstance(await settling.settle(request), Pending), "it waited together with the second"
    assert len(sender.resumed_until) == 1
    sender.is_sent.set()
    assert isinstance(await second, Settled)


async def test_repeated_settle_keeps_one_deadline_when_it_waited_for_a_hash() -> None:
    """Control: counted from the hash on, the repeat would wait ten seconds past its deadline."""
    sender, clock = WaitingSender(), ManualClock()
    sender.ended.set()
    claimed = replace(ROW, state=SettlementState.CLAIMED, sent=None)
    settling = settler(ScriptedJournal(*[claimed] * 40, ROW), sender, clock)
    request = identified(settling)
    clock.turn(100)
    assert isinstance(await settling.settle(request), Settled)
    assert clock.monotonic() == 110
    assert sender.resumed_until == [100 + TIMEOUTS.answer_s]


@pytest.mark.parametrize("state", [SettlementState.SUBMITTED, SettlementState.CONFIRMED])
async def test_stranger_with_the_bytes_of_a_sale_gets_no_success(state: SettlementState) -> None:
    """Everybody can build them from the ledger; control: a settlement of its own is repeated."""
    for is_purchase in (True, False):
        row = replace(ROW, state=state, is_purchase=is_purchase)
        sender = WaitingSender()
        sender.ended.set()
        settling = settler(ScriptedJournal(row), sender)
        stranger = await settling.settle(identified(settling))
        assert isinstance(stranger, NotSettled if is_purchase else Settled)
        own = settling.identify(PAYMENT, key=None, caller=SERVICE, client="")
        assert isinstance(own, SettleRequest)
        assert isinstance(await settling.settle(own), Settled)
        verified = judge_recorded(row, PAYMENT.request_digest())
        assert isinstance(verified, RecordedPayment if is_purchase else CollectableSuccess)


async def test_payment_that_was_judged_is_settled_without_another_simulation() -> None:
    """Control: without the verdict the same payment is judged twice."""
    for is_passed_on in (True, False):
        judge, sender = AcceptingJudge(), WaitingSender()
        sender.is_sent.set()
        settling = settler(ScriptedJournal(None), sender, judge=judge)
        request = identified(settling)
        verdict = await settling.judge(request)
        assert verdict == ACCEPTED
        accepted = ACCEPTED if is_passed_on else None
        assert isinstance(await settling.settle(request, accepted=accepted), Settled)
        assert judge.judged == (1 if is_passed_on else 2)


FAILED_ROW = replace(ROW, state=SettlementState.FAILED, reason=Reason.TRANSACTION_FAILED)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (ROW, None),
        (replace(ROW, state=SettlementState.CONFIRMED), None),
        (replace(ROW, state=SettlementState.CONFIRMED, is_answered=True), None),
        (replace(ROW, state=SettlementState.UNPROVEN, reason=Reason.OUTCOME_UNPROVEN), None),
        (replace(FAILED_ROW, reason=Reason.FOREIGN_LANDING, landed_hash=b"f" * 32), None),
        (FAILED_ROW, NotSettled(Reason.TRANSACTION_FAILED, Network.TESTNET, PAYER, TX_HASH)),
    ],
    ids=["pending", "confirmed", "answered", "unproven", "landed elsewhere", "failed"],
)
async def test_payment_of_the_journal_is_judged_by_its_row(
    row: Settlement, verdict: NotSettled | None
) -> None:
    """What may have landed for its own request is left to `settle`; what failed takes no place."""
    for rows in ((row,), (None, row)):  # the second one was settled while it was judged
        judge = AcceptingJudge(Rejected(Reason.SIMULATION_FAILED, PAYER))
        settling = settler(ScriptedJournal(*rows), WaitingSender(), judge=judge)
        assert await settling.judge(identified(settling)) == verdict
        assert judge.judged == len(rows) - 1


class DyingEnvelopes(WaitingSender):
    """A sender that sees the first envelope dead, whose call may replace it."""

    def __init__(self) -> None:
        super().__init__()
        self.resumed: list[tuple[SentEnvelope, bool]] = []

    async def resume(
        self, known: Settlement, sent: SentEnvelope, *, until: float, may_take_over: bool
    ) -> SettleOutcome | None:
        self.resumed.append((sent, may_take_over))
        if sent == SENT:
            return None
        return Settled(known.identity, known.request_digest, sent.tx_hash.hex())


async def test_repeated_settle_follows_the_envelope_that_replaces_a_dead_one() -> None:
    """Controls: pending at once, and a seller's only repeat is used up; an envelope that its call
    has just recorded is taken over, and that call can send no other.
    """
    second, sender = signed_envelope(2), DyingEnvelopes()
    replaced = replace(ROW, sent=second)
    settling = settler(ScriptedJournal(*[ROW] * 3, replaced), sender)
    outcome = await settling.settle(identified(settling))
    assert outcome == Settled(IDENTITY, ROW.request_digest, second.tx_hash.hex())
    assert sender.resumed == [(SENT, True), (second, False)]


async def test_repeated_settle_is_pending_once_a_dead_envelope_is_not_replaced_in_time() -> None:
    clock = ManualClock()
    settling = settler(ScriptedJournal(ROW), DyingEnvelopes(), clock)
    assert isinstance(await settling.settle(identified(settling)), Pending)
    assert clock.monotonic() >= TIMEOUTS.answer_s
