"""Envelopes of one sequence number that a node takes, keeps in secret, drops and forgets."""

import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from stellar_sdk import Address as SdkAddress
from stellar_sdk import TransactionEnvelope, scval, xdr

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.channels.channel import ChannelLease
from farebox.facilitator.channels.channel_leases import ChannelLeases
from farebox.facilitator.channels.ledger_capacity import CapacityMeter
from farebox.facilitator.journal.claim_release import ClaimReleaser
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.reconcile import Reconciler, ReconcileTimes
from farebox.facilitator.settlement import (
    Claim,
    NotSettled,
    Pending,
    Recording,
    Settled,
    Settlement,
    SettlementState,
    SettleOutcome,
)
from farebox.facilitator.settling.envelope_builder import EnvelopeBuilder
from farebox.facilitator.settling.send_payment import (
    PaymentSender,
    SendingNetwork,
    SettleTimeouts,
)
from farebox.facilitator.settling.shutdown_signal import ShutdownSignal
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import (
    AccountState,
    LedgerStatus,
    SendResponse,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from farebox.storage.pool import Database
from farebox.submission.catch_up import CatchUp
from farebox.submission.fate import Dead, Fate, Indeterminate, ObservedFate, SentEnvelope
from farebox.submission.submit import Submitter
from support.accepted_payment import LIFE_S, NET, RELAYER, RULES, accepted_payment
from support.claims import claim
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock
from support.status_resolvers import NoLandings, status_resolver

LEDGER_S = 5
PAYMENT = accepted_payment()
EXPIRES_AT = PAYMENT.transfer.entry.expires_at_ledger
CHARGED = 20_000
_HIDDEN_S = 30.0
_numbers = itertools.count(1_000, 10)


@dataclass(frozen=True)
class Order:
    """What the node does with each envelope of a payment, in the order in which it meets them.

    `keep`: it answers TRY_AGAIN_LATER and keeps it; `drop`: the same, and it does not; `take`: it
    queues it; `refuse`: it wants a higher fee, and drops it. Those after the last act are met as
    that one. `lands` is the envelope that a ledger takes, once `after` of them were sent; for
    `hidden_s` seconds the node does not find it.
    """

    acts: tuple[str, ...]
    lands: int | None = None
    after: int = 0
    hidden_s: float = 0.0

    def __str__(self) -> str:
        hidden = "-hidden" if self.hidden_s else ""
        return f"{'+'.join(self.acts)}-{self.lands}-after-{self.after}{hidden}"


def orders() -> Iterator[Order]:
    """Every order in which one of up to four envelopes lands, or none does.

    Acts after the landing are not listed: the node refuses whatever it meets then. Nor is a last
    act that repeats the one before it where nothing lands: the shorter order is met the same.
    """
    for length in range(1, 5):
        heads = ("keep", "drop", "refuse") if length < 4 else ("keep", "drop")
        for head in itertools.product(heads, repeat=length - 1):
            for last in ("keep", "take", "drop", "refuse"):
                acts = (*head, last)
                if acts[-2:] != (last, last):
                    yield Order(acts)
                for lands, act in enumerate(acts):
                    if act in ("keep", "take"):
                        yield Order(acts, lands, length, _HIDDEN_S)
                        yield Order(acts, lands, length)


@dataclass
class HoardingNode(FakeRpc):
    """A node and its network: a ledger every five seconds, and the envelopes by `Order`."""

    clock: ManualClock
    order: Order
    number: int  # the last one that the source used
    payment: Claim
    met: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    landed_at_s: float | None = None

    @property
    def ledger(self) -> int:
        return EXPIRES_AT - 100 + int(self.clock.monotonic()) // LEDGER_S

    def now(self) -> LedgerReading:
        return LedgerReading(self.ledger, self.clock.now(), LEDGER_S, 0)

    async def send(self, envelope: str) -> SendResponse:
        if envelope not in self.texts:
            self.texts.append(envelope)
            self.met.append(_hash_of(envelope))
        number = self.texts.index(envelope)
        answer = self._answer(number)
        if self.landed_at_s is None and len(self.met) == self.order.after:
            self.landed_at_s = self.clock.monotonic()
        return answer

    def _answer(self, number: int) -> SendResponse:
        tx_hash, act = self.met[number], self.order.acts[min(number, len(self.order.acts) - 1)]
        if self.landed_at_s is not None and number != self.order.lands:
            return SendResponse(SendStatus.ERROR, tx_hash, self.ledger, result_code="txBAD_SEQ")
        if act == "refuse":
            low = SendResponse(SendStatus.ERROR, tx_hash, self.ledger, "txINSUFFICIENT_FEE")
            return replace(low, required_fee=Stroops(1))
        taken = act == "take" and self.landed_at_s is None
        status = SendStatus.PENDING if taken else SendStatus.TRY_AGAIN_LATER
        return SendResponse(status, tx_hash, self.ledger)

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        now = self.clock.monotonic()
        is_seen = self.landed_at_s is not None and now >= self.landed_at_s + self.order.hidden_s
        if is_seen and self.order.lands is not None and tx_hash == self.met[self.order.lands]:
            events = ((_transfer(self.payment),),)
            status, fee = LedgerStatus.SUCCESS, Stroops(CHARGED)
            return TransactionFound(
                tx_hash, status, self.ledger, START, "txSUCCESS", None, fee, events
            )
        return TransactionNotFound(self.ledger, self.clock.now(), EXPIRES_AT - 200, START)

    async def account(self, address: Address) -> AccountState | None:
        del address
        used = self.number + (self.landed_at_s is not None)
        return AccountState(used, Stroops(1), self.ledger)


def _hash_of(envelope: str) -> str:
    return TransactionEnvelope.from_xdr(envelope, NET.passphrase).hash_hex()


def _transfer(payment: Claim) -> str:
    parties = [payment.identity.payer, payment.pay_to]
    topics = [scval.to_symbol("transfer"), *map(scval.to_address, parties)]
    body = xdr.ContractEventBody(0, xdr.ContractEventV0(topics, scval.to_int128(payment.amount)))
    contract = SdkAddress(payment.asset).to_xdr_sc_address().contract_id
    kind = xdr.ContractEventType.CONTRACT
    return xdr.ContractEvent(xdr.ExtensionPoint(0), contract, kind, body).to_xdr()


class WaitingSubmitter(Submitter):
    """A submitter whose watch looks each envelope up."""

    def __init__(self, node: HoardingNode) -> None:
        super().__init__(node, self, node.clock, poll_s=1, deliver_s=10, ledgers=node)

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate:
        fate = await self.wait(sent, until=until)
        assert isinstance(fate, TransactionFound | Dead | Indeterminate)
        return fate


class NewestOnly(WaitingSubmitter):
    """The control: only the newest envelope of a payment is looked for."""

    async def observe(self, sent: SentEnvelope) -> ObservedFate:
        return await super().observe(replace(sent, replaced=()))

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_sent: bool = False,
        may_be_replaced: bool = False,
    ) -> Fate:
        return await super().submit(
            replace(sent, replaced=()),
            until=until,
            on_taken=on_taken,
            may_be_sent=may_be_sent,
            may_be_replaced=may_be_replaced,
        )


