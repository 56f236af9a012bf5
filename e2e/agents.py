"""Agents made of stock MCP clients: npm @modelcontextprotocol/sdk in Node, PyPI `mcp` here.

Each searches, calls a resource unpaid, has the payment prepared, signs 32 bytes, pays, and repeats
the paid call.
"""

import asyncio
import base64
import json
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
from mcp import Client
from stellar_sdk import Keypair
from x402.mcp import x402MCPClient

from testing.commands import node_lines
from testing.machine import RunFailed

TOOLS: Final = {"search_services", "paid_call"}
_AGENT_S: Final = 300.0
_ECHOED: Final = ("resource", "extensions")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Errand:
    """What an agent buys: `count` times the resource that the search finds by `query`."""

    service: str
    network: str
    payer: str
    secret: str
    query: str
    resource: str
    count: int


@dataclass(frozen=True, slots=True)
class Purchase:
    """The three results of `paid_call` in the wire's names; or the error of the client."""

    challenge: Json
    paid: Json
    again: Json
    error: str = ""

    @property
    def is_paid(self) -> bool:
        """Whether the response came with a receipt of a settled payment."""
        return _is_paid(self.paid)

    @property
    def is_paid_again(self) -> bool:
        """Whether the repeated call came with such a receipt."""
        return _is_paid(self.again)

    @property
    def is_repeated(self) -> bool:
        """Whether the repeated call got the same result."""
        return self.is_paid and self.again == self.paid

    @property
    def content_of_paid(self) -> Json:
        """The structured content of the paid call."""
        content: Json = self.paid.get("structuredContent") or {}
        return content

    @property
    def transaction(self) -> str:
        """The transaction that the receipt names."""
        return str(self.content_of_paid.get("paymentResponse", {}).get("transaction", ""))


def _is_paid(result: Json) -> bool:
    content = result.get("structuredContent") or {}
    return not result.get("isError") and content.get("isPaid") is True


def failed_purchase(error: str) -> Purchase:
    """Make the purchase of a client that raised an error."""
    return Purchase({}, {}, {}, error)


def buy_with_npm(errand: Errand) -> list[Purchase]:
    """Run the errand with npm @modelcontextprotocol/sdk.

    Raises:
        RunFailed: the client cannot connect, or lists other tools.
    """
    env = {"AGENT": json.dumps(asdict(errand))}
    printed = node_lines("agent.mjs", within_s=_AGENT_S, env=env)
    lines = [json.loads(line) for line in printed]
    return [
        failed_purchase(line["error"]) if "error" in line else Purchase(**line) for line in lines
    ]


async def buy_with_pypi(errand: Errand) -> list[Purchase]:
    """Run the errand with PyPI `mcp`.

    Raises:
        RunFailed: the client lists other tools.
    """
    async with Client(f"{errand.service}/mcp") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        if listed != TOOLS:
            raise RunFailed(f"the service lists other tools: {listed}")
        return [await _buy(client, errand) for _ in range(errand.count)]


async def sign_call(errand: Errand) -> Json:
    """Find the resource and sign a payment; return the arguments of the paid call."""
    async with Client(f"{errand.service}/mcp") as client:
        target = await _find(client, errand)
        challenge = await _call(client, target)
    payment = await _sign(errand, challenge["structuredContent"])
    return target | {"paymentSignature": payment}


async def challenge_seen_by_x402(errand: Errand) -> bool:
    """Whether the MCP client of PyPI `x402` recognises the unpaid result as payment required."""
    async with Client(f"{errand.service}/mcp") as client:
        agent: Any = x402MCPClient(
            _WireNames(client), None, auto_payment=False, on_payment_requested=lambda _: False
        )
        target = await _find(client, errand)
        required = await agent.get_tool_payment_requirements("paid_call", target)
    return required is not None and any(each.network == errand.network for each in required.accepts)


class _WireNames:
    """The client as `x402` 2.25 expects it: a call is one object, and results have wire names."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call_tool(self, params: Json, **options: Any) -> SimpleNamespace:
        del options
        result = await self._client.call_tool(params["name"], params["arguments"])
        return SimpleNamespace(**_plain(result))


async def _buy(client: Client, errand: Errand) -> Purchase:
    try:
        target = await _find(client, errand)
        challenge = await _call(client, target)
        payment = await _sign(errand, challenge["structuredContent"])
        paid = await _call(client, target | {"paymentSignature": payment})
        again = await _call(client, target | {"paymentSignature": payment})
    except Exception as error:  # noqa: BLE001 - whatever a foreign client raises is the finding
        return failed_purchase(f"{type(error).__name__}: {error}")
    return Purchase(challenge, paid, again)


async def _find(client: Client, errand: Errand) -> Json:
    """Search; return the arguments with which the hit is called."""
    question = {"query": errand.query, "network": errand.network}
    found = await client.call_tool("search_services", question)
    hits: list[Json] = _plain(found)["structuredContent"]["resources"]
    hit = next((each for each in hits if each["resource"] == errand.resource), None)
    if hit is None:
        raise RunFailed("the search does not find the resource")
    parameters = hit.get("example", {}).get("queryParams")
    target: Json = hit["callWith"]["arguments"]
    return target | ({"query": parameters} if parameters else {})


async def _call(client: Client, target: Json) -> Json:
    return _plain(await client.call_tool("paid_call", target))


def _plain(result: Any) -> Json:
    plain: Json = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return plain


async def _sign(errand: Errand, challenge: Json) -> str:
    """Sign the terms of the network; return the value of PAYMENT-SIGNATURE."""
    terms = next(each for each in challenge["accepts"] if each["network"] == errand.network)
    async with aiohttp.ClientSession(errand.service) as session:
        asked = {"requirements": terms, "payer": errand.payer}
        prepared = await _post(session, "/v1/payments/prepare", asked)
        signature = await asyncio.to_thread(
            Keypair.from_secret(errand.secret).sign, bytes.fromhex(prepared["hash"])
        )
        completion: Json = {
            "entry": prepared["entry"],
            "signature": base64.b64encode(signature).decode(),
            "requirements": terms,
        }
        completion |= {name: challenge[name] for name in _ECHOED if name in challenge}
        completed = await _post(session, "/v1/payments/complete", completion)
    return str(completed["paymentSignature"])


async def _post(session: aiohttp.ClientSession, path: str, body: Json) -> Json:
    async with session.post(path, json=body) as response:
        if response.status != 200:
            raise RunFailed(f"{path}: {response.status} {await response.text()}")
        answer: Json = await response.json()
        return answer
