"""Payments that name a resource, and what the service says and keeps of their listing."""

import asyncio
import copy
from typing import Any, Final
from uuid import uuid4

import asyncpg

from farebox.x402.headers import decode_header
from support.asgi import Answer
from support.settled import http_bazaar, resource
from support.stage import Stage

Json = dict[str, Any]
_LOOKS: Final = 300
_LOOK_PAUSE_S: Final = 0.05


def fresh_url() -> str:
    """A resource nobody has listed."""
    return f"https://api.example.com/{uuid4().hex}"


def about(request: Json, url: str, bazaar: Json | None = None, **said: Any) -> Json:
    """The request, about a resource with discovery metadata."""
    changed = copy.deepcopy(request)
    changed["paymentPayload"]["resource"] = resource(url, **said)
    changed["paymentPayload"]["extensions"] = {"bazaar": bazaar or http_bazaar()}
    return changed


def told_of(answer: Answer) -> Json | None:
    """What a settle says of the listing in its header, or None."""
    header = answer.headers.get("extension-responses")
    if header is None:
        return None
    told = decode_header(header)
    assert told is not None
    assert set(told) == {"bazaar"}
    entry: Json = told["bazaar"]  # type: ignore[assignment]
    return entry


async def settle_and_hear(stage: Stage, body: Json, **headers: str) -> tuple[Json, Json | None]:
    """The outcome of a settle, and what it says of the listing."""
    answer = await stage.client.post("/settle", body, headers)
    assert answer.status == 200, answer.body
    return answer.json(), told_of(answer)


async def settle_and_know(
    stage: Stage, body: Json, key: str | None = None
) -> tuple[Json, Json | None]:
    """As `settle_and_hear`, asking again under a key while the catalog is too busy to say.

    A busy machine may take longer over a listing than an answer waits for it.
    """
    named = {"idempotency-key": key or uuid4().hex}
    outcome, told = await settle_and_hear(stage, body, **named)
    for _ in range(_LOOKS):
        if told is None or told.get("reason") != "catalog_busy":
            break
        await asyncio.sleep(_LOOK_PAUSE_S)
        outcome, told = await settle_and_hear(stage, body, **named)
    return outcome, told


async def listings_of(stage: Stage, url: str) -> list[asyncpg.Record]:
    """The listings that show this URL."""
    return await stage.query("SELECT * FROM listings WHERE url = $1", url)


async def until_listed(stage: Stage, url: str) -> asyncpg.Record:
    """The listing of a URL, once somebody has written it."""
    for _ in range(_LOOKS):
        if found := await listings_of(stage, url):
            return found[0]
        await asyncio.sleep(_LOOK_PAUSE_S)
    raise TimeoutError(f"{url} is not listed")
