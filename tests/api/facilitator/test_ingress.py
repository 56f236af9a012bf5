"""Who is let in to `/verify` and `/settle`, how often, and what is told of it."""

import asyncio
from typing import Any, Final
from uuid import uuid4

import pytest

from farebox.accounts.credential import COOKIE
from farebox.accounts.token import TokenForm, new_token
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support.asgi import Answer, AsgiClient
from support.gated import (
    OWNERS,
    PER_ADDRESS,
    asked,
    bearer,
    key,
    somewhere,
    turned_away,
    usage,
    within_a_minute,
)
from support.promises import promise
from support.stage import Stage, own_relayer, service

NOWHERE: Final = "postgresql://farebox@127.0.0.1:1/farebox"


async def test_a_session_that_a_browser_sends_by_itself_is_refused(gated_stage: Stage) -> None:
    token = new_token(TokenForm.SESSION).shown.reveal()
    draft = await gated_stage.draft()
    headers = {"cookie": f"{COOKIE}={token}", "origin": "https://evil.test", **somewhere()}
    answers = await asked(gated_stage, draft.request(), headers)
    turned_away(answers, 403, Reason.CROSS_SITE_REQUEST)


@promise("ingress:rate-limited")
async def test_an_address_is_answered_so_often_a_minute_over_both_routes(
    gated_stage: Stage,
) -> None:
    await within_a_minute()
    body = (await gated_stage.draft(Network.PUBNET)).request()
    headers, elsewhere = somewhere(), somewhere()
    for _ in range(PER_ADDRESS):
        assert (await gated_stage.client.post("/verify", body, headers)).status == 200
    answers = await asked(gated_stage, body, headers)
    turned_away(answers, 429, Reason.TOO_MANY_REQUESTS)
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in answers)
    assert REGISTRY[Reason.TOO_MANY_REQUESTS].retry is Retry.LATER
    assert await gated_stage.rows() == 0
    assert (await gated_stage.client.post("/verify", body, elsewhere)).status == 200
    refused = await gated_stage.client.request("GET", "/discovery/resources", headers=headers)
    assert (refused.status, refused.json()["error"]["code"]) == (429, "too_many_requests")
    for path in ("/supported", "/health/live", "/v1/errors"):
        free = await gated_stage.client.request("GET", path, headers=headers)
        assert free.status == 200, "start-up and monitoring are not limited"


async def test_the_budget_of_a_key_turns_away_its_caller_alone(gated_stage: Stage) -> None:
    body = (await gated_stage.draft(Network.PUBNET)).request()
    answers = await asked(gated_stage, body, bearer(await key(gated_stage, "facilitator")))
    told = [answers[0].json()["invalidReason"], answers[1].json()["errorReason"]]
    assert told == [Reason.SPONSOR_BUDGET_EXHAUSTED] * 2
    assert (await gated_stage.client.post("/settle", body, somewhere())).json()["success"] is True


async def test_an_idempotency_key_is_its_callers_whatever_it_pays_and_shows(
    gated_stage: Stage,
) -> None:
    first, second = await gated_stage.draft(), await gated_stage.draft()
    named = {"idempotency-key": "order-1"}

    async def settle(body: object, token: str) -> Answer:
        return await gated_stage.client.post("/settle", body, bearer(token) | named)

    made = await settle(first.request(), await key(gated_stage, "facilitator"))
    assert made.json()["success"] is True
    another_key = await key(gated_stage, "facilitator")
    assert (await settle(first.request(), another_key)).body == made.body, "the caller's own"
    reused = await settle(second.request(), another_key)
    assert (reused.status, reused.json()["errorReason"]) == (409, Reason.IDEMPOTENCY_KEY_REUSED)
    other = await key(gated_stage, "facilitator", owner=OWNERS[1])
    assert (await settle(second.request(), other)).json()["success"] is True
    stranger = await settle(first.request(), other)
    assert stranger.status == 409, "it never gets what another caller was told"


