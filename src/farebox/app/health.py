"""Whether the process lives, and whether each part it needs can be used now."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import orjson
import structlog
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.kernel.errors import Outage
from farebox.web.answers import send_json
from farebox.web.operation import Operation, Reply, one_of, record

PROBE_DEADLINE_S: Final = 3.0
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PartHealth:
    """What a part says of itself; `reasons` are machine-readable codes without any address.

    A usable part may carry reasons too: they are warnings.
    """

    is_usable: bool
    reasons: tuple[str, ...] = ()


class Part(Protocol):
    """Something Farebox needs that can be away."""

    @property
    def name(self) -> str:
        """`database`, or the network's CAIP-2 id."""
        ...

    async def health(self) -> PartHealth:
        """What it is like now; may take a while and may raise `Outage`."""
        ...


class LiveEndpoint:
    """Answers that the process runs, whatever else is away."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, b'{"status":"ok"}')


class ReadyEndpoint:
    """Answers 200 when every part can be used, else 503, with one entry for each part."""

    def __init__(self, parts: Sequence[Part], *, deadline_s: float) -> None:
        self._parts, self._deadline_s = parts, deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = await asyncio.gather(*(self._ask(part) for part in self._parts))
        is_ready = all(health.is_usable for health in found)
        body = {
            "status": "ok" if is_ready else "unavailable",
            "parts": {
                part.name: _entry(health) for part, health in zip(self._parts, found, strict=True)
            },
        }
        await send_json(send, 200 if is_ready else 503, orjson.dumps(body))

    async def _ask(self, part: Part) -> PartHealth:
        try:
            async with asyncio.timeout(self._deadline_s):
                return await part.health()
        except TimeoutError:
            return _away("timeout")
        except Outage as outage:
            log.warning("health.part_away", part=part.name, why=outage.message)
            return _away("unavailable")
        except Exception:  # one broken probe must not hide what the others say
            log.exception("health.probe_broken", part=part.name)
            return _away("probe_failed")


def _away(reason: str) -> PartHealth:
    return PartHealth(is_usable=False, reasons=(reason,))


def _entry(health: PartHealth) -> dict[str, object]:
    entry: dict[str, object] = {"status": "ok" if health.is_usable else "unavailable"}
    if health.reasons:
        entry["reasons"] = list(health.reasons)
    return entry


def health_routes(
    parts: Sequence[Part], *, deadline_s: float = PROBE_DEADLINE_S
) -> list[BaseRoute]:
    """The two probes; a part that has not answered within `deadline_s` counts as away."""
    return [
        Route("/health/live", LiveEndpoint(), methods=["GET"]),
        Route("/health/ready", ReadyEndpoint(parts, deadline_s=deadline_s), methods=["GET"]),
    ]


_STATUS: Final = one_of("ok", "unavailable")
_READY: Final = record(
    {
        "status": _STATUS,
        "parts": {
            "type": "object",
            "additionalProperties": record(
                {"status": _STATUS}, reasons={"type": "array", "items": {"type": "string"}}
            ),
        },
    }
)
HEALTH_OPERATIONS: Final = (
    Operation(
        "GET",
        "/health/live",
        "service",
        "Whether the process runs.",
        {200: Reply("It does.", record({"status": {"const": "ok"}}))},
    ),
    Operation(
        "GET",
        "/health/ready",
        "service",
        "Whether each part can be used now.",
        {200: Reply("Every part can.", _READY), 503: Reply("One cannot.", _READY)},
    ),
)
