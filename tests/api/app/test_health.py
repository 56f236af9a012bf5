"""`/health/live` and `/health/ready`."""

import asyncio

import orjson
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs

from farebox.app import health
from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.app.health import Component, ComponentHealth, health_endpoints
from farebox.kernel.errors import Outage
from support.fresh_readiness import CACHE_S
from support.manual_clock import ManualClock
from support.routes import RoutedApp
from support.serving import exchange, serving
from testing.waiting import until

GET_READY = b"GET /health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class _Part:
    def __init__(self, name: str, says: ComponentHealth | Exception | None) -> None:
        self.name, self._says = name, says

    async def health(self) -> ComponentHealth:
        if self._says is None:
            await asyncio.Event().wait()
        if isinstance(self._says, Exception):
            raise self._says
        assert self._says is not None
        return self._says


def _app(*parts: Component) -> ASGIApp:
    return Application(Services(endpoints=[], parts=parts), stop=lambda: None)


async def _ask(app: ASGIApp, request: bytes = GET_READY) -> tuple[int, object]:
    async with serving(app) as address:
        answer = await exchange(address, request)
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), orjson.loads(body)


async def test_live_returns_ok_during_any_outage() -> None:
    app = _app(_Part("database", Outage("database", "away")))
    request = GET_READY.replace(b"ready", b"live")
    assert await _ask(app, request) == (200, {"status": "ok"})


async def test_ready_has_one_entry_per_component() -> None:
    app = _app(
        _Part("database", ComponentHealth(is_usable=True)),
        _Part("stellar:testnet", ComponentHealth(is_usable=True, reasons=("balance_low",))),
    )
    assert await _ask(app) == (
        200,
        {
            "status": "ok",
            "parts": {
                "database": {"status": "ok"},
                "stellar:testnet": {"status": "ok", "reasons": ["balance_low"]},
            },
        },
    )


async def test_ready_returns_503_and_other_components_when_one_is_unavailable() -> None:
    app = _app(
        _Part("database", ComponentHealth(is_usable=True)),
        _Part("stellar:testnet", ComponentHealth(is_usable=False, reasons=("clock_stale",))),
        _Part("stellar:pubnet", Outage("stellar:pubnet", "https://rpc.test/planted-key is away")),
    )
    status, body = await _ask(app)
    assert status == 503
    assert body == {
        "status": "unavailable",
        "parts": {
            "database": {"status": "ok"},
            "stellar:testnet": {"status": "unavailable", "reasons": ["clock_stale"]},
            "stellar:pubnet": {"status": "unavailable", "reasons": ["unavailable"]},
        },
    }


async def test_ready_returns_reason_when_check_hangs_or_raises() -> None:
    checks = health_endpoints(
        [_Part("slow", None), _Part("broken", ValueError("x"))], deadline_s=0.05
    )
    status, body = await _ask(RoutedApp(*checks))
    assert status == 503
    assert body == {
        "status": "unavailable",
        "parts": {
            "slow": {"status": "unavailable", "reasons": ["timeout"]},
            "broken": {"status": "unavailable", "reasons": ["probe_failed"]},
        },
    }


class _Counting:
    """A part that counts how often it is asked, and answers when it is let."""

    name = "database"

    def __init__(self) -> None:
        self.requests = 0
        self.may_answer = asyncio.Event()

    async def health(self) -> ComponentHealth:
        self.requests += 1
        await self.may_answer.wait()
        return ComponentHealth(is_usable=True)


async def test_ready_shares_one_check_among_requests_of_a_tenth_of_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "_CACHE_S", CACHE_S)
    part, clock = _Counting(), ManualClock()
    (_, ready) = health_endpoints([part], deadline_s=5, monotonic=clock.monotonic)
    app, arrived = RoutedApp(ready), 0

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal arrived
        arrived += scope["type"] == "http"
        await app(scope, receive, send)

    async with serving(counting) as address:
        early = [asyncio.create_task(exchange(address, GET_READY)) for _ in range(20)]
        await until(lambda: arrived == 20 and part.requests)
        assert part.requests == 1
        early[0].cancel()
        await asyncio.sleep(0.05)  # the server notices that the first client has left
        part.may_answer.set()
        answers = await asyncio.gather(*early[1:])
        assert {answer.split()[1] for answer in answers} == {b"200"}
        clock.turn(0.09)
        await exchange(address, GET_READY)
        assert part.requests == 1
        clock.turn(0.02)
        await exchange(address, GET_READY)
        assert part.requests == 2


class _Changing:
    """A part whose health a test changes."""

    name = "database"

    def __init__(self) -> None:
        self.says: ComponentHealth | Exception = ComponentHealth(is_usable=True)

    async def health(self) -> ComponentHealth:
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


async def test_unavailability_is_logged_when_it_changes_and_not_at_each_check() -> None:
    """Control: a build that logs each failed check writes three events for one outage."""
    part, clock = _Changing(), ManualClock()
    (_, ready) = health_endpoints([part], deadline_s=5, monotonic=clock.monotonic)
    usable, stale = (
        ComponentHealth(is_usable=True),
        ComponentHealth(is_usable=False, reasons=("a",)),
    )
    app, retries = RoutedApp(ready), set()
    with capture_logs() as logged:
        async with serving(app) as address:
            for says in (usable, Outage("database", "away"), ValueError("x"), stale, usable):
                part.says = says
                for _ in range(3):
                    clock.turn(1)
                    answer = await exchange(address, GET_READY)
                    retries.add((answer.split()[1], b"\r\nretry-after: 5\r\n" in answer))
    assert [
        (each["event"], each["log_level"], each.get("reason"))
        for each in logged
        if each["event"].startswith("health.")
    ] == [
        ("health.component_unavailable", "warning", "away"),
        ("health.check_failed", "error", None),
        ("health.component_unavailable", "warning", "a"),
        ("health.component_available", "info", None),
    ]
    assert retries == {(b"200", False), (b"503", True)}


async def test_path_of_a_check_has_one_spelling() -> None:
    request = b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    statuses = [
        (await _ask(_app(), request % path))[0]
        for path in (b"/health/live", b"/health/liv%65", b"/health%2Flive", b"/health%2flive")
    ]
    assert statuses == [200, 200, 404, 404]
