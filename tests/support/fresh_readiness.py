"""Services of tests check readiness for each request.

The service repeats a response for a tenth of a second, and a test may be shorter than that: the
next one would read what was so before the fault of this one.
"""

from typing import Final

import pytest

from farebox.app import health

CACHE_S: Final = health._CACHE_S  # for the test of it


def pytest_configure(config: pytest.Config) -> None:
    """Repeat no response of readiness."""
    changed = pytest.MonkeyPatch()
    changed.setattr(health, "_CACHE_S", 0.0)
    config.add_cleanup(changed.undo)
