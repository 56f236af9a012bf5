"""The peer of BENCH=mcp: the low-level server of PyPI `mcp`, stateless, with our two tools.

Its tools return a fixed result at once, so that it does less than ours.
"""

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route

from farebox.mcp.tools import TOOLS


def build_app() -> Starlette:
    """Build the server at `/mcp`, which answers in JSON and keeps no session."""
    tools = [types.Tool.model_validate(each) for each in TOOLS]

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        del context, params
        content: dict[str, Any] = {"x402Version": 2, "resources": []}
        text = types.TextContent(type="text", text="{}")
        return types.CallToolResult(content=[text], structured_content=content)

    server: Server[Any] = Server("peer", on_list_tools=list_tools, on_call_tool=call_tool)
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        async with manager.run():
            yield

    return Starlette(
        routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(manager))], lifespan=lifespan
    )


def main() -> None:
    """Serve on the port that is the first argument."""
    port = int(sys.argv[1])
    uvicorn.run(build_app(), host="127.0.0.1", port=port, log_level="warning", access_log=False)
