"""The tables of requests to wrappers: single ones for thirty days, daily sums for ever."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from farebox.gateway.analytics.latency import CLASSES, latency_class
from farebox.gateway.analytics.recorded_request import RecordedRequest, RequestOutcome
from farebox.storage.pool import Connection, Row

_INSERT: Final = """
    INSERT INTO gateway_requests (wrapper_id, at, request_id, method, path, status, outcome,
                                  error_code, duration_ms, request_bytes, response_bytes,
                                  tx_hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""


@dataclass(frozen=True, slots=True)
class WrapperDay:
    """The requests of one wrapper, UTC day, outcome and error code."""

    day: date
    outcome: RequestOutcome
    error_code: str  # empty without one
    requests: int
    duration_ms: int
    request_bytes: int
    response_bytes: int
    latencies: tuple[int, ...]  # counts of `latency_class`


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request with its id, by which pages continue."""

    id: int
    request: RecordedRequest


async def insert_requests(db: Connection, requests: Sequence[RecordedRequest]) -> None:
    """Insert requests, and add them to the sums of their days; inside a transaction."""
    await db.executemany(
        _INSERT,
        list(map(_columns, requests)),
    )
    # the same way round in every process, so that two never wait for each other
    await db.executemany(
        """
        INSERT INTO wrapper_days AS d (wrapper_id, day, outcome, error_code, requests, duration_ms,
                                       request_bytes, response_bytes, latencies)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (wrapper_id, day, outcome, error_code) DO UPDATE
        SET requests = d.requests + excluded.requests,
            duration_ms = d.duration_ms + excluded.duration_ms,
            request_bytes = d.request_bytes + excluded.request_bytes,
            response_bytes = d.response_bytes + excluded.response_bytes,
            latencies = ARRAY(SELECT a + b FROM unnest(d.latencies, excluded.latencies)
                              WITH ORDINALITY AS both_of (a, b, i) ORDER BY i)
        """,
        [
            (key[0], each.day, each.outcome.value, each.error_code, each.requests,
             each.duration_ms, each.request_bytes, each.response_bytes, list(each.latencies))
            for key, each in sorted(sum_by_day(requests).items())
        ],
    )  # fmt: skip


def _columns(request: RecordedRequest) -> tuple[object, ...]:
    return (
        request.wrapper_id,
        request.at,
        request.request_id,
        request.method,
        request.path,
        request.status,
        request.outcome.value,
        request.error_code,
        request.duration_ms,
        request.request_bytes,
        request.response_bytes,
        bytes.fromhex(request.tx_hash) or None,
    )


def sum_by_day(
    requests: Sequence[RecordedRequest],
) -> dict[tuple[str, date, str, str], WrapperDay]:
    """Sum requests up by wrapper, UTC day, outcome and error code."""
    groups: dict[tuple[str, date, str, str], list[RecordedRequest]] = {}
    for each in requests:
        key = (each.wrapper_id, each.at.date(), each.outcome.value, each.error_code or "")
        groups.setdefault(key, []).append(each)
    return {key: _sum(key, group) for key, group in groups.items()}


def _sum(key: tuple[str, date, str, str], group: Sequence[RecordedRequest]) -> WrapperDay:
    latencies = [0] * CLASSES
    for each in group:
        latencies[latency_class(each.duration_ms)] += 1
    return WrapperDay(
        day=key[1],
        outcome=RequestOutcome(key[2]),
        error_code=key[3],
        requests=len(group),
        duration_ms=sum(each.duration_ms for each in group),
        request_bytes=sum(each.request_bytes for each in group),
        response_bytes=sum(each.response_bytes for each in group),
        latencies=tuple(latencies),
    )


async def list_days(
    db: Connection, wrapper_id: str, *, first: date, last: date
) -> Sequence[WrapperDay]:
    """List the sums of a wrapper's days, both ends included, the newest first."""
    rows = await db.fetch(
        """
        SELECT day, outcome, error_code, requests, duration_ms, request_bytes, response_bytes,
               latencies
        FROM wrapper_days WHERE wrapper_id = $1 AND day BETWEEN $2 AND $3
        ORDER BY day DESC, outcome, error_code
        """,
        wrapper_id,
        first,
        last,
    )
    return [
        WrapperDay(
            row["day"],
            RequestOutcome(row["outcome"]),
            row["error_code"],
            row["requests"],
            row["duration_ms"],
            row["request_bytes"],
            row["response_bytes"],
            tuple(row["latencies"]),
        )
        for row in rows
    ]


async def list_requests(
    db: Connection, wrapper_id: str, *, after: tuple[datetime, int] | None, limit: int
) -> Sequence[StoredRequest]:
    """List a wrapper's requests after a position, the newest first."""
    moment, request_id = after or (None, None)
    rows = await db.fetch(
        """
        SELECT id, wrapper_id, at, request_id, method, path, status, outcome, error_code,
               duration_ms, request_bytes, response_bytes, tx_hash
        FROM gateway_requests
        WHERE wrapper_id = $1 AND ($2::timestamptz IS NULL OR (at, id) < ($2, $3::bigint))
        ORDER BY at DESC, id DESC LIMIT $4
        """,
        wrapper_id,
        moment,
        request_id,
        limit,
    )
    return [_read(row) for row in rows]


async def delete_old(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Delete requests older than `kept`, `limit` at most; return their number."""
    count: int = await db.fetchval(
        """
        WITH gone AS (
            DELETE FROM gateway_requests WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM gateway_requests WHERE at < clock_timestamp() - $1::interval
                ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone
        """,
        kept,
        limit,
    )
    return count


def _read(row: Row) -> StoredRequest:
    return StoredRequest(
        row["id"],
        RecordedRequest(
            wrapper_id=row["wrapper_id"],
            at=row["at"],
            request_id=row["request_id"],
            method=row["method"],
            path=row["path"],
            status=row["status"],
            outcome=RequestOutcome(row["outcome"]),
            duration_ms=row["duration_ms"],
            request_bytes=row["request_bytes"],
            response_bytes=row["response_bytes"],
            error_code=row["error_code"],
            tx_hash=row["tx_hash"].hex() if row["tx_hash"] is not None else "",
        ),
    )
