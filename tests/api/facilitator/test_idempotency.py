"""`Idempotency-Key`: the seller's key, and the response replayed under it."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settling.idempotency import StoredResponses
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support import node_proxy
from support.asgi import Answer, AsgiClient, ClientDisconnected, started
from support.payments import Draft, Json
from support.stage import Stage, service, until_ready
from testing.waiting import until

KEY: Final = "order-4711"
SEND: Final = "sendTransaction"


class Later(SystemClock):
    """The clock in two days."""

    def now(self) -> datetime:
        """Two days later than it is."""
        return super().now() + timedelta(days=2)


async def keyed(stage: Stage, body: object, key: str = KEY) -> Answer:
    return await stage.client.post("/settle", body, {"idempotency-key": key})


async def test_success_is_replayed_byte_for_byte_under_its_key_alone(stage: Stage) -> None:
    draft = await stage.draft()
    first = await keyed(stage, draft.request())
    assert first.json()["success"] is True
    respelled = draft.request()
    respelled["paymentPayload"]["resource"] = {"url": "https://elsewhere.test/"}
    again = [await keyed(stage, body) for body in (draft.request(), draft.request(), respelled)]
    assert [(each.status, each.body) for each in again] == [(200, first.body)] * 3
    assert stage.node().counts()[SEND] == 1
    for other in (
        await stage.settle(draft.request()),
        (await keyed(stage, draft.request(), "x")).json(),
    ):
        assert (other["success"], other["errorReason"]) == (False, Reason.DUPLICATE_SETTLEMENT)
    await _assert_conflict(stage, draft)
    assert (await keyed(stage, draft.request())).body == first.body


async def _assert_conflict(stage: Stage, draft: Draft) -> None:
    """Another body with the same key is refused, and not sent."""
    answer = await keyed(stage, draft.request(maxTimeoutSeconds=901))
    assert answer.status == 409
    assert answer.json() == answer.json() | {
        "success": False,
        "errorReason": Reason.IDEMPOTENCY_KEY_REUSED,
        "transaction": "",
        "network": draft.network.value,
        "payer": draft.payer,
    }
    assert stage.node().counts()[SEND] == 1


async def test_keys_of_anonymous_callers_are_scoped_to_their_payments(stage: Stage) -> None:
    one, two = await stage.draft(), await stage.draft()
    answers = await asyncio.gather(*(keyed(stage, each.request()) for each in (one, two)))
    assert [answer.json()["success"] for answer in answers] == [True, True]
    assert len({answer.json()["transaction"] for answer in answers}) == 2


async def test_pending_response_is_not_stored_and_repeat_returns_result(hasty: Stage) -> None:
    draft = await hasty.draft()
    node_proxy.hide_transactions(hasty.node())
    pending = await keyed(hasty, draft.request())
    assert pending.json()["errorReason"] == Reason.SETTLEMENT_PENDING
    await _assert_conflict(hasty, draft)
    hasty.node().reset()
    final = await _final(hasty, draft)
    assert (final.json()["success"], final.json()["transaction"]) == (
        True,
        pending.json()["transaction"],
    )
    assert (await keyed(hasty, draft.request())).body == final.body
    assert hasty.node().counts()[SEND] == 0


async def test_replica_started_later_replays_and_twenty_concurrent_requests_get_one_response(
    stage: Stage,
) -> None:
    stored, draft = await stage.draft(), await stage.draft()
    first = await keyed(stage, stored.request())
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    async with service(stage.environment) as client:
        replica = Stage(client, stage.networks, stage.environment)
        assert (await keyed(replica, stored.request())).body == first.body
        answers = await asyncio.gather(
            *(keyed(each, draft.request()) for each in [stage, replica] * 10)
        )
    assert {(each.status, each.body) for each in answers} == {(200, answers[0].body)}
    assert answers[0].json()["success"] is True
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def test_response_lost_on_the_wire_is_replayed(stage: Stage) -> None:
    draft = await stage.draft()
    app = create_app(read_settings(stage.environment))
    async with started(app):
        deaf = AsgiClient(_cut_off(app))
        await until_ready(AsgiClient(app))
        with pytest.raises(ClientDisconnected):
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


async def test_malformed_key_is_a_400_and_settles_nothing(stage: Stage) -> None:
    draft = await stage.draft()
    headers = {"content-type": "application/json", "idempotency-key": "a b"}
    answer = await stage.client.post("/settle", draft.request(), headers)
    assert (answer.status, answer.json()["errorReason"]) == (400, Reason.INVALID_IDEMPOTENCY_KEY)
    assert answer.json()["success"] is False
    assert answer.json()["network"] == draft.network.value
    assert await stage.rows() == 0


async def test_longest_key_is_stored(stage: Stage) -> None:
    draft = await stage.draft()
    first = await keyed(stage, draft.request(), "~" * 255)
    assert (await keyed(stage, draft.request(), "~" * 255)).body == first.body


async def test_refused_request_leaves_key_free(stage: Stage) -> None:
    draft = await stage.draft()
    short = draft.but(amount=10**15)
    refused = await keyed(stage, short.request())
    assert refused.json()["errorReason"] == Reason.INSUFFICIENT_FUNDS
    assert await _keys(stage) == []
    assert (await keyed(stage, draft.request())).json()["success"] is True


async def test_key_is_free_again_when_nothing_was_sent(hasty: Stage) -> None:
    draft = await hasty.draft()
    hasty.node().on(SEND, node_proxy.refused("not parsed", code=-32602))
    refused = await keyed(hasty, draft.request())
    assert (refused.json()["success"], refused.json()["transaction"]) == (False, "")
    hasty.node().reset()
    other = await keyed(hasty, draft.request(maxTimeoutSeconds=901))
    assert other.json()["success"] is True, other.json()


async def test_stored_response_expires_a_day_after_authorization(stage: Stage) -> None:
    draft = await stage.draft()
    await keyed(stage, draft.request())
    (row,) = await _keys(stage)
    left = draft.expires_at_ledger - await stage.ledger().latest()
    ends_at = datetime.now(UTC) + timedelta(seconds=5 * left)
    assert abs(row["keep_until"] - ends_at - timedelta(hours=24)) < timedelta(minutes=2)
    async with Database(Secret(stage.environment["FAREBOX_DATABASE_URL"])) as database:
        clock = SystemClock()
        responses = StoredResponses(database, SettlementJournal(database, clock), {}, clock)
        assert await responses.delete_expired() == 0
        # in two days; had it expired now, the service's own job might delete it first
        later = StoredResponses(database, SettlementJournal(database, clock), {}, Later())
        assert await later.delete_expired() == 1
    assert await _keys(stage) == []
    another = await stage.draft()
    await keyed(stage, another.request())
    await stage.query("UPDATE request_names SET keep_until = now() - interval '1 second'")
    late = await keyed(stage, another.request())
    assert late.json()["errorReason"] == Reason.DUPLICATE_SETTLEMENT, "its time is over"


async def _keys(stage: Stage) -> list[Json]:
    return [dict(row) for row in await stage.query("SELECT * FROM request_names")]


async def _final(stage: Stage, draft: Draft) -> Answer:
    async def final() -> Answer | None:
        answer = await keyed(stage, draft.request())
        is_pending = answer.json().get("errorReason") == Reason.SETTLEMENT_PENDING
        return None if is_pending else answer

    return await until(final)
