"""An agent: it speaks JSON-RPC to `/mcp` of a service in process."""

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from support.asgi import Answer, AsgiClient
from support.outbound import SELLER as NAME

Json = dict[str, Any]
PATH: Final = "/mcp"
REMOTE_URL: Final = f"https://{NAME}/weather"


@dataclass(slots=True)
class Agent:
    """Sends requests, each with an id of its own."""

    client: AsgiClient
    headers: Mapping[str, str] = field(default_factory=dict)
    _ids: "itertools.count[int]" = field(default_factory=itertools.count)

    async def send(self, value: object, *, leave: asyncio.Event | None = None) -> Answer:
        """Post a body."""
        body = value if isinstance(value, bytes) else msgspec.json.encode(value)
        sent = {"content-type": "application/json", "content-length": str(len(body))}
        headers = sent | dict(self.headers)
        return await self.client.request("POST", PATH, body=body, headers=headers, leave=leave)

    async def ask(self, method: str, params: Json | None = None) -> Json:
        """Send a request; return the whole response, which must be HTTP 200 with its id."""
        own = next(self._ids)
        message: Json = {"jsonrpc": "2.0", "id": own, "method": method}
        answer = await self.send(message if params is None else message | {"params": params})
        assert answer.status == 200, (answer.status, answer.body)
        response = answer.json()
        assert response["id"] == own
        return response

    async def call(self, tool: str, arguments: object, meta: Json | None = None) -> Json:
        """Call a tool; return its result."""
        params: Json = {"name": tool, "arguments": arguments}
        response = await self.ask("tools/call", params | ({"_meta": meta} if meta else {}))
        assert "result" in response, response
        result: Json = response["result"]
        text = result["content"][0]["text"]
        assert msgspec.json.decode(text) == result["structuredContent"]
        return result

    async def error(self, tool: str, arguments: object, meta: Json | None = None) -> Json:
        """Call a tool; return the error, which has a reason."""
        params: Json = {"name": tool, "arguments": arguments}
        response = await self.ask("tools/call", params | ({"_meta": meta} if meta else {}))
        error: Json = response["error"]
        assert error["data"]["reason"]
        return error

    async def paid_call(self, url: str, **arguments: Any) -> Json:
        """Call a resource; return the `structuredContent`."""
        result = await self.call("paid_call", {"url": url, **arguments})
        content: Json = result["structuredContent"]
        return content

    async def refused_call(self, url: object, **arguments: Any) -> Json:
        """Call a resource; return the error."""
        return await self.error("paid_call", {"url": url, **arguments})
