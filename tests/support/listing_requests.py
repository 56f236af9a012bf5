"""Payments with discovery metadata, and the listings that they create."""

import copy
from typing import Any
from uuid import uuid4

import asyncpg

from farebox.x402.headers import decode_header
from support.asgi import Answer
from support.journal_rows import http_bazaar, resource
from support.stage import Stage
from testing.waiting import until

Json = dict[str, Any]


def new_url() -> str:
    """Return a URL that is not listed yet."""
    return f"https://api.example.com/{uuid4().hex}"


def with_resource(request: Json, url: str, bazaar: Json | None = None, **members: Any) -> Json:
    """Return a copy of the request with a resource and its discovery metadata."""
    changed = copy.deepcopy(request)
    changed["paymentPayload"]["resource"] = resource(url, **members)
    changed["paymentPayload"]["extensions"] = {"bazaar": bazaar or http_bazaar()}
    return changed


def listing_status(answer: Answer) -> Json | None:
    """Return the listing's status in the response's `EXTENSION-RESPONSES` header, or None."""
    header = answer.headers.get("extension-responses")
    if header is None:
        return None
    extensions = decode_header(header)
    assert extensions is not None
    assert set(extensions) == {"bazaar"}
    entry: Json = extensions["bazaar"]  # type: ignore[assignment]
    return entry


async def settle_with_listing_status(
    stage: Stage, body: Json, **headers: str
) -> tuple[Json, Json | None]:
    """Settle; return the outcome and the listing's status."""
    answer = await stage.client.post("/settle", body, headers)
    assert answer.status == 200, answer.body
    return answer.json(), listing_status(answer)


async def settle_until_listing_is_known(
    stage: Stage, body: Json, key: str | None = None
) -> tuple[Json, Json | None]:
    """As `settle_with_listing_status`, repeated under one key while the catalog is busy.

    On a busy machine a listing may take longer than `/settle` waits for it.
    """
    named = {"idempotency-key": key or uuid4().hex}

    async def known() -> tuple[Json, Json | None] | None:
        outcome, status = await settle_with_listing_status(stage, body, **named)
        return None if status and status.get("reason") == "catalog_busy" else (outcome, status)

    return await until(known)


async def listings_of(stage: Stage, url: str) -> list[asyncpg.Record]:
    """Return the listings of this URL."""
    return await stage.query("SELECT * FROM listings WHERE url = $1", url)


async def until_listed(stage: Stage, url: str) -> asyncpg.Record:
    """Return the listing of a URL once it exists."""
    return (await until(lambda: listings_of(stage, url)))[0]
