"""Time that passes on the event loop's clock without a wait."""

import asyncio

import pytest

from farebox.outbound.client import OutboundResponse


def pass_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let so many seconds pass at once."""
    loop = asyncio.get_running_loop()
    earlier = loop.time
    monkeypatch.setattr(loop, "time", lambda: earlier() + seconds)


def keep_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken build of a control: an upstream's time passes while nobody waits for it."""
    now = property(lambda _: asyncio.get_running_loop().time(), lambda _, value: None)
    monkeypatch.setattr(OutboundResponse, "_left_at", now, raising=False)
