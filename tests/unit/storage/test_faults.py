"""Faults of the database: the driver's errors translated, and work that may be missed."""

import asyncpg
import pytest
import structlog

from farebox.storage.faults import Conflict, DatabaseUnavailable, attempt, translate_error


@pytest.mark.parametrize(
    "error", [asyncpg.DataError("x"), asyncpg.CharacterNotInRepertoireError("x"), ValueError("x")]
)
def test_value_that_the_database_refuses_is_not_translated(error: Exception) -> None:
    assert translate_error(error) is error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (asyncpg.QueryCanceledError("x"), DatabaseUnavailable),
        (asyncpg.InterfaceError("connection is closed"), DatabaseUnavailable),
        (asyncpg.UniqueViolationError("x"), Conflict),
    ],
)
def test_driver_errors_are_translated_to_outage_or_conflict(error: Exception, kind: type) -> None:
    assert isinstance(translate_error(error), kind)


async def _done() -> None:
    return None


async def _away() -> None:
    raise DatabaseUnavailable("the database cannot be used now (OSError)")


async def _broken() -> None:
    raise Conflict("rows_key")


async def test_attempt_returns_true_and_logs_nothing_when_the_work_is_done() -> None:
    with structlog.testing.capture_logs() as logged:
        assert await attempt(_done, missed="rows.not_written")
    assert logged == []


async def test_attempt_logs_work_that_the_database_was_unavailable_for() -> None:
    with structlog.testing.capture_logs() as logged:
        assert not await attempt(_away, missed="rows.not_written")
    assert logged == [{"event": "rows.not_written", "log_level": "info"}]


async def test_attempt_raises_other_faults() -> None:
    with pytest.raises(Conflict):
        await attempt(_broken, missed="rows.not_written")
