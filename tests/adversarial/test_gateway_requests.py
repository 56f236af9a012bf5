"""Cases 3.2 to 3.4 at the gateway: paths, headers, sizes and time."""

import asyncio
from collections.abc import Iterator

import pytest

from support.paid_gateway import WRAPPERS, PaidGateway, gateway_path
from support.payment_headers import receipt
from support.promises import case, promise
from support.serving import exchange, serving
from support.upstream import answers, says
from testing.waiting import until


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


def sent(shop: PaidGateway) -> bytes:
    """The one request that reached the upstream."""
    (request,) = shop.upstream.requests
    return request


@case("GW-029")
@promise("gateway:public-endpoint", "wrapper:slug")
async def test_other_spelling_of_a_slug_is_not_found_and_delivers_nothing(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    slug = wrapper["slug"]
    spelled = [
        slug.upper(), slug.title(), f"%{ord(slug[0]):02x}{slug[1:]}", "", "unknown-slug",
        slug + "%20", slug + ".", slug + "é", "x" * 10_000, "..", f"%2e%2e/{slug}",
    ]  # fmt: skip
    answered = [
        await shop.client.request("GET", f"/gateway/{each}", headers={"payment-signature": payment})
        for each in spelled
    ]
    assert {each.status for each in answered} == {404}
    bodies = {str(each.json()["error"] | {"requestId": ""}) for each in answered}
    assert len(bodies) == 1
    for path in ("", "/"):
        assert (await shop.client.get(f"/gateway/{slug}{path}")).status == 402
    assert shop.upstream.requests == []
    assert await shop.stage.rows() == 0


@case("GW-029")
@promise("wrapper:enable", "wrapper:disable", "wrapper:delete")
async def test_disabled_and_deleted_slug_is_not_found(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    await shop.send("POST", f"{WRAPPERS}/{wrapper['id']}/disable")
    assert (await shop.buy(wrapper, payment=payment)).status == 404
    await shop.send("DELETE", f"{WRAPPERS}/{wrapper['id']}")
    assert (await shop.buy(wrapper, payment=payment)).status == 404
    assert await shop.stage.rows() == 0


@case("GW-030")
@pytest.mark.parametrize(
    "query",
    ["b=1&a=2&a=1", "x=" + "y" * 7_000, "a=1+2&=&q={%22take%22:50}&a|b^[c]&%&%zz&../&%26b=1&b"],
)
async def test_query_is_forwarded_unchanged_behind_that_of_the_upstream(
    shop: PaidGateway, query: str
) -> None:
    wrapper = await shop.serve(upstreamUrl="https://seller.example.com/base?own=1")
    assert (await shop.buy(wrapper, f"/a?{query}")).status == 200
    assert sent(shop).startswith(f"GET /base/a?own=1&{query} HTTP/1.1\r\n".encode())


@case("GW-030")
async def test_path_that_an_upstream_may_take_for_a_dearer_one_costs_as_much(
    shop: PaidGateway,
) -> None:
    dear = {"method": "GET", "path": "/dear/:name", "amount": "900"}
    wrapper = await shop.serve(amount="100", routes=[dear])
    spelled = ("dear%2Freport", "dear//report", "dear\\report", "/dear/report", "%2564ear/report")
    for path in spelled:
        assert (await shop.offer(wrapper, f"/{path}"))["accepts"][0]["amount"] == "900"
    assert (await shop.offer(wrapper, "/other"))["accepts"][0]["amount"] == "100"


@case("GW-032")
@pytest.mark.parametrize(
    "headers",
    [
        "Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
        "Connection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        "Connection: close\r\nExpect: 100-continue\r\n",
    ],
)
async def test_upgrade_is_not_made_and_expectation_is_met(shop: PaidGateway, headers: str) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    async with serving(shop.client) as address:
        request = (
            f"GET {gateway_path(wrapper)} HTTP/1.1\r\nHost: farebox.test\r\n"
            f"PAYMENT-SIGNATURE: {payment}\r\n{headers}\r\n"
        )
        answer = await exchange(address, request.encode())
    assert b" 101 " not in answer.split(b"\r\n")[0]
    assert b"HTTP/1.1 200" in answer, answer[:300]
    for name in (b"\r\nupgrade:", b"\r\nexpect:", b"\r\nhttp2-settings:"):
        assert name not in sent(shop).lower()


@case("GW-037", "GW-045")
@promise("outbound:headers-stripped", "gateway:management-credentials-stay")
async def test_headers_of_the_hop_the_way_and_the_caller_are_not_forwarded(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve()
    dropped = {
        "keep-alive": "timeout=5", "proxy-authorization": "Basic x", "proxy-connection": "close",
        "te": "trailers", "trailer": "x-t", "upgrade": "h2c", "proxy-authenticate": "Basic",
        "proxy": "http://evil.example",
        "connection": "x-named, close", "x-named": "1", "forwarded": "for=8.8.8.8",
        "x-forwarded-for": "8.8.8.8", "x-forwarded-host": "evil.example", "via": "1.1 evil",
        "x-real-ip": "8.8.8.8", "authorization": "Bearer fbx_live_mine", "x-api-key": "mine",
        "cookie": "__Host-fbx_sess=mine", "x-farebox-payment": "forged",
        "x-farebox-attempt": "9", "x-farebox-csrf": "1", "x-payment": "forged",
    }  # fmt: skip
    assert (await shop.buy(wrapper, headers=dropped | {"x-kept": "yes"})).status == 200
    request = sent(shop).lower()
    names = {line.partition(b":")[0].decode() for line in request.split(b"\r\n")[1:] if line}
    assert (
        names & (dropped.keys() - {"x-farebox-payment", "x-farebox-attempt"})
        == {"connection"} & names
    )
    for forged in (b"forged", b"mine", b"8.8.8.8", b"evil"):
        assert forged not in request
    assert b"\r\nx-kept: yes\r\n" in request
    assert b"\r\nhost: seller.example.com\r\n" in request
    assert b"\r\nx-farebox-attempt: 1\r\n" in request


@case("GW-040")
async def test_payment_headers_are_not_forwarded(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    headers = {"payment-required": "x", "payment-response": "x", "x-payment": "x"}
    assert (await shop.buy(wrapper, headers=headers)).status == 200
    request = sent(shop).lower()
    assert b"payment-signature" not in request
    assert b"\r\npayment-" not in request
    assert b"\r\nx-payment:" not in request


@case("GW-043")
@pytest.mark.parametrize("value", ["a\r\nx-injected: 1", "a\nb", "a\0b", "a\x7fb"])
async def test_header_value_with_line_ends_is_refused_before_payment(
    shop: PaidGateway, value: str
) -> None:
    wrapper = await shop.serve()
    answer = await shop.buy(wrapper, headers={"x-note": value})
    assert (answer.status, answer.json()["error"]["code"]) == (400, "not_forwarded")
    assert shop.upstream.requests == []
    assert await shop.stage.rows() == 0


@case("GW-043")
@pytest.mark.parametrize("value", ["a\r\nx: 1", "a\nb", "a\0b", "ключ"])
async def test_credential_that_is_no_header_value_is_refused_when_it_is_made(
    shop: PaidGateway, value: str
) -> None:
    body = {"name": "bad", "purpose": "bearer", "value": value}
    answer = await shop.send("POST", "/v1/vault/secrets", body)
    assert answer.status == 400
    assert value not in answer.body.decode()


@case("GW-046")
async def test_range_is_forwarded_without_conditions_and_nothing_is_cached(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve()
    headers = {"range": "bytes=0-1", "accept-encoding": "zstd, x;q=0.1"}
    conditions = {"if-none-match": '"a"', "if-modified-since": "Wed, 01 Jan 2025 00:00:00 GMT"}
    first = await shop.buy(wrapper, headers=headers | conditions)
    for name, value in headers.items():
        assert f"\r\n{name}: {value}\r\n".encode() in sent(shop).lower()
    assert b"\r\nif-" not in sent(shop).lower()
    assert first.headers["cache-control"] == "private, no-store"
    second = await shop.buy(wrapper)
    assert (second.status, len(shop.upstream.requests)) == (200, 2)


@case("GW-048")
@promise("wrapper:sizes")
async def test_body_over_the_limit_is_refused_before_payment(shop: PaidGateway) -> None:
    wrapper = await shop.serve(maxRequestBytes=1_000)
    payment = await shop.sign((await shop.offer(wrapper, method="POST"))["accepts"][0])

    def chunks() -> Iterator[bytes]:
        for _ in range(11):
            yield b"x" * 100

    for body, headers in (
        (b"x" * 1_001, {"content-length": "1001"}),
        (b"x" * 1_001, {"content-length": "10"}),
        (list(chunks()), {}),
    ):
        answer = await shop.client.request(
            "POST",
            gateway_path(wrapper),
            body=body,
            headers={"payment-signature": payment} | headers,
        )
        assert answer.status == 413
    assert await shop.stage.rows() == 0
    assert (
        await shop.buy(wrapper, method="POST", body=b"x" * 1_000, payment=payment)
    ).status == 200


@case("GW-052")
async def test_buyer_who_leaves_finds_the_response_later(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    async with serving(shop.client) as (host, port):
        _, writer = await asyncio.open_connection(host, port)
        writer.write(
            f"GET {gateway_path(wrapper)} HTTP/1.1\r\nHost: farebox.test\r\n"
            f"PAYMENT-SIGNATURE: {payment}\r\n\r\n".encode()
        )
        await writer.drain()
        await until(lambda: shop.upstream.requests)
        writer.transport.abort()

        async def is_ended() -> bool:
            rows = await shop.stage.query("SELECT state FROM gateway_payments")
            return [row["state"] for row in rows] == ["delivered"]

        await until(is_ended)
    answer = await shop.buy(wrapper, payment=payment)
    assert (answer.status, answer.body) == (200, b"sunny")
    assert len(shop.upstream.requests) == 1
    assert await shop.stage.rows() == 1


@case("GW-053")
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("204 No Content", 204), ("304 Not Modified", 502), ("99 Low", 502), ("1000 High", 502),
        ("101 Switching", 502), ("x", 502),
    ],
)  # fmt: skip
async def test_odd_status_is_passed_on_or_mapped(shop: PaidGateway, line: str, status: int) -> None:
    shop.upstream.answer = says(f"HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n".encode())
    answer = await shop.buy(await shop.serve())
    assert answer.status == status
    assert receipt(answer)["success"] is True


@case("GW-053")
async def test_reason_with_a_line_end_adds_no_header(shop: PaidGateway) -> None:
    shop.upstream.answer = says(b"HTTP/1.1 200 OK\rX-Bad: 1\r\nContent-Length: 0\r\n\r\n")
    answer = await shop.buy(await shop.serve())
    assert answer.status in (200, 502)
    assert "x-bad" not in answer.headers


@promise("gateway:any-method-and-path")
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_method_and_path_reach_the_upstream(shop: PaidGateway, method: str) -> None:
    wrapper = await shop.serve()
    assert (await shop.buy(wrapper, "/a/b", method=method)).status == 200
    assert sent(shop).startswith(f"{method} /base/a/b HTTP/1.1\r\n".encode())


@promise("outbound:size-and-time")
async def test_response_over_the_limit_is_not_delivered(shop: PaidGateway) -> None:
    shop.upstream.answer = answers(b"x" * 1_025)
    answer = await shop.buy(await shop.serve(maxResponseBytes=1_024))
    assert answer.status == 502
    assert "upstream_response_too_large" in answer.json()["error"]["message"]
