"""Cases 5: the MCP endpoint and its search, through the whole service."""

from typing import Any, Final

import jsonschema_rs

from farebox.storage.pool import Database
from support.agent import Agent
from support.listings import Listed, list_many
from support.paid_gateway import PaidGateway
from support.promises import case, promise

NETWORKS: Final[tuple[object, ...]] = (
    "stellar:Testnet", "eip155:1", "", 1, ["stellar:testnet"], {},
)  # fmt: skip
Json = dict[str, Any]


@promise("mcp:structured-errors")
@case("MC-017")
async def test_failure_before_the_handler_is_a_json_rpc_error_with_its_status(
    agent: Agent,
) -> None:
    too_large = await agent.send(b'{"a":"' + b"x" * (256 * 1024) + b'"}')
    shape = await agent.client.request(
        "POST", "/mcp", body=b"a=1", headers={"content-type": "application/x-www-form-urlencoded"}
    )
    encoded = await agent.client.request(
        "POST", "/mcp", body=b"x", headers={"content-encoding": "gzip"}
    )
    method = await agent.client.request("GET", "/mcp")
    foreign = await Agent(agent.client, {"origin": "https://evil.example"}).send({})
    version = await Agent(agent.client, {"mcp-protocol-version": "1999-01-01"}).send({})
    broken = await agent.send(b"{")
    surrogate = await agent.send(b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}')
    found = []
    for answer in (too_large, shape, encoded, method, foreign, version, broken, surrogate):
        error = answer.json()["error"]
        assert isinstance(error["code"], int)
        found.append((answer.status, error["data"]["reason"]))
    assert found == [
        (413, "body_too_large"),
        (415, "unsupported_media_type"),
        (415, "unsupported_media_type"),
        (405, "method_not_allowed"),
        (403, "origin_not_allowed"),
        (400, "UNSUPPORTED_PROTOCOL_VERSION"),
        (400, "PARSE_ERROR"),
        (400, "PARSE_ERROR"),
    ]


@promise("mcp:protocol-version")
async def test_header_of_another_version_binds_every_request_but_the_opening_one(
    agent: Agent,
) -> None:
    old = Agent(agent.client, {"mcp-protocol-version": "1999-01-01"})
    params = {"protocolVersion": "2099-01-01", "capabilities": {}, "clientInfo": {"name": "t"}}
    opened = await old.send({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params})
    assert (opened.status, opened.json()["result"]["protocolVersion"]) == (200, "2025-06-18")
    for rpc_id in ("ö", 0, 2**53):
        refused = await old.send({"jsonrpc": "2.0", "id": rpc_id, "method": "ping"})
        assert (refused.status, refused.json()["id"]) == (400, rpc_id)
        assert refused.json()["error"]["data"]["reason"] == "UNSUPPORTED_PROTOCOL_VERSION"
    for nameless in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, b"{"):
        refused = await old.send(nameless)
        assert (refused.status, refused.json()["id"]) == (400, None)


@promise("mcp:protocol-version")
async def test_client_opens_a_session_without_state(agent: Agent) -> None:
    params = {"protocolVersion": "2099-01-01", "capabilities": {}, "clientInfo": {"name": "t"}}
    opened = (await agent.ask("initialize", params))["result"]
    assert opened["protocolVersion"] == "2025-06-18"
    assert opened["capabilities"] == {"tools": {"listChanged": False}}
    noted = await agent.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (noted.status, noted.body) == (202, b"")
    assert (await agent.ask("ping"))["result"] == {}
    unknown = (await agent.ask("resources/list"))["error"]
    assert (unknown["code"], unknown["data"]["reason"]) == (-32601, "UNSUPPORTED_METHOD")
    known = {each["code"] for each in (await agent.client.get("/v1/errors")).json()["mcp"]}
    assert {"UNSUPPORTED_METHOD", "PAID_CALL_FAILED", "body_too_large"} <= known


@case("MC-019")
async def test_other_spelling_of_a_tool_is_unknown(agent: Agent) -> None:
    for name in ("Search_Services", "search_services ", "paid-call", "", None, 1):
        error = (await agent.ask("tools/call", {"name": name, "arguments": {}}))["error"]
        assert (error["code"], error["data"]["reason"]) == (-32602, "UNKNOWN_TOOL"), name


@promise("search-services:query-required", "mcp:query-required")
@case("MC-020", "MC-021", "MC-022", "MC-023")
async def test_search_argument_that_does_not_fit_is_refused(agent: Agent) -> None:
    without_query: list[Json] = [{}, {"query": ""}, {"query": " \n"}, {"query": "\x00"}]
    without_fit: list[Json] = [
        *({"query": query} for query in (7, None, "x" * 10_240)),
        *({"query": "a", "limit": limit} for limit in (0, 51, -1, 1.5, "10", True)),
        *({"query": "a", "network": network} for network in NETWORKS),
        *(
            {"query": "a", name: 1}
            for name in ("more", "__proto__", "constructor", "\x00", "limit ")
        ),
    ]
    for refused, reason in ((without_query, "QUERY_REQUIRED"), (without_fit, "INVALID_ARGUMENTS")):
        for arguments in refused:
            error = await agent.error("search_services", arguments)
            assert (error["code"], error["data"]["reason"]) == (-32602, reason), arguments


@promise("mcp:two-tools", "search-services:network-and-limit", "search-services:two-contents")
@case("MC-021", "MC-024")
async def test_results_fit_the_schemas_of_the_listed_tools(
    shared_shop: PaidGateway, agent: Agent, catalog: Database
) -> None:
    tides = [Listed(f"https://t{n}.example.com", f"t{n}", description="Tides.") for n in range(3)]
    await list_many(catalog, [*tides, Listed("https://t.example.com", "tool", tool_name="tides")])
    tools = {each["name"]: each for each in (await agent.ask("tools/list"))["result"]["tools"]}
    assert set(tools) == {"search_services", "paid_call"}
    validators = {
        name: jsonschema_rs.Draft202012Validator(each["outputSchema"])
        for name, each in tools.items()
    }
    found: Json = {}
    for limit in (1, 50):
        arguments = {"query": "tides", "limit": limit, "network": "stellar:testnet"}
        jsonschema_rs.Draft202012Validator(tools["search_services"]["inputSchema"]).validate(
            arguments
        )
        found = (await agent.call("search_services", arguments))["structuredContent"]
        validators["search_services"].validate(found)
        assert len(found["resources"]) == min(limit, 4)
    for hit in found["resources"]:
        assert hit["accepts"][0]["payTo"]
        assert hit["quality"]["payers"] == 0
        assert "description" in hit["untrusted"] or "serviceName" in hit["untrusted"]
        is_tool = hit["type"] == "mcp"
        assert set(hit["callWith"]) == ({"server", "tool"} if is_tool else {"tool", "arguments"})
    wrapper = await shared_shop.serve()
    payment = await shared_shop.sign((await shared_shop.offer(wrapper))["accepts"][0])
    paid = await agent.paid_call(wrapper["endpoint"], paymentSignature=payment)
    validators["paid_call"].validate(paid)


async def test_query_with_control_characters_is_searched_without_them(
    agent: Agent, catalog: Database
) -> None:
    await list_many(catalog, [Listed("https://t.example.com", "tides", description="Tides.")])
    found = await agent.call("search_services", {"query": "\u0000\uff54ides\n"})
    assert len(found["structuredContent"]["resources"]) == 1
