"""Every packaged spec against the service: routes, credentials, rates, members, retryability."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from farebox.app.api_reference import documented_routes
from farebox.app.openapi import openapi_document
from farebox.kernel.error_codes import ErrorCode
from farebox.mcp.rpc_error import RpcReason
from farebox.mcp.tools import TOOLS
from farebox.skills.member_place import MemberPlace, place_of
from farebox.skills.schema_rules import properties_of
from farebox.skills.skill import SkillVersion
from farebox.skills.spec import (
    EndpointAccess,
    ErrorPlace,
    SkillAction,
    SkillEndpoint,
    SkillStatus,
)
from farebox.web.endpoint import RouteDeclaration
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support.promises import case, promise
from support.skills import NAMES, SKILLS, VERSIONS

ROUTES: Final = {(each.method, each.path): each for each in documented_routes()}
DOCUMENT: Final[Any] = openapi_document(list(ROUTES.values()))
ACTIONS: Final = [(version, action) for version in VERSIONS for action in version.spec.actions]
ACTION_NAMES: Final = [f"{version.spec.slug}/{action.name}" for version, action in ACTIONS]
STATUSES: Final = {each.value: each.status for each in ErrorCode}
# the statuses of an outage and of a limit: the same request may succeed later
LATER: Final = {408, 429, 503}
# a URL that was requested in vain, or whose response broke off
VAIN: Final = {"origin_no_answer"}
UNAVAILABLE: Final = {"rpc_unavailable"}


def _route(endpoint: SkillEndpoint) -> RouteDeclaration:
    return ROUTES[endpoint.method, endpoint.path]


@promise("skills:spec-header", "version:skill-specs")
@pytest.mark.parametrize("version", VERSIONS, ids=NAMES)
def test_spec_states_what_the_specification_asks_for(version: SkillVersion) -> None:
    spec = version.spec
    assert spec.schema_version == "1.0"
    assert re.fullmatch(r"\d+\.\d+\.\d+", spec.version)
    assert spec.status is SkillStatus.AVAILABLE
    assert spec.category
    assert spec.auth_mode
    assert {each.id for each in spec.networks} == {"stellar:testnet", "stellar:pubnet"}
    assert spec.safety.custody == "none"


@case("VA-018")
@promise("skills:endpoints")
@pytest.mark.parametrize("version", VERSIONS, ids=NAMES)
def test_endpoint_is_a_route_of_the_service_as_the_spec_describes_it(
    version: SkillVersion,
) -> None:
    for endpoint in version.spec.endpoints:
        route = _route(endpoint)
        assert endpoint.success in route.responses, endpoint.ref
        assert endpoint.rate == (None if route.rate is None else route.rate.rate_class.value)
        access, grant = route.access, None if route.access is None else route.access.grant
        expected = EndpointAccess.NONE if access is None else EndpointAccess.REQUIRED
        # on a network that needs no key, /verify and /settle take requests without one
        if access is not None and (access.is_optional or endpoint.path in ("/verify", "/settle")):
            expected = EndpointAccess.OPTIONAL
        assert endpoint.auth is expected, endpoint.ref
        assert (endpoint.scope or None) == (None if grant is None else grant.value)


@pytest.mark.parametrize(("version", "action"), ACTIONS, ids=ACTION_NAMES)
def test_input_has_only_members_that_the_route_declares(
    version: SkillVersion, action: SkillAction
) -> None:
    endpoint = version.spec.endpoint(action.endpoint)
    declared = set(_declared(endpoint))
    for name in properties_of(action.input):
        spelled = (endpoint.headers or {}).get(name, name)
        assert (place_of(endpoint, name), spelled) in declared, name


def _declared(endpoint: SkillEndpoint) -> Iterator[tuple[MemberPlace, str]]:
    operation = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]
    for parameter in operation.get("parameters", ()):
        yield MemberPlace(parameter["in"]), parameter["name"]
    if endpoint.tool:
        (tool,) = [each for each in TOOLS if each["name"] == endpoint.tool]
        yield from ((MemberPlace.ARGUMENTS, name) for name in tool["inputSchema"]["properties"])
    elif "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        yield from ((MemberPlace.BODY, name) for name in _properties(schema))


def _properties(schema: Any) -> Iterator[str]:
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    yield from schema.get("properties", {})
    for one in schema.get("anyOf", ()):
        yield from _properties(one)


@case("VA-018")
@promise("skills:schemas")
@pytest.mark.parametrize(("version", "action"), ACTIONS, ids=ACTION_NAMES)
def test_action_has_schemas_and_examples(version: SkillVersion, action: SkillAction) -> None:
    """`test_packaged_spec_keeps_the_rules` validates them."""
    assert version.spec.slug
    assert action.input["type"] == "object"
    assert action.output
    assert action.examples


@case("VA-018")
@promise("skills:errors")
@pytest.mark.parametrize(("version", "action"), ACTIONS, ids=ACTION_NAMES)
def test_error_says_as_the_service_does_whether_it_may_be_retried(
    version: SkillVersion, action: SkillAction
) -> None:
    for error in action.errors:
        assert error.retryable is _is_retryable(error.code, error.at), (version.spec.slug, error)


def _is_retryable(code: str, place: ErrorPlace) -> bool:
    if place is ErrorPlace.MCP_REASON:
        assert code in [*RpcReason]
        return code == RpcReason.PAID_CALL_FAILED
    if place is ErrorPlace.REASONS_CODE:
        return code in VAIN
    if place is ErrorPlace.NETWORK_REASON:
        return code in UNAVAILABLE
    if place is ErrorPlace.ERROR_CODE and code in STATUSES:
        return STATUSES[code] in LATER
    return REGISTRY[Reason(code)].retry is not Retry.NEVER


@pytest.mark.parametrize(("version", "action"), ACTIONS, ids=ACTION_NAMES)
def test_hints_agree_with_the_kind_of_the_action(
    version: SkillVersion, action: SkillAction
) -> None:
    endpoint = version.spec.endpoint(action.endpoint)
    changes = action.kind in ("submit", "pay", "manage", "propose")
    assert action.hints.read_only is (not changes) or action.kind == "build"
    assert not (action.hints.read_only and action.hints.destructive)
    if endpoint.method in ("GET", "DELETE"):
        assert action.hints.idempotent
    assert (action.kind == "pay") == (action.cost == "x402")


@promise("skills:versioned-registry")
def test_every_skill_has_its_first_version() -> None:
    assert {each.spec.slug for each in VERSIONS if each.spec.version == "1.0.0"} == set(SKILLS)
