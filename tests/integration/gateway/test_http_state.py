"""The gateway over HTTP after a change, a loss or a theft: the receipt stays, nothing is sent."""

import asyncio
import base64
import json
from asyncio import gather
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from farebox.facilitator.settlement import NotSettled, PaymentIdentity, Settled
from farebox.gateway.delivery import pay
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.vault.stored_secret import Purpose
from farebox.x402.reasons import Reason
from support.asgi import Answer
from support.gateway import (
    GatewayBench,
    Opened,
    OutcomeOf,
    always,
    code_of,
    lands,
    sent,
    signature,
)
from support.gateway_payments import HASH
from support.outbound import SELLER
from support.payment_headers import receipt, required
from support.upstream import answers
from support.vault import new_owner, random_value, vault_replica
from support.wrappers import OTHER_PAY_TO, change_fields, wrapper_fields, wrappers_of
from testing.waiting import until

PAYER = Address(OTHER_PAY_TO)
RACING = 8
Change = Callable[[Database, Wrapper], Awaitable[object]]


def owner(wrapper: Wrapper) -> Caller:
    return Caller(wrapper.owner, CallerKind.SESSION)


async def disable(database: Database, wrapper: Wrapper) -> None:
    await wrappers_of(database).disable(owner(wrapper), "r", wrapper.id)


async def delete(database: Database, wrapper: Wrapper) -> None:
    await wrappers_of(database).delete(owner(wrapper), "r", wrapper.id)


async def sell_another_path(database: Database, wrapper: Wrapper) -> None:
    routes = [{"method": "GET", "path": "/other", "amount": "1"}]
    fields = change_fields(routes=routes, other_paths="refused")
    await wrappers_of(database).update(owner(wrapper), "r", wrapper.id, fields)


def lands_after(database: Database, change: Callable[[], Awaitable[object]]) -> OutcomeOf:
    """Every payment lands, and while it is settled the change is made and answered."""
    land = lands(database)

    async def outcome_of(identity: PaymentIdentity, digest: bytes) -> Any:
        await change()
        return await land(identity, digest)

    return outcome_of


async def forget_wrappers(at: GatewayBench) -> None:
    """Make the gateway read the wrapper again, as it does within a second."""
    await at.wrappers.read(at.wrapper.slug)


@pytest.mark.parametrize("change", [disable, delete, sell_another_path])
async def test_paid_request_keeps_its_receipt_when_the_wrapper_serves_it_no_more(
    opened: Opened, database: Database, change: Change
) -> None:
    """Control: a build that looks for the wrapper first answers 404."""
    async with opened(answer=answers(b"", status="503 X")) as at:
        assert (await at.pay()).status == 502
        at.paid["another"] = signature(await at.offer(), "another")
        await change(database, at.wrapper)
        await forget_wrappers(at)
        answer = await at.pay()
        assert (answer.status, code_of(answer)) == (502, "upstream_failed")
        assert (receipt(answer)["success"], receipt(answer)["transaction"]) == (True, HASH)
        assert answer.json()["error"]["details"]["transaction"] == HASH
        assert len(sent(at)) == 1
        unpaid = await at.client.request("GET", at.url)
        assert unpaid.status == 404
        stranger = await at.pay(payment="another")
        assert stranger.status == 404
        assert len(at.settler.settled) == 1


async def test_delivered_response_is_given_again_after_its_wrapper_is_deleted(
    opened: Opened, database: Database
) -> None:
    async with opened() as at:
        first = await at.pay()
        await delete(database, at.wrapper)
        await forget_wrappers(at)
        again = await at.pay()
        assert (again.status, again.body, receipt(again)) == (200, b"sunny", receipt(first))
        other = await at.pay("/other")
        assert other.status == 404
        assert len(sent(at)) == 1


