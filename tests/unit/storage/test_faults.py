"""Faults of the database: the driver's errors translated, and work that may be missed."""

import asyncpg
import pytest
import structlog

from farebox.storage.faults import (
    Conflict,
    DatabaseUnavailable,
    LimitExceeded,
    StatementRefused,
    attempt,
    translate_error,
)


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


@pytest.mark.parametrize(
    "sqlstate", ["42501", "42P01", "42703", "42883", "42704", "3F000", "26000", "42P05", "0A000"]
)
def test_refused_statement_is_an_outage_with_its_reason(sqlstate: str) -> None:
    error = asyncpg.PostgresError.new({"C": sqlstate, "M": "no t\nDETAIL: x", "S": "ERROR"})
    refused = translate_error(error)
    assert isinstance(refused, StatementRefused)
    assert isinstance(refused, DatabaseUnavailable)
    assert (refused.sqlstate, refused.reason) == (sqlstate, "no t")
    assert sqlstate in refused.message
    assert "no t" not in refused.message, "what a caller may see names nothing of the schema"


@pytest.mark.parametrize("sqlstate", ["54000", "54001"])
def test_limit_of_the_server_is_an_outage_too(sqlstate: str) -> None:
    error = asyncpg.PostgresError.new({"C": sqlstate, "M": "too large", "S": "ERROR"})
    assert isinstance(translate_error(error), LimitExceeded)
    assert isinstance(translate_error(error), StatementRefused)


@pytest.mark.parametrize("sqlstate", ["42601", "42804", "22012", "22P02"])
def test_bug_in_a_statement_is_not_translated(sqlstate: str) -> None:
    error = asyncpg.PostgresError.new({"C": sqlstate, "M": "bug", "S": "ERROR"})
    assert translate_error(error) is error


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
