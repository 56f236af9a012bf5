"""Sends a call that the paymaster pays for and that is no run: an installation, or a closing.

It goes through the paymaster's own channels and budgets, and its row is committed before the
network sees it. Nothing is sent twice for one row: a lost process's envelope is only observed.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

import structlog

from farebox.automation.authority.ledger_bounds import ATTEMPT_LIFE
from farebox.automation.execution.simulate_run import (
    RunSimulator,
    raise_resource_fee,
    with_resource_fee,
)
from farebox.automation.execution.sponsor_obstacle import SponsorObstacle, judge_installs
from farebox.automation.paymaster import budget_store, sponsored_store
from farebox.automation.paymaster.budget_store import AutomationBudgets, SpendScope
from farebox.automation.paymaster.channel_store import RunChannel
from farebox.automation.paymaster.paymaster import Paymaster, RunEnvelope, fee_paid
from farebox.automation.paymaster.sponsored_store import (
    RowLost,
    SponsoredOutcome,
    SponsoredPurpose,
    SponsoredRow,
)
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import TERMINAL_STATES
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.runs import setup_credit
from farebox.automation.runs.event_store import add_event
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeeOverCeiling, FeePolicy, plan_fees
from farebox.stellar.ledger_clock import Ledgers
from farebox.stellar.rpc import FeeStats, LedgerStatus, TransactionFound
from farebox.stellar.simulation import Simulated, SimulationRefused
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.faults import Conflict
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import (
    Dead,
    Fate,
    NotSent,
    ObservedFate,
    Refused,
    SentEnvelope,
    Unproven,
)

_BUDGETS: Final = {
    SpendScope.TOTAL: SponsorObstacle.BUDGET_TOTAL,
    SpendScope.OWNER: SponsorObstacle.BUDGET_OWNER,
    SpendScope.LOSS: SponsorObstacle.LOSS_OWNER,
    SpendScope.NEW_OWNERS: SponsorObstacle.LOSS_NEW,
}
_NOT_MADE: Final = (SponsoredOutcome.FAILED, SponsoredOutcome.DEAD)
_WAIT_S: Final = 20.0  # of a caller; then it is pending
_LOST_AFTER: Final = timedelta(seconds=120)
_BATCH: Final = 20

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class SponsorSubmitter(Protocol):
    """Delivers envelopes, and looks for their fates."""

    async def submit(
        self, sent: SentEnvelope, *, until: float, on_taken: Callable[[], Awaitable[object]]
    ) -> Fate: ...

    async def observe(self, sent: SentEnvelope) -> ObservedFate: ...


@dataclass(frozen=True, slots=True)
class SponsorLimits:
    """The operator's limits: of one installation, of one closing, and of a day."""

    fees: FeePolicy
    close_fees: FeePolicy
    budgets: AutomationBudgets

    def fees_of(self, purpose: SponsoredPurpose, prepaid: Stroops | None) -> FeePolicy:
        """The limits of one transaction; what a plan was charged for it is one for installing."""
        if purpose is SponsoredPurpose.CLOSE:
            return self.close_fees
        ceiling = self.fees.ceiling if prepaid is None else min(self.fees.ceiling, prepaid)
        return FeePolicy(ceiling, min(self.fees.inclusion_cap, ceiling))


@dataclass(frozen=True, slots=True)
class SponsoredLanded:
    """It is on the ledger, and succeeded."""

    tx_hash: bytes
    ledger: int


@dataclass(frozen=True, slots=True)
class SponsoredPending:
    """It was sent, or is being sent, and is not final."""

    tx_hash: bytes | None


@dataclass(frozen=True, slots=True)
class SponsoredRefused:
    """The ledger refuses the call, or it died; `code` says why."""

    code: str


@dataclass(frozen=True, slots=True)
class SponsoredUnavailable:
    """The service cannot send the call now: nothing was sent, and it may be repeated."""

    obstacle: SponsorObstacle


SponsoredResult = SponsoredLanded | SponsoredPending | SponsoredRefused | SponsoredUnavailable


@dataclass(frozen=True, slots=True)
class SponsorNeeds:
    """What sponsoring needs of one network."""

    network: Network
    paymaster: Paymaster
    submitter: SponsorSubmitter
    simulator: RunSimulator
    ledgers: Ledgers
    account_sequence: Callable[[Address], Awaitable[int | None]]
    fee_stats: Callable[[], FeeStats | None]
    limits: SponsorLimits


@dataclass(frozen=True, slots=True)
class _Priced:
    """What a simulation has shown that the call costs."""

    simulated: Simulated
    resource_fee: int


