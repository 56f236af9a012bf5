"""Propose plans, and preview what a proposal would be (3.5, 3.18)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from farebox.automation.plan_body import PlanSessionBody
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.proposal_store import NewProposal
from farebox.automation.plans.quote import OfferedQuote
from farebox.automation.plans.stored_plan import PlanCounters, StoredPlan, StoredProposal
from farebox.automation.proposing.drafted_plan import DraftedPlan
from farebox.automation.proposing.preflight_report import PreflightReport
from farebox.automation.proposing.proposing_network import ProposingNetwork, ProposingNetworks
from farebox.automation.proposing.quotes import Quotes
from farebox.automation.proposing.record_proposal import NewPlan, ProposalRecorder
from farebox.automation.proposing.wire import ProposeRequest, spec_json
from farebox.automation.runs.move_plan import UNPAID_LIFE
from farebox.kernel.caller import Caller, check_network
from farebox.kernel.clock import Clock
from farebox.kernel.ids import new_id
from farebox.storage.pool import Database

ID_KIND: Final = "auto"
_NO_KEY: Final = bytes(32)  # of a preview, whose key is not made


@dataclass(frozen=True, slots=True)
class ProposalDetail:
    """A plan as its owner gets it."""

    row: StoredProposal
    quote: OfferedQuote | None = None
    session: PlanSessionBody | None = None
    report: PreflightReport | None = None


@dataclass(frozen=True, slots=True)
class PreviewedPlan:
    """A plan that would be proposed; `policy_spec` is the XDR of what its key could do."""

    plan: StoredPlan
    policy_spec: bytes
    report: PreflightReport
    quote: OfferedQuote
    warnings: Sequence[str]
    now: datetime


class Proposing:
    """Proposes plans on the networks that have a paymaster."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        networks: ProposingNetworks,
        quotes: Quotes,
        recorder: ProposalRecorder,
    ) -> None:
        self._database, self._clock, self._networks = database, clock, networks
        self._quotes, self._recorder = quotes, recorder

    async def create(
        self,
        caller: Caller,
        request_id: str,
        request: ProposeRequest,
        *,
        key: str | None = None,
        client: str | None = None,
    ) -> ProposalDetail:
        """Propose a plan; the same `key` with the same request returns the plan it made.

        Raises:
            AnotherNetwork: the caller's wallet is on another network than the plan.
            AutomationRefused: a rule refuses it, with the member.
            IdempotencyKeyReused: the key belongs to another request.
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: runs are not paid for on the network.
            QuotaReached: the quota of the client address, or of all, is exhausted.
            TooManyRequests: the owner exceeded the change limit.
        """
        check_network(caller, request.network)
        network, digest = self._networks.require(request.network), request_digest(request)
        known = await self._recorder.find_known(caller.owner, key, digest)
        if known is not None:
            return await self._detail(network, known)
        now, proposal_id = self._clock.now(), new_id(ID_KIND)
        draft = await network.draft(caller, request, now)
        public, sealed = network.delegates.make(caller.owner, proposal_id)
        plan = _unsaved(draft, proposal_id, public)
        report = await network.judge(plan, now)
        session = await network.session(plan, now)
        new = _new_row(draft, sealed, now, await network.kind_of(draft.account))
        if key is not None:
            new = msgspec.structs.replace(new, idempotency_key=key, request_digest=digest)
        made = NewPlan(
            plan,
            msgspec.structs.replace(new, client=client),
            network.quoted_fees(plan, report),
            now,
            is_for_sale=report.is_ok and report.is_whole,
        )
        recorded = await self._recorder.record(
            caller, request_id, made, is_duplicate_allowed=request.allow_duplicate
        )
        if isinstance(recorded, StoredProposal):
            return await self._detail(network, recorded)
        row, quote = recorded
        if report.is_ok and not report.is_whole:
            quote, report = await self._quote_again(network, plan, now)
        return ProposalDetail(row, quote, session, report)

    async def _quote_again(
        self, network: ProposingNetwork, plan: StoredPlan, now: datetime
    ) -> tuple[OfferedQuote | None, PreflightReport]:
        """Judge a plan whose runs choose their values, which needs its row; then quote it."""
        report = await network.judge(plan, now)
        if not report.is_ok:
            return None, report
        fees = network.quoted_fees(plan, report)
        return await self._recorder.quote(plan, fees, now), report

    async def preview(self, caller: Caller, request: ProposeRequest) -> PreviewedPlan:
        """Judge what a proposal would be; nothing is written.

        Raises:
            AnotherNetwork: the caller's wallet is on another network than the plan.
            AutomationRefused: a rule refuses it, with the member.
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: runs are not paid for on the network.
        """
        check_network(caller, request.network)
        network, now = self._networks.require(request.network), self._clock.now()
        draft = await network.draft(caller, request, now)
        plan = _unsaved(draft, "", _NO_KEY)
        report = await network.judge(plan, now)
        session = await network.session(plan, now)
        quote = await self._quotes.estimate(
            caller.owner,
            draft.network,
            runs=draft.run_limit,
            legs=draft.legs,
            fees=network.quoted_fees(plan, report),
            now=now,
        )
        policy_spec = plan.terms.session_spec or b""
        return PreviewedPlan(plan, policy_spec, report, quote, session.warnings, now)

    async def _detail(self, network: ProposingNetwork, row: StoredProposal) -> ProposalDetail:
        """A plan that was proposed before, as it is now."""
        now: datetime = self._clock.now()
        async with self._database.connection() as db:
            quote = await self._quotes.current(db, row.plan.terms, now=now)
        session = await network.session(row.plan, now)
        return ProposalDetail(row, quote, session, await network.judge(row.plan, now))


def request_digest(request: ProposeRequest) -> bytes:
    """32 bytes of a request, whatever the order of its members."""
    return hashlib.sha256(msgspec.json.encode(request, order="sorted")).digest()


def _new_row(draft: DraftedPlan, sealed: bytes, now: datetime, kind: str) -> NewProposal:
    return NewProposal(
        title=draft.title,
        account_kind=kind,
        spec=spec_json(draft.spec),
        intent_hash=draft.intent(),
        delegate_key=sealed,
        overdue_at=now + UNPAID_LIFE,
    )


def _unsaved(draft: DraftedPlan, proposal_id: str, delegate: bytes) -> StoredPlan:
    """The plan as its row will have it."""
    terms = draft.terms(proposal_id, delegate)
    return StoredPlan(terms, ProposalState.PROPOSED, PlanCounters())