async def test_payment_under_way_is_told_as_pending_after_its_wrapper_is_deleted(
    opened: Opened, database: Database
) -> None:
    async with opened(outcome_of=always(ValueError("the process dies"))) as at:
        assert (await at.pay()).status == 500
        await delete(database, at.wrapper)
        await forget_wrappers(at)
        answer = await at.pay()
        assert (answer.status, code_of(answer)) == (503, "settlement_pending")
        assert len(at.settler.settled) == 1


@pytest.mark.parametrize("change", [disable, delete, sell_another_path])
async def test_upstream_is_not_called_once_the_change_was_answered(
    opened: Opened, database: Database, change: Change
) -> None:
    """Control: a build that goes by what it read before the settlement sends the credential."""
    async with opened() as at:
        at.settler.outcome_of = lands_after(database, lambda: change(database, at.wrapper))
        answer = await at.pay()
        if change is sell_another_path:  # the upstream is the owner's still: it is paid for
            assert (answer.status, len(sent(at))) == (200, 1)
            return
        assert (answer.status, code_of(answer)) == (502, "upstream_failed")
        assert receipt(answer)["success"] is True
        assert answer.json()["error"]["details"]["attemptsLeft"] == 5  # it was none
        assert sent(at) == []


async def secret_wrapper(database: Database) -> tuple[Wrapper, Caller, str]:
    """A wrapper with a credential, its owner, and the id of another secret."""
    caller, vault = new_owner(), vault_replica(database)
    first = await vault.keep(caller, random_value(), purpose=Purpose.BEARER)
    second = await vault.keep(caller, random_value(), purpose=Purpose.BEARER)
    wrappers = wrappers_of(database)
    fields = wrapper_fields(
        upstream_url=f"https://{SELLER}/", auth_type="bearer", secret_id=first.id
    )
    created = await wrappers.create(caller, "r", fields)
    return await wrappers.enable(caller, "r", created.id), caller, second.id


async def test_secret_and_upstream_are_those_of_the_moment_of_the_call(
    opened: Opened, database: Database
) -> None:
    wrapper, caller, second = await secret_wrapper(database)
    async with opened() as at:
        at.wrapper = wrapper
        fields = change_fields(secret_id=second, upstream_url=f"https://{SELLER}/new")

        async def change() -> None:
            await wrappers_of(database).update(caller, "r", wrapper.id, fields)

        at.settler.outcome_of = lands_after(database, change)
        assert (await at.pay()).status == 200
        value = await vault_replica(database).reader.read(
            wrapper.owner, second, purposes=(Purpose.BEARER,)
        )
        (request,) = sent(at)
        assert request.startswith(b"GET /new ")
        assert f"Authorization: Bearer {value.reveal()}".encode() in request


