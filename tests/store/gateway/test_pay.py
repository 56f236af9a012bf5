"""A presented payment becomes one attempt to deliver, whoever asks and whatever fails."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from farebox.facilitator.settlement import (
    KeyConflict,
    NothingSent,
    NotSettled,
    Pending,
    SettleOutcome,
)
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.facilitator.verification.verdict import Accepted
from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.admission import PaymentAdmission
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.delivery.outcome import (
    AttemptStarted,
    LimitKind,
    LimitReached,
    NoAttemptLeft,
    NotPaid,
    NotServed,
    PaymentPending,
    PaymentUsed,
    PayOutcome,
    Replayed,
    WrapperChanged,
)
from farebox.gateway.delivery.reconcile import GatewayReconciler
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import Sealer
from farebox.x402.reasons import Reason
from support.accepted_payment import accepted_payment
from support.gateway_payments import (
    HASH,
    PatientSettler,
    ScriptedSettler,
    enabled_wrapper,
    land,
    new_payment,
    paid_request,
    payer_of,
    settled,
)
from support.vault import OLD, keys
from support.wrappers import OTHER_PAY_TO, change_fields, wrappers_of
from testing.waiting import until

REFUSED = NotSettled(Reason.SIMULATION_FAILED, Network.TESTNET)
_FIND_LIMIT = PaymentAdmission.find_limit
DUPLICATE = NotSettled(Reason.DUPLICATE_SETTLEMENT, Network.TESTNET, None, HASH)


async def row_of(database: Database, request: object) -> GatewayPayment | None:
    identity = request.new.identity  # type: ignore[attr-defined]  # a PaidRequest
    async with database.connection() as db:
        return await payment_store.find_payment(db, identity)


async def in_progress(database: Database, request: object) -> tuple[int, int]:
    """The wrapper's requests of the month, and those in progress."""
    async with database.connection() as db:
        counters = await reservation_store.read_counters(db, request.new.wrapper)  # type: ignore[attr-defined]  # a PaidRequest
    return counters.month_count, counters.in_progress


async def end(database: Database, row: GatewayPayment, state: PaymentState) -> None:
    async with database.connection() as db:
        assert await payment_store.end_attempt(db, row, state, status=200, may_repeat=True)


def started(outcome: PayOutcome) -> GatewayPayment:
    assert isinstance(outcome, AttemptStarted), outcome
    return outcome.payment


