"""Finds the sessions of plans that ended while their installation was under way (3.16)."""

from typing import Final

import structlog

from farebox.automation.lifecycle import installed_session_store
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import TERMINAL_STATES
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.event_store import add_event
from farebox.automation.sessions import session_store
from farebox.automation.sessions.read_back import InstalledAtEnd, SessionReadBack
from farebox.automation.sessions.session_store import SessionState
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.networks import Network
from farebox.storage.pool import Database

_BATCH: Final = 10  # of a pass
_UNRECORDED: Final = (None, SessionState.MATERIAL_ISSUED)

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class EndedInstallations:
    """Records what is installed for plans of one network that are over, so that it is closed.

    Passes go round the plans, so that those of which nothing is found delay no other.
    """

    def __init__(
        self, network: Network, database: Database, clock: Clock, read_back: SessionReadBack
    ) -> None:
        self._network, self._database, self._clock = network, database, clock
        self._read_back = read_back
        self._last_id = ""

    async def run_once(self) -> None:
        """Look for the next sessions on the ledger.

        Raises:
            RpcUnavailable, DatabaseUnavailable: the next pass goes on.
        """
        async with self._database.connection() as db:
            ids = await installed_session_store.list_unrecorded(
                db, self._network, after=self._last_id, now=self._clock.now(), limit=_BATCH
            )
        for proposal_id in ids:
            self._last_id = proposal_id
            await self._try(proposal_id)
        if len(ids) < _BATCH:
            self._last_id = ""

    async def _try(self, proposal_id: str) -> None:
        """Look for the session of one plan; its fault is its own."""
        async with self._database.connection() as db:
            plan = await proposal_store.find_plan(db, proposal_id)
        if plan is None:
            return
        try:
            found = await self._read_back.read_at_end(plan.terms)
            if found is not None:
                await self._record(plan, found)
        except Outage:
            raise
        except Refusal as refused:  # the contracts are not known to be the service's
            log.info("automation.installation_waits", plan=proposal_id, code=refused.code)
        except Exception:
            log.exception("automation.installation_broken", plan=proposal_id)

    async def _record(self, plan: StoredPlan, found: InstalledAtEnd) -> None:
        terms = plan.terms
        async with self._database.transaction() as db:
            locked = await proposal_store.lock_plan(db, terms.id)
            session = await session_store.find_session(db, terms.id)
            is_recorded = (None if session is None else session.state) not in _UNRECORDED
            if locked is None or locked.state not in TERMINAL_STATES or is_recorded:
                return
            installed = found.installed
            await session_store.record_read_back(db, terms, installed)
            if found.is_closed:
                await session_store.mark_ended(db, terms.id, SessionState.REVOKED)
                return
            await installed_session_store.write_installed(db, terms, installed)
            contract = installed.mandate_id or installed.guard_id
            await add_event(db, terms.id, "session.installed_after_end", {"contract": contract})
