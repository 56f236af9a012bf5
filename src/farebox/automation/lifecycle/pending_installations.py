"""Finishes activations whose installation was sent and was not final (202)."""

from typing import Final

import structlog

from farebox.automation.lifecycle import installed_session_store
from farebox.automation.lifecycle.activate import Activation
from farebox.automation.lifecycle.installations import InstallTransaction
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.refusal import AutomationRefused, AutomationUnavailable, NetworkUnavailable
from farebox.automation.runs.event_store import add_event
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_BATCH: Final = 20

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class PendingInstallations:
    """Asks again for the pending installations of one network."""

    def __init__(self, network: Network, database: Database, activation: Activation) -> None:
        self._network, self._database, self._activation = network, database, activation

    async def run_once(self) -> None:
        """Ask for a batch of them, the longest waiting first.

        Raises:
            DatabaseUnavailable: the next pass asks again.
        """
        async with self._database.connection() as db:
            pending = await installed_session_store.list_pending(db, self._network, limit=_BATCH)
        for proposal_id, tx_hash in pending:
            async with self._database.connection() as db:
                plan = await proposal_store.find_plan(db, proposal_id)
                await installed_session_store.touch_pending(db, proposal_id)
            if plan is None:
                continue
            try:
                await self._activation.finish(plan, InstallTransaction(tx_hash))
            except (NetworkUnavailable, AutomationUnavailable):  # of the plan, or of all
                log.info("automation.installation_waits", plan=proposal_id)
            except AutomationRefused as refused:
                await self._give_up(proposal_id, refused)
            except DatabaseUnavailable:
                raise
            except Outage as outage:
                log.info("automation.installation_waits", plan=proposal_id, part=outage.part)
            except Exception:
                log.exception("automation.installation_broken", plan=proposal_id)

    async def _give_up(self, proposal_id: str, refused: AutomationRefused) -> None:
        """Tell the owner why, and wait for another activation."""
        async with self._database.transaction() as db:
            plan = await proposal_store.lock_plan(db, proposal_id)
            if plan is None or plan.state is not ProposalState.PAID:
                return  # it is active, or has ended: what was sent for it is followed all the same
            await installed_session_store.write_pending(db, plan.terms, None)
            data = {"code": refused.code, "message": refused.message}
            await add_event(db, proposal_id, "session.install_failed", data)
