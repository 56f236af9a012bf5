"""Cases 3.5: a nonce that is signed twice, landed by others, or read off the ledger."""

import asyncio
import base64
import json
from typing import Any

import pytest

from farebox.x402.reasons import Reason
from support import node_proxy
from support.asgi import Answer
from support.envelopes import text_memo
from support.paid_gateway import PaidGateway, gateway_path, signature
from support.payment_headers import receipt
from support.payments import Draft, Json, encoded
from support.promises import case
from support.upstream import answers
from testing.waiting import until

TOO_DEAR = "900000000000000000"  # more than any payer has
PATH = "/report"


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


async def draft_of(shop: PaidGateway, terms: Json, **changes: Any) -> Draft:
    members = {"pay_to": terms["payTo"], "amount": int(terms["amount"])} | changes
    return await shop.stage.draft(asset=terms["asset"], **members)


async def present(shop: PaidGateway, wrapper: Json, payment: str) -> Answer:
    return await shop.client.request(
        "GET", gateway_path(wrapper, PATH), headers={"payment-signature": payment}
    )


async def land_elsewhere(shop: PaidGateway, draft: Draft) -> str:
    """Another party puts the authorization on the ledger in a transaction of its own."""
    other = await shop.stage.ledger().account()
    found = await shop.stage.ledger().submit(
        other,
        lambda builder: builder.append_invoke_contract_function_op(
            draft.asset, "transfer", draft.call().args, auth=[draft.entry()]
        ),
    )
    return found.transaction_hash


def rewrapped(terms: Json, draft: Draft) -> str:
    """The payment's entry, as the ledger shows it, in an envelope of other bytes."""
    envelope = draft.around([draft.operation()], fee=7, memo=text_memo(b"mine"))
    payload = {
        "x402Version": 2,
        "accepted": terms,
        "payload": {"transaction": encoded(envelope)},
    }
    return base64.b64encode(json.dumps(payload).encode()).decode()


class Cheaper:
    """A payment for the wrapper's terms, and one of its nonce for less, to the buyer itself."""

    def __init__(self, terms: Json, dear: Draft, own_account: str) -> None:
        cheap = dear.but(pay_to=own_account, amount=1, nonce=dear.nonce)
        own_terms = terms | {"amount": "1", "payTo": own_account}
        self.dear, self.cheap = signature(terms, dear), signature(own_terms, cheap)


async def cheaper(shop: PaidGateway, wrapper: Json) -> Cheaper:
    terms = (await shop.offer(wrapper))["accepts"][0]
    scene = next(iter(shop.stage.networks.values())).scene
    return Cheaper(terms, await draft_of(shop, terms), scene.payees[1].address)


@case("GW-076")
@pytest.mark.parametrize("method", ["simulateTransaction", "sendTransaction"])
async def test_cheaper_transfer_with_the_nonce_buys_nothing_while_the_dear_one_is_settled(
    shop: PaidGateway, method: str
) -> None:
    """Control: by the nonce alone the cheaper one is settled and delivered (10 of 10)."""
    is_refused = method == "simulateTransaction"  # the payer cannot pay: its reservation goes
    wrapper = await shop.serve(**({"amount": TOO_DEAR} if is_refused else {}))
    pair = await cheaper(shop, wrapper)
    attempts: list[asyncio.Task[Answer]] = []

    async def present_cheap(call: node_proxy.Call, forward: node_proxy.Forward) -> Any:
        del call
        if not attempts:
            attempts.append(asyncio.create_task(present(shop, wrapper, pair.cheap)))
            await asyncio.wait(attempts, timeout=1)  # a build that lets it wait goes on
        return await forward()

    shop.stage.node().on(method, present_cheap)
    dear = await present(shop, wrapper, pair.dear)
    meanwhile = [*await asyncio.gather(*attempts), await present(shop, wrapper, pair.cheap)]
    assert {each.status for each in meanwhile} == {402}
    assert dear.status == (402 if is_refused else 200)  # refused for the payer's balance
    assert len(shop.upstream.requests) == (0 if is_refused else 1)
    rows = await shop.stage.query("SELECT amount, pay_to FROM settlements")
    assert "1" not in {str(row["amount"]) for row in rows}


@case("GW-076")
@pytest.mark.parametrize("first", [0, 1])
async def test_two_payments_with_one_nonce_at_two_wrappers_buy_once(
    shop: PaidGateway, first: int
) -> None:
    """Both are for sale, at two prices; each is presented before, beside and after the other."""
    scene = next(iter(shop.stage.networks.values())).scene
    dear = await shop.serve()
    cheap = await shop.serve(amount="1", payTo=scene.payees[1].address)
    terms = [(await shop.offer(each))["accepts"][0] for each in (dear, cheap)]
    draft = await draft_of(shop, terms[0])
    other = draft.but(pay_to=terms[1]["payTo"], amount=1, nonce=draft.nonce)
    sales = [(dear, signature(terms[0], draft)), (cheap, signature(terms[1], other))]
    ordered = [sales[first], sales[1 - first]] * 3
    got = await asyncio.gather(*(present(shop, *each) for each in ordered))
    got += [await present(shop, *each) for each in sales]
    assert {each.status for each in got} <= {200, 402, 409}
    pairs = zip([*ordered, *sales], got, strict=True)
    assert len({sale for (_, sale), each in pairs if each.status == 200}) == 1
    assert len(shop.upstream.requests) == 1
    (row,) = await shop.stage.query("SELECT state FROM gateway_payments")
    assert row["state"] == "delivered"


