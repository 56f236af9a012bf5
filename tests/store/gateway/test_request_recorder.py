"""Requests to wrappers, recorded in the background."""

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from farebox.gateway.analytics import request_recorder, request_store
from farebox.gateway.analytics.recorded_request import RecordedRequest, RequestOutcome
from farebox.gateway.analytics.request_recorder import BATCH, RequestRecorder
from farebox.gateway.analytics.request_store import StoredRequest, WrapperDay
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from testing.waiting import until

AT = datetime(2026, 11, 22, 23, 59, tzinfo=UTC)
REQUEST = RecordedRequest(
    wrapper_id="wrp_1",
    at=AT,
    request_id="r",
    method="POST",
    path="/city",
    status=200,
    outcome=RequestOutcome.UPSTREAM_SUCCESS,
    duration_ms=100,
    request_bytes=3,
    response_bytes=5,
    tx_hash="ab" * 32,
)


def recorder(database: Database, *, max_waiting: int = 20_000) -> RequestRecorder:
    return RequestRecorder(database, SystemClock(), max_waiting=max_waiting)


async def requests_of(
    database: Database, *, after: tuple[datetime, int] | None = None, limit: int = 100
) -> list[StoredRequest]:
    async with database.connection() as db:
        return list(await request_store.list_requests(db, "wrp_1", after=after, limit=limit))


async def days_of(database: Database) -> list[WrapperDay]:
    async with database.connection() as db:
        days = await request_store.list_days(
            db, "wrp_1", first=date(2026, 1, 1), last=date(2026, 12, 31)
        )
    return list(days)


async def test_request_is_written_and_read_back_as_it_was(database: Database) -> None:
    own = recorder(database)
    own.record(REQUEST)
    assert await requests_of(database) == []
    assert await own.write() == 1
    assert await own.write() == 0
    assert [each.request for each in await requests_of(database)] == [REQUEST]


async def test_days_add_up_over_two_replicas(database: Database, other_pool: Database) -> None:
    replicas = [recorder(database), recorder(other_pool)]
    failed = replace(
        REQUEST, outcome=RequestOutcome.UPSTREAM_ERROR, status=502, error_code="upstream_failed"
    )
    for own in replicas:
        for each in (REQUEST, failed, replace(REQUEST, at=AT + timedelta(minutes=1))) * 10:
            own.record(each)
    await asyncio.gather(*(own.write() for own in replicas))
    days = await days_of(database)
    assert [(each.day, each.outcome, each.error_code, each.requests) for each in days] == [
        (date(2026, 11, 23), RequestOutcome.UPSTREAM_SUCCESS, "", 20),
        (date(2026, 11, 22), RequestOutcome.UPSTREAM_ERROR, "upstream_failed", 20),
        (date(2026, 11, 22), RequestOutcome.UPSTREAM_SUCCESS, "", 20),
    ]
    assert {(each.duration_ms, each.request_bytes, each.response_bytes) for each in days} == {
        (2000, 60, 100)
    }
    assert {sum(each.latencies) for each in days} == {20}


async def test_requests_are_listed_by_page_newest_first(database: Database) -> None:
    own = recorder(database)
    for minute in range(5):
        own.record(replace(REQUEST, at=AT + timedelta(minutes=minute // 2), path=f"/{minute}"))
    await own.write()
    first = await requests_of(database, limit=2)
    last = first[-1]
    rest = await requests_of(database, after=(last.request.at, last.id))
    assert [each.request.path for each in (*first, *rest)] == ["/4", "/3", "/2", "/1", "/0"]


async def test_requests_wait_while_the_database_is_away(database: Database) -> None:
    async with Database(Secret("postgresql://nobody@127.0.0.1:9/nothing")) as away:
        own = recorder(away)
        own.record(REQUEST)
        for _ in range(2):
            with pytest.raises(DatabaseUnavailable):
                await own.write()
        own._database = database
        assert await own.write() == 1


async def test_only_the_newest_requests_wait(database: Database) -> None:
    own = recorder(database, max_waiting=3)
    for number in range(5):
        own.record(replace(REQUEST, path=f"/{number}", at=AT + timedelta(seconds=number)))
    await own.write()
    assert [each.request.path for each in await requests_of(database)] == ["/4", "/3", "/2"]


async def test_what_is_left_is_written_at_the_end(database: Database) -> None:
    own = recorder(database)
    async with own.written_at_end():
        for number in range(BATCH + 1):
            own.record(replace(REQUEST, path=f"/{number}"))
    assert len(await requests_of(database, limit=2 * BATCH)) == BATCH + 1


async def test_loop_writes_within_its_interval(database: Database) -> None:
    own = recorder(database)
    running = asyncio.create_task(own.run())
    own.record(REQUEST)
    try:
        await until(lambda: requests_of(database), within_s=5 * request_recorder.EVERY_S)
    finally:
        running.cancel()


async def test_old_requests_are_deleted_and_their_days_stay(database: Database) -> None:
    own = recorder(database)
    own.record(replace(REQUEST, at=datetime.now(UTC) - timedelta(days=31)))
    own.record(replace(REQUEST, at=datetime.now(UTC) - timedelta(days=29)))
    await own.write()
    async with database.connection() as db:
        kept = timedelta(days=30)
        assert await request_store.delete_old(db, kept=kept, limit=10) == 1
        assert await request_store.delete_old(db, kept=kept, limit=10) == 0
    assert len(await requests_of(database)) == 1
    assert sum(each.requests for each in await days_of(database)) == 2
