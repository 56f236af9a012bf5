import asyncio

import orjson
from starlette.types import ASGIApp

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.app.health import Part, PartHealth, health_routes
from farebox.kernel.errors import Outage
from support.serving import exchange, serving

GET_READY = b"GET /health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class _Part:
    def __init__(self, name: str, says: PartHealth | Exception | None) -> None:
        self.name, self._says = name, says

    async def health(self) -> PartHealth:
        if self._says is None:
            await asyncio.Event().wait()
        if isinstance(self._says, Exception):
            raise self._says
        assert self._says is not None
        return self._says


def _app(*parts: Part) -> ASGIApp:
    return Application(Services(routes=[], parts=parts), stop=lambda: None)


async def _ask(app: ASGIApp, request: bytes = GET_READY) -> tuple[int, object]:
    async with serving(app) as address:
        answer = await exchange(address, request)
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), orjson.loads(body)


async def test_live_says_ok_whatever_is_away() -> None:
    app = _app(_Part("database", Outage("database", "away")))
    request = GET_READY.replace(b"ready", b"live")
    assert await _ask(app, request) == (200, {"status": "ok"})


async def test_ready_has_one_entry_for_each_part() -> None:
    app = _app(
        _Part("database", PartHealth(is_usable=True)),
        _Part("stellar:testnet", PartHealth(is_usable=True, reasons=("balance_low",))),
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


async def test_one_part_away_is_503_and_the_others_still_say_what_they_are() -> None:
    app = _app(
        _Part("database", PartHealth(is_usable=True)),
        _Part("stellar:testnet", PartHealth(is_usable=False, reasons=("clock_stale",))),
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


async def test_a_probe_that_hangs_or_breaks_is_a_reason_and_not_a_fault_of_the_answer() -> None:
    routes = health_routes([_Part("slow", None), _Part("broken", ValueError("x"))], deadline_s=0.05)
    status, body = await _ask(Application(Services(routes=routes), stop=lambda: None))
    assert status == 503
    assert body == {
        "status": "unavailable",
        "parts": {
            "slow": {"status": "unavailable", "reasons": ["timeout"]},
            "broken": {"status": "unavailable", "reasons": ["probe_failed"]},
        },
    }
