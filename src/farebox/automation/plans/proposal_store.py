"""The table of plans: rows in and out, and the changes that a run or a trigger makes to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.plan_credit import PlanCredit
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanCounters, PlanTerms, StoredPlan
from farebox.automation.plans.wire import OnLegError, PlanKind
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.schedules.schedule import Schedule
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection, Row

_SCHEDULE: Final = msgspec.json.Decoder(Schedule)
PLAN_COLUMNS: Final = """
    p.id, p.owner, p.network, p.account, p.kind, p.authority_mode, p.policy_id, p.delegate,
    p.delegate_key, p.calls, p.session_spec, p.target_wasm_hash, p.schedule, p.missed_runs,
    p.lateness_s, p.session_interval_s, p.not_before, p.expires_at, p.legs, p.on_leg_error,
    p.max_fee, p.run_limit, p.auth_limit, p.runs_credited, p.runs_consumed, p.runs_succeeded,
    p.auths_used, p.failures_in_row, p.ceilings_hit, p.status, p.status_reason, p.is_cancelling,
    p.credit_asset, p.credit_held, p.run_fee, p.setup_held, p.setup_left, p.client
"""


class NewProposal(msgspec.Struct, frozen=True):
    """What a new plan's row has besides its terms; `delegate_key` is sealed.

    `client` is the address that the quota of free accounts counts it for; None without one.
    """

    title: str
    account_kind: str
    spec: str
    intent_hash: bytes
    delegate_key: bytes
    overdue_at: datetime
    idempotency_key: str | None = None
    request_digest: bytes | None = None
    client: str | None = None


@dataclass(frozen=True, slots=True)
class OverduePlan:
    """A plan whose state has expired, and since when."""

    proposal_id: str
    overdue_at: datetime


async def add_proposal(db: Connection, terms: PlanTerms, new: NewProposal) -> datetime:
    """Insert a plan in the state `proposed`; returns when it was created.

    Raises:
        Conflict: the owner has used the idempotency key, or the policy id exists.
    """
    created_at: datetime = await db.fetchval(
        """
        INSERT INTO automation_proposals (
            id, owner, network, account, account_kind, kind, title, authority_mode, spec, calls,
            session_spec, intent_hash, policy_id, target_wasm_hash, delegate, delegate_key,
            schedule, missed_runs, lateness_s, session_interval_s, not_before, expires_at, legs,
            on_leg_error, max_fee, run_limit, auth_limit, overdue_at, idempotency_key,
            request_digest, client)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31)
        RETURNING created_at
        """,
        *_columns(terms, new),
    )
    return created_at


def _columns(terms: PlanTerms, new: NewProposal) -> tuple[object, ...]:
    """The values of `add_proposal`, in the order of its columns."""
    return (
        terms.id,
        terms.owner,
        terms.network.value,
        terms.account,
        new.account_kind,
        terms.kind.value,
        new.title,
        terms.mode.value,
        new.spec,
        terms.calls,
        terms.session_spec,
        new.intent_hash,
        terms.policy_id,
        terms.target_wasm_hash,
        terms.delegate,
        new.delegate_key,
        msgspec.json.encode(terms.schedule).decode(),
        terms.rule.missed.value,
        terms.rule.lateness // timedelta(seconds=1),
        terms.session_interval_s,
        terms.window.not_before,
        terms.window.not_after,
        terms.legs,
        terms.on_leg_error.value,
        terms.max_fee,
        terms.run_limit,
        terms.auth_limit,
        new.overdue_at,
        new.idempotency_key,
        new.request_digest,
        new.client,
    )


async def find_plan(db: Connection, proposal_id: str) -> StoredPlan | None:
    """Find a plan by its id, whoever owns it."""
    row = await db.fetchrow(
        f"SELECT {PLAN_COLUMNS} FROM automation_proposals p WHERE p.id = $1", proposal_id
    )
    return None if row is None else read_plan_row(row)


async def lock_plan(db: Connection, proposal_id: str) -> StoredPlan | None:
    """Find and lock a plan until the transaction ends; its runs are changed under this lock."""
    row = await db.fetchrow(
        f"SELECT {PLAN_COLUMNS} FROM automation_proposals p WHERE p.id = $1 FOR UPDATE", proposal_id
    )
    return None if row is None else read_plan_row(row)


async def find_owned(db: Connection, owner: OwnerId, proposal_id: str) -> StoredPlan | None:
    """Find the owner's plan of this id."""
    row = await db.fetchrow(
        f"SELECT {PLAN_COLUMNS} FROM automation_proposals p WHERE p.id = $1 AND p.owner = $2",
        proposal_id,
        owner,
    )
    return None if row is None else read_plan_row(row)


async def find_payload(db: Connection, proposal_id: str) -> str | None:
    """The payload of a plan as it was proposed (JSON)."""
    payload: str | None = await db.fetchval(
        "SELECT spec FROM automation_proposals WHERE id = $1", proposal_id
    )
    return payload


async def list_overdue(
    db: Connection, network: Network, *, after: OverduePlan | None, now: datetime, limit: int
) -> Sequence[OverduePlan]:
    """Plans whose state has expired, the longest overdue first, from behind the place `after`."""
    rows = await db.fetch(
        """
        SELECT id, overdue_at FROM automation_proposals
        WHERE network = $1 AND overdue_at <= $2
          AND ($3::timestamptz IS NULL OR (overdue_at, id) > ($3, $4::text))
        ORDER BY overdue_at, id LIMIT $5
        """,
        network.value,
        now,
        None if after is None else after.overdue_at,
        None if after is None else after.proposal_id,
        limit,
    )
    return [OverduePlan(row["id"], row["overdue_at"]) for row in rows]


