"""Work that may be missed: what is told of it, and what is not swallowed."""

import pytest
import structlog

from farebox.storage.attempt import attempt
from farebox.storage.faults import Conflict, DatabaseUnavailable


async def _done() -> None:
    return None


async def _away() -> None:
    raise DatabaseUnavailable("the database cannot be used now (OSError)")


async def _broken() -> None:
    raise Conflict("rows_key")


async def test_work_that_is_done_is_said_to_be_and_not_logged() -> None:
    with structlog.testing.capture_logs() as logged:
        assert await attempt(_done, missed="rows.not_written")
    assert logged == []


async def test_work_that_the_database_was_away_for_is_logged_as_missed() -> None:
    with structlog.testing.capture_logs() as logged:
        assert not await attempt(_away, missed="rows.not_written")
    assert logged == [{"event": "rows.not_written", "log_level": "info"}]


async def test_any_other_fault_is_raised() -> None:
    with pytest.raises(Conflict):
        await attempt(_broken, missed="rows.not_written")