async def test_settled_payment_begins_an_attempt_and_takes_the_success(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    request = paid_request(new)
    payment = started(await payer_of(database, ScriptedSettler(settled(new))).pay(request))
    assert (payment.state, payment.attempts, payment.tx_hash) == (PaymentState.PAID, 1, HASH)
    async with database.connection() as db:
        answered = await db.fetchval("SELECT answered_by FROM settlements")
    assert answered == payment.success_id
    assert await in_progress(database, request) == (1, 1)


async def test_same_payment_fifty_times_settles_and_sends_once(
    database: Database, other_pool: Database
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    request, settler = paid_request(new), ScriptedSettler(settled(new), takes_s=0.1)
    payers = [payer_of(each, settler) for each in (database, other_pool)]
    calls = [asyncio.create_task(each.pay(request)) for each in payers * 25]
    done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    (first,) = done
    assert (settler.at_once_max, len(settler.settled)) == (1, 1)
    async with database.connection() as db:
        await payment_store.end_attempt(
            db, started(first.result()), PaymentState.DELIVERED, status=200, may_repeat=False
        )
    outcomes = await asyncio.gather(*waiting)
    assert outcomes == [PaymentUsed(HASH)] * 49  # delivered, and not stored
    assert await in_progress(database, request) == (1, 0)


async def test_payment_of_another_request_is_used(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    new = await land(database, new_payment(wrapper))
    payer = payer_of(database, ScriptedSettler(settled(new)))
    started(await payer.pay(paid_request(new)))
    other = replace(new, request=replace(new.request, path="/other"))
    assert await payer.pay(paid_request(other)) == PaymentUsed(HASH)


async def test_refused_or_failed_payment_releases_the_reservation(database: Database) -> None:
    request = paid_request(new_payment(await enabled_wrapper(database)))
    failed = NotSettled(Reason.TRANSACTION_FAILED, Network.TESTNET, None, HASH)
    for outcome in (REFUSED, failed):
        assert await payer_of(database, ScriptedSettler(outcome)).pay(request) == NotPaid(outcome)
        assert await row_of(database, request) is None
        assert await in_progress(database, request) == (0, 0)


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (REFUSED, NotPaid(REFUSED)),
        (
            NotSettled(Reason.FOREIGN_LANDING, Network.TESTNET, None, HASH),
            NotPaid(NotSettled(Reason.DUPLICATE_SETTLEMENT, Network.TESTNET, OTHER_PAY_TO, HASH)),  # type: ignore[arg-type]  # an address
        ),
    ],
    ids=["refused", "landed elsewhere"],
)
async def test_payment_that_is_refused_takes_no_place_while_it_is_judged(
    database: Database, verdict: NotSettled, outcome: NotPaid
) -> None:
    """Control: the same payment, reserved before it is judged, holds a place meanwhile."""
    request, settler = paid_request(new_payment(await enabled_wrapper(database))), Watched(database)
    settler.verdict = verdict
    assert await payer_of(database, settler).pay(request) == outcome
    assert settler.seen == [(0, 0)]
    assert settler.settled == []


async def test_payment_that_is_reserved_before_it_is_judged_holds_a_place(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: a build that leaves the verdict to the settlement."""

    class JudgingLast(Watched):
        async def settle(self, request: SettleRequest, **given: object) -> SettleOutcome:
            await self.judge(request)
            return REFUSED

    async def judge_nothing(admission: PaymentAdmission, *payment: object) -> None:
        return None

    monkeypatch.setattr(PaymentAdmission, "judge_payment", judge_nothing)
    request = paid_request(new_payment(await enabled_wrapper(database)))
    settler = JudgingLast(database)
    assert await payer_of(database, settler).pay(request) == NotPaid(REFUSED)
    assert settler.seen == [(1, 1)]


class Watched(ScriptedSettler):
    """Notes the wrapper's counters while a payment is judged."""

    def __init__(self, database: Database) -> None:
        super().__init__(REFUSED)
        self._database = database
        self.seen: list[tuple[int, int]] = []

    async def judge(self, request: SettleRequest) -> Accepted | NotSettled | None:
        async with self._database.connection() as db:
            row = await db.fetchrow("SELECT month_count, in_progress FROM wrapper_counters")
        self.seen.append((0, 0) if row is None else (row["month_count"], row["in_progress"]))
        return await super().judge(request)


async def test_accepted_payment_is_settled_by_its_verdict(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    settler = ScriptedSettler(settled(new))
    settler.verdict = accepted_payment()
    started(await payer_of(database, settler).pay(paid_request(new)))
    assert settler.accepted == [settler.verdict]
    assert len(settler.judged) == 1


async def test_payment_under_a_used_identifier_takes_no_place(database: Database) -> None:
    request = paid_request(new_payment(await enabled_wrapper(database)))
    settler = ScriptedSettler(REFUSED)
    settler.verdict = KeyConflict(Reason.PAYMENT_IDENTIFIER_REUSED, Network.TESTNET, OTHER_PAY_TO)  # type: ignore[arg-type]  # an address
    with pytest.raises(KeyConflict):
        await payer_of(database, settler).pay(request)
    assert await in_progress(database, request) == (0, 0)


def count_before_judgment(monkeypatch: pytest.MonkeyPatch, settler: PatientSettler) -> None:
    """Let the settler know of each call that is about to be judged."""

    async def look_first(
        self: PaymentAdmission, wrapper: Wrapper
    ) -> LimitReached | WrapperChanged | None:
        found = await _FIND_LIMIT(self, wrapper)
        settler.count()
        return found

    monkeypatch.setattr(PaymentAdmission, "find_limit", look_first)


async def test_same_refused_payment_fifty_times_is_judged_once_at_a_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: payments of other bytes are judged each on its own."""
    wrapper = await enabled_wrapper(database)
    new = new_payment(wrapper)
    for payments, judged in (([new] * 50, 1), ([new_payment(wrapper) for _ in range(5)], 5)):
        settler = PatientSettler(REFUSED, calls=len(payments))
        count_before_judgment(monkeypatch, settler)
        payer = payer_of(database, settler)
        outcomes = await asyncio.gather(*(payer.pay(paid_request(each)) for each in payments))
        assert outcomes == [NotPaid(REFUSED)] * len(payments)
        assert len(settler.judged) == judged


async def test_judgment_goes_on_for_the_others_when_the_first_caller_leaves(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = paid_request(new_payment(await enabled_wrapper(database)))
    settler = PatientSettler(REFUSED, calls=3)
    count_before_judgment(monkeypatch, settler)
    payer = payer_of(database, settler)
    first = asyncio.create_task(payer.pay(request))
    await until(lambda: settler._calls == 2)
    second = asyncio.create_task(payer.pay(request))
    await until(lambda: settler._calls == 1)
    first.cancel()
    settler.count()  # as a third one that is about to be judged
    assert await second == NotPaid(REFUSED)
    assert len(settler.judged) == 1


async def test_reservation_is_released_when_nothing_was_sent_and_kept_after_an_unknown_fault(
    database: Database,
) -> None:
    request = paid_request(new_payment(await enabled_wrapper(database)))
    for error in (
        NothingSent(Network.TESTNET, OTHER_PAY_TO, retry_after_s=5),  # type: ignore[arg-type]  # an address
        KeyConflict(Reason.DUPLICATE_SETTLEMENT, Network.TESTNET, OTHER_PAY_TO),  # type: ignore[arg-type]  # an address
    ):
        with pytest.raises(type(error)):
            await payer_of(database, ScriptedSettler(error)).pay(request)
        assert await row_of(database, request) is None
        assert await in_progress(database, request) == (0, 0)
    with pytest.raises(ValueError, match="a bug"):
        await payer_of(database, ScriptedSettler(ValueError("a bug"))).pay(request)
    row = await row_of(database, request)
    assert row is not None
    assert row.state is PaymentState.RESERVED


async def test_pending_payment_is_continued_by_the_same_request(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    request, pending = paid_request(new), Pending(Network.TESTNET, new.identity.payer, HASH)
    payer = payer_of(database, ScriptedSettler(pending, settled(new)))
    assert await payer.pay(request) == PaymentPending(pending)
    assert await in_progress(database, request) == (1, 1)
    assert started(await payer.pay(request)).attempts == 1
    assert await in_progress(database, request) == (1, 1)


async def test_continued_payment_keeps_its_reservation_when_a_call_sends_nothing(
    database: Database,
) -> None:
    """Control: a build that releases it loses the record of a payment that lands afterwards."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    request, pending = paid_request(new), Pending(Network.TESTNET, new.identity.payer, HASH)
    nothing_sent = NothingSent(Network.TESTNET, new.identity.payer, retry_after_s=5)
    payer = payer_of(database, ScriptedSettler(pending, nothing_sent, settled(new)))
    assert await payer.pay(request) == PaymentPending(pending)
    with pytest.raises(NothingSent):
        await payer.pay(request)
    row = await row_of(database, request)
    assert row is not None
    assert (row.state, row.attempt_until) == (PaymentState.RESERVED, None)
    assert started(await payer.pay(request)).attempts == 1


async def test_payment_whose_success_is_taken_elsewhere_is_used(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    async with database.connection() as db:
        await db.execute(
            "UPDATE settlements SET answered_at = now(), answered_by = gen_random_uuid()"
        )
    for outcome in (settled(new), DUPLICATE):
        payer = payer_of(database, ScriptedSettler(outcome))
        assert await payer.pay(paid_request(new)) == PaymentUsed(HASH)
        assert await in_progress(database, paid_request(new)) == (0, 0)


async def test_reservation_lost_after_landing_is_made_again(database: Database) -> None:
    """Control: a build that keeps the success without a row has a payment nobody delivers."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    request = paid_request(new)

    class Interfering(ScriptedSettler):
        async def settle(self, asked: object, **given: object) -> object:  # type: ignore[override]  # the same
            if not self.settled:
                async with database.connection() as db:
                    await db.execute("DELETE FROM gateway_payments")
            return await super().settle(asked, **given)  # type: ignore[arg-type]  # the same

    payment = started(await payer_of(database, Interfering(settled(new))).pay(request))
    assert (payment.state, payment.attempts) == (PaymentState.PAID, 1)


async def pay_twice(
    database: Database, members: dict[str, int]
) -> tuple[PayOutcome, ScriptedSettler]:
    """The outcome of a second payment to a new wrapper, and its settler."""
    wrapper = await enabled_wrapper(database, **members)
    first = await land(database, new_payment(wrapper))
    started(await payer_of(database, ScriptedSettler(settled(first))).pay(paid_request(first)))
    settler = ScriptedSettler(REFUSED)
    return await payer_of(database, settler).pay(paid_request(new_payment(wrapper))), settler


def _wait_of_quota() -> tuple[int, int]:
    """The bounds of the seconds until the month of UTC ends, a day at most."""
    now = datetime.now(UTC)
    year, month = (now.year, now.month + 1) if now.month < 12 else (now.year + 1, 1)
    left = int((datetime(year, month, 1, tzinfo=UTC) - now).total_seconds())
    return min(86_400, left), min(86_400, left + 60)


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"requests_per_minute": 1}, LimitKind.RATE),
        ({"monthly_request_quota": 1}, LimitKind.QUOTA),
        ({"max_concurrent_requests": 1}, LimitKind.CONCURRENCY),
    ],
)
async def test_request_beyond_a_limit_settles_nothing(
    database: Database, members: dict[str, int], kind: LimitKind
) -> None:
    outcome, settler = await pay_twice(database, members)
    if kind is LimitKind.RATE and isinstance(outcome, NotPaid):  # a new minute began between them
        outcome, settler = await pay_twice(database, members)
    assert isinstance(outcome, LimitReached)
    assert outcome.kind is kind
    at_least, at_most = {LimitKind.QUOTA: _wait_of_quota()}.get(kind, (1, 60))
    assert at_least <= outcome.retry_after_s <= at_most
    assert (settler.judged, settler.settled) == ([], [])


async def test_last_place_goes_to_one_of_the_payments_that_are_accepted_at_once(
    database: Database,
) -> None:
    """Control: a build that counts them as of before they were judged serves them all."""
    wrapper = await enabled_wrapper(database, max_concurrent_requests=1)
    payments = [await land(database, new_payment(wrapper)) for _ in range(3)]
    settlers = [ScriptedSettler(settled(each), takes_s=0.1) for each in payments]
    outcomes = await asyncio.gather(
        *(
            payer_of(database, settler).pay(paid_request(each))
            for settler, each in zip(settlers, payments, strict=True)
        )
    )
    assert sum(isinstance(each, AttemptStarted) for each in outcomes) == 1
    assert outcomes.count(LimitReached(LimitKind.CONCURRENCY, 1)) == 2
    assert sum(len(each.settled) for each in settlers) == 1


async def test_wrapper_that_is_disabled_or_whose_price_has_changed_settles_nothing(
    database: Database,
) -> None:
    disabled, dearer = await enabled_wrapper(database), await enabled_wrapper(database)
    wrappers = wrappers_of(database)
    await wrappers.disable(Caller(disabled.owner, CallerKind.SESSION), "r", disabled.id)
    caller = Caller(dearer.owner, CallerKind.SESSION)
    await wrappers.update(caller, "r", dearer.id, change_fields(amount="7"))
    for wrapper in (disabled, dearer):
        settler = ScriptedSettler(REFUSED)
        outcome = await payer_of(database, settler).pay(paid_request(new_payment(wrapper)))
        assert outcome == WrapperChanged()
        assert settler.settled == []


async def test_undelivered_request_is_attempted_again_without_settling(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    request, settler = paid_request(new), ScriptedSettler(settled(new))
    payer = payer_of(database, settler)
    for number in range(1, 6):
        payment = started(await payer.pay(request))
        assert payment.attempts == number
        await end(database, payment, PaymentState.PAID)
    assert isinstance(await payer.pay(request), NoAttemptLeft)
    assert len(settler.settled) == 1
    assert await in_progress(database, request) == (1, 0)


@pytest.mark.parametrize("is_sent", [False, True])
async def test_post_whose_process_dies_is_attempted_again_unless_it_was_sent(
    database: Database, is_sent: bool
) -> None:
    """Control: a build that writes it down with the attempt owes what was never sent."""
    new = await land(database, new_payment(await enabled_wrapper(database), method="POST"))
    request, payer = paid_request(new), payer_of(database, ScriptedSettler(settled(new)))
    payment = started(await payer.pay(request))
    async with database.connection() as db:
        if is_sent:
            assert await payment_store.record_sending(db, payment) is not None
        await db.execute("UPDATE gateway_payments SET attempt_until = now()")
    await GatewayReconciler(database, SystemClock()).reconcile()
    outcome = await payer.pay(request)
    assert isinstance(outcome, NoAttemptLeft if is_sent else AttemptStarted)


async def test_post_is_repeated_after_an_unknown_outcome_only_if_the_wrapper_says_so(
    database: Database,
) -> None:
    once = await enabled_wrapper(database, is_repeatable=False)
    repeated = {
        method: paid_request(new_payment(once, method=method)).may_repeat
        for method in ("POST", "PATCH", "PUT")
    }
    assert repeated == {"POST": False, "PATCH": False, "PUT": True}
    often = await enabled_wrapper(database, is_repeatable=True)
    assert paid_request(new_payment(often, method="POST")).may_repeat


async def test_paid_request_beyond_the_limit_of_concurrency_is_told_that_it_is_paid(
    database: Database,
) -> None:
    """Control: a build that refuses it like a new one withholds the receipt."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    payer = payer_of(database, ScriptedSettler(settled(new)))
    await end(database, started(await payer.pay(paid_request(new))), PaymentState.PAID)
    async with database.connection() as db:
        await db.execute("UPDATE wrapper_counters SET in_progress = 50")
    outcome = await payer.pay(paid_request(new))
    assert isinstance(outcome, NotServed)
    assert (outcome.payment.tx_hash, outcome.payment.attempts) == (HASH, 1)


async def test_delivered_response_is_replayed_byte_for_byte(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    sealer = ByteSealer(Sealer(keys(OLD), domain="gateway response"))
    settler = ScriptedSettler(settled(new))
    payer, request = payer_of(database, settler, sealer=sealer), paid_request(new)
    payment = started(await payer.pay(request))
    response = KeptResponse(201, ((b"content-type", b"text/plain"),), b"sunny\0")
    kept = ResponseKeeper(database, sealer).seal(payment, response)
    async with database.connection() as db:
        await payment_store.end_attempt(
            db, payment, PaymentState.DELIVERED, status=201, may_repeat=False, kept=kept
        )
    for _ in range(2):
        outcome = await payer.pay(request)
        assert isinstance(outcome, Replayed)
        assert outcome.response == response
    async with database.connection() as db:
        sealed = await db.fetchval("SELECT sealed FROM gateway_responses")
    assert b"sunny" not in sealed