async def is_overdue(db: Connection, proposal_id: str, *, now: datetime) -> bool:
    """Whether the state of a locked plan has expired."""
    found = await db.fetchval(
        "SELECT overdue_at <= $2 FROM automation_proposals WHERE id = $1", proposal_id, now
    )
    return found is True


async def write_overdue(db: Connection, proposal_id: str, at: datetime) -> None:
    """Change when the state of a locked plan is looked at by `PlanUpkeep`."""
    await db.execute(
        "UPDATE automation_proposals SET overdue_at = $2 WHERE id = $1", proposal_id, at
    )


async def record_activation(db: Connection, proposal_id: str, *, at: datetime) -> None:
    """Record when a locked plan becomes active; a resumed one keeps its first time."""
    await db.execute(
        "UPDATE automation_proposals SET activated_at = coalesce(activated_at, $2) WHERE id = $1",
        proposal_id,
        at,
    )


async def find_activation(db: Connection, proposal_id: str) -> datetime | None:
    """When a plan became active; None where that is not known."""
    at: datetime | None = await db.fetchval(
        "SELECT activated_at FROM automation_proposals WHERE id = $1", proposal_id
    )
    return at


async def leave_to_owner(db: Connection, proposal_id: str) -> None:
    """Let the owner resume a locked plan that is paused, whatever paused it."""
    await db.execute(
        """
        UPDATE automation_proposals
        SET status_reason = 'owner', version = version + 1, updated_at = clock_timestamp()
        WHERE id = $1 AND status = 'paused'
        """,
        proposal_id,
    )


async def write_state(
    db: Connection,
    proposal_id: str,
    state: ProposalState,
    *,
    reason: str | None,
    overdue_at: datetime | None,
    is_cancelling: bool = False,
) -> None:
    """Change the state of a locked plan; `overdue_at` is when the new one expires."""
    await db.execute(
        """
        UPDATE automation_proposals
        SET status = $2, status_reason = $3, overdue_at = $4, is_cancelling = $5,
            version = version + 1, updated_at = clock_timestamp()
        WHERE id = $1
        """,
        proposal_id,
        state.value,
        reason,
        overdue_at,
        is_cancelling,
    )


async def write_counters(db: Connection, proposal_id: str, counters: PlanCounters) -> None:
    """Write the counters of a locked plan."""
    await db.execute(
        """
        UPDATE automation_proposals
        SET runs_credited = $2, runs_consumed = $3, runs_succeeded = $4, auths_used = $5,
            failures_in_row = $6, ceilings_hit = $7, credit_asset = $8, credit_held = $9,
            run_fee = $10, setup_held = $11, setup_left = $12, updated_at = clock_timestamp()
        WHERE id = $1
        """,
        proposal_id,
        counters.runs_credited,
        counters.runs_consumed,
        counters.runs_succeeded,
        counters.auths_used,
        counters.failures_in_row,
        counters.ceilings_hit,
        counters.credit.asset,
        counters.credit.held,
        counters.credit.run_fee,
        counters.credit.setup_held,
        counters.credit.setup_left,
    )


async def shred_key(db: Connection, proposal_id: str) -> None:
    """Destroy the sealed delegate key and the pre-signed entries of a locked plan."""
    await db.execute(
        "UPDATE automation_proposals SET delegate_key = NULL WHERE id = $1", proposal_id
    )
    await db.execute(
        """
        UPDATE automation_presigned SET entry = NULL, state = 'destroyed'
        WHERE proposal_id = $1 AND state = 'ready'
        """,
        proposal_id,
    )


def read_plan_row(row: Row) -> StoredPlan:
    """The plan of a row with the columns of this module."""
    sealed = row["delegate_key"]
    return StoredPlan(
        terms=_read_terms(row),
        state=ProposalState(row["status"]),
        counters=PlanCounters(
            runs_credited=row["runs_credited"],
            runs_consumed=row["runs_consumed"],
            runs_succeeded=row["runs_succeeded"],
            auths_used=row["auths_used"],
            failures_in_row=row["failures_in_row"],
            ceilings_hit=row["ceilings_hit"],
            credit=_read_credit(row),
        ),
        is_cancelling=row["is_cancelling"],
        reason=row["status_reason"],
        delegate_key=None if sealed is None else Secret(sealed),
        client=row["client"],
    )


def _read_credit(row: Row) -> PlanCredit:
    asset, fee, limit = row["credit_asset"], row["run_fee"], row["setup_left"]
    return PlanCredit(
        asset=None if asset is None else Address(asset),
        held=BaseUnits(int(row["credit_held"])),
        run_fee=None if fee is None else Stroops(fee),
        setup_held=BaseUnits(int(row["setup_held"])),
        setup_left=None if limit is None else Stroops(limit),
    )


def _read_terms(row: Row) -> PlanTerms:
    account = row["account"]
    return PlanTerms(
        id=row["id"],
        owner=OwnerId(row["owner"]),
        network=Network(row["network"]),
        account=None if account is None else Address(account),
        kind=PlanKind(row["kind"]),
        mode=AuthorityMode(row["authority_mode"]),
        policy_id=PolicyId(row["policy_id"]),
        delegate=row["delegate"],
        calls=row["calls"],
        schedule=_SCHEDULE.decode(row["schedule"]),
        window=PlanWindow(row["not_before"], row["expires_at"]),
        rule=LatenessRule(MissedRuns(row["missed_runs"]), timedelta(seconds=row["lateness_s"])),
        max_fee=Stroops(row["max_fee"]),
        run_limit=row["run_limit"],
        auth_limit=row["auth_limit"],
        session_spec=row["session_spec"],
        target_wasm_hash=row["target_wasm_hash"],
        session_interval_s=row["session_interval_s"],
        legs=row["legs"],
        on_leg_error=OnLegError(row["on_leg_error"]),
    )
