"""The breaker of a wrapper: what opens it, and what does not."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from farebox.gateway.delivery.deliver import ResponseCut
from farebox.gateway.payment import MAX_ATTEMPTS
from farebox.gateway.relay.breaker import FAILURES
from farebox.gateway.relay.relay import UpstreamUnavailable
from farebox.kernel.secret import Secret
from support.delivery_attempts import Attempt, Attempted
from support.gateway_payments import enabled_wrapper
from support.outbound import SELLER
from support.upstream import Answer, answers, drops, says


async def fail_payments(it: Attempted, **request: Any) -> None:
    """Deliver as many new payments as open the breaker when they fail."""
    for _ in range(FAILURES):
        await it.deliver(**request)
        await it.pay_again()


async def is_closed(it: Attempted) -> bool:
    """Whether another request may be paid for, as far as the breaker says."""
    try:
        await it.relay.check(it.wrapper, f"https://{SELLER}/data")
    except UpstreamUnavailable:
        return False
    return True


async def find_closed(it: Attempted, rows: Mapping[str, Answer]) -> list[str]:
    """Fail payments of a new wrapper by each answer; return those after which all stays closed."""
    closed = []
    for row, it.seller.upstream.answer in rows.items():
        it.wrapper = await enabled_wrapper(it.database, name=f"Wrapper {row}")
        await it.pay_again()
        await fail_payments(it)
        if await is_closed(it):
            closed.append(row)
    return closed


def by_status(*statuses: int) -> dict[str, Answer]:
    return {str(each): answers(b"", status=f"{each} X") for each in statuses}


async def test_breaker_opens_for_a_status_of_an_upstream_that_serves_nobody(
    attempt: Attempt,
) -> None:
    async with attempt(drops()) as it:
        assert await find_closed(it, by_status(502, 503, 504)) == []


async def test_breaker_stays_closed_for_a_status_that_a_request_may_cause(
    attempt: Attempt,
) -> None:
    rows = by_status(301, 304, 401, 402, 407, 408, 429, 500)
    async with attempt(drops()) as it:
        assert await find_closed(it, rows) == list(rows)


async def test_breaker_opens_for_faults_of_the_transport(attempt: Attempt) -> None:
    faults = {
        "dropped": drops(),
        "no http": says(b"no http\r\n\r\n"),
        "short": answers(b"x", length=50),
    }
    async with attempt(drops()) as it:
        assert await find_closed(it, faults) == []


async def test_breaker_opens_for_an_upstream_that_is_not_reached(attempt: Attempt) -> None:
    async with attempt(drops()) as it:
        await fail_payments(it, url="https://nowhere.example.com/")
        assert not await is_closed(it)


@pytest.mark.parametrize(
    ("answer", "request_of"),
    [
        (answers(b"x" * 101), {"max_response_bytes": 100}),
        (answers(b"the secret"), {"credential": Secret("the secret")}),
        (answers(b": wait\n\n", headers=("Content-Type: text/event-stream",)), {}),
    ],
    ids=["too large", "credential", "no event"],
)
async def test_breaker_stays_closed_for_an_answer_that_cannot_be_delivered(
    attempt: Attempt, answer: Answer, request_of: dict[str, Any]
) -> None:
    async with attempt(answer) as it:
        for _ in range(FAILURES):
            with suppress(ResponseCut):  # of a stream, whose head was passed on
                await it.deliver(**request_of)
            await it.pay_again()
        assert len(it.seller.upstream.requests) == FAILURES
        assert await is_closed(it)


async def test_attempts_of_one_payment_do_not_open_the_breaker(attempt: Attempt) -> None:
    async with attempt(answers(b"", status="503 X")) as it:
        for _ in range(MAX_ATTEMPTS - 1):
            await it.deliver()
            await it.begin()
        await it.deliver()
        assert len(it.seller.upstream.requests) == MAX_ATTEMPTS == FAILURES
        assert await is_closed(it)


async def test_breaker_of_one_wrapper_is_not_that_of_another_with_the_same_upstream(
    attempt: Attempt,
) -> None:
    async with attempt(answers(b"", status="503 X")) as it:
        await fail_payments(it)
        assert not await is_closed(it)
        it.wrapper = await enabled_wrapper(it.database, name="Another")
        assert await is_closed(it)


async def test_congestion_of_this_service_does_not_open_the_breaker(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny"), max_calls=0) as it:
        await fail_payments(it)
        assert await is_closed(it)


async def test_upstream_that_cannot_be_called_is_refused_before_payment(
    attempt: Attempt,
) -> None:
    async with attempt(drops()) as it:
        for url in ("https://nowhere.example.com/", "http://seller.example.com/"):
            for _ in range(FAILURES):  # by payments that nobody has judged: they open no breaker
                with pytest.raises(UpstreamUnavailable):
                    await it.relay.check(it.wrapper, url)
            assert await is_closed(it), url