class Sponsorship:
    """Sends calls on one network."""

    def __init__(self, needs: SponsorNeeds, database: Database, clock: Clock) -> None:
        self._needs, self._database, self._clock = needs, database, clock
        self._last_lost = ""

    async def send(
        self, terms: PlanTerms, purpose: SponsoredPurpose, call: AuthorizedCall
    ) -> SponsoredResult:
        """Simulate a call with its entries enforced, send it, and wait for it, 20 s at most.

        Raises:
            RpcUnavailable, ClockStale: no node answers; nothing was sent.
            DatabaseUnavailable: a later look finds what was sent.
        """
        simulated = (await self._needs.simulator.simulate(call, terms.owner)).simulation
        if isinstance(simulated, SimulationRefused):
            return refused_by_ledger(simulated)
        if not isinstance(simulated, Simulated):
            return SponsoredUnavailable(SponsorObstacle.NOT_SIMULATED)
        fee = raise_resource_fee(simulated)
        row = SponsoredRow(
            new_id("aspo"),
            terms.id,
            purpose,
            self._needs.network,
            terms.owner,
            SponsoredOutcome.TAKEN,
        )
        channel = await self._take(row)
        if not isinstance(channel, RunChannel):
            return channel
        try:
            prepared = await self._prepare(row, channel, call, _Priced(simulated, fee))
        except BaseException:
            await self._finish(row, SponsoredOutcome.DEAD)
            raise
        if isinstance(prepared, SponsoredUnavailable):
            await self._finish(row, SponsoredOutcome.DEAD)
            return prepared
        if prepared.sent is None:
            raise ValueError("a prepared row has its envelope")
        log.info("automation.sponsored_sending", plan=terms.id, purpose=purpose.value)
        until = self._clock.monotonic() + _WAIT_S
        fate = await self._needs.submitter.submit(prepared.sent, until=until, on_taken=_nothing)
        return await self._conclude(prepared, fate)

    async def look(self, tx_hash: bytes) -> SponsoredResult | None:
        """The outcome of an envelope of ours as of now; None for a hash that is not of one.

        Raises:
            DatabaseUnavailable: a later look finds it.
        """
        async with self._database.connection() as db:
            row = await sponsored_store.find_by_hash(db, tx_hash)
        if row is None or row.sent is None:
            return None
        if row.outcome in _NOT_MADE:
            return SponsoredRefused(f"transaction_{row.outcome}")
        return await self._conclude(row, await self._needs.submitter.observe(row.sent))

    async def recover(self) -> None:
        """Resolve rows that were left open: what was not signed is over, the rest is observed.

        Passes go round the rows; the fault of one is its own.

        Raises:
            Outage: a later pass finds the same rows.
        """
        before = self._clock.now() - _LOST_AFTER
        async with self._database.connection() as db:
            lost = await sponsored_store.list_lost(
                db, self._needs.network, before=before, after=self._last_lost, limit=_BATCH
            )
        for row in lost:
            self._last_lost = row.id
            try:
                if row.sent is None:
                    async with self._database.transaction() as db:
                        await sponsored_store.end_unsigned(db, row)
                else:
                    await self._conclude(row, await self._needs.submitter.observe(row.sent))
            except Outage:
                raise
            except Exception:
                log.exception("automation.sponsored_not_resolved", row=row.id)
        if len(lost) < _BATCH:
            self._last_lost = ""

    async def _take(self, row: SponsoredRow) -> RunChannel | SponsoredResult:
        try:
            return await self._add(row)
        except _NotTaken as refused:
            return SponsoredUnavailable(refused.obstacle)
        except Conflict:
            async with self._database.connection() as db:
                other = await sponsored_store.find_open(db, row.proposal_id, row.purpose)
            sent = None if other is None else other.sent
            return SponsoredPending(None if sent is None else sent.tx_hash)

    async def _add(self, row: SponsoredRow) -> RunChannel:
        async with self._database.transaction() as db:
            if await budget_store.read_stop_time(db, row.network) is not None:
                raise _NotTaken(SponsorObstacle.STOPPED)
            if row.purpose is SponsoredPurpose.INSTALL:
                await sponsored_store.lock_installs(db, row.owner)
            channel = await sponsored_store.add_row(db, row)
            if channel is None:
                raise _NotTaken(SponsorObstacle.NO_CHANNEL)
            if row.purpose is SponsoredPurpose.INSTALL:
                of_plan, of_owner = await sponsored_store.count_installs(db, row)
                limit = judge_installs(of_plan=of_plan, of_owner=of_owner)
                if limit is not None:
                    raise _NotTaken(limit)
            return channel

    async def _prepare(
        self, row: SponsoredRow, channel: RunChannel, call: AuthorizedCall, priced: _Priced
    ) -> SponsoredRow | SponsoredUnavailable:
        needs, limits = self._needs, self._needs.limits
        used = channel.used_sequence
        if used is None:
            used = await needs.account_sequence(channel.address)
        prepaid = await self._read_prepaid(row)
        policy = limits.fees_of(row.purpose, prepaid)
        fee = plan_fees(priced.resource_fee, needs.fee_stats(), policy, fee_bumped=True)
        if used is None:
            return SponsoredUnavailable(SponsorObstacle.CHANNEL_MISSING)
        if isinstance(fee, FeeOverCeiling):
            log.warning("automation.fee_over_ceiling", plan=row.proposal_id, fee=fee.lowest_charge)
            is_short = prepaid is not None and policy.ceiling == prepaid
            return SponsoredUnavailable(
                SponsorObstacle.NOT_PREPAID if is_short else SponsorObstacle.FEE_CEILING
            )
        now = needs.ledgers.now()
        envelope = RunEnvelope(
            call=call,
            fee=fee,
            soroban_data=with_resource_fee(priced.simulated.soroban_data, priced.resource_fee),
            sequence=used + 1,
            max_time=(now.close_at + ATTEMPT_LIFE).replace(microsecond=0),
            sent_after_ledger=now.sequence,
        )
        prepared = replace(
            row,
            outcome=SponsoredOutcome.PREPARED,
            sent=needs.paymaster.sign(channel, envelope),
            budget_on=self._clock.now().date(),
        )
        try:
            prepared = await self._record(prepared)
        except _NotTaken as used_up:
            return SponsoredUnavailable(used_up.obstacle)
        except RowLost:
            return SponsoredUnavailable(SponsorObstacle.TOO_SLOW)
        return prepared

    async def _read_prepaid(self, row: SponsoredRow) -> Stroops | None:
        async with self._database.connection() as db:
            plan = await proposal_store.find_plan(db, row.proposal_id)
        return None if plan is None else plan.counters.credit.setup_left

    async def _record(self, prepared: SponsoredRow) -> SponsoredRow:
        """Record the envelope, and reserve its fee: from what its plan was charged, if it was.

        A closing that the plan was not charged for is a loss of its owner's.
        """
        async with self._database.transaction() as db:
            prepared = await setup_credit.reserve(db, prepared)
            is_install = prepared.purpose is SponsoredPurpose.INSTALL
            if is_install and prepared.is_new_owner is not None:
                raise _NotTaken(SponsorObstacle.NOT_PREPAID)
            budgets = self._needs.limits.budgets
            scope = await sponsored_store.record_sent(db, prepared, budgets)
            if scope is not None:
                raise _NotTaken(_BUDGETS[scope])
        return prepared

    async def _conclude(self, row: SponsoredRow, fate: Fate | ObservedFate) -> SponsoredResult:
        sent = row.sent
        if sent is None:
            return SponsoredRefused("not_signed")
        match fate:
            case TransactionFound(status=LedgerStatus.SUCCESS):
                await self._finish(row, SponsoredOutcome.SUCCESS, fee_paid(sent, fate))
                return SponsoredLanded(sent.tx_hash, fate.ledger)
            case TransactionFound():
                await self._finish(row, SponsoredOutcome.FAILED, fee_paid(sent, fate))
                return SponsoredRefused("transaction_failed")
            case NotSent() | Refused():
                await self._finish(row, SponsoredOutcome.DEAD)
                return SponsoredUnavailable(SponsorObstacle.NOT_SENT)
            case Dead():
                await self._finish(row, SponsoredOutcome.DEAD)
                return SponsoredRefused("transaction_dead")
            case Unproven():
                await self._finish(row, SponsoredOutcome.UNKNOWN)
                return SponsoredPending(sent.tx_hash)
            case _:
                return SponsoredPending(sent.tx_hash)

    async def _finish(
        self, row: SponsoredRow, outcome: SponsoredOutcome, fee: Stroops = NO_STROOPS
    ) -> None:
        async with self._database.transaction() as db:
            plan = await proposal_store.lock_plan(db, row.proposal_id)
            row = await sponsored_store.find_row(db, row.id) or row
            is_ended = await sponsored_store.finish_row(db, row, outcome, fee_charged=fee)
            if is_ended and plan is not None:
                await setup_credit.end(db, plan, row, outcome, fee)
                await self._tell(db, plan, row, outcome)

    async def _tell(
        self, db: Connection, plan: StoredPlan, row: SponsoredRow, outcome: SponsoredOutcome
    ) -> None:
        """Tell the owner of a plan that has ended that what was sent for it installed nothing."""
        is_over = row.purpose is SponsoredPurpose.INSTALL and plan.state in TERMINAL_STATES
        if is_over and row.sent is not None and outcome in _NOT_MADE:
            message = f"The installation was not made: transaction_{outcome}."
            data = {"code": ErrorCode.SESSION_MISMATCH, "message": message}
            await add_event(db, plan.terms.id, "session.install_failed", data)


def refused_by_ledger(simulated: SimulationRefused) -> SponsoredRefused:
    """What a simulation says against a call."""
    number = simulated.contract_error
    return SponsoredRefused(simulated.kind.value if number is None else f"contract_{number}")


class _NotTaken(Exception):
    """A transaction of the database is rolled back."""

    def __init__(self, obstacle: SponsorObstacle) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle


async def _nothing() -> None:
    return None
