"""Plans and runs as rows, for tests of the automation runtime."""

import itertools
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.authority.planned_calls import ACTOR, PlannedCall, PlannedCalls
from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans import proposal_store
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_store import NewProposal
from farebox.automation.plans.session_spec import AuthorityMode, SessionCall
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.schedules.schedule import IntervalSchedule
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import Sealer
from support.journal_rows import party
from support.manual_clock import START
from support.vault import OLD, keys

TARGET: Final = contract_address(bytes([9]) * 32)
RUNS: Final = 10
MAX_FEE: Final = Stroops(5_000_000)
_numbers: Final = itertools.count(1)


def sealer(domain: str) -> ByteSealer:
    """A sealer of a domain, under a planted master key."""
    return ByteSealer(Sealer(keys(OLD), domain=domain))


DELEGATES: Final = DelegateKeys(sealer("automation delegate"))


def open_calls(contract: Address = TARGET, *, check: bool = False) -> RunCalls:
    """The calls of a plan that runs a target of the convention."""
    call = PlannedCall(SessionCall(contract, "autolayer_run", ()), (ACTOR,))
    return RunCalls(PlannedCalls((call,)), check=contract if check else None)


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """A plan before it has a row; every one has another owner, account and policy."""

    terms: PlanTerms
    sealed_key: bytes
    runs: int = RUNS
    payload: dict[str, Any] = field(default_factory=dict)

    def but(self, **changes: Any) -> "PlanDraft":
        """The same plan with other terms."""
        return replace(self, terms=replace(self.terms, **changes))


def draft_plan(
    *,
    now: datetime = START,
    owner: OwnerId | None = None,
    account: Address | None = None,
    every_s: int = 60,
    **changes: Any,
) -> PlanDraft:
    """Draft an open plan that runs every minute from `now` on."""
    number = next(_numbers)
    proposal_id, owner = new_id("auto"), owner or OwnerId(f"user_{number:032}")
    public, sealed = DELEGATES.make(owner, proposal_id)
    terms = PlanTerms(
        id=proposal_id,
        owner=owner,
        network=Network.TESTNET,
        account=account or party(number),
        kind=PlanKind.CONTRACT_CALL,
        mode=AuthorityMode.OPEN,
        policy_id=PolicyId(secrets.token_bytes(32)),
        delegate=public,
        calls=encode_calls(open_calls()),
        schedule=IntervalSchedule(every_seconds=every_s, start_at=now),
        window=PlanWindow(now - timedelta(seconds=1), now + timedelta(days=30)),
        rule=LatenessRule(MissedRuns.SKIP, timedelta(seconds=every_s // 2)),
        max_fee=MAX_FEE,
        run_limit=RUNS,
        auth_limit=RUNS,
    )
    return PlanDraft(replace(terms, **changes), sealed)


async def put_plan(db: Connection, draft: PlanDraft, *, now: datetime = START) -> StoredPlan:
    """Insert a plan in the state `proposed`."""
    new = NewProposal(
        title="a plan",
        account_kind="g",
        spec=msgspec.json.encode(draft.payload).decode(),
        intent_hash=secrets.token_bytes(32),
        delegate_key=draft.sealed_key,
        overdue_at=now + timedelta(hours=24),
    )
    await proposal_store.add_proposal(db, draft.terms, new)
    return await lock(db, draft.terms.id)


async def lock(db: Connection, proposal_id: str) -> StoredPlan:
    """Lock a plan that exists, until the transaction ends."""
    plan = await proposal_store.lock_plan(db, proposal_id)
    assert plan is not None
    return plan


async def move(
    database: Database,
    plan: StoredPlan,
    trigger: ProposalTrigger,
    facts: ProposalFacts | None = None,
    *,
    now: datetime = START,
    reason: str | None = None,
) -> StoredPlan:
    """Move a plan by a trigger; without facts, by those of the runs that it has left."""
    async with database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        known = facts or ProposalFacts(runs_left=locked.counters.runs_left)
        return await move_plan(db, locked, trigger, known, now=now, reason=reason)


async def activate(
    database: Database, draft: PlanDraft | None = None, *, now: datetime = START
) -> StoredPlan:
    """Insert a plan, waive its price, and activate it; its first runs are materialised."""
    draft = draft or draft_plan(now=now)
    async with database.transaction() as db:
        plan = await waive_price(db, await put_plan(db, draft, now=now), draft.runs, now=now)
        facts = ProposalFacts(runs_left=draft.runs)
        return await move_plan(db, plan, ProposalTrigger.ACTIVATE, facts, now=now)


async def waive_price(db: Connection, plan: StoredPlan, runs: int, *, now: datetime) -> StoredPlan:
    """Let so many runs of a proposed plan cost nothing."""
    free = ProposalFacts(price_is_zero=True)
    return await move_plan(db, plan, ProposalTrigger.WAIVE_PAYMENT, free, now=now, credited=runs)


async def read_plan(database: Database, plan: StoredPlan) -> StoredPlan:
    """The plan as its row is now."""
    async with database.connection() as db:
        found = await proposal_store.find_plan(db, plan.terms.id)
    assert found is not None
    return found


async def read_runs(database: Database, plan: StoredPlan) -> list[dict[str, Any]]:
    """The rows of the plan's runs, in their order."""
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT * FROM automation_runs WHERE proposal_id = $1 ORDER BY run_index, leg_index",
            plan.terms.id,
        )
    return [dict(row) for row in rows]


async def read_owner(database: Database, owner: OwnerId) -> tuple[int, int]:
    """How many runs of the owner are in progress, and how many of its account."""
    async with database.connection() as db:
        row = await db.fetchrow(
            "SELECT running, account_running FROM automation_owners WHERE owner = $1", owner
        )
    assert row is not None
    return row["running"], row["account_running"]
