"""Record a new plan, once: its row, its session, its quote, its first event, in one transaction."""

from dataclasses import dataclass
from datetime import datetime

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.automation.limits import AutomationLimits
from farebox.automation.plans import owned_proposal_store, proposal_store
from farebox.automation.plans.proposal_state import ProposalTrigger
from farebox.automation.plans.proposal_store import NewProposal
from farebox.automation.plans.quote import OfferedQuote, QuotedFees
from farebox.automation.plans.stored_plan import StoredPlan, StoredProposal
from farebox.automation.proposing import proposing_store
from farebox.automation.proposing.quotes import Quotes
from farebox.automation.refusal import AutomationRefused, limit_exceeded
from farebox.automation.runs.event_store import add_event
from farebox.kernel.caller import Caller, OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.quota import Quota
from farebox.storage.client_quota import enforce_quota
from farebox.storage.owner_lock import OwnerLocks
from farebox.storage.pool import Connection, Database


@dataclass(frozen=True, slots=True)
class NewPlan:
    """A plan to record.

    `fees` are those that its price is made of, `now` when it was judged. A plan that did not pass
    its preflight is not for sale: it gets no quote.
    """

    plan: StoredPlan
    new: NewProposal
    fees: QuotedFees
    now: datetime
    is_for_sale: bool


class IdempotencyKeyReused(Refusal):
    """The key was sent with another request."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.IDEMPOTENCY_KEY_REUSED)


class ProposalRecorder:
    """Records plans; `changes` limits how often an owner proposes."""

    def __init__(
        self, database: Database, quotes: Quotes, changes: Quota, limits: AutomationLimits
    ) -> None:
        self._database, self._quotes, self._limits = database, quotes, limits
        self._owner_locks = OwnerLocks(changes)

    async def find_known(
        self, owner: OwnerId, key: str | None, digest: bytes
    ) -> StoredProposal | None:
        """The plan that the key has made; None for a new one, which counts as a change.

        Raises:
            IdempotencyKeyReused: the key belongs to another request.
            AutomationRefused: the owner has the maximum number of open plans.
            TooManyRequests: the owner exceeded the change limit.
        """
        async with self._database.connection() as db:
            known = await _find_by_key(db, owner, key, digest)
            if known is None:
                await self._check_count(db, owner)
        if known is None:
            await self._owner_locks.count_change(owner)
        return known

    async def record(
        self, caller: Caller, request_id: str, made: NewPlan, *, is_duplicate_allowed: bool = False
    ) -> tuple[StoredProposal, OfferedQuote | None] | StoredProposal:
        """Record a plan with its quote; alone the plan that the same key has made meanwhile.

        Raises:
            AutomationRefused: `duplicate_intent` or `limit_exceeded`.
            IdempotencyKeyReused: the key belongs to another request.
            QuotaReached: the quota of the client address, or of all, is exhausted.
        """
        owner, new, terms = caller.owner, made.new, made.plan.terms
        async with self._owner_locks.hold(owner), self._database.transaction() as db:
            await proposing_store.lock_owner(db, owner)
            digest = new.request_digest or b""
            known = await _find_by_key(db, owner, new.idempotency_key, digest)
            if known is not None:
                return known
            await self._check_count(db, owner)
            if not is_duplicate_allowed:
                await _check_equal(db, owner, new.intent_hash)
            await enforce_quota(db, proposing_store.QUOTA, new.client)
            await _insert(db, made.plan, new)
            quote = None
            if made.is_for_sale:
                quote = await self._quotes.issue(
                    db, terms, runs=terms.run_limit, fees=made.fees, now=made.now
                )
            event = AuditEvent(caller, Action.AUTOMATION_PROPOSED, terms.id, request_id)
            await insert_event(db, event)
            return await require_proposal(db, owner, terms.id), quote

    async def quote(self, plan: StoredPlan, fees: QuotedFees, now: datetime) -> OfferedQuote:
        """Quote a plan that was recorded without a quote."""
        async with self._database.transaction() as db:
            await proposal_store.lock_plan(db, plan.terms.id)
            runs = plan.terms.run_limit
            return await self._quotes.issue(db, plan.terms, runs=runs, fees=fees, now=now)

    async def _check_count(self, db: Connection, owner: OwnerId) -> None:
        most = self._limits.open_plans_per_owner
        if await owned_proposal_store.count_open(db, owner) >= most:
            raise limit_exceeded("", f"An owner has {most} plans at most that have not ended.")


async def require_proposal(db: Connection, owner: OwnerId, proposal_id: str) -> StoredProposal:
    """Find the owner's plan.

    Raises:
        NotFound: the owner has no such plan.
    """
    row = await owned_proposal_store.find_proposal(db, owner, proposal_id)
    if row is None:
        raise NotFound
    return row


async def _insert(db: Connection, plan: StoredPlan, new: NewProposal) -> None:
    terms = plan.terms
    await proposal_store.add_proposal(db, terms, new)
    await proposing_store.add_session(db, terms.id, terms.mode)
    data = {"to": plan.state, "mode": terms.mode, "policyId": terms.policy_id.hex()}
    await add_event(db, terms.id, f"plan.{ProposalTrigger.CREATE}", data)


async def _check_equal(db: Connection, owner: OwnerId, intent_hash: bytes) -> None:
    equal = await owned_proposal_store.find_equal(db, owner, intent_hash)
    if equal is not None:
        why = f"The open plan {equal} does the same: send allowDuplicate for a second one."
        raise AutomationRefused(ErrorCode.DUPLICATE_INTENT, why)


async def _find_by_key(
    db: Connection, owner: OwnerId, key: str | None, digest: bytes
) -> StoredProposal | None:
    found = None if key is None else await owned_proposal_store.find_by_key(db, owner, key)
    if found is None:
        return None
    proposal_id, known = found
    if known != digest:
        raise IdempotencyKeyReused
    return await require_proposal(db, owner, proposal_id)
