"""Case AU-044: the facilitator with missing, wrong, insufficient and too many credentials."""

from typing import Final

import pytest

from farebox.accounts.token import TokenType, new_token
from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support.key_required import (
    OPERATORS,
    OWNERS,
    PER_ADDRESS,
    PER_KEY,
    assert_both_refused,
    bearer,
    get_usage,
    insert_key,
    insert_session,
    new_client_address,
    post_to_both_routes,
    settlement_callers,
    wait_for_fresh_minute,
)
from support.promises import case, promise
from support.stage import Stage

WORTHLESS: Final = (
    "Bearer no-key-of-anybodys-at-all",
    f"Bearer {new_token(TokenType.KEY).value.reveal()}",
    f"Bearer {new_token(TokenType.SESSION).value.reveal()}",
    f"Basic {OPERATORS[0]}",
    "",
)


@case("AU-044")
@promise("ingress:callers-authenticated")
async def test_network_requiring_a_key_refuses_anonymous_and_open_network_serves(
    key_required_stage: Stage,
) -> None:
    draft = await key_required_stage.draft()
    answers = await post_to_both_routes(key_required_stage, draft.request(), new_client_address())
    assert_both_refused(answers, 401, Reason.UNAUTHENTICATED)
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert await key_required_stage.rows() == 0
    assert key_required_stage.node().counts()["simulateTransaction"] == 0, (
        "no payment is simulated without a credential"
    )
    pubnet = await key_required_stage.draft(Network.PUBNET)
    verdict, outcome = await post_to_both_routes(
        key_required_stage, pubnet.request(), new_client_address()
    )
    assert (verdict.json()["isValid"], outcome.json()["success"]) == (True, True)
    assert await settlement_callers(key_required_stage) == [(None, "confirmed")]


@case("AU-044")
@promise("ingress:callers-authenticated")
@pytest.mark.parametrize("network", list(Network))
async def test_wrong_key_is_refused_on_open_network(
    key_required_stage: Stage, network: Network
) -> None:
    body = (await key_required_stage.draft(network)).request()
    for shown in WORTHLESS:
        headers = {"authorization": shown, **new_client_address()}
        answers = await post_to_both_routes(key_required_stage, body, headers)
        assert_both_refused(answers, 401, Reason.UNAUTHENTICATED)
    assert await key_required_stage.rows() == 0


@case("AU-044")
async def test_key_without_facilitator_scope_is_refused(key_required_stage: Stage) -> None:
    headers = bearer(await insert_key(key_required_stage, "read", "wrappers"))
    for network in Network:
        draft = await key_required_stage.draft(network)
        answers = await post_to_both_routes(key_required_stage, draft.request(), headers)
        assert_both_refused(answers, 403, Reason.SCOPE_MISSING)
    assert await key_required_stage.rows() == 0


@case("AU-044")
@promise("ingress:callers-authenticated")
async def test_valid_credential_is_admitted_and_recorded_as_caller(
    key_required_stage: Stage,
) -> None:
    first, second, third = [await key_required_stage.draft() for _ in range(3)]
    verdict, outcome = await post_to_both_routes(
        key_required_stage,
        first.request(),
        bearer(await insert_key(key_required_stage, "facilitator")),
    )
    assert (verdict.json()["isValid"], outcome.json()["success"]) == (True, True)
    token, user = await insert_session(key_required_stage)
    for each, body in ((OPERATORS[1], second.request()), (token, third.request())):
        answer = await key_required_stage.client.post("/settle", body, bearer(each))
        assert answer.json()["success"] is True
    owners = (OWNERS[0], OWNERS[1], user)
    assert await settlement_callers(key_required_stage) == [
        (owner, "confirmed") for owner in owners
    ]


@case("AU-044")
@promise("ingress:rate-limited")
async def test_key_rate_limit_counts_all_client_addresses(
    key_required_stage: Stage,
) -> None:
    await wait_for_fresh_minute()
    body = (await key_required_stage.draft()).request()
    one, other = [await insert_key(key_required_stage, "facilitator") for _ in range(2)]
    for _ in range(PER_KEY):
        assert (await key_required_stage.client.post("/verify", body, bearer(one))).status == 200
    for _ in range(PER_KEY):
        assert (await key_required_stage.client.post("/settle", b"{}", bearer(one))).status == 200
    answers = await post_to_both_routes(key_required_stage, body, bearer(one))
    assert_both_refused(answers, 429, Reason.TOO_MANY_REQUESTS)
    assert (await key_required_stage.client.post("/verify", body, bearer(other))).status == 200


@case("AU-044")
async def test_credential_guesses_are_limited_before_lookup(
    key_required_stage: Stage,
) -> None:
    await wait_for_fresh_minute()
    address = new_client_address()
    known, fresh = [bearer(await insert_key(key_required_stage, "read")) for _ in range(2)]
    assert (await get_usage(key_required_stage, known | new_client_address())).status == 200
    statuses = []
    for _ in range(PER_ADDRESS + 2):
        guess = bearer(new_token(TokenType.KEY).value.reveal()) | address
        statuses.append((await key_required_stage.client.post("/verify", b"{}", guess)).status)
    assert statuses == [401] * PER_ADDRESS + [429] * 2
    assert (await get_usage(key_required_stage, fresh | address)).status == 429, "on every route"
    assert (await get_usage(key_required_stage, known | address)).status == 200, (
        "it was valid before"
    )
    body = (await key_required_stage.draft(Network.PUBNET)).request()
    anonymous = await key_required_stage.client.post("/verify", body, address)
    assert anonymous.status == 200, "who shows nothing guesses nothing"


@case("AU-044")
async def test_forged_forwarded_addresses_gain_no_requests(
    key_required_stage: Stage,
) -> None:
    await wait_for_fresh_minute()
    body = (await key_required_stage.draft(Network.PUBNET)).request()
    own = new_client_address()["x-forwarded-for"]
    statuses = []
    for n in range(PER_ADDRESS + 2):
        made_up = {"x-forwarded-for": f"203.0.113.{n}, unknown, [::{n}]:1,{own}"}
        statuses.append((await key_required_stage.client.post("/verify", body, made_up)).status)
    assert statuses == [200] * PER_ADDRESS + [429] * 2