class Facilitator:
    """What settles one payment, and reconciles it afterwards, over one node."""

    def __init__(
        self,
        database: Database,
        order: Order,
        make: type[WaitingSubmitter] = WaitingSubmitter,
        *,
        answer_s: float = 50,
    ) -> None:
        self.clock, number = ManualClock(), next(_numbers)
        self.claim = claim(number, ends_by=START + timedelta(seconds=answer_s))
        self.node = HoardingNode(self.clock, order, number, self.claim)
        self.journal = SettlementJournal(database, self.clock)
        submitter = make(self.node)
        statuses = status_resolver(NoLandings(), self.clock)
        self.builder = EnvelopeBuilder(
            RULES,
            RELAYER,
            CapacityMeter(lambda: None),
            ledger_now=self.node.now,
            account_sequence=self.node.account_sequence,
            fee_stats=lambda: None,
        )
        leases = ChannelLeases(NET, RELAYER.address, database, self.clock, lease_s=30)
        network = SendingNetwork(leases, self.builder, submitter, statuses, ShutdownSignal())
        releaser = ClaimReleaser(self.journal, self.clock)
        timeouts = SettleTimeouts(answer_s=answer_s, channel_s=10)
        self.sender = PaymentSender(network, self.journal, releaser, self.clock, timeouts)
        observer = CatchUp(self.node, submitter, self.node)
        times = ReconcileTimes(every_s=5, leave_to_callers_s=60, stale_claim_s=60)
        self.reconciler = Reconciler(NET, observer, statuses, self.journal, self.clock, times)

    async def settle(self) -> SettleOutcome:
        assert await self.journal.claim(self.claim)
        return await self.sender.send(
            self.claim, PAYMENT, client="one", began=self.clock.monotonic()
        )

    async def reconcile(self) -> Settlement | None:
        """Reconcile for three minutes at most, until the payment is final."""
        for _ in range(36):
            row = await self.journal.find(self.claim.identity)
            if row is None or row.state not in ("sending", "submitted"):
                return row
            self.clock.turn(LEDGER_S)
            await self.reconciler.reconcile(older_than_s=0)
        raise AssertionError("never final")


