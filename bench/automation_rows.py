"""Rows of the bench of automation: plans with their next runs, and as many jobs of the peer."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from farebox.storage.pool import Connection

_PLANS: Final = """
    INSERT INTO automation_proposals (
        id, owner, network, account, account_kind, kind, title, authority_mode, spec, calls,
        intent_hash, policy_id, delegate, delegate_key, schedule, missed_runs, lateness_s,
        not_before, expires_at, max_fee, run_limit, runs_credited, auth_limit, status, overdue_at)
    SELECT 'auto_stored' || i, 'user_' || i / $3::int, 'stellar:testnet', 'G' || i / $3::int, 'g',
           'contract_call', 'a stored plan', 'open', '{}', '{}', digest, digest, digest,
           NULL, '{"kind":"interval","everySeconds":60}', 'skip', 30,
           $2::timestamptz, $2::timestamptz + interval '30 days', 1000, 10, 10, 10, 'active',
           $2::timestamptz + interval '30 days'
    FROM generate_series(1, $1::int) i, LATERAL (SELECT sha256(i::text::bytea) AS digest) d
"""
_OWNERS: Final = """
    INSERT INTO automation_owners (network, owner)
    SELECT DISTINCT network, owner FROM automation_proposals ON CONFLICT DO NOTHING
"""
_RUNS: Final = """
    INSERT INTO automation_runs (
        id, proposal_id, run_index, network, owner, account, scheduled_for, deadline_at, due_at)
    SELECT 'run_' || md5(i::text || index), 'auto_stored' || i, index, 'stellar:testnet',
           'user_' || i / $4::int, 'G' || i / $4::int, at, at + interval '1 day',
           CASE WHEN index = 0 THEN at END
    FROM generate_series(1, $1::int) i, generate_series(0, 1) index,
         LATERAL (SELECT CASE WHEN $2::int > 0 AND i % ($1::int / greatest($2::int, 1)) = 0
                         THEN $3::timestamptz - (i % 997) * interval '1 ms'
                         ELSE $3::timestamptz + interval '1 day' + i * interval '1 s' END AS at) t
"""
_RESET: Final = """
    UPDATE automation_runs SET state = 'scheduled', due_at = scheduled_for
    WHERE id IN (SELECT run_id FROM automation_leases)
"""
_JOBS: Final = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at)
    SELECT 'runs', 'run', jsonb_build_object('plan', i),
           CASE WHEN i % ($1::int / $2::int) = 0 THEN $3::timestamptz - (i % 997) * interval '1 ms'
                ELSE $3::timestamptz + interval '1 day' + i * interval '1 s' END
    FROM generate_series(1, $1::int) i
"""
_RESET_JOBS: Final = "UPDATE procrastinate_jobs SET status = 'todo' WHERE status = 'doing'"
_OURS: Final = ("proposals", "runs", "owners", "leases")


async def fill_plans(
    db: Connection, plans: int, *, due: int, now: datetime, per_owner: int
) -> None:
    """Store active plans with two runs each; those of `due` plans are due and spread over all."""
    async with db.transaction():
        await db.execute("SET LOCAL session_replication_role = replica")  # triggers: set by _OWNERS
        await db.execute(_PLANS, plans, now, per_owner)
        await db.execute(_OWNERS)
        await db.execute(_RUNS, plans, due, now, per_owner)
    await _tidy(db, [f"automation_{name}" for name in _OURS])


async def reset_plans(db: Connection) -> None:
    """Make the claimed runs due again."""
    await db.execute(_RESET)
    await db.execute("DELETE FROM automation_leases")
    await _tidy(db, [f"automation_{name}" for name in _OURS])


async def fill_jobs(db: Connection, jobs: int, *, due: int, now: datetime) -> None:
    """Store as many jobs of the peer, as many of them due, in the same order."""
    await db.execute(_JOBS, jobs, due, now)
    await _tidy(db, ["procrastinate_jobs"])


async def reset_jobs(db: Connection) -> None:
    """Make the fetched jobs of the peer due again."""
    await db.execute(_RESET_JOBS)
    await _tidy(db, ["procrastinate_jobs"])


async def _tidy(db: Connection, tables: Sequence[str]) -> None:
    """Vacuum and analyze, as autovacuum does on a server that is not in a hurry."""
    for table in tables:
        await db.execute(f"VACUUM ANALYZE {table}")
