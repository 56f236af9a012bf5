"""Pay for the runs of a plan, in process through settlement (3.17).

An attempt on the money path ends in one of three ways: certainly not sent, sent and failed, or sent
and unknown. The last one stays pending until the journal proves one of the others.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from farebox.automation.credits import credit_ledger, credit_payment, run_payment_store
from farebox.automation.credits.credit_ledger import CreditBalance
from farebox.automation.credits.end_payment import RunPaymentEnds
from farebox.automation.credits.quotes import RunQuotes
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.automation.plans import proposal_store
from farebox.automation.plans.quote import FreshFees
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused, AutomationUnavailable
from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import (
    KeyConflict,
    NothingSent,
    NotSettled,
    SettleOutcome,
    StoredResponse,
)
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.networks import Network
from farebox.storage.faults import Conflict, DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.x402.payment import Payment
from farebox.x402.reasons import OF_THE_PAYER, Reason, Retry, explain

_POLL_S: Final = 0.25


class RunSettler(Protocol):
    """Settles payments, as `Settler` does."""

    def identify(
        self, payment: Payment, *, key: str | None, caller: Caller | None, client: str
    ) -> SettleRequest | NotSettled:
        """Build the request to settle the payment, or the reason it can never be settled."""
        ...

    async def settle(self, request: SettleRequest) -> SettleOutcome | StoredResponse:
        """Bring the payment to the ledger, or find the outcome of an earlier request for it."""
        ...


class RunsNotCharged(Refusal):
    """The service or the network could not act: nothing was sent."""

    retry_after_s = 5

    def __init__(self, reason: Reason) -> None:
        super().__init__(ErrorCode.SERVICE_UNAVAILABLE, explain(reason).sentence)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """A request to pay for runs of a plan; `runs` None: as many as are left."""

    caller: Caller
    proposal_id: str
    client: str
    runs: int | None = None
    is_top_up: bool = False


@dataclass(frozen=True, slots=True)
class RunsOffered:
    """Nothing was presented, or what was presented pays for nothing: `error` says why."""

    quote: RunPayment
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunsDecided:
    """A payment that was presented, or that needed none: confirmed, pending or failed."""

    payment: RunPayment


PayForRunsOutcome = RunsOffered | RunsDecided


class PlanFees(Protocol):
    """Reads network fees."""

    async def read(self, plan: StoredPlan, now: datetime) -> FreshFees:
        """The fees of a plan as of now, by which its runs are priced.

        Raises:
            Refusal: a run would fail as of now, or the network cannot be read now.
        """
        ...


class RunPayments:
    """Offers runs, and brings a presented payment to its end.

    `is_available` says whether plans run on a network now: nothing is charged while they do not.
    """

    def __init__(
        self,
        database: Database,
        quotes: RunQuotes,
        settler: RunSettler,
        clock: Clock,
        fees: PlanFees,
        *,
        is_available: Callable[[Network], bool],
    ) -> None:
        self._database, self._quotes, self._settler = database, quotes, settler
        self._clock, self._fees, self._is_available = clock, fees, is_available
        self._ends = RunPaymentEnds(database, clock)

    async def offer(self, order: RunOrder, *, error: str = "") -> PayForRunsOutcome:
        """Offer the runs at their price, or credit them at once where nothing is to be paid.

        Raises:
            NotFound: the caller has no such plan.
            Refusal: plans do not run there, the plan takes no payment now, or the network cannot be
                read now, which a new price needs.
        """
        offered = await self._offer(order, None, error)
        if isinstance(offered, StoredPlan):  # no transaction is open while the network is asked
            fresh = await self._fees.read(offered, self._clock.now())
            offered = await self._offer(order, fresh, error)
        if isinstance(offered, StoredPlan):
            raise ValueError("a quote is made of a fresh fee")  # noqa: TRY004 - not a type error
        return offered

    async def _offer(
        self, order: RunOrder, fresh: FreshFees | None, error: str
    ) -> PayForRunsOutcome | StoredPlan:
        """Offer the runs; the plan itself where its price needs a fresh fee."""
        async with self._database.transaction() as db:
            plan, now = await self._lock(db, order), self._clock.now()
            self._check_available(plan.terms.network)
            runs = order.runs or max(1, await credit_payment.find_room(db, plan, at=now))
            await credit_payment.check_payable(db, plan, runs=runs, is_top_up=order.is_top_up)
            await credit_payment.check_due(db, plan, runs=runs, at=now)
            quote = await self._quotes.offer(
                db, plan, runs=runs, now=now, is_top_up=order.is_top_up, fresh=fresh
            )
            if quote is None:
                return plan
            credit_payment.check_asset(plan, quote.quote)
            if quote.is_free:
                return RunsDecided(await credit_payment.credit_unpaid(db, plan, quote, at=now))
        return RunsOffered(quote, error)

    async def find(self, order: RunOrder, identifier: str) -> RunPayment | None:
        """Find the quote of the caller's plan that has this payment identifier.

        Raises:
            NotFound: the caller has no such plan.
        """
        owner, proposal_id = order.caller.owner, order.proposal_id
        async with self._database.connection() as db:
            if await proposal_store.find_owned(db, owner, proposal_id) is None:
                raise NotFound
            return await run_payment_store.find_by_identifier(db, owner, proposal_id, identifier)

    async def pay(self, order: RunOrder, quoted: RunPayment, payment: Payment) -> PayForRunsOutcome:
        """Settle a payment that accepts the terms of a quote, and credit its runs.

        Calls with the same payment wait for each other: one settles.

        Raises:
            AutomationRefused: the quote is out of date, another payment is in flight, or the plan
                takes none now; nothing was sent.
            RunsNotCharged: nothing was sent; the same request may be repeated.
            Outage: the database is unavailable; the same request may be repeated.
            Refusal: the payment belongs to another request.
        """
        known, digest = quoted, payment.request_digest()
        until = self._clock.monotonic() + credit_payment.HOLD_S
        while True:
            outcome = await self._continue(order, known, payment, digest)
            if outcome is not None:
                return outcome
            if self._clock.monotonic() >= until:
                return RunsDecided(known)
            await self._clock.sleep(_POLL_S)
            known = await self._ends.read(known)

    async def balances(self, owner: OwnerId) -> list[CreditBalance]:
        """What an owner has paid and no plan holds, by network and asset."""
        async with self._database.connection() as db:
            return await credit_ledger.list_balances(db, owner)

    async def _continue(
        self, order: RunOrder, known: RunPayment, payment: Payment, digest: bytes
    ) -> PayForRunsOutcome | None:
        """Take the next step of a presented payment; None to look again."""
        if known.state is RunPaymentState.QUOTED:
            return await self._begin(order, known, payment, digest)
        if not known.is_paid_by(digest):
            raise AutomationRefused(*_OTHER[known.state])
        if known.state is not RunPaymentState.PENDING:
            return RunsDecided(known)
        held_for = credit_payment.HELD_FOR
        async with self._database.connection() as db:
            held = await run_payment_store.hold(db, known.id, held_for=held_for)
        if held is None:
            return None
        request = self._identify(order, payment)
        if isinstance(request, NotSettled):  # by rules that have changed meanwhile
            return RunsDecided(await self._ends.resolve(held))
        return await self._settle(order, held, request)

    async def _begin(
        self, order: RunOrder, known: RunPayment, payment: Payment, digest: bytes
    ) -> PayForRunsOutcome | None:
        """Reserve a quote for the payment and settle; None where it changed meanwhile."""
        self._check_available(known.network)
        request = self._identify(order, payment)
        if isinstance(request, NotSettled):
            return await self._offer_again(order, known, request.reason)
        try:
            async with self._database.transaction() as db:
                (row,) = await journal_store.find_settlements(db, [request.identity])
                is_sent = row is not None and row.may_have_paid(digest)
                held = await credit_payment.reserve_payment(
                    db, known, request.identity, digest, at=self._clock.now(), is_sent=is_sent
                )
        except Conflict:
            raise Refusal(ErrorCode.PAYMENT_USED) from None
        return None if held is None else await self._settle(order, held, request)

    async def _settle(
        self, order: RunOrder, held: RunPayment, request: SettleRequest
    ) -> PayForRunsOutcome:
        """Settle while this call holds the payment."""
        try:
            outcome = await self._settler.settle(request)
        except KeyConflict:  # the identifier names another payment of the same payer
            await self._ends.end_unsent(held, Reason.PAYMENT_IDENTIFIER_REUSED, is_over=True)
            raise Refusal(ErrorCode.PAYMENT_USED) from None
        except NothingSent:
            await self._ends.end_unsent(held, Reason.SERVICE_UNAVAILABLE, is_over=False)
            raise RunsNotCharged(Reason.SERVICE_UNAVAILABLE) from None
        except DatabaseUnavailable:
            await self._ends.end_unsent(held, Reason.SERVICE_UNAVAILABLE, is_over=False)
            raise
        if isinstance(outcome, StoredResponse):
            raise ValueError("no response is stored without a key")  # noqa: TRY004 - not a type error
        ended = await self._ends.end(held, outcome)
        if ended.state is RunPaymentState.QUOTED and isinstance(outcome, NotSettled):
            return await self._offer_again(order, ended, outcome.reason)
        return RunsDecided(ended)

    async def _offer_again(
        self, order: RunOrder, known: RunPayment, reason: Reason
    ) -> PayForRunsOutcome:
        """Offer the runs of a quote again, for which nothing was sent.

        Raises:
            RunsNotCharged: the same payment may be sent again later.
        """
        if explain(reason).retry is Retry.LATER and reason not in OF_THE_PAYER:
            raise RunsNotCharged(reason)
        return await self.offer(replace(order, runs=known.quote.runs), error=reason)

    def _identify(self, order: RunOrder, payment: Payment) -> SettleRequest | NotSettled:
        """Build the request to settle, on behalf of the plan's owner."""
        caller = order.caller
        owner = Caller(caller.owner, CallerKind.SERVICE, is_established=caller.is_established)
        return self._settler.identify(payment, key=None, caller=owner, client=order.client)

    def _check_available(self, network: Network) -> None:
        if not self._is_available(network):
            raise AutomationUnavailable

    async def _lock(self, db: Connection, order: RunOrder) -> StoredPlan:
        owned = await proposal_store.find_owned(db, order.caller.owner, order.proposal_id)
        plan = None if owned is None else await proposal_store.lock_plan(db, order.proposal_id)
        if plan is None:
            raise NotFound
        return plan


# why a payment is not taken by a quote that another one was presented for
_OTHER: Final = {
    RunPaymentState.PENDING: (
        ErrorCode.PAYMENT_IN_FLIGHT,
        ErrorCode.PAYMENT_IN_FLIGHT.sentence,
    ),
    RunPaymentState.CONFIRMED: (ErrorCode.PAYMENT_USED, "The quote is paid, by another payment."),
    RunPaymentState.FAILED: (
        ErrorCode.QUOTE_EXPIRED,
        "A payment of this quote has failed: ask for the price again.",
    ),
}
