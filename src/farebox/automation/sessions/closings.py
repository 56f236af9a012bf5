"""Closes the sessions of cancelled plans by their delegates' signatures (3.5 row 12, 3.16)."""

from typing import Final

import structlog

from farebox.automation.execution.sponsorship import SponsoredLanded, Sponsorship
from farebox.automation.paymaster.sponsored_store import SponsoredPurpose
from farebox.automation.plans import proposal_store
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.event_store import add_event
from farebox.automation.sessions import session_store
from farebox.automation.sessions.delegate_signer import DelegateSigner, RunNotSigned
from farebox.automation.sessions.session_store import SessionState, StoredSession
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScBytes, ScKind
from farebox.stellar.scval_writer import address_of
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.pool import Database

_BATCH: Final = 10  # of a pass

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class SessionClosings:
    """Closes sessions of one network at their guard or mandate; anybody may send that.

    Passes go round the sessions, so that those that cannot be closed now delay no other.
    """

    def __init__(
        self,
        network: Network,
        database: Database,
        clock: Clock,
        signer: DelegateSigner,
        sponsorship: Sponsorship,
    ) -> None:
        self._network, self._database, self._clock = network, database, clock
        self._signer, self._sponsorship = signer, sponsorship
        self._last_id = ""

    async def run_once(self) -> None:
        """Resolve what was sent, and close the next sessions that are to be closed.

        Raises:
            RpcUnavailable, ClockStale, DatabaseUnavailable: the next pass goes on.
        """
        await self._sponsorship.recover()
        async with self._database.connection() as db:
            ids = await session_store.list_to_close(
                db, self._network, after=self._last_id, limit=_BATCH
            )
        for proposal_id in ids:
            self._last_id = proposal_id
            async with self._database.connection() as db:
                plan = await proposal_store.find_plan(db, proposal_id)
                session = await session_store.find_session(db, proposal_id)
            if plan is not None and session is not None:
                await self.close(plan, session)
        if len(ids) < _BATCH:
            self._last_id = ""

    async def close(self, plan: StoredPlan, session: StoredSession) -> bool:
        """Close a session; whether it is closed now.

        Raises:
            RpcUnavailable, ClockStale, DatabaseUnavailable: it is not known.
        """
        terms = plan.terms
        contract = session.mandate if terms.mode is AuthorityMode.MANDATE else session.guard
        if contract is None:
            return False
        try:
            signature = self._signer.sign_close(plan, contract)
        except RunNotSigned as refused:
            log.warning("automation.not_closed", plan=terms.id, code=refused.code)
            return False
        call = AuthorizedCall(_closing(plan, contract, signature).call, ())
        sent = await self._sponsorship.send(terms, SponsoredPurpose.CLOSE, call)
        if not isinstance(sent, SponsoredLanded):
            log.info("automation.closing_waits", plan=terms.id, result=str(sent))
            return False
        async with self._database.transaction() as db:
            await proposal_store.lock_plan(db, terms.id)
            await session_store.mark_ended(db, terms.id, SessionState.CLOSED_BY_SERVICE)
            await add_event(db, terms.id, "session.closed_by_service", {"contract": contract})
        return True


def _closing(plan: StoredPlan, contract: Address, signature: Secret[bytes]) -> Invocation:
    terms, signed = plan.terms, ScBytes(ScKind.BYTES, signature.reveal())
    if terms.mode is AuthorityMode.MANDATE or terms.account is None:
        return Invocation(contract, "close", (signed,))
    policy_id = ScBytes(ScKind.BYTES, terms.policy_id)
    return Invocation(contract, "close", (address_of(terms.account), policy_id, signed))
