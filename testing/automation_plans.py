"""Plans of automation as the service writes them, for proofs and benches."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from farebox.app.vault_services import AutomationSealers
from farebox.automation.authority import presigned_store
from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.authority.planned_calls import ACTOR, PlannedCall, PlannedCalls
from farebox.automation.authority.presigned_store import PresignedEntry
from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans import proposal_store
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_store import NewProposal
from farebox.automation.plans.session_spec import AuthorityMode, SessionCall
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.schedules.schedule import IntervalSchedule
from farebox.automation.sessions import session_store
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection
from testing.automation_payments import pay_for_runs

EVERY: Final = timedelta(seconds=60)  # the shortest interval of a schedule
RUN: Final = "autolayer_run"
_LATENESS: Final = timedelta(seconds=30)
_HORIZON: Final = timedelta(days=2)
_MAX_FEE: Final = Stroops(5_000_000)


@dataclass(frozen=True, slots=True)
class DraftedPlan:
    """The terms of a plan that runs `runs` times, and its delegate's sealed key."""

    terms: PlanTerms
    sealed_key: bytes
    runs: int
    payload: str = "{}"  # what its owner has proposed, as JSON


def keeper_calls(keeper: Address) -> RunCalls:
    """The calls of a plan that runs a keeper."""
    return RunCalls(PlannedCalls((PlannedCall(SessionCall(keeper, RUN, ()), (ACTOR,)),)))


def every_minute(start_at: datetime) -> IntervalSchedule:
    """The schedule of these plans."""
    return IntervalSchedule(every_seconds=EVERY // timedelta(seconds=1), start_at=start_at)


def draft_plan(
    sealers: AutomationSealers,
    mode: AuthorityMode,
    calls: RunCalls,
    *,
    start_at: datetime,
    runs: int,
    account: Address | None = None,
) -> DraftedPlan:
    """Draft a plan that runs each minute from `start_at` on, and makes up for missed runs."""
    proposal_id, owner = new_id("auto"), OwnerId(new_id("user"))
    public, sealed = DelegateKeys(sealers.delegates).make(owner, proposal_id)
    terms = PlanTerms(
        id=proposal_id,
        owner=owner,
        network=Network.TESTNET,
        account=account,
        kind=PlanKind.CONTRACT_CALL,
        mode=mode,
        policy_id=PolicyId(secrets.token_bytes(32)),
        delegate=public,
        calls=encode_calls(calls),
        schedule=every_minute(start_at),
        window=PlanWindow(start_at - timedelta(seconds=1), datetime.now(UTC) + _HORIZON),
        rule=LatenessRule(MissedRuns.CATCH_UP_ALL, _LATENESS),
        max_fee=_MAX_FEE,
        run_limit=runs,
        auth_limit=runs,
    )
    return DraftedPlan(terms, sealed, runs)


async def start_plan(
    db: Connection,
    drafted: DraftedPlan,
    entries: Sequence[PresignedEntry] = (),
    *,
    session: Installed | None = None,
    run_asset: Address | None = None,
) -> None:
    """Write a plan, pay for its runs and activate it, in the caller's transaction.

    `session` is what was installed for it. Without `run_asset`, in which runs are paid, they cost
    nothing.
    """
    now, terms = datetime.now(UTC), drafted.terms
    new = NewProposal(
        title="a plan of a proof",
        account_kind="g",
        spec=drafted.payload,
        intent_hash=secrets.token_bytes(32),
        delegate_key=drafted.sealed_key,
        overdue_at=now + _HORIZON,
    )
    await proposal_store.add_proposal(db, terms, new)
    plan = await proposal_store.lock_plan(db, terms.id)
    if plan is None:
        raise LookupError(terms.id)
    if run_asset is None:
        free, credited = ProposalFacts(price_is_zero=True), drafted.runs
        waived = ProposalTrigger.WAIVE_PAYMENT
        plan = await move_plan(db, plan, waived, free, now=now, credited=credited)
    else:
        plan = await pay_for_runs(db, plan, drafted.runs, asset=run_asset, now=now)
    await presigned_store.add_entries(db, terms.id, entries)
    if session is not None:
        await session_store.record_read_back(db, terms, session)
    paid = ProposalFacts(runs_left=drafted.runs)
    await move_plan(db, plan, ProposalTrigger.ACTIVATE, paid, now=now)
