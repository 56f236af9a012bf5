"""Credentials, rate limits and usage of `/verify` and `/settle`."""

from typing import Any, Final
from uuid import uuid4

import pytest

from farebox.accounts.credential import COOKIE
from farebox.accounts.token import TokenType, new_token
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support.asgi import Answer, AsgiClient
from support.key_required import (
    OWNERS,
    PER_ADDRESS,
    assert_both_refused,
    bearer,
    get_usage,
    insert_key,
    insert_session,
    new_client_address,
    post_to_both_routes,
    wait_for_fresh_minute,
)
from support.promises import promise
from support.stage import Stage, own_relayer, service
from testing.waiting import until

NOWHERE: Final = "postgresql://farebox@127.0.0.1:1/farebox"


async def test_session_cookie_is_refused_by_facilitator_routes(
    key_required_stage: Stage,
) -> None:
    token = new_token(TokenType.SESSION).value.reveal()
    draft = await key_required_stage.draft()
    headers = {"cookie": f"{COOKIE}={token}", "origin": "https://evil.test", **new_client_address()}
    answers = await post_to_both_routes(key_required_stage, draft.request(), headers)
    assert_both_refused(answers, 403, Reason.CROSS_SITE_REQUEST)
    token, _ = await insert_session(key_required_stage)
    headers = {
        "cookie": f"{COOKIE}={token}",
        "origin": "http://farebox.test",
        "x-farebox-csrf": "1",
        "x-farebox-account": "user_of_another_tab",
        **new_client_address(),
    }
    answers = await post_to_both_routes(key_required_stage, draft.request(), headers)
    assert_both_refused(answers, 409, Reason.ACCOUNT_MISMATCH)


@promise("ingress:rate-limited")
async def test_address_has_a_rate_limit_per_class(
    key_required_stage: Stage,
) -> None:
    await wait_for_fresh_minute()
    body = (await key_required_stage.draft(Network.PUBNET)).request()
    headers, elsewhere = new_client_address(), new_client_address()
    for _ in range(PER_ADDRESS):
        assert (await key_required_stage.client.post("/verify", body, headers)).status == 200
    for _ in range(PER_ADDRESS):
        assert (await key_required_stage.client.post("/settle", b"{}", headers)).status == 200
    answers = await post_to_both_routes(key_required_stage, body, headers)
    assert_both_refused(answers, 429, Reason.TOO_MANY_REQUESTS)
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in answers)
    assert REGISTRY[Reason.TOO_MANY_REQUESTS].retry is Retry.LATER
    assert await key_required_stage.rows() == 0
    assert (await key_required_stage.client.post("/verify", body, elsewhere)).status == 200
    search = "/discovery/search?query=weather"
    statuses = [
        (await key_required_stage.client.request("GET", path, headers=headers)).status
        for path in (search, "/discovery/resources", search, "/discovery/resources")
    ]
    assert statuses == [200, 200, 429, 429], "a search counts as three of four"
    for path in ("/supported", "/health/live", "/v1/errors"):
        free = await key_required_stage.client.request("GET", path, headers=headers)
        assert free.status == 200, "start-up and monitoring are not limited"


async def test_paths_and_methods_without_a_route_are_limited_as_management(
    key_required_stage: Stage,
) -> None:
    await wait_for_fresh_minute()
    headers = new_client_address()
    asked = [("GET", "/none"), ("DELETE", "/supported"), ("GET", "/v1/none"), ("GET", "/v1/x/y")]
    assert len(asked) == PER_ADDRESS
    answers = [
        await key_required_stage.client.request(method, path, headers=headers)
        for method, path in (*asked, *asked)
    ]
    assert [each.status for each in answers] == [404, 405, 404, 404, *[429] * PER_ADDRESS]
    assert all(1 <= int(each.headers["retry-after"]) <= 60 for each in answers[PER_ADDRESS:])
    known = await key_required_stage.client.request("GET", "/supported", headers=headers)
    assert known.status == 200
    elsewhere = new_client_address()
    other = await key_required_stage.client.request("GET", "/none", headers=elsewhere)
    assert other.status == 404


async def test_key_budget_refuses_its_caller(key_required_stage: Stage) -> None:
    tight = key_required_stage.environment | await own_relayer(key_required_stage)
    tight |= {"FAREBOX_BUDGET_KEY_STROOPS_PUBNET": "1"}
    body = (await key_required_stage.draft(Network.PUBNET)).request()
    holder = bearer(await insert_key(key_required_stage, "facilitator"))
    async with service(tight) as client:
        small = Stage(client, key_required_stage.networks, tight)
        for headers in (holder, new_client_address()):  # all without a credential have one together
            answers = await post_to_both_routes(small, body, headers)
            reasons = [answers[0].json()["invalidReason"], answers[1].json()["errorReason"]]
            assert reasons == [Reason.SPONSOR_BUDGET_EXHAUSTED] * 2
    assert (await key_required_stage.client.post("/settle", body, new_client_address())).json()[
        "success"
    ] is True


