"""The paths of the routes, in the spellings that clients use."""

import pytest
from starlette.types import Receive, Scope, Send

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.mcp.http import MCP
from farebox.web.endpoint import Endpoint
from support.asgi import AsgiClient


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


@pytest.mark.parametrize(
    ("path", "status"),
    [("/mcp", 200), ("/mcp/", 200), ("/mcp//", 404), ("/mcp%2F", 404), ("/MCP/", 404)],
)
async def test_mcp_endpoint_is_the_same_with_a_trailing_slash(path: str, status: int) -> None:
    app = Application(Services(endpoints=[Endpoint(MCP, _echo)]), stop=lambda: None)
    answer = await AsgiClient(app).request("POST", path)
    assert answer.status == status
    if status == 200:
        assert answer.body == b"/mcp"
    unsold = await AsgiClient(app).request("GET", "/mcp/")
    assert (unsold.status, unsold.headers["allow"]) == (405, "POST")
