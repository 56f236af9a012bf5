"""A request to a wrapper is paid on the ledger and delivered, through the whole service."""

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.paid_gateway import (
    ORIGIN,
    PAYMENTS,
    WRAPPERS,
    PaidGateway,
    gateway_path,
    paid_gateway,
)
from support.payment_headers import receipt, required
from support.stage import Stage
from support.upstream import answers
from testing.waiting import until


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


async def test_unpaid_request_gets_the_offer_and_a_paid_one_the_upstream_s_response(
    shop: PaidGateway,
) -> None:
    secret = await shop.secret(purpose="bearer")
    wrapper = await shop.serve(authType="bearer", secretId=secret["id"])
    assert wrapper["endpoint"] == f"{ORIGIN}/gateway/{wrapper['slug']}"
    offer = await shop.offer(wrapper, "/city")
    assert offer["resource"]["url"] == f"{wrapper['endpoint']}/city"
    answer = await shop.buy(wrapper, "/city?name=Paris")
    assert (answer.status, answer.body) == (200, b"sunny")
    shown = receipt(answer)
    assert shown["success"] is True
    assert (await shop.stage.ledger().found(shown["transaction"]))["status"] == "SUCCESS"
    (request,) = shop.upstream.requests
    assert request.startswith(b"GET /base/city?name=Paris HTTP/1.1\r\n")
    assert b"\r\nauthorization: bearer " in request.lower()
    assert b"\r\nx-farebox-payment: " + shown["transaction"].encode() in request.lower()


async def test_disabled_wrapper_is_not_found_and_settles_nothing(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    await shop.send("POST", f"/v1/wrappers/{wrapper['id']}/disable")
    answer = await shop.buy(wrapper, payment=payment)
    assert answer.status == 404
    assert await shop.stage.rows() == 0


async def test_failed_delivery_is_repeated_without_another_charge(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    shop.upstream.answer = answers(b"broken", status="500 Oops")
    first = await shop.buy(wrapper, payment=payment)
    assert first.status == 502
    details = first.json()["error"]["details"]
    assert details["attemptsLeft"] == 4
    assert details["payment"] == f"{ORIGIN}{PAYMENTS}/{details['transaction']}"
    shown = await shop.client.get(f"{PAYMENTS}/{details['transaction']}")
    assert (shown.json()["state"], shown.json()["attemptsLeft"]) == ("paid", 4)
    shop.upstream.answer = answers(b"sunny")
    second = await shop.buy(wrapper, payment=payment)
    assert (second.status, second.body) == (200, b"sunny")
    third = await shop.buy(wrapper, payment=payment)
    assert (third.status, third.body) == (200, b"sunny")
    assert {receipt(each)["transaction"] for each in (first, second, third)} == {
        details["transaction"]
    }
    assert len(shop.upstream.requests) == 2
    assert await shop.stage.rows() == 1


async def test_access_log_names_the_slug_only(
    log_text: Callable[[], str], stage: Stage, module_database: str, tmp_path: Path
) -> None:
    """The service is one of its own: a service logs to where it started to."""
    async with paid_gateway(stage, module_database, tmp_path) as shop:
        wrapper = await shop.serve()
        await shop.buy(wrapper, "/private/patient-17?token=quixotic")
    lines = [line for line in log_text().splitlines() if "/gateway" in line]
    assert len(lines) == 2
    assert all(f'"path":"/gateway/{wrapper["slug"]}"' in line for line in lines), lines
    assert "patient-17" not in log_text()
    assert "quixotic" not in log_text()


async def test_request_is_recorded_for_the_owner(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    await shop.buy(wrapper, "/city")

    async def shown() -> bool:
        answer = await shop.send("GET", f"/v1/wrappers/{wrapper['id']}/analytics")
        assert answer.status == 200, answer.body
        return len(answer.json()["requests"]) == 2

    await until(shown)
    body = (await shop.send("GET", f"/v1/wrappers/{wrapper['id']}/analytics")).json()
    assert body["summary"]["outcomes"] == {"CHALLENGED": 1, "UPSTREAM_SUCCESS": 1}
    assert body["summary"]["successful"] == 1
    assert [each["path"] for each in body["requests"]] == ["/city", "/city"]
    (day,) = body["days"]
    assert [(each["amount"], each["payments"]) for each in day["revenue"]] == [("10000", 1)]


async def test_fifty_equal_requests_pay_once(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    answered = await asyncio.gather(*(shop.buy(wrapper, payment=payment) for _ in range(50)))
    assert {(each.status, each.body) for each in answered} == {(200, b"sunny")}
    assert len(shop.upstream.requests) == 1
    assert await shop.stage.rows() == 1


def flat(payment: str) -> str:
    """The same payment in the flat form, which names no terms."""
    payload = json.loads(base64.b64decode(payment))
    accepted = payload.pop("accepted")
    payload |= {name: accepted[name] for name in ("scheme", "network")}
    return base64.b64encode(json.dumps(payload).encode()).decode()


@pytest.mark.parametrize("change", ["price", "disable"])
async def test_payment_of_the_flat_form_is_continued_after_its_terms_have_gone(
    shop: PaidGateway, change: str
) -> None:
    """Control: a build that reads terms from `accepted` alone offers it to be paid again."""
    wrapper = await shop.serve()
    terms = (await shop.offer(wrapper))["accepts"][0]
    payment, unpaid = flat(await shop.sign(terms)), flat(await shop.sign(terms))
    first = await shop.buy(wrapper, payment=payment)
    assert (first.status, first.body) == (200, b"sunny")
    path = f"{WRAPPERS}/{wrapper['id']}"
    if change == "price":
        changed = await shop.send("PATCH", path, {"amount": "20000"})
    else:
        changed = await shop.send("POST", f"{path}/disable")
    assert changed.status == 200

    async def is_served() -> bool:
        answer = await shop.client.request("GET", gateway_path(wrapper))
        return answer.status == 404 or required(answer)["accepts"][0]["amount"] == "20000"

    await until(is_served)
    again = await shop.buy(wrapper, payment=payment)
    assert (again.status, again.body, receipt(again)) == (200, b"sunny", receipt(first))
    refused = await shop.buy(wrapper, payment=unpaid)
    assert refused.status == (402 if change == "price" else 404)
    if change == "price":
        assert refused.json()["error"] == "invalid_exact_stellar_payload_wrong_amount"
