"""Warnings to owners, as events of their plans: a session that ends, a balance that is too low."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final

import structlog

from farebox.automation.authority.ledger_bounds import WARNING_BEFORE
from farebox.automation.authority.stored_calls import decode_calls
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.lifecycle import upkeep_store
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.lifecycle.upkeep_store import DueSoon
from farebox.automation.plans import proposal_store
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.event_store import add_event
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.transactions import AuthorizedCall
from farebox.stellar.xdr_writer import address_value, contract_call
from farebox.storage.pool import Database

SESSION_ENDS: Final = "warning.session_ends"
LOW_BALANCE: Final = "warning.low_balance"
_BATCH: Final = 20
_LOOK_AHEAD: Final = timedelta(hours=24)  # of runs whose balance is looked at
_TOLD_FOR: Final = timedelta(hours=24)

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class PlanWarnings:
    """Warns the owners of one network's plans."""

    def __init__(
        self,
        network: LifecycleNetwork,
        simulator: RunSimulator,
        database: Database,
        clock: Clock,
    ) -> None:
        self._network, self._simulator = network, simulator
        self._database, self._clock = database, clock
        self._after: DueSoon | None = None  # the last plan whose balance was looked at

    async def run_once(self) -> None:
        """Warn of some sessions and balances; the next pass goes on behind them.

        Raises:
            DatabaseUnavailable: the next pass looks again.
        """
        now = self._clock.now()
        await self._warn_of_ends(now)
        if self._network.availability.outages():
            return
        async with self._database.connection() as db:
            due = await upkeep_store.list_due_soon(
                db,
                self._network.network,
                after=self._after,
                until=now + _LOOK_AHEAD,
                limit=_BATCH,
            )
        self._after = due[-1] if len(due) == _BATCH else None
        for each in due:
            try:
                await self._warn_of_balance(each.proposal_id, now)
            except RpcUnavailable as outage:
                log.info("automation.balance_not_read", part=outage.part)
                return
            except Outage:
                raise
            except Exception:
                log.exception("automation.balance_not_judged", plan=each.proposal_id)

    async def _warn_of_ends(self, now: datetime) -> None:
        async with self._database.connection() as db:
            ends = await upkeep_store.list_session_ends(
                db, self._network.network, now=now, before=WARNING_BEFORE, limit=_BATCH
            )
        for proposal_id, ends_at in ends:
            await self._tell(proposal_id, SESSION_ENDS, {"endsAt": ends_at.isoformat()}, now)

    async def _warn_of_balance(self, proposal_id: str, now: datetime) -> None:
        async with self._database.connection() as db:
            plan = await proposal_store.find_plan(db, proposal_id)
            was_told = await upkeep_store.was_told(
                db, proposal_id, LOW_BALANCE, since=now - _TOLD_FOR
            )
        if plan is None or plan.terms.account is None or was_told:
            return
        for token, needed in _needs(plan).items():
            balance = await self._balance(token, plan.terms.account, plan)
            if balance is not None and balance < needed:
                data = {"token": token, "balance": str(balance), "needed": str(needed)}
                await self._tell(proposal_id, LOW_BALANCE, data, now)
                return

    async def _balance(self, token: Address, account: Address, plan: StoredPlan) -> int | None:
        """The account's balance of a token; None where the token does not say."""
        call = contract_call(token, b"balance", address_value(account))
        simulated = await self._simulator.simulate(AuthorizedCall(call, ()), plan.terms.owner)
        value = simulated.returned
        is_amount = isinstance(value, ScNumber) and value.kind is ScKind.I128
        return value.value if isinstance(value, ScNumber) and is_amount else None

    async def _tell(self, proposal_id: str, kind: str, data: dict[str, str], now: datetime) -> None:
        """Add a warning, once of all processes."""
        async with self._database.transaction() as db:
            if await proposal_store.lock_plan(db, proposal_id) is None:
                return
            since = now - _TOLD_FOR
            if not await upkeep_store.was_told(db, proposal_id, kind, since=since):
                await add_event(db, proposal_id, kind, data)


def _needs(plan: StoredPlan) -> dict[Address, int]:
    """What one run takes of each token, at most."""
    calls = decode_calls(plan.terms.calls)
    needed: dict[Address, int] = defaultdict(int)
    for leg in range(plan.terms.legs):
        for debit in calls.effects_of(leg).max_debit:
            needed[debit.token] += debit.amount
    return needed
