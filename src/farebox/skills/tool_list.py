"""The actions of a skill as MCP tools, for an agent that calls the service's routes itself.

The shape is that of `tools/list` (MCP 2025-06-18). `_meta` says which request a tool stands for:
`/mcp` of the service has tools of its own.
"""

from typing import Any, Final

from farebox.skills.member_place import place_of
from farebox.skills.schema_rules import properties_of
from farebox.skills.spec import SkillAction, SkillSpec

REQUEST_META: Final = "farebox/request"
ERRORS_META: Final = "farebox/errors"


def tool_list(spec: SkillSpec) -> dict[str, Any]:
    """Make the tools of a skill."""
    return {"tools": [_tool(spec, action) for action in spec.actions]}


def tool_name(spec: SkillSpec, action: SkillAction) -> str:
    """Return the name of an action's tool, which no other skill has."""
    return f"{spec.slug}_{action.name}"


def _tool(spec: SkillSpec, action: SkillAction) -> dict[str, Any]:
    endpoint = spec.endpoint(action.endpoint)
    request: dict[str, Any] = {"method": endpoint.method, "path": endpoint.path}
    if endpoint.tool:
        request["tool"] = endpoint.tool
    request["members"] = {
        name: place_of(endpoint, name).value for name in properties_of(action.input)
    }
    tool: dict[str, Any] = {
        "name": tool_name(spec, action),
        "title": action.title,
        "description": " ".join((action.summary, *action.procedure)),
        "inputSchema": action.input,
    }
    if action.output.get("type") == "object":  # the only kind that MCP knows
        tool["outputSchema"] = action.output
    hints = action.hints
    tool["annotations"] = {
        "title": action.title,
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }
    retryable = {each.code: each.retryable for each in action.errors}
    tool["_meta"] = {REQUEST_META: request, ERRORS_META: retryable}
    return tool
