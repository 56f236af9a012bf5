"""The official conformance suite for MCP servers, against a served process."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from e2e import mcp_scenarios
from e2e.mcp_scenarios import failed_scenarios
from farebox.mcp.handler import RpcHandler
from farebox.mcp.http import mcp_endpoints
from farebox.mcp.jsonrpc import RpcRequest
from farebox.mcp.paid_call import PaidCalls
from farebox.mcp.prepared_call import Sender
from farebox.mcp.search_services import SearchServices
from support.promises import case
from support.routes import RoutedApp
from support.serve_process import ServeProcess
from support.serving import serving
from support.stage import Stage


@case("MC-040")
async def test_served_process_passes_every_scenario_that_applies(
    stage: Stage, tmp_path: Path
) -> None:
    async with ServeProcess(stage.environment) as served:
        assert await asyncio.to_thread(failed_scenarios, served.url, scratch=tmp_path) == []


class WithoutTools(RpcHandler):
    """A handler whose list of tools is no list."""

    def __init__(self) -> None:
        super().__init__(cast(SearchServices, None), cast(PaidCalls, None))

    async def answer(self, call: RpcRequest, sender: Sender) -> dict[str, object]:
        """Answer all but the list as the service does."""
        return {} if call.method == "tools/list" else await super().answer(call, sender)


async def test_server_that_lists_no_tools_fails_a_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tools-list" in mcp_scenarios.SCENARIOS
    monkeypatch.setattr(mcp_scenarios, "SCENARIOS", ("tools-list",))
    app = RoutedApp(*mcp_endpoints(WithoutTools(), origin="http://127.0.0.1"))
    async with serving(app) as (host, port):
        url = f"http://{host}:{port}"
        failed = await asyncio.to_thread(failed_scenarios, url, scratch=tmp_path)
    assert "tools-list" in {each.split(" ")[0] for each in failed}
