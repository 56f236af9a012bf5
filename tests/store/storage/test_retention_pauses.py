"""Loops that delete batch after batch leave the database to payments in between."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from farebox.accounts import challenge_store, session_store, sessions
from farebox.accounts.sessions import Sessions
from farebox.audit import audit_log, audit_store
from farebox.audit.audit_log import AuditLogRetention
from farebox.ingress import count_store, rate_limiter
from farebox.ingress.rate_limiter import RateLimiter
from farebox.search import prune as search_prune
from farebox.search.prune import Pruning
from farebox.storage.pool import Database
from support.manual_clock import ManualClock
from testing.waiting import until


def batches(*counts: int) -> Callable[..., Awaitable[int]]:
    """A statement that deletes so many rows each time, and then none."""
    left = list(counts)

    async def delete(*_: object, **__: object) -> int:
        return left.pop(0) if left else 0

    return delete


async def test_audit_log_retention_pauses_after_a_full_batch(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = audit_log._BATCH
    monkeypatch.setattr(audit_store, "delete_expired_events", batches(most, most, 3))
    retention = AuditLogRetention(database, clock, kept=timedelta(days=1))
    assert await retention.delete_expired() == 2 * most + 3
    assert clock.slept == [0.1, 0.1]


async def test_sessions_pause_after_a_full_batch(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = sessions._BATCH
    monkeypatch.setattr(challenge_store, "delete_expired_challenges", batches(most, 3))
    monkeypatch.setattr(session_store, "delete_expired_sessions", batches())
    assert await Sessions(database, clock).delete_expired() == most + 3
    assert clock.slept == [0.1]


async def test_versions_of_the_search_pause_after_a_full_batch(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = search_prune._BATCH
    monkeypatch.setattr(search_prune, "prune_versions", batches(most, 3))
    assert await Pruning(database, clock).prune() == most + 3
    assert clock.slept == [0.1]


async def test_counts_of_the_rate_limits_pause_after_a_full_batch(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = rate_limiter._DELETE_BATCH
    monkeypatch.setattr(count_store, "delete_windows", batches(most, 3))
    running = asyncio.ensure_future(RateLimiter(database, clock).run())
    await until(lambda: len(clock.slept) >= 3)
    running.cancel()
    await asyncio.wait({running})
    assert clock.slept[:3] == [60, 0.1, 60]