@pytest.mark.parametrize("chunk", range(4))
async def test_payment_is_settled_once_by_whichever_envelope_lands(
    database: Database, chunk: int
) -> None:
    """Control: below."""
    for order in list(orders())[chunk::4]:
        facilitator = Facilitator(database, order)
        outcome, row = await facilitator.settle(), await facilitator.reconcile()
        node, journal = facilitator.node, facilitator.journal
        if row is None:
            assert set(order.acts) == {"refuse"}, f"{order}: withdrawn while it may be out"
            continue
        for tx_hash in node.met:
            named = await journal.find_by_hash(bytes.fromhex(tx_hash))
            assert named is not None, order
            assert named.identity == row.identity
        if node.landed_at_s is None or order.lands is None:
            assert row.state is SettlementState.DEAD, order
            assert isinstance(outcome, Pending | NotSettled), order
            continue
        landed = node.met[order.lands]
        assert (row.state, row.tx_hash) == (SettlementState.CONFIRMED, landed), order
        assert isinstance(outcome, Pending) or outcome == Settled(
            row.identity, row.request_digest, landed
        ), f"{order}: {outcome}"
        assert await journal.take_success(row.identity, row.request_digest)
        assert not await journal.take_success(row.identity, row.request_digest)
        async with database.connection() as db:
            assert await budget_store.find_drift(db) == []
            fee = await db.fetchval(
                "SELECT fee_charged FROM settlements WHERE nonce = $1", row.identity.nonce
            )
        assert fee == CHARGED


async def test_control_build_that_looks_for_the_newest_envelope_loses_landed_payments(
    database: Database,
) -> None:
    order = Order(("keep", "keep", "drop"), lands=0, after=3, hidden_s=_HIDDEN_S)
    facilitator = Facilitator(database, order, NewestOnly)
    await facilitator.settle()
    row = await facilitator.reconcile()
    assert facilitator.node.landed_at_s is not None
    assert row is None or row.state is SettlementState.DEAD, "the control caught nothing"


async def test_landing_of_an_earlier_envelope_is_found_by_another_process(
    database: Database,
) -> None:
    """The first process dies while the last of three envelopes is in a node's queue."""
    order = Order(("keep", "keep", "drop"), lands=1, after=3, hidden_s=10_000)
    dying = Facilitator(database, order)
    assert isinstance(await dying.settle(), Pending)
    other = Facilitator(database, replace(order, hidden_s=0))
    other.claim, other.node.payment = dying.claim, dying.claim
    other.node.met, other.node.landed_at_s = dying.node.met, 0.0
    other.clock.turn(dying.clock.monotonic())
    row = await other.reconcile()
    assert row is not None
    assert (row.state, row.tx_hash) == (SettlementState.CONFIRMED, dying.node.met[1])


@pytest.mark.parametrize("watcher_s", [2 * LIFE_S, 1])
async def test_dead_envelope_that_another_process_watches_is_replaced_by_its_call(
    database: Database, watcher_s: float
) -> None:
    """Whatever the deadline of the watcher is. Controls: a watcher that ends the payment, of which
    nothing lands then; one that judges the call by its own deadline.
    """
    answer_s = 2 * LIFE_S
    holder = Facilitator(database, Order(("drop",)), answer_s=answer_s)
    watcher = Facilitator(database, Order(("drop",)), answer_s=watcher_s)
    mine, journal = holder.claim, holder.journal
    lease = ChannelLease(RELAYER.address, None, 0, holder.node.number)
    first = await holder.builder.build(PAYMENT, lease)
    await journal.claim(mine)
    await journal.record_sending(mine, first)
    await journal.record_submitted(first.tx_hash)
    row = await journal.find(mine.identity)
    assert row is not None
    watcher.clock.turn(LIFE_S + LEDGER_S)
    outcome = await watcher.sender.resume(row, first, until=answer_s, may_take_over=True)
    assert outcome is None
    assert watcher.clock.monotonic() < answer_s - LEDGER_S, "it was not seen dead"
    assert await watcher.reconciler.reconcile(older_than_s=0) == 0
    holder.clock.turn(LIFE_S + LEDGER_S)
    second = (await holder.builder.build(PAYMENT, lease)).in_place_of(first)
    assert await journal.replace(mine, second) is Recording.WRITTEN


@pytest.mark.parametrize("was_refused", [False, True])
async def test_row_of_a_replaced_envelope_is_withdrawn_only_if_it_was_refused(
    database: Database, *, was_refused: bool
) -> None:
    """Control: a withdrawal that asks for the newest envelope alone."""
    facilitator = Facilitator(database, Order(("drop",)))
    mine, journal = facilitator.claim, facilitator.journal
    lease = ChannelLease(RELAYER.address, None, 0, facilitator.node.number)
    first = await facilitator.builder.build(PAYMENT, lease)
    await journal.claim(mine)
    await journal.record_sending(mine, first)
    facilitator.clock.turn(LEDGER_S)
    second = (await facilitator.builder.build(PAYMENT, lease)).in_place_of(
        first, was_refused=was_refused
    )
    await journal.replace(mine, second)
    row = await journal.find(mine.identity)
    assert row is not None
    assert row.sent is not None
    assert [each.own_hashes() for each in row.sent.every()] == [
        each.own_hashes() for each in second.every()
    ]
    withdrawn = await journal.withdraw(mine.identity, second.tx_hash, claim_id=mine.claim_id)
    assert withdrawn is was_refused
