"""Cases 5: `paid_call` of the MCP endpoint, through the whole service."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from farebox.storage.pool import Database
from support.agent import REMOTE_URL, Agent
from support.asgi import AsgiClient, ClientDisconnected
from support.paid_gateway import NAMES, ORIGIN, OTHER_NAME, PaidGateway
from support.promises import case, promise
from support.serving import serving
from support.stage import service
from support.upstream import Answer, answers
from testing.listing_row import insert_resource
from testing.waiting import until

ORIGIN_HOST: Final = ORIGIN.removeprefix("https://")
LOCAL: Final = (
    "https://127.0.0.1/", "https://[::1]/", "https://localhost/", "https://10.0.0.1/a",
    "https://169.254.169.254/latest", "https://printer.local/", "https://db.internal/",
)  # fmt: skip
Json = dict[str, Any]


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


async def insert(catalog: Database, *urls: str, **members: Any) -> None:
    async with catalog.connection() as db:
        for url in urls:
            await insert_resource(db, url, **members)


@promise("paid-call:https-only", "mcp:https-required")
@case("MC-026")
async def test_url_without_https_is_refused(agent: Agent, catalog: Database) -> None:
    await insert(catalog, REMOTE_URL)
    for url in ("http://seller.example.com/weather", "ftp://a.b/", "weather"):
        error = await agent.refused_call(url)
        assert (error["code"], error["data"]["reason"]) == (-32002, "HTTPS_REQUIRED"), url


@promise("paid-call:exact-match", "mcp:not-cataloged")
async def test_url_that_is_not_a_listing_s_to_the_letter_is_refused(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    await insert(catalog, REMOTE_URL)
    for url in (
        "https://other.example.com/weather", f"{REMOTE_URL}/", f"{REMOTE_URL}?city=Paris",
        f"{REMOTE_URL}#a", REMOTE_URL.upper().replace("HTTPS", "https"), f"{REMOTE_URL}/../x",
        "https://seller.example.com:443/weather", f"{ORIGIN}/gateway/no-such-slug",
    ):  # fmt: skip
        error = await agent.refused_call(url)
        assert (error["code"], error["data"]["reason"]) == (-32002, "RESOURCE_NOT_CATALOGED"), url
    assert shop.upstream.connections == 0


@case("MC-030")
async def test_call_argument_that_does_not_fit_is_refused_before_any_call(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    await insert(catalog, REMOTE_URL)
    refused: tuple[Json, ...] = (
        {"method": "PUT"}, {"method": "get"}, {"method": ""}, {"method": 1},
        {"method": "GET", "body": {}}, {"body": {"a": 1}}, {"query": "a=1"}, {"query": []},
        {"pathParams": {"a": 1}}, {"pathParams": "a"}, {"headers": {}}, {"paymentSignature": "%"},
        {"paymentSignature": 1}, {"paymentSignature": "e30=" * 9000}, {"paymentSignature": "W10="},
    )  # fmt: skip
    for arguments in refused:
        error = await agent.refused_call(REMOTE_URL, **arguments)
        assert error["code"] == -32602, arguments
        assert error["data"]["reason"] in ("INVALID_ARGUMENTS", "INVALID_PAYMENT_SIGNATURE")
    assert shop.upstream.connections == 0


@case("MC-030")
async def test_body_of_a_post_may_be_any_json_value(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    shop.upstream.answer = answers(b"ok")
    await insert(catalog, REMOTE_URL, method=None)
    for body in ("text", 1, [1], {"a": None}, False):
        await agent.paid_call(REMOTE_URL, method="POST", body=body)
        sent = shop.upstream.requests[-1].partition(b"\r\n\r\n")[2]
        assert json.loads(sent) == body


async def test_parameters_are_judged_by_the_listing_s_own_schema(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    shop.upstream.answer = answers(b"ok")
    city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    frame = {"type": "object", "properties": {"queryParams": city}}
    bazaar = {
        "info": {"input": {"type": "http", "method": "GET", "queryParams": {"city": "Paris"}}},
        "schema": {"type": "object", "properties": {"input": frame}},
    }
    await insert(catalog, REMOTE_URL, bazaar=bazaar)
    error = await agent.refused_call(REMOTE_URL, query={"city": 7})
    assert error["data"]["reason"] == "INVALID_ARGUMENTS"
    assert "city" not in error["message"]  # a seller's word
    assert "city" in error["data"]["detail"]
    assert error["data"]["untrusted"] == ["detail"]
    assert shop.upstream.connections == 0
    assert (await agent.paid_call(REMOTE_URL, query={"city": "Rome"}))["status"] == 200


async def test_tool_of_another_server_is_named_instead_of_called(
    agent: Agent, catalog: Database
) -> None:
    url = "https://tools.example.com/mcp"
    await insert(catalog, url, key=f"{url}#forecast", tool="forecast")
    error = await agent.refused_call(url)
    assert (error["code"], error["data"]["reason"]) == (-32602, "RESOURCE_IS_MCP_TOOL")
    assert error["data"]["server"] == url


@promise("paid-call:guarded")
@case("GW-017", "GW-018", "GW-019", "GW-020", "GW-021", "GW-024")
async def test_listed_url_that_may_not_be_called_opens_no_connection(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    names = dict.fromkeys(each.partition("=")[0] for each in NAMES)
    urls = (
        "https://user:pw@example.com/", "https://a.example.com%40evil.example/",
        "https:/example.com", "https://example.com:22/", "https://example.com:99999/",
        "https://%65xample.com/", f"https://{'a' * 300}.com/",
        "https://nowhere.example.com/", *LOCAL, *(f"https://{name}/" for name in names),
    )  # fmt: skip
    reasons = ("PAID_CALL_FAILED", "INVALID_ARGUMENTS", "HTTPS_REQUIRED")
    await insert(catalog, *urls)  # as an older version might have
    for url in urls:
        error = await agent.refused_call(url)
        assert error["data"]["reason"] in reasons, url
        assert error["data"].get("outcome", "not_sent") == "not_sent", url
        assert shop.upstream.connections == 0, url


@case("GW-021")
async def test_listed_url_of_this_service_is_no_wrapper_and_opens_no_connection(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    for path in ("/mcp", "/v1/errors", "/"):
        url = f"https://{ORIGIN_HOST}{path}"
        await insert(catalog, url)  # as an older version might have
        answer = await agent.paid_call(url)
        result = (answer["status"], answer["outcome"], answer["isPaid"])
        assert result == (404, "not_sent", False), path
    assert shop.upstream.connections == 0


@promise("mcp:paid-call-failed")
@case("GW-016")
async def test_target_with_the_certificate_of_another_name_gets_no_request(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    url = f"https://{OTHER_NAME}/weather"
    await insert(catalog, url)
    error = await agent.refused_call(url, paymentSignature="e30=")
    assert error["data"]["cause"] == "certificate_refused"
    assert error["data"]["outcome"] == "not_sent"
    assert shop.upstream.requests == []


@case("GW-023")
async def test_proxies_of_the_environment_are_not_used(
    shop: PaidGateway, agent: Agent, catalog: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    shop.upstream.answer = answers(b"direct")
    await insert(catalog, REMOTE_URL)
    assert (await agent.paid_call(REMOTE_URL))["body"] == "direct"


@promise("paid-call:size-limited")
async def test_response_above_five_megabytes_is_cut_while_it_streams(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    await insert(catalog, REMOTE_URL)
    shop.upstream.answer = answers(b"x" * (5 * 1024 * 1024 + 1))
    error = await agent.refused_call(REMOTE_URL, paymentSignature="e30=")
    assert (error["data"]["cause"], error["data"]["outcome"]) == ("answer_too_large", "unknown")


@case("MC-038")
async def test_one_id_in_many_requests_at_once_mixes_no_responses(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    urls = [f"https://seller.example.com/{n}" for n in range(20)]
    await insert(catalog, *urls)

    async def echo(writer: asyncio.StreamWriter) -> None:
        path = shop.upstream.requests[-1].split(b" ")[1]
        await asyncio.sleep(0)
        await answers(path)(writer)

    shop.upstream.answer = echo

    async def call(url: str) -> str:
        params = {"name": "paid_call", "arguments": {"url": url}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = (await agent.send(request)).json()
        assert answer["id"] == 1
        return str(answer["result"]["structuredContent"]["body"])

    bodies = await asyncio.gather(*map(call, urls))
    assert bodies == [f"/{n}" for n in range(20)]


def held(until_set: asyncio.Event) -> Answer:
    """Answer once the event is set."""

    async def wait(writer: asyncio.StreamWriter) -> None:
        await until_set.wait()
        await answers(b"sunny")(writer)

    return wait


@case("MC-039")
async def test_unpaid_call_ends_with_its_caller(
    shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    gate, leave = asyncio.Event(), asyncio.Event()
    shop.upstream.answer = held(gate)
    await insert(catalog, REMOTE_URL)
    before = len(asyncio.all_tasks())
    params = {"name": "paid_call", "arguments": {"url": REMOTE_URL}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    sent = asyncio.create_task(agent.send(request, leave=leave))
    await until(lambda: bool(shop.upstream.requests))
    leave.set()
    with pytest.raises(ClientDisconnected):
        await sent
    gate.set()
    await until(lambda: len(asyncio.all_tasks()) <= before)


@case("MC-039")
async def test_paid_call_to_a_wrapper_is_completed_and_kept_when_its_caller_leaves(
    shop: PaidGateway, agent: Agent
) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    gate, leave = asyncio.Event(), asyncio.Event()
    shop.upstream.answer = held(gate)
    arguments = {"url": wrapper["endpoint"], "paymentSignature": payment}
    params = {"name": "paid_call", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    sent = asyncio.create_task(agent.send(request, leave=leave))
    await until(lambda: bool(shop.upstream.requests))
    leave.set()
    with pytest.raises(ClientDisconnected):
        await sent
    gate.set()

    async def is_kept() -> bool:
        rows = await shop.stage.query(
            "SELECT state FROM gateway_payments JOIN gateway_responses"
            " USING (network, payer, nonce) WHERE attempt_until IS NULL"
        )
        return [row["state"] for row in rows] == ["paid"]  # its caller did not get it

    await until(is_kept)
    content = await agent.paid_call(wrapper["endpoint"], paymentSignature=payment)
    assert (content["body"], content["isPaid"]) == ("sunny", True)
    assert len(shop.upstream.requests) == 1


async def test_large_response_that_nobody_reads_keeps_its_place_among_the_calls(
    shop: PaidGateway, catalog: Database
) -> None:
    shop.upstream.answer = answers(b"x" * (4 * 1024 * 1024))
    await insert(catalog, REMOTE_URL)
    async with few_calls(shop, 8) as client, serving(client) as address:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, address)
        reader, writer = await asyncio.open_connection(sock=connection, limit=1024)
        params = {"name": "paid_call", "arguments": {"url": REMOTE_URL}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(request).encode()
        head = f"POST /mcp HTTP/1.1\r\nHost: farebox.test\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        await reader.readline()
        answer = (await client.post("/mcp", request)).json()
        assert answer["error"]["data"]["cause"] == "too_many_calls"
        writer.transport.abort()

        async def is_free() -> bool:
            return "result" in (await client.post("/mcp", request)).json()

        await until(is_free)


@asynccontextmanager
async def few_calls(shop: PaidGateway, count: int) -> AsyncIterator[AsgiClient]:
    """Start a service that makes so many calls at once, behind a proxy that names its callers."""
    own = {"FAREBOX_AGENT_CALLS": str(count), "FAREBOX_TRUSTED_PROXIES": "127.0.0.1"}
    async with service(shop.stage.environment | own) as client:
        yield client


def call_from(client: AsgiClient, address: str, **arguments: object) -> asyncio.Task[Json]:
    """Call the tool from an address, as a trusted proxy names it."""
    params = {"name": "paid_call", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    async def call() -> Json:
        return (await client.post("/mcp", request, {"x-forwarded-for": address})).json()

    return asyncio.create_task(call())


async def test_flood_of_one_site_leaves_the_calls_of_others_and_those_with_a_payment(
    shop: PaidGateway, catalog: Database
) -> None:
    """Eight calls: four with a payment and four without, and of each kind one for a caller."""
    gate = asyncio.Event()
    shop.upstream.answer = held(gate)
    await insert(catalog, REMOTE_URL)
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    async with few_calls(shop, 8) as client:

        def call(address: str, **arguments: object) -> asyncio.Task[Json]:
            return call_from(client, address, url=REMOTE_URL, **arguments)

        flood = [call(f"2001:db8:1:{network:x}::1") for network in range(24)]
        await until(lambda: len(shop.upstream.requests) == 1)
        honest = [call("2001:db8:2::1"), call("2001:db8:1:ffff::1", paymentSignature=payment)]
        await until(lambda: len(shop.upstream.requests) == 3)
        await until(lambda: sum(each.done() for each in flood) == 23)
        refused = [each.result() for each in flood if each.done()]
        assert {each["error"]["data"]["cause"] for each in refused} == {"too_many_calls"}
        assert {each["error"]["data"]["nextAction"] for each in refused} == {"RETRY"}
        gate.set()
        answers_ = await asyncio.gather(*honest, *(each for each in flood if not each.done()))
        assert all("result" in each for each in answers_), answers_


async def test_four_sites_with_as_many_hanging_calls_as_they_may_leave_a_fifth_its_calls(
    shop: PaidGateway, catalog: Database
) -> None:
    """Control: with a quarter of each half for a caller, these 16 calls were all that there are."""
    gate = asyncio.Event()
    shop.upstream.answer = held(gate)
    await insert(catalog, REMOTE_URL)
    wrapper = await shop.serve()
    async with few_calls(shop, 32) as client:

        def call(address: str, url: str) -> asyncio.Task[Json]:
            return call_from(client, address, url=url)

        flood = [call(f"192.0.2.{site}", REMOTE_URL) for site in range(4) for _ in range(4)]
        # each of them has a place or was refused one
        await until(lambda: len(shop.upstream.requests) + sum(each.done() for each in flood) == 16)
        answer = await call("198.51.100.1", wrapper["endpoint"])
        assert answer["result"]["structuredContent"]["accepts"], answer
        gate.set()
        await asyncio.gather(*flood)
