"""What real clients send to `/mcp` beside purchases, and what they get."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from mcp import Client, MCPError

from e2e.agents import Errand, sign_call
from e2e.crowd import CROWD_STATUSES, crowd_faults
from e2e.stated import beyond, stated
from e2e.wire import JSON_TYPE, RawCase, WireCase, faults_of, post, raw_faults_of
from testing.commands import node_lines

_NODE_S: Final = 120.0
_OTHER_VERSION: Final = ("mcp-protocol-version", "2024-11-05")
_INVALID: Final = "INVALID_ARGUMENTS"
_SAID: Final = "zq-hidden"  # a text that no answer repeats
_TEXT: Final = {"query": "reports"}
Calls = dict[str, tuple[str, dict[str, object]]]


def _message(method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": "own", "method": method, "params": params})


_PING: Final = _message("ping")
_OPEN: Final = _message(
    "initialize",
    protocolVersion="2024-11-05",
    capabilities={},
    clientInfo={"name": "wire", "version": "1"},
)
_SEARCH: Final = _message("tools/call", name="search_services", arguments=_TEXT)
_HOST: Final = "Host: localhost"


def _search(limit: str) -> str:
    """Return a search whose `limit` is written as this text."""
    arguments = {**_TEXT, "limit": _SAID}
    message = _message("tools/call", name="search_services", arguments=arguments)
    return message.replace(f'"{_SAID}"', limit)


def _cases(example: str, resource: str) -> Sequence[WireCase]:
    """Return the requests of HTTP clients; `example` is the body that the API schema shows.

    The wrapper of the resource has no `input`.
    """
    unpaid = _message("tools/call", name="paid_call", arguments={"url": resource})

    def message(body: str, status: int = 200, *more: tuple[str, str], **holds: Any) -> WireCase:
        return WireCase("/mcp", status, "POST", (JSON_TYPE, *more), body, **holds)

    is_result: dict[str, Any] = {"says": ('"id":"own"', '"result":'), "omits": ('"error":',)}
    is_refused: dict[str, Any] = {"says": ('"id":"own"', _INVALID)}
    return (
        message(example),
        message(_PING, **is_result),
        message(unpaid, says=('"id":"own"', '"queryParams":{"type":"object"}')),
        WireCase("/mcp/", 200, "POST", (JSON_TYPE,), _PING, **is_result),
        WireCase("/mcp%2F", 404, "POST", (JSON_TYPE,), _PING),
        *(message(_search(limit), **is_result) for limit in ("5.0", "1e1", "5e0", "50", "1")),
        *(message(_search(limit), **is_refused) for limit in ("0", "51", "5.5", "1e2", "true")),
        message(_OPEN, 200, _OTHER_VERSION, **is_result),
        message(_PING, 400, _OTHER_VERSION, says=('"id":"own"', "UNSUPPORTED_PROTOCOL_VERSION")),
        message(_SEARCH, 400, _OTHER_VERSION, says=('"id":"own"',)),
        message('{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', 400),
        message(
            _SEARCH.replace('"query":', f'"query": "{_SAID}", "query":'), 400,
            says=("REPEATED_MEMBER",), omits=(_SAID,),
        ),
        message(
            "x", 415, ("content-encoding", "gzip"), says=("jsonrpc",), there=("accept-encoding",)
        ),
    )  # fmt: skip


_RAW: Final = (
    RawCase("no host", post("/mcp", _PING), (400,)),
    RawCase("two hosts", post("/mcp", _PING, head=f"{_HOST}\n{_HOST}"), (400,)),
    RawCase(
        "a target against its host", post("http://evil.example/mcp", _PING, head=_HOST), (421,)
    ),
    RawCase("a target with its host", post("http://localhost/mcp", _PING, head=_HOST), (200,)),
    RawCase(
        "an expectation from HTTP/1.0",
        post("/mcp", _PING, version="1.0", head=f"{_HOST}\nExpect: 100-continue"),
        (200,),
    ),
    RawCase("a half-closed ping", post("/mcp", _PING, head=_HOST, keep_alive=True), (200,), True),
    RawCase(
        "a half-closed search",
        post("/mcp", _SEARCH, head=_HOST, keep_alive=True),
        (200,),
        True,
        there=b'"result":',
    ),
)


def _calls(tools: Sequence[Mapping[str, Any]], resource: str) -> tuple[Calls, dict[str, str]]:
    """Return what both MCP clients call, and the reason of each error; "" for a result.

    What the schema of a tool states is taken, and what is beyond its bounds is refused.
    """
    needed: dict[str, dict[str, object]] = {
        "search_services": {**_TEXT},
        "paid_call": {"url": resource},
    }
    right: Calls = {
        "zero fraction": ("search_services", {**_TEXT, "limit": 5.0}),
        "characters of a query": ("paid_call", {"url": resource, "query": {"a|b": '{"take":5%}'}}),
    }
    wrong: Calls = {"no such argument": ("search_services", {**_TEXT, "zq": 1})}
    for tool in tools:
        own = tool["name"]
        for name, schema in tool["inputSchema"]["properties"].items():
            for value in stated(schema):
                right[f"{own} {name} {value}"] = (own, {**needed[own], name: value})
            for value in beyond(schema):
                wrong[f"{own} {name} {str(value)[:9]}"] = (own, {**needed[own], name: value})
    return right | wrong, dict.fromkeys(right, "") | dict.fromkeys(wrong, _INVALID)


async def wire_faults(errand: Errand) -> tuple[int, list[str]]:
    """Send every case; return how many were sent, and the faults.

    The errand names a resource of the gateway, which is bought twice.
    """
    service = errand.service
    async with Client(f"{service}/mcp/") as client:
        listed = (await client.list_tools()).tools
        tools = [each.model_dump(by_alias=True, mode="json") for each in listed]
        calls, expected = _calls(tools, errand.resource)
        by_pypi = {name: await _reason(client, *call) for name, call in calls.items()}
    by_npm = await asyncio.to_thread(_npm_reasons, service, calls)
    faults = [
        f"{client_name} {name}: {found.get(name)!r} for {reason!r}"
        for client_name, found in (("pypi", by_pypi), ("npm", by_npm))
        for name, reason in expected.items()
        if found.get(name) != reason
    ]
    cases, raw = (
        _cases(await _example(service), errand.resource),
        [*_RAW, *await _purchases(errand)],
    )
    faults += await faults_of(service, cases) + await raw_faults_of(service, raw)
    faults += await crowd_faults(service)
    return 2 * len(calls) + 2 * len(cases) + len(raw) + len(CROWD_STATUSES), faults


async def _reason(client: Client, tool: str, given: dict[str, object]) -> str:
    """Call a tool with PyPI `mcp`; return "" for a result, or the reason of the error."""
    try:
        await client.call_tool(tool, given)
    except MCPError as error:
        return str((error.data or {}).get("reason"))
    except Exception as error:  # noqa: BLE001 - whatever a foreign client raises is the finding
        return f"{type(error).__name__}: {error}"
    return ""


def _npm_reasons(service: str, calls: Calls) -> dict[str, str]:
    """Make the calls with npm @modelcontextprotocol/sdk.

    Raises:
        RunFailed: the client cannot connect.
    """
    env = {"WIRE": json.dumps({"service": service, "calls": calls})}
    reasons: dict[str, str] = json.loads(node_lines("mcp_wire.mjs", within_s=_NODE_S, env=env)[-1])
    return reasons


async def _example(service: str) -> str:
    """Return the body of `POST /mcp` that the API schema shows."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{service}/v1/openapi.json") as response,
    ):
        operation = (await response.json())["paths"]["/mcp"]["post"]
    return json.dumps(operation["requestBody"]["content"]["application/json"]["example"])


async def _purchases(errand: Errand) -> list[RawCase]:
    """Pay by `paid_call`, and at the gateway, with the sending side ended behind the request."""
    call, target = await sign_call(errand), urlsplit(errand.resource)
    signature = str((await sign_call(errand))["paymentSignature"])
    paid = post(
        "/mcp",
        _message("tools/call", name="paid_call", arguments=call),
        head=_HOST,
        keep_alive=True,
    )
    bought = f"GET {target.path} HTTP/1.1\r\n{_HOST}\r\nPAYMENT-SIGNATURE: {signature}\r\n\r\n"
    return [
        RawCase("a half-closed paid call", paid, (200,), True, there=b'"ispaid":true'),
        RawCase("a half-closed purchase", bought.encode(), (200,), True, there=b"payment-response"),
    ]
