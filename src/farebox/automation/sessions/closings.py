"""Closes the sessions of cancelled plans by their delegates' signatures (3.5 row 12, 3.16)."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from farebox.automation.execution.sponsor_obstacle import wait_for
from farebox.automation.execution.sponsorship import (
    SponsoredLanded,
    SponsoredResult,
    SponsoredUnavailable,
    Sponsorship,
)
from farebox.automation.paymaster import sponsored_store
from farebox.automation.paymaster.sponsored_store import SponsoredPurpose
from farebox.automation.plans import proposal_store
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.event_store import add_event
from farebox.automation.sessions import session_store
from farebox.automation.sessions.delegate_signer import DelegateSigner, RunNotSigned
from farebox.automation.sessions.ended_installations import EndedInstallations
from farebox.automation.sessions.read_back import SessionReadBack
from farebox.automation.sessions.session_store import SessionState, StoredSession
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScBytes, ScKind
from farebox.stellar.scval_writer import address_of
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.pool import Database

_BATCH: Final = 10  # of a pass
_SHORTEST_PAUSE: Final = timedelta(seconds=5)  # before the next try of one that was not closed
_LONGEST_PAUSE: Final = timedelta(hours=1)

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class SessionClosings:
    """Closes sessions of one network at their guard or mandate; anybody may send that.

    Passes go round the sessions, so that those that cannot be closed now delay no other; they are
    tried ever more seldom, since each try takes a channel.
    """

    def __init__(
        self,
        network: Network,
        database: Database,
        clock: Clock,
        signer: DelegateSigner,
        sponsorship: Sponsorship,
        read_back: SessionReadBack,
    ) -> None:
        self._network, self._database, self._clock = network, database, clock
        self._signer, self._sponsorship = signer, sponsorship
        self._installations = EndedInstallations(network, database, clock, read_back)
        self._last_id = ""
        self._pauses: dict[str, tuple[datetime, timedelta]] = {}  # by plan: until when, how long

    async def run_once(self) -> None:
        """Resolve what was sent, find what it installed, and close the next sessions.

        Raises:
            RpcUnavailable, ClockStale, DatabaseUnavailable: the next pass goes on.
        """
        await self._sponsorship.recover()
        await self._installations.run_once()
        async with self._database.connection() as db:
            ids = await session_store.list_to_close(
                db, self._network, after=self._last_id, limit=_BATCH
            )
        for proposal_id in ids:
            self._last_id = proposal_id
            paused = self._pauses.get(proposal_id)
            if paused is None or paused[0] <= self._clock.now():
                await self._try(proposal_id)
        if len(ids) < _BATCH:
            self._last_id = ""

    async def _try(self, proposal_id: str) -> None:
        """Close the session of one plan; its fault is its own."""
        async with self._database.connection() as db:
            plan = await proposal_store.find_plan(db, proposal_id)
            session = await session_store.find_session(db, proposal_id)
            has_landed = await sponsored_store.has_landed(db, proposal_id, SponsoredPurpose.CLOSE)
        if plan is None or session is None:
            return
        try:
            if has_landed:  # later than its sender has waited for it
                await self._end(plan, session)
            else:
                await self.close(plan, session)
        except Outage:
            raise
        except Exception:
            self._pause(proposal_id)
            log.exception("automation.closing_broken", plan=proposal_id)

    def _pause(self, proposal_id: str, sent: SponsoredResult | None = None) -> None:
        """Let a plan wait twice as long as before, and as long as what hinders it is known to."""
        now = self._clock.now()
        _, before = self._pauses.get(proposal_id, (now, _SHORTEST_PAUSE / 2))
        known = wait_for(sent.obstacle, now) if isinstance(sent, SponsoredUnavailable) else before
        pause = min(max(2 * before, known), _LONGEST_PAUSE)
        self._pauses[proposal_id] = now + pause, pause

    async def close(self, plan: StoredPlan, session: StoredSession) -> bool:
        """Close a session; whether it is closed now.

        Raises:
            RpcUnavailable, ClockStale, DatabaseUnavailable: it is not known.
        """
        terms = plan.terms
        contract = _contract_of(plan, session)
        if contract is None:
            return False
        try:
            signature = self._signer.sign_close(plan, contract)
        except RunNotSigned as refused:
            self._pause(terms.id)
            log.warning("automation.not_closed", plan=terms.id, code=refused.code)
            return False
        call = AuthorizedCall(_closing(plan, contract, signature).call, ())
        sent = await self._sponsorship.send(terms, SponsoredPurpose.CLOSE, call)
        if not isinstance(sent, SponsoredLanded):
            self._pause(terms.id, sent)
            log.info("automation.closing_waits", plan=terms.id, result=str(sent))
            return False
        await self._end(plan, session)
        return True

    async def _end(self, plan: StoredPlan, session: StoredSession) -> None:
        plan_id, contract = plan.terms.id, _contract_of(plan, session)
        self._pauses.pop(plan_id, None)
        async with self._database.transaction() as db:
            await proposal_store.lock_plan(db, plan_id)
            await session_store.mark_ended(db, plan_id, SessionState.CLOSED_BY_SERVICE)
            await add_event(db, plan_id, "session.closed_by_service", {"contract": contract})


def _contract_of(plan: StoredPlan, session: StoredSession) -> Address | None:
    """The contract that keeps the session, and closes it."""
    return session.mandate if plan.terms.mode is AuthorityMode.MANDATE else session.guard


def _closing(plan: StoredPlan, contract: Address, signature: Secret[bytes]) -> Invocation:
    terms, signed = plan.terms, ScBytes(ScKind.BYTES, signature.reveal())
    if terms.mode is AuthorityMode.MANDATE or terms.account is None:
        return Invocation(contract, "close", (signed,))
    policy_id = ScBytes(ScKind.BYTES, terms.policy_id)
    return Invocation(contract, "close", (address_of(terms.account), policy_id, signed))