class TwoSettlements:
    """Payments land in two groups: the first `count` to come at one gate, the others at another."""

    def __init__(self, database: Database, count: int) -> None:
        self.gates = (asyncio.Event(), asyncio.Event())
        self.came = 0
        self._count, self._land = count, lands(database)

    async def __call__(self, identity: PaymentIdentity, digest: bytes) -> Any:
        gate = self.gates[self.came >= self._count]
        self.came += 1
        await gate.wait()
        return await self._land(identity, digest)


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_change_beside_deliveries_sends_no_secret_elsewhere_and_nothing_old_afterwards(
    opened: Opened, database: Database, *, is_deleted: bool
) -> None:
    """Half of the payments land while the change is made, the others once it was answered.

    Control: a build that goes by the wrapper of before the settlement sends all the old secret;
    one that reads the wrapper again, and not its secret, sends the old one to the new upstream.
    """
    wrapper, caller, second = await secret_wrapper(database)
    first = wrapper.settings.upstream.secret_id
    assert first is not None
    reader, wrappers = vault_replica(database).reader, wrappers_of(database)
    old, new = [
        (await reader.read(wrapper.owner, each, purposes=(Purpose.BEARER,))).reveal().encode()
        for each in (first, second)
    ]
    fields = change_fields(secret_id=second, upstream_url=f"https://{SELLER}/new")
    held = TwoSettlements(database, RACING)
    async with opened(outcome_of=held) as at:
        at.wrapper = wrapper
        for number in range(2 * RACING):
            at.paid[str(number)] = signature(await at.offer(f"/{number}"), str(number))

        async def begin(numbers: range) -> list[asyncio.Task[Answer]]:
            begun = [asyncio.create_task(at.pay(f"/{each}", payment=str(each))) for each in numbers]
            await until(lambda: held.came == numbers.stop)
            return begun

        beside, after = await begin(range(RACING)), await begin(range(RACING, 2 * RACING))
        held.gates[0].set()
        if is_deleted:
            await wrappers.delete(caller, "r", wrapper.id)
        else:
            await wrappers.update(caller, "r", wrapper.id, fields)
        held.gates[1].set()
        answers_beside, answers_after = await gather(*beside), await gather(*after)
        paths = [each.split()[1] for each in sent(at)]
        of_old = {path for path, each in zip(paths, sent(at), strict=True) if old in each}
        of_new = {path for path, each in zip(paths, sent(at), strict=True) if new in each}
        assert len(of_new) + len(of_old) == len(paths)
        assert of_old <= {b"/%d" % each for each in range(RACING)}
        assert of_new <= {b"/new/%d" % each for each in range(2 * RACING)}
        assert {each.status for each in answers_beside} <= ({200, 502} if is_deleted else {200})
        if is_deleted:
            assert not of_new
            left = [each.json()["error"]["details"]["attemptsLeft"] for each in answers_after]
            assert left == [5] * RACING
        else:
            assert {each.status for each in answers_after} == {200}
            assert len(paths) == 2 * RACING


async def test_change_of_secret_or_upstream_refuses_no_payment(
    opened: Opened, database: Database
) -> None:
    """Control: a build that compares the revision answers with the very terms that were paid."""
    wrapper, caller, second = await secret_wrapper(database)
    async with opened() as at:
        at.wrapper = wrapper
        at.paid["one"] = signature(await at.offer(), "one")
        fields = change_fields(secret_id=second, upstream_url=f"https://{SELLER}/new")
        await wrappers_of(database).update(caller, "r", wrapper.id, fields)
        answer = await at.pay()  # the wrapper that is still known has the old settings
        assert (answer.status, answer.body) == (200, b"sunny")
        assert sent(at)[0].startswith(b"GET /new ")
        assert len(at.settler.settled) == 1


async def test_receipt_is_given_though_the_database_is_lost_after_the_landing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: a build that passes the outage on answers 503 without a receipt."""

    async def lost(*_: object, **__: object) -> None:
        raise DatabaseUnavailable("lost")

    async with opened() as at:
        at.paid["one"] = signature(await at.offer(), "one")
        with monkeypatch.context() as patch:
            patch.setattr(pay, "record_landing", lost)
            answer = await at.pay()
        assert (answer.status, code_of(answer)) == (503, "service_unavailable")
        assert (receipt(answer)["success"], receipt(answer)["transaction"]) == (True, HASH)
        assert "payment-required" not in answer.headers


async def test_unproven_outcome_is_told_with_its_reason_and_no_offer(
    opened: Opened, database: Database
) -> None:
    unproven = NotSettled(Reason.OUTCOME_UNPROVEN, Network.TESTNET, PAYER, HASH)
    land = lands(database)

    async def outcome_of(identity: PaymentIdentity, digest: bytes) -> Any:
        assert isinstance(await land(identity, digest), Settled)
        return unproven

    async with opened(outcome_of=outcome_of) as at:
        answer = await at.pay()
        assert (answer.status, code_of(answer)) == (503, "settlement_pending")
        assert receipt(answer)["errorReason"] == Reason.OUTCOME_UNPROVEN.value
        assert receipt(answer)["transaction"] == HASH
        assert answer.headers["retry-after"] == "3600"
        assert "payment-required" not in answer.headers
        async with database.connection() as db:
            assert await db.fetchval("SELECT state FROM gateway_payments") == "reserved"


def respelled(payment: str, **members: Any) -> str:
    """The same payment in other bytes."""
    payload = json.loads(base64.b64decode(payment)) | members
    return base64.b64encode(json.dumps(payload).encode()).decode()


async def test_other_bytes_of_a_paid_request_get_neither_response_nor_delivery(
    opened: Opened,
) -> None:
    """Control: by the transaction's nonce and the request alone both are given away."""
    async with opened(answer=answers(b"", status="503 X")) as at:
        assert (await at.pay()).status == 502
        at.seller.upstream.answer = answers(b"sunny")
        for _ in range(2):  # undelivered, then delivered
            at.paid["stranger"] = respelled(at.paid["one"], note="mine")
            stolen = await at.pay(payment="stranger")
            assert (stolen.status, code_of(stolen)) == (409, "payment_used")
            assert stolen.json()["error"]["details"] == {"transaction": HASH}
            assert HASH in stolen.json()["error"]["message"]
            assert "payment-response" not in stolen.headers
            bought = await at.pay()
            assert (bought.status, bought.body) == (200, b"sunny")


