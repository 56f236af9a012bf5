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
    OPERATORS,
    OWNERS,
    PER_ADDRESS,
    PER_KEY,
    bearer,
    key,
    settled_for,
    somewhere,
    usage,
)
from support.promises import case, promise
from support.stage import Stage, own_relayer, service

NOWHERE: Final = "postgresql://farebox@127.0.0.1:1/farebox"
ROUTES: Final = ("/verify", "/settle")
WORTHLESS: Final = {
    "not a key": "Bearer no-key-of-anybodys-at-all",
    "unknown key": f"Bearer {new_token(TokenForm.KEY).shown.reveal()}",
    "unknown session": f"Bearer {new_token(TokenForm.SESSION).shown.reveal()}",
    "another scheme": f"Basic {OPERATORS[0]}",
    "empty": "",
}


async def _asked(stage: Stage, body: object, headers: dict[str, str]) -> list[Answer]:
    return [await stage.client.post(path, body, headers) for path in ROUTES]


def _turned_away(answers: list[Answer], status: int, reason: Reason) -> None:
    """Both answers have the status, and are valid failing verdicts."""
    verdict, outcome = answers
    assert (verdict.status, outcome.status) == (status, status), (verdict.body, outcome.body)
    sentence = REGISTRY[reason].sentence
    assert verdict.json() == {
        "isValid": False,
        "invalidReason": reason,
        "invalidMessage": sentence,
    }
    assert outcome.json() == {
        "success": False,
        "errorReason": reason,
        "errorMessage": sentence,
        "transaction": "",
        "network": "",
    }


@case("AU-044")
@promise("ingress:callers-authenticated")
async def test_without_a_key_a_network_that_asks_for_one_is_closed_and_the_other_open(
    gated_stage: Stage,
) -> None:
    draft = await gated_stage.draft()
    answers = await _asked(gated_stage, draft.request(), somewhere())
    _turned_away(answers, 401, Reason.UNAUTHENTICATED)
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert await gated_stage.rows() == 0
    assert gated_stage.node().counts()["simulateTransaction"] == 0, "nobody is judged for nothing"
    pubnet = await gated_stage.draft(Network.PUBNET)
    verdict, outcome = await _asked(gated_stage, pubnet.request(), somewhere())
    assert (verdict.json()["isValid"], outcome.json()["success"]) == (True, True)
    assert await settled_for(gated_stage) == [(None, "confirmed")]


@case("AU-044")
@promise("ingress:callers-authenticated")
@pytest.mark.parametrize("shown", WORTHLESS.values(), ids=WORTHLESS)
@pytest.mark.parametrize("network", list(Network))
async def test_a_wrong_key_is_refused_even_where_none_is_needed(
    gated_stage: Stage, shown: str, network: Network
) -> None:
    draft = await gated_stage.draft(network)
    headers = {"authorization": shown, **somewhere()}
    answers = await _asked(gated_stage, draft.request(), headers)
    _turned_away(answers, 401, Reason.UNAUTHENTICATED)
    assert await gated_stage.rows() == 0


@case("AU-044")
async def test_a_key_without_the_scope_is_refused(gated_stage: Stage) -> None:
    headers = bearer(await key(gated_stage, "read", "wrappers"))
    for network in Network:
        draft = await gated_stage.draft(network)
        answers = await _asked(gated_stage, draft.request(), headers)
        _turned_away(answers, 403, Reason.SCOPE_MISSING)
    assert await gated_stage.rows() == 0


async def test_a_session_that_a_browser_sends_by_itself_is_refused(gated_stage: Stage) -> None:
    token = new_token(TokenForm.SESSION).shown.reveal()
    draft = await gated_stage.draft()
    headers = {"cookie": f"{COOKIE}={token}", "origin": "https://evil.test", **somewhere()}
    answers = await _asked(gated_stage, draft.request(), headers)
    _turned_away(answers, 403, Reason.CROSS_SITE_REQUEST)


@case("AU-044")
@promise("ingress:callers-authenticated")
async def test_the_right_key_passes_and_its_owner_is_who_asked(gated_stage: Stage) -> None:
    first, second = await gated_stage.draft(), await gated_stage.draft()
    verdict, outcome = await _asked(
        gated_stage, first.request(), bearer(await key(gated_stage, "facilitator"))
    )
    assert (verdict.json()["isValid"], outcome.json()["success"]) == (True, True)
    of_operator = await gated_stage.client.post("/settle", second.request(), bearer(OPERATORS[1]))
    assert of_operator.json()["success"] is True
    assert await settled_for(gated_stage) == [(OWNERS[0], "confirmed"), (OWNERS[1], "confirmed")]


@promise("ingress:rate-limited")
async def test_an_address_is_answered_so_often_a_minute_over_both_routes(
    gated_stage: Stage,
) -> None:
    body = (await gated_stage.draft(Network.PUBNET)).request()
    headers, elsewhere = somewhere(), somewhere()
    for _ in range(PER_ADDRESS):
        assert (await gated_stage.client.post("/verify", body, headers)).status == 200
    answers = await _asked(gated_stage, body, headers)
    _turned_away(answers, 429, Reason.TOO_MANY_REQUESTS)
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in answers)
    assert REGISTRY[Reason.TOO_MANY_REQUESTS].retry is Retry.LATER
    assert await gated_stage.rows() == 0
    assert (await gated_stage.client.post("/verify", body, elsewhere)).status == 200
    refused = await gated_stage.client.request("GET", "/discovery/resources", headers=headers)
    assert (refused.status, refused.json()["error"]["code"]) == (429, "too_many_requests")
    for path in ("/supported", "/health/live", "/v1/errors"):
        free = await gated_stage.client.request("GET", path, headers=headers)
        assert free.status == 200, "start-up and monitoring are not limited"


@case("AU-044")
@promise("ingress:rate-limited")
async def test_a_key_is_answered_so_often_a_minute_wherever_it_asks_from(
    gated_stage: Stage,
) -> None:
    body = (await gated_stage.draft()).request()
    one, other = [await key(gated_stage, "facilitator") for _ in range(2)]
    for _ in range(PER_KEY):
        assert (await gated_stage.client.post("/verify", body, bearer(one))).status == 200
    answers = await _asked(gated_stage, body, bearer(one))
    _turned_away(answers, 429, Reason.TOO_MANY_REQUESTS)
    assert (await gated_stage.client.post("/verify", body, bearer(other))).status == 200


@case("AU-044")
async def test_guesses_from_one_address_come_to_an_end_before_they_are_looked_up(
    gated_stage: Stage,
) -> None:
    address = somewhere()
    statuses = []
    for _ in range(PER_ADDRESS + 2):
        guess = bearer(new_token(TokenForm.KEY).shown.reveal()) | address
        statuses.append((await gated_stage.client.post("/verify", b"{}", guess)).status)
    assert statuses == [401] * PER_ADDRESS + [429] * 2
    held_back = bearer(OPERATORS[0]) | address
    assert (await usage(gated_stage, held_back)).status == 429, "on every route"
    body = (await gated_stage.draft(Network.PUBNET)).request()
    anonymous = await gated_stage.client.post("/verify", body, address)
    assert anonymous.status == 200, "who shows nothing guesses nothing"


async def test_the_budget_of_a_key_turns_away_its_caller_alone(gated_stage: Stage) -> None:
    body = (await gated_stage.draft(Network.PUBNET)).request()
    answers = await _asked(gated_stage, body, bearer(await key(gated_stage, "facilitator")))
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
        _turned_away(await _asked(away, closed, bearer(token)), 503, Reason.SERVICE_UNAVAILABLE)
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