async def test_usage_is_shown_to_its_owner_alone(gated_stage: Stage) -> None:
    me, other = [OwnerId(f"user_{uuid4().hex}") for _ in range(2)]
    mine = bearer(await key(gated_stage, "facilitator", owner=me))
    good, again, bad = [await gated_stage.draft() for _ in range(3)]
    for body in (good.request(), good.request(maxTimeoutSeconds=901)):
        await gated_stage.client.post("/verify", body, mine)
    await gated_stage.client.post("/verify", bad.request(maxTimeoutSeconds=1), mine)
    settled = await gated_stage.client.post("/settle", again.request(), mine)
    await gated_stage.client.post("/settle", bad.request(maxTimeoutSeconds=1), mine)
    tx_hash = bytes.fromhex(settled.json()["transaction"])
    (row,) = await gated_stage.query(
        "SELECT fee_charged, claimed_at FROM settlements WHERE tx_hash = $1", tx_hash
    )
    today = row["claimed_at"].date().isoformat()
    item: Any = None
    async with asyncio.timeout(20):  # the meter writes every second
        while item is None or not item["settlements"]["refused"]:
            await asyncio.sleep(0.1)
            reader = bearer(await key(gated_stage, "read", owner=me))
            (item,) = (await usage(gated_stage, reader)).json()["items"] or [None]
    assert item == {
        "date": today,
        "network": "stellar:testnet",
        "verifications": {"accepted": 2, "refused": 1},
        "settlements": {"accepted": 1, "failed": 0, "pending": 0, "refused": 1},
        "feesSponsored": str(row["fee_charged"]),
    }
    theirs = await usage(gated_stage, bearer(await key(gated_stage, "read", owner=other)))
    assert (theirs.status, theirs.json()["items"]) == (200, [])
    assert theirs.json()["to"] == today


@pytest.mark.parametrize(
    "query", ["?from=x", "?to=", "?from=2026-01-01&from=2026-01-02", "?to=%ff"]
)
async def test_a_period_that_is_none_is_a_400(gated_stage: Stage, query: str) -> None:
    answer = await usage(gated_stage, bearer(await key(gated_stage, "read")), query)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_period")


async def test_usage_takes_a_credential_that_may_read(gated_stage: Stage) -> None:
    assert (await usage(gated_stage, somewhere())).status == 401
    writer = await key(gated_stage, "facilitator")
    answer = await usage(gated_stage, bearer(writer))
    assert (answer.status, answer.json()["error"]["code"]) == (403, "scope_missing")


async def test_without_the_database_an_open_network_is_judged_and_a_closed_one_is_not(
    gated_stage: Stage,
) -> None:
    gone = gated_stage.environment | await own_relayer(gated_stage)
    token = new_token(TokenForm.KEY).shown.reveal()
    drafts = [await gated_stage.draft(network) for network in (Network.PUBNET, Network.TESTNET)]
    opened, closed = [draft.request() for draft in drafts]
    async with service(gone | {"FAREBOX_DATABASE_URL": NOWHERE}, is_ready=False) as client:
        away = Stage(client, gated_stage.networks, gone)
        for headers in (somewhere(), bearer(token)):
            assert (await _judged(client, opened, headers))["isValid"] is True
        turned_away(await asked(away, closed, bearer(token)), 503, Reason.SERVICE_UNAVAILABLE)
        unpaid = await client.post("/settle", opened, bearer(token))
        assert (unpaid.status, unpaid.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
        headers = somewhere()
        limited = [await client.post("/verify", b"{}", headers) for _ in range(PER_ADDRESS + 2)]
        assert limited[-1].status == 429, "each process goes on limiting by itself"


async def _judged(client: AsgiClient, body: object, headers: dict[str, str]) -> dict[str, Any]:
    """The verdict, once the service knows its network."""
    async with asyncio.timeout(20):
        while True:
            verdict = (await client.post("/verify", body, headers | somewhere())).json()
            if verdict.get("invalidReason") != Reason.NETWORK_UNAVAILABLE:
                return verdict
            await asyncio.sleep(0.05)
