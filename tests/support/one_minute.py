"""A minute that does not end before a test that counts requests."""

from datetime import UTC, datetime

import pytest

from farebox.ingress import rate_limiter


@pytest.fixture
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every request in the minute in which the test begins: a new one allows as many."""
    minute = rate_limiter.window_of(datetime.now(UTC))
    monkeypatch.setattr(rate_limiter, "window_of", lambda _: minute)