@case("GW-077")
async def test_transfer_that_landed_before_buys_nothing(shop: PaidGateway) -> None:
    """Control: a build that counts a foreign landing as paid delivers."""
    wrapper = await shop.serve()
    terms = (await shop.offer(wrapper))["accepts"][0]
    draft = await draft_of(shop, terms)
    foreign = await land_elsewhere(shop, draft)
    for payment in (rewrapped(terms, draft), signature(terms, draft)) * 2:
        answer = await present(shop, wrapper, payment)
        assert answer.status == 402
        assert receipt(answer) == receipt(answer) | {
            "success": False,
            "errorReason": Reason.DUPLICATE_SETTLEMENT.value,
            "transaction": foreign,
        }
    assert shop.upstream.requests == []
    assert await shop.stage.query("SELECT 1 FROM gateway_payments") == []
    assert await shop.stage.rows() == 0


@case("GW-077")
async def test_expired_payment_that_landed_elsewhere_is_used_and_gets_no_offer(
    shop: PaidGateway,
) -> None:
    """Control: a build that refuses it by its expiry alone answers with an offer."""
    wrapper = await shop.serve()
    terms = (await shop.offer(wrapper))["accepts"][0]
    last = await shop.stage.ledger().latest() + 40
    draft = await draft_of(shop, terms, expires_at_ledger=last)
    unused = draft.but()
    foreign = await land_elsewhere(shop, draft)

    await shop.stage.networks[draft.network].devnet.jump(0, ledgers=41)
    await shop.stage.until_seen(last + 1)

    async def decided(payment: str) -> Answer | None:
        answer = await present(shop, wrapper, payment)
        return None if answer.status == 503 else answer  # until two looks at the ledger agree

    used = await until(lambda: decided(signature(terms, draft)))
    assert (used.status, "payment-required" in used.headers) == (402, False)
    assert receipt(used)["transaction"] == foreign
    free = await until(lambda: decided(signature(terms, unused)))
    assert (free.status, "payment-required" in free.headers) == (402, True)
    assert free.json()["error"] == Reason.EXPIRED.value


@case("GW-077")
async def test_transfer_that_lands_elsewhere_during_the_settlement_buys_once(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve()
    terms = (await shop.offer(wrapper))["accepts"][0]
    draft, landed = await draft_of(shop, terms), list[str]()

    async def overtake(call: node_proxy.Call, forward: node_proxy.Forward) -> Any:
        del call
        if not landed:
            await next(iter(shop.stage.networks.values())).devnet.jump(2)  # past our row
            landed.append(await land_elsewhere(shop, draft))
        return await forward()

    shop.stage.node().on("sendTransaction", overtake)
    bought = await present(shop, wrapper, signature(terms, draft))
    assert (bought.status, bought.body) == (200, b"sunny")
    assert receipt(bought)["transaction"] == landed[0]
    stolen = await present(shop, wrapper, rewrapped(terms, draft))
    assert (stolen.status, stolen.json()["error"]["code"]) == (409, "payment_used")
    assert len(shop.upstream.requests) == 1
    (row,) = await shop.stage.query("SELECT answered_by FROM settlements")
    assert row["answered_by"] is not None, "its one success is taken"


@case("GW-077", "GW-078")
async def test_authorization_read_off_the_ledger_gets_neither_response_nor_delivery(
    shop: PaidGateway,
) -> None:
    """Control: by the nonce alone the stranger gets both."""
    wrapper = await shop.serve()
    terms = (await shop.offer(wrapper))["accepts"][0]
    draft = await draft_of(shop, terms)
    payment = signature(terms, draft)
    shop.upstream.answer = answers(status="500 Oops")
    assert (await present(shop, wrapper, payment)).status == 502
    shop.upstream.answer = answers(b"sunny")
    undelivered = await present(shop, wrapper, rewrapped(terms, draft))
    bought = await present(shop, wrapper, payment)
    delivered = await present(shop, wrapper, rewrapped(terms, draft))
    assert (bought.status, bought.body) == (200, b"sunny")
    for stolen in (undelivered, delivered):
        assert (stolen.status, stolen.json()["error"]["code"]) == (409, "payment_used")
        named = stolen.json()["error"]["details"]["transaction"]
        assert named == receipt(bought)["transaction"]
    assert len(shop.upstream.requests) == 2
    again = await present(shop, wrapper, payment)
    assert (again.status, again.body) == (200, b"sunny")