async def test_idempotency_key_is_scoped_to_authenticated_caller(
    key_required_stage: Stage,
) -> None:
    first, second = await key_required_stage.draft(), await key_required_stage.draft()
    named = {"idempotency-key": "order-1"}

    async def settle(body: object, token: str) -> Answer:
        return await key_required_stage.client.post("/settle", body, bearer(token) | named)

    made = await settle(first.request(), await insert_key(key_required_stage, "facilitator"))
    assert made.json()["success"] is True
    another_key = await insert_key(key_required_stage, "facilitator")
    assert (await settle(first.request(), another_key)).body == made.body, "the caller's own"
    reused = await settle(second.request(), another_key)
    assert (reused.status, reused.json()["errorReason"]) == (409, Reason.IDEMPOTENCY_KEY_REUSED)
    other = await insert_key(key_required_stage, "facilitator", owner=OWNERS[1])
    assert (await settle(second.request(), other)).json()["success"] is True
    stranger = await settle(first.request(), other)
    assert stranger.status == 409, "it never gets the response of another caller"


async def test_usage_is_shown_to_its_owner_only(key_required_stage: Stage) -> None:
    me, other = [OwnerId(f"user_{uuid4().hex}") for _ in range(2)]
    mine = bearer(await insert_key(key_required_stage, "facilitator", owner=me))
    good, again, bad = [await key_required_stage.draft() for _ in range(3)]
    for body in (good.request(), good.request(maxTimeoutSeconds=901)):
        await key_required_stage.client.post("/verify", body, mine)
    await key_required_stage.client.post("/verify", bad.request(maxTimeoutSeconds=1), mine)
    settled = await key_required_stage.client.post("/settle", again.request(), mine)
    await key_required_stage.client.post("/settle", bad.request(maxTimeoutSeconds=1), mine)
    tx_hash = bytes.fromhex(settled.json()["transaction"])
    (row,) = await key_required_stage.query(
        "SELECT fee_charged, claimed_at FROM settlements WHERE tx_hash = $1", tx_hash
    )
    today = row["claimed_at"].date().isoformat()

    async def written() -> Any:  # the meter writes every second
        reader = bearer(await insert_key(key_required_stage, "read", owner=me))
        (item,) = (await get_usage(key_required_stage, reader)).json()["items"] or [None]
        return item if item and item["settlements"]["refused"] else None

    item = await until(written)
    assert item == {
        "date": today,
        "network": "stellar:testnet",
        "verifications": {"accepted": 2, "refused": 1},
        "settlements": {"accepted": 1, "failed": 0, "pending": 0, "refused": 1},
        "feesSponsored": str(row["fee_charged"]),
    }
    theirs = await get_usage(
        key_required_stage, bearer(await insert_key(key_required_stage, "read", owner=other))
    )
    assert (theirs.status, theirs.json()["items"]) == (200, [])
    assert theirs.json()["to"] == today


@pytest.mark.parametrize(
    "query", ["?from=x", "?to=", "?from=2026-01-01&from=2026-01-02", "?to=%ff"]
)
async def test_usage_returns_400_for_invalid_period(key_required_stage: Stage, query: str) -> None:
    answer = await get_usage(
        key_required_stage, bearer(await insert_key(key_required_stage, "read")), query
    )
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_period")


async def test_usage_needs_read_scope(key_required_stage: Stage) -> None:
    assert (await get_usage(key_required_stage, new_client_address())).status == 401
    writer = await insert_key(key_required_stage, "facilitator")
    answer = await get_usage(key_required_stage, bearer(writer))
    assert (answer.status, answer.json()["error"]["code"]) == (403, "scope_missing")


async def test_verify_works_on_open_network_only_without_database(
    key_required_stage: Stage,
) -> None:
    gone = key_required_stage.environment | await own_relayer(key_required_stage)
    token = new_token(TokenType.KEY).value.reveal()
    drafts = [
        await key_required_stage.draft(network) for network in (Network.PUBNET, Network.TESTNET)
    ]
    opened, closed = [draft.request() for draft in drafts]
    async with service(gone | {"FAREBOX_DATABASE_URL": NOWHERE}, is_ready=False) as client:
        away = Stage(client, key_required_stage.networks, gone)
        for headers in (new_client_address(), bearer(token)):
            assert (await _judged(client, opened, headers))["isValid"] is True
        assert_both_refused(
            await post_to_both_routes(away, closed, bearer(token)), 503, Reason.SERVICE_UNAVAILABLE
        )
        unpaid = await client.post("/settle", opened, bearer(token))
        assert (unpaid.status, unpaid.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
        headers = new_client_address()
        limited = [await client.post("/verify", b"{}", headers) for _ in range(PER_ADDRESS + 2)]
        assert limited[-1].status == 429, "each process goes on limiting by itself"


async def _judged(client: AsgiClient, body: object, headers: dict[str, str]) -> dict[str, Any]:
    """The verdict, once the service knows its network."""

    async def verdict() -> dict[str, Any] | None:
        found = (await client.post("/verify", body, headers | new_client_address())).json()
        is_away = found.get("invalidReason") == Reason.NETWORK_UNAVAILABLE
        return None if is_away else dict(found)

    judged: dict[str, Any] = await until(verdict)
    return judged
