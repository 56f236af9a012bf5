"""Case AU-044: the facilitator without a key, with a wrong one, with one too weak, too often."""

from typing import Final

import pytest

from farebox.accounts.token import TokenForm, new_token
from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support.gated import (
    OPERATORS,
    OWNERS,
    PER_ADDRESS,
    PER_KEY,
    asked,
    bearer,
    key,
    session,
    settled_for,
    somewhere,
    turned_away,
    usage,
    within_a_minute,
)
from support.promises import case, promise
from support.stage import Stage

WORTHLESS: Final = {
    "not a key": "Bearer no-key-of-anybodys-at-all",
    "unknown key": f"Bearer {new_token(TokenForm.KEY).shown.reveal()}",
    "unknown session": f"Bearer {new_token(TokenForm.SESSION).shown.reveal()}",
    "another scheme": f"Basic {OPERATORS[0]}",
    "empty": "",
}


@case("AU-044")
@promise("ingress:callers-authenticated")
async def test_without_a_key_a_network_that_asks_for_one_is_closed_and_the_other_open(
    gated_stage: Stage,
) -> None:
    draft = await gated_stage.draft()
    answers = await asked(gated_stage, draft.request(), somewhere())
    turned_away(answers, 401, Reason.UNAUTHENTICATED)
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert await gated_stage.rows() == 0
    assert gated_stage.node().counts()["simulateTransaction"] == 0, "nobody is judged for nothing"
    pubnet = await gated_stage.draft(Network.PUBNET)
    verdict, outcome = await asked(gated_stage, pubnet.request(), somewhere())
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
    answers = await asked(gated_stage, draft.request(), headers)
    turned_away(answers, 401, Reason.UNAUTHENTICATED)
    assert await gated_stage.rows() == 0


@case("AU-044")
async def test_a_key_without_the_scope_is_refused(gated_stage: Stage) -> None:
    headers = bearer(await key(gated_stage, "read", "wrappers"))
    for network in Network:
        draft = await gated_stage.draft(network)
        answers = await asked(gated_stage, draft.request(), headers)
        turned_away(answers, 403, Reason.SCOPE_MISSING)
    assert await gated_stage.rows() == 0


@case("AU-044")
@promise("ingress:callers-authenticated")
async def test_whoever_shows_a_good_credential_passes_and_is_who_asked(gated_stage: Stage) -> None:
    first, second, third = [await gated_stage.draft() for _ in range(3)]
    verdict, outcome = await asked(
        gated_stage, first.request(), bearer(await key(gated_stage, "facilitator"))
    )
    assert (verdict.json()["isValid"], outcome.json()["success"]) == (True, True)
    token, user = await session(gated_stage)
    for each, body in ((OPERATORS[1], second.request()), (token, third.request())):
        answer = await gated_stage.client.post("/settle", body, bearer(each))
        assert answer.json()["success"] is True
    owners = (OWNERS[0], OWNERS[1], user)
    assert await settled_for(gated_stage) == [(owner, "confirmed") for owner in owners]


@case("AU-044")
@promise("ingress:rate-limited")
async def test_a_key_is_answered_so_often_a_minute_wherever_it_asks_from(
    gated_stage: Stage,
) -> None:
    await within_a_minute()
    body = (await gated_stage.draft()).request()
    one, other = [await key(gated_stage, "facilitator") for _ in range(2)]
    for _ in range(PER_KEY):
        assert (await gated_stage.client.post("/verify", body, bearer(one))).status == 200
    answers = await asked(gated_stage, body, bearer(one))
    turned_away(answers, 429, Reason.TOO_MANY_REQUESTS)
    assert (await gated_stage.client.post("/verify", body, bearer(other))).status == 200


@case("AU-044")
async def test_guesses_from_one_address_come_to_an_end_before_they_are_looked_up(
    gated_stage: Stage,
) -> None:
    await within_a_minute()
    address = somewhere()
    known, fresh = [bearer(await key(gated_stage, "read")) for _ in range(2)]
    assert (await usage(gated_stage, known | somewhere())).status == 200
    statuses = []
    for _ in range(PER_ADDRESS + 2):
        guess = bearer(new_token(TokenForm.KEY).shown.reveal()) | address
        statuses.append((await gated_stage.client.post("/verify", b"{}", guess)).status)
    assert statuses == [401] * PER_ADDRESS + [429] * 2
    assert (await usage(gated_stage, fresh | address)).status == 429, "on every route"
    assert (await usage(gated_stage, known | address)).status == 200, "it was valid before"
    body = (await gated_stage.draft(Network.PUBNET)).request()
    anonymous = await gated_stage.client.post("/verify", body, address)
    assert anonymous.status == 200, "who shows nothing guesses nothing"


@case("AU-044")
async def test_addresses_made_up_in_front_of_ones_own_gain_nothing(gated_stage: Stage) -> None:
    await within_a_minute()
    body = (await gated_stage.draft(Network.PUBNET)).request()
    own = somewhere()["x-forwarded-for"]
    statuses = []
    for n in range(PER_ADDRESS + 2):
        made_up = {"x-forwarded-for": f"203.0.113.{n}, unknown, [::{n}]:1,{own}"}
        statuses.append((await gated_stage.client.post("/verify", body, made_up)).status)
    assert statuses == [200] * PER_ADDRESS + [429] * 2
