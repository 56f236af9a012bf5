"""Time that passes for the code under test alone, without a wait."""

import asyncio
from typing import Any, Final

import pytest

from farebox.gateway import buyer_connection
from farebox.outbound import client
from farebox.outbound.client import OutboundResponse

_READERS: Final = (buyer_connection, client)  # the modules whose deadlines are tested


class LaterTime:
    """The event loop's time as the code under test sees it: so much later as has passed here.

    The loop itself keeps its time. A service that other tests share sleeps on it too, and would
    sleep for that long once the time was put back.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed_s = 0.0
        self._monkeypatch = monkeypatch
        for each in _READERS:
            monkeypatch.setattr(each, "asyncio", _LaterAsyncio(self))

    def turn(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self.passed_s += seconds

    def keep_deadline(self) -> None:
        """The broken build of a control: an upstream's time passes while nobody waits for it."""
        now = property(lambda _: _LaterLoop(self).time(), lambda _, value: None)
        self._monkeypatch.setattr(OutboundResponse, "_left_at", now, raising=False)


class _LaterLoop:
    """The running loop, later."""

    def __init__(self, later: LaterTime) -> None:
        self._loop, self._later = asyncio.get_running_loop(), later

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def time(self) -> float:
        """The later time."""
        return self._loop.time() + self._later.passed_s


class _LaterAsyncio:
    """The module `asyncio`, later."""

    def __init__(self, later: LaterTime) -> None:
        self._later = later

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def get_running_loop(self) -> _LaterLoop:
        """The running loop, later."""
        return _LaterLoop(self._later)

    def timeout_at(self, when: float) -> asyncio.Timeout:
        """A timeout at a moment of the later loop."""
        return asyncio.timeout_at(when - self._later.passed_s)