@pytest.mark.parametrize(("has_identifier", "status"), [(True, 200), (False, 409)])
async def test_stored_response_is_given_again_after_a_minute_to_private_bytes_only(
    opened: Opened, database: Database, has_identifier: bool, status: int
) -> None:
    identifier = {"info": {"required": False, "id": "pay_0123456789abcdef"}}
    async with opened() as at:
        payment = signature(await at.offer(), "one")
        if has_identifier:
            payment = respelled(payment, extensions={"payment-identifier": identifier})
        at.paid["one"] = payment
        assert (await at.pay()).status == (await at.pay()).status == 200
        async with database.connection() as db:
            await db.execute("UPDATE gateway_payments SET paid_at = paid_at - interval '61 s'")
        assert (await at.pay()).status == status
        assert len(sent(at)) == 1


async def test_used_payment_without_a_transaction_says_so(opened: Opened) -> None:
    async with opened(outcome_of=always(ValueError("the process dies"))) as at:
        assert (await at.pay()).status == 500
        answer = await at.pay("/other")
        assert (answer.status, code_of(answer)) == (409, "payment_used")
        assert answer.json()["error"]["details"] == {"transaction": None}
        assert answer.json()["error"]["message"].endswith("No transaction of it is known.")


async def test_offer_lets_the_buyer_add_an_identifier(opened: Opened) -> None:
    async with opened() as at:
        declared = required(await at.offer())["extensions"]["payment-identifier"]
        assert declared["info"] == {"required": False}
        echoed = respelled(
            signature(await at.offer(), "echo"), extensions={"payment-identifier": declared}
        )
        at.paid["echo"] = echoed  # a stock client without an id sends it back as it is
        assert (await at.pay(payment="echo")).status == 200


async def fill(database: Database) -> dict[str, str]:
    """Other requests use up the wrapper's limit of concurrency."""
    async with database.connection() as db:
        await db.execute("UPDATE wrapper_counters SET in_progress = 50")
    return {}


async def add_headers(database: Database) -> dict[str, str]:
    """More headers than are forwarded."""
    return {f"x-{number}": "1" for number in range(100)}


@pytest.mark.parametrize("prevent", [fill, add_headers])
async def test_paid_request_that_cannot_be_sent_on_now_gets_its_receipt(
    opened: Opened, database: Database, prevent: Callable[[Database], Awaitable[dict[str, str]]]
) -> None:
    """Control: a build that refuses it like a new one says that nothing was charged."""
    async with opened(answer=answers(b"", status="503 X")) as at:
        assert (await at.pay()).status == 502
        answer = await at.pay(headers=await prevent(database))
        assert (answer.status, code_of(answer)) == (502, "upstream_failed")
        assert receipt(answer)["success"] is True
        assert answer.json()["error"]["details"]["attemptsLeft"] == 4
        assert len(sent(at)) == 1
