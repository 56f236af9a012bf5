"""`Idempotency-Key`: the seller's own name for a request, and the answer it gets again."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.facilitator.requests.idempotency import RequestNames
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support import node
from support.asgi import Answer, AsgiClient, HungUp, started
from support.payments import Draft, Json
from support.stage import Stage, service, until_ready

KEY: Final = "order-4711"
SEND: Final = "sendTransaction"


async def keyed(stage: Stage, body: object, key: str = KEY) -> Answer:
    return await stage.client.post("/settle", body, {"idempotency-key": key})


async def test_a_success_is_replayed_byte_for_byte(stage: Stage) -> None:
    draft = await stage.draft()
    first = await keyed(stage, draft.request())
    assert first.json()["success"] is True
    again = [await keyed(stage, draft.request()) for _ in range(2)]
    assert [(each.status, each.body) for each in again] == [(200, first.body)] * 2
    assert stage.node().counts()[SEND] == 1


async def test_without_the_key_or_under_another_the_one_success_is_gone(stage: Stage) -> None:
    draft = await stage.draft()
    await keyed(stage, draft.request())
    for other in (
        await stage.settle(draft.request()),
        (await keyed(stage, draft.request(), "x")).json(),
    ):
        assert (other["success"], other["errorReason"]) == (False, Reason.DUPLICATE_SETTLEMENT)


async def test_the_same_body_may_be_spelled_in_other_json(stage: Stage) -> None:
    draft = await stage.draft()
    first = await keyed(stage, draft.request())
    body = draft.request()
    body["paymentPayload"]["resource"] = {"url": "https://elsewhere.test/"}
    assert (await keyed(stage, body)).body == first.body


@pytest.mark.parametrize("state", ["settled", "pending"])
async def test_another_body_under_the_same_key_is_a_conflict(hasty: Stage, state: str) -> None:
    draft = await hasty.draft()
    if state == "pending":
        node.lose_sight(hasty.node())
    first = await keyed(hasty, draft.request())
    answer = await keyed(hasty, draft.request(maxTimeoutSeconds=901))
    assert answer.status == 409
    assert answer.json() == answer.json() | {
        "success": False,
        "errorReason": Reason.IDEMPOTENCY_KEY_REUSED,
        "transaction": "",
        "network": draft.network.value,
        "payer": draft.payer,
    }
    assert hasty.node().counts()[SEND] == 1
    hasty.node().reset()
    assert (await _final(hasty, draft)).json()["transaction"] == first.json()["transaction"]


async def test_strangers_with_the_same_key_do_not_meet(stage: Stage) -> None:
    one, two = await stage.draft(), await stage.draft()
    answers = await asyncio.gather(*(keyed(stage, each.request()) for each in (one, two)))
    assert [answer.json()["success"] for answer in answers] == [True, True]
    assert len({answer.json()["transaction"] for answer in answers}) == 2


async def test_pending_is_not_kept_and_the_repeat_goes_on_to_the_result(hasty: Stage) -> None:
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    pending = await keyed(hasty, draft.request())
    assert pending.json()["errorReason"] == Reason.SETTLEMENT_PENDING
    hasty.node().reset()
    final = await _final(hasty, draft)
    assert (final.json()["success"], final.json()["transaction"]) == (
        True,
        pending.json()["transaction"],
    )
    assert (await keyed(hasty, draft.request())).body == final.body
    assert hasty.node().counts()[SEND] == 0


async def test_twenty_at_once_on_two_replicas_are_one_settlement_with_one_answer(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    async with service(stage.environment) as client:
        replica = Stage(client, stage.networks, stage.environment)
        answers = await asyncio.gather(
            *(keyed(each, draft.request()) for each in [stage, replica] * 10)
        )
    assert {(each.status, each.body) for each in answers} == {(200, answers[0].body)}
    assert answers[0].json()["success"] is True
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def test_a_restart_replays_what_was_answered_before(stage: Stage) -> None:
    draft = await stage.draft()
    first = await keyed(stage, draft.request())
    async with service(stage.environment) as client:
        again = await keyed(Stage(client, stage.networks, stage.environment), draft.request())
    assert again.body == first.body


async def test_an_answer_lost_on_the_wire_is_there_for_the_key(stage: Stage) -> None:
    draft = await stage.draft()
    app = create_app(read_settings(stage.environment))
    async with started(app):
        deaf = AsgiClient(_cut_off(app))
        await until_ready(AsgiClient(app))
        with pytest.raises(HungUp):
            await deaf.post("/settle", draft.request(), {"idempotency-key": KEY})
    (row,) = await stage.query("SELECT answered_at FROM settlements")
    assert row["answered_at"] is not None
    answer = await keyed(stage, draft.request())
    assert answer.json()["success"] is True
    assert (await stage.settle(draft.request()))["errorReason"] == Reason.DUPLICATE_SETTLEMENT


def _cut_off(app: ASGIApp) -> ASGIApp:
    """The connection breaks when the answer is written, and not before."""

    async def cut_off(scope: Scope, receive: Receive, send: Send) -> None:
        del send

        async def broken(message: Message) -> None:
            raise OSError(message["type"])

        with suppress(OSError):
            await app(scope, receive, broken)

    return cut_off


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "x" * 256, "a\tb"])
async def test_a_malformed_key_is_a_bad_request_and_settles_nothing(stage: Stage, key: str) -> None:
    draft = await stage.draft()
    body = draft.request()
    headers = {"content-type": "application/json", "idempotency-key": key}
    answer = await stage.client.post("/settle", body, headers)
    assert (answer.status, answer.json()["errorReason"]) == (400, Reason.INVALID_IDEMPOTENCY_KEY)
    assert answer.json()["success"] is False
    assert answer.json()["network"] == draft.network.value
    assert await stage.rows() == 0


@pytest.mark.parametrize(
    "key", ["x", "~" * 255, '"quoted"', "8e03978e-40d5-43e8-bc93-6894a57f9324"]
)
async def test_any_visible_ascii_is_a_key(stage: Stage, key: str) -> None:
    draft = await stage.draft()
    first = await keyed(stage, draft.request(), key)
    assert (await keyed(stage, draft.request(), key)).body == first.body


async def test_a_refused_request_uses_up_no_key(stage: Stage) -> None:
    draft = await stage.draft()
    short = draft.but(amount=10**15)
    refused = await keyed(stage, short.request())
    assert refused.json()["errorReason"] == Reason.SIMULATION_FAILED
    assert await _names(stage) == []
    assert (await keyed(stage, draft.request())).json()["success"] is True


async def test_a_payment_of_which_nothing_was_sent_frees_its_key(hasty: Stage) -> None:
    draft = await hasty.draft()
    hasty.node().on(SEND, node.busy)
    refused = await keyed(hasty, draft.request())
    assert (refused.json()["success"], refused.json()["transaction"]) == (False, "")
    hasty.node().reset()
    other = await keyed(hasty, draft.request(maxTimeoutSeconds=901))
    assert other.json()["success"] is True, other.json()


async def test_a_key_is_kept_a_day_past_the_authorization_and_then_forgotten(stage: Stage) -> None:
    draft = await stage.draft()
    await keyed(stage, draft.request())
    (row,) = await _names(stage)
    left = draft.expires_at_ledger - await stage.ledger().latest()
    ends_at = datetime.now(UTC) + timedelta(seconds=5 * left)
    assert abs(row["keep_until"] - ends_at - timedelta(hours=24)) < timedelta(minutes=2)
    async with Database(Secret(stage.environment["FAREBOX_DATABASE_URL"])) as database:
        names = RequestNames(database, SystemClock())
        assert await names.sweep() == 0
        await stage.query("UPDATE request_names SET keep_until = now() - interval '1 second'")
        late = await keyed(stage, draft.request())
        assert late.json()["errorReason"] == Reason.DUPLICATE_SETTLEMENT, "its time is over"
        await stage.query("UPDATE request_names SET keep_until = now() - interval '1 second'")
        assert await names.sweep() == 1
    assert await _names(stage) == []


async def _names(stage: Stage) -> list[Json]:
    return [dict(row) for row in await stage.query("SELECT * FROM request_names")]


async def _final(stage: Stage, draft: Draft) -> Answer:
    for _ in range(200):
        answer = await keyed(stage, draft.request())
        if answer.json().get("errorReason") != Reason.SETTLEMENT_PENDING:
            return answer
        await asyncio.sleep(0.05)
    raise TimeoutError("it stays pending")
