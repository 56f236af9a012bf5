"""Requests that meet no slot: nothing is charged, and what was paid loses no attempt."""

import asyncio
from contextlib import suppress
from typing import Final

import pytest

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery.deliver import ResponseCut
from farebox.gateway.wrapper import Wrapper
from farebox.storage.pool import Database
from support.asgi import Answer, ClientDisconnected
from support.gateway import HeldSettlement, Opened, Outcome, code_of, lands, sent, signature
from support.gateway_payments import SlotCounters, counters_of, enabled_wrapper, other_payment
from support.outbound import SELLER
from support.socket_buyer import payment_row, socket_buyer, until_ended
from support.upstream import GatedUpstream, answers
from testing.waiting import until_lock_is_waited_for

SLOTS: Final = 64


async def count_payments(database: Database) -> int:
    async with database.connection() as db:
        return int(await db.fetchval("SELECT count(*) FROM gateway_payments"))


async def test_request_without_a_slot_is_refused_before_anything_is_charged(
    opened: Opened, database: Database
) -> None:
    async with opened(slots=1) as at:
        other = other_payment(at.slots, at.wrapper)
        assert other.take()
        refused = await at.pay()
        assert (refused.status, code_of(refused)) == (503, "upstream_unavailable")
        assert (refused.headers["retry-after"], refused.headers.get("payment-response")) == (
            "1", None,
        )  # fmt: skip
        assert (at.settler.settled, sent(at), await count_payments(database)) == ([], [], 0)
        other.release()
        assert (await at.pay()).status == 200


async def test_slots_that_go_while_a_payment_is_settled_are_not_those_of_its_request(
    opened: Opened, database: Database
) -> None:
    settled, box = lands(database), list[Wrapper]()

    async def outcome_of(identity: PaymentIdentity, digest: bytes) -> Outcome:
        while other_payment(at.slots, box[0]).take():  # other owners take what they may meanwhile
            continue
        return await settled(identity, digest)

    async with opened(outcome_of=outcome_of, slots=4) as at:
        box.append(await enabled_wrapper(database, name="Other"))
        delivered = await at.pay()
        assert (delivered.status, delivered.body, len(sent(at))) == (200, b"sunny", 1)
        assert (await payment_row(database))["attempts"] == 1


async def test_paid_request_without_a_slot_shows_its_receipt_and_keeps_its_attempts(
    opened: Opened, database: Database
) -> None:
    async with opened(answer=answers(b"", status="503 X"), slots=1) as at:
        assert (await at.pay()).status == 502
        other = other_payment(at.slots, at.wrapper)
        assert other.take()
        for _ in range(6):
            waiting = await at.pay()
            assert (waiting.status, "payment-response" in waiting.headers) == (502, True)
            assert waiting.json()["error"]["details"]["attemptsLeft"] == 4
        assert len(sent(at)) == 1
        other.release()
        at.seller.upstream.answer = answers(b"sunny")
        assert (await at.pay()).status == 200


async def test_slot_is_free_again_after_every_end_of_a_request(
    opened: Opened, database: Database
) -> None:
    async with opened(slots=1, max_response_bytes=100_000) as at:
        for number, answer in enumerate((
            answers(b"sunny"), answers(b"", status="503 X"), answers(b"short", length=50),
            answers(b"x" * 100_001), answers(b"x" * 90_000, length=99_000),
        )):  # fmt: skip
            at.seller.upstream.answer = answer
            with suppress(ResponseCut, ClientDisconnected):  # the last one is cut
                await at.pay(payment=f"payment {number}")
            assert len(sent(at)) == number + 1
            assert at.slots.has_room_for(at.wrapper)


async def test_slot_is_held_until_the_response_was_passed_on_or_its_buyer_left(
    opened: Opened, database: Database
) -> None:
    upstream = GatedUpstream(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"x" * 100_000)
    async with opened(answer=upstream.answer, slots=1) as at, socket_buyer(at) as buyer:
        await buyer.read_until(b"xxxx")
        assert not at.slots.has_room_for(at.wrapper)
        await buyer.leave_noted()
        await until_ended(database)
        await asyncio.wait_for(upstream.hung_up.wait(), 20)
        at.seller.upstream.answer = answers(b"sunny")
        assert (await at.pay(payment="two")).status == 200


async def test_failing_upstream_of_one_seller_closes_no_wrapper_of_another(
    opened: Opened, database: Database
) -> None:
    async with opened(answer=answers(b"", status="503 X")) as at:
        for number in range(5):
            assert (await at.pay(payment=f"payment {number}")).status == 502
        assert (await at.pay(payment="another")).status == 503, "the control"
        at.seller.upstream.answer = answers(b"sunny")
        honest = await enabled_wrapper(database, name="Honest", upstream_url=f"https://{SELLER}/v1")
        path = f"/gateway/{honest.slug}"
        paid = signature(await at.client.request("GET", path), "honest")
        answer = await at.client.request("GET", path, headers={"payment-signature": paid})
        assert (answer.status, answer.body) == (200, b"sunny")


async def establish(database: Database, wrapper_id: str) -> None:
    async with database.connection() as db:
        await db.execute("UPDATE wrappers SET is_established = true WHERE id = $1", wrapper_id)


@pytest.mark.parametrize("established", [(), (0,), (1,), (0, 1)])
async def test_payment_that_is_sent_to_two_wrappers_at_once_leaves_all_slots_free(
    opened: Opened, database: Database, established: tuple[int, ...]
) -> None:
    held = HeldSettlement(database)
    url = f"https://{SELLER}/v1"
    second = await enabled_wrapper(database, name="Copy", upstream_url=url)
    async with opened(outcome_of=held, slots=SLOTS) as at:
        wrappers = at.wrapper, second
        for number in established:
            await establish(database, wrappers[number].id)
        held.gate.set()
        assert (await at.pay(payment="before")).status == 200  # its counters have a row
        held.settling.clear()
        held.gate.clear()
        at.paid["one"] = signature(await at.offer(), "one")
        headers = {"payment-signature": at.paid["one"]}
        async with (
            asyncio.TaskGroup() as calls,
            database.transaction() as db,  # the first call comes to its row behind the other
        ):
            await db.execute(
                "SELECT 1 FROM wrapper_counters WHERE wrapper_id = $1 FOR UPDATE", at.wrapper.id
            )
            first = calls.create_task(at.pay())
            await until_lock_is_waited_for(database)
            copy = at.client.request("GET", f"/gateway/{second.slug}", headers=headers)
            other = calls.create_task(copy)
            await asyncio.wait_for(held.settling.wait(), 20)
            new, of_each = 2 - len(established), {str(each.owner): 1 for each in wrappers}
            assert counters_of(at.slots) == SlotCounters(SLOTS - 2, new, of_each, 2)
            calls.create_task(_open_after(first, held.gate))
        refused, served = first.result(), other.result()
        assert (refused.status, code_of(refused), served.status) == (409, "payment_used", 200)
        assert counters_of(at.slots) == SlotCounters(SLOTS)


async def _open_after(call: asyncio.Task[Answer], gate: asyncio.Event) -> None:
    await call
    gate.set()
