"""Every packaged spec against the service: routes, credentials, rates, members, retryability."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from farebox.app.api_reference import documented_routes
from farebox.app.openapi import openapi_document
from farebox.kernel.error_codes import ErrorCode
from farebox.mcp.rpc_error import RpcReason
from farebox.mcp.tools import TOOLS
from farebox.skills.member_place import MemberPlace, place_of
from farebox.skills.schema_rules import properties_of
from farebox.skills.spec import EndpointAccess, ErrorPlace, SkillEndpoint, SkillStatus
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support.promises import case, promise
from support.skills import NAMES, SKILLS, VERSIONS

ROUTES: Final = {(each.method, each.path): each for each in documented_routes()}
DOCUMENT: Final[Any] = openapi_document(list(ROUTES.values()))
SETTLE: Final = "x402-facilitate/1.0.0"
SPECS: Final = {name: version.spec for name, version in zip(NAMES, VERSIONS, strict=True)}
ACTIONS: Final = [(name, spec, action) for name, spec in SPECS.items() for action in spec.actions]
STATUSES: Final = {each.value: each.status for each in ErrorCode}
# the statuses of an outage and of a limit: the same request may succeed later
LATER: Final = {408, 429, 503}
# a URL that was requested in vain, or whose response broke off
VAIN: Final = {"origin_no_answer"}
UNAVAILABLE: Final = {"rpc_unavailable"}


@promise("skills:spec-header", "version:skill-specs")
def test_specs_state_what_the_specification_asks_for() -> None:
    stated = {
        name: (
            spec.schema_version,
            re.fullmatch(r"\d+\.\d+\.\d+", spec.version) is not None,
            spec.status,
            bool(spec.category and spec.auth_mode),
            {each.id for each in spec.networks},
            spec.safety.custody,
        )
        for name, spec in SPECS.items()
    }
    networks = {"stellar:testnet", "stellar:pubnet"}
    expected = ("1.0", True, SkillStatus.AVAILABLE, True, networks, "none")
    assert [(name, found) for name, found in stated.items() if found != expected] == []


@case("VA-018")
@promise("skills:endpoints")
def test_endpoints_are_routes_of_the_service_as_the_specs_describe_them() -> None:
    endpoints = [(name, each) for name, spec in SPECS.items() for each in spec.endpoints]
    assert [(name, each.ref) for name, each in endpoints if not _is_as_declared(each)] == []


def test_endpoint_that_differs_from_its_route_is_found() -> None:
    (settle,) = [each for each in SPECS[SETTLE].endpoints if each.path == "/settle"]
    assert _is_as_declared(settle)
    others = {"success": 299, "rate": "none", "auth": EndpointAccess.NONE, "scope": "none"}
    for member, value in others.items():
        assert not _is_as_declared(msgspec.structs.replace(settle, **{member: value})), member


def _is_as_declared(endpoint: SkillEndpoint) -> bool:
    route = ROUTES[endpoint.method, endpoint.path]
    access, grant = route.access, None if route.access is None else route.access.grant
    auth = EndpointAccess.NONE if access is None else EndpointAccess.REQUIRED
    # on a network that needs no key, /verify and /settle take requests without one
    if access is not None and (access.is_optional or endpoint.path in ("/verify", "/settle")):
        auth = EndpointAccess.OPTIONAL
    return endpoint.success in route.responses and (
        endpoint.rate,
        endpoint.auth,
        endpoint.scope or None,
    ) == (
        None if route.rate is None else route.rate.rate_class.value,
        auth,
        None if grant is None else grant.value,
    )


def test_inputs_have_only_members_that_the_routes_declare() -> None:
    undeclared = []
    for name, spec, action in ACTIONS:
        endpoint = spec.endpoint(action.endpoint)
        declared = set(_declared(endpoint))
        for member in properties_of(action.input):
            spelled = (endpoint.headers or {}).get(member, member)
            if (place_of(endpoint, member), spelled) not in declared:
                undeclared.append((name, action.name, member))
    assert undeclared == []


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
def test_actions_have_schemas_and_examples() -> None:
    """`test_packaged_specs_keep_the_rules` validates them."""
    assert [
        (name, action.name)
        for name, _, action in ACTIONS
        if not (action.input["type"] == "object" and action.output and action.examples)
    ] == []


@case("VA-018")
@promise("skills:errors")
def test_errors_say_as_the_service_does_whether_they_may_be_retried() -> None:
    assert [
        (name, action.name, error.code)
        for name, _, action in ACTIONS
        for error in action.errors
        if error.retryable is not _is_retryable(error.code, error.at)
    ] == []


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


def test_hints_agree_with_the_kinds_of_the_actions() -> None:
    faulty = []
    for name, spec, action in ACTIONS:
        hints, method = action.hints, spec.endpoint(action.endpoint).method
        changes = action.kind in ("submit", "pay", "manage", "propose")
        agrees = (
            hints.read_only is (not changes) or action.kind == "build",
            not (hints.read_only and hints.destructive),
            hints.idempotent or method not in ("GET", "DELETE"),
            (action.kind == "pay") == (action.cost == "x402"),
        )
        if not all(agrees):
            faulty.append((name, action.name, agrees))
    assert faulty == []


@promise("skills:versioned-registry")
def test_every_skill_has_its_first_version() -> None:
    assert {each.spec.slug for each in VERSIONS if each.spec.version == "1.0.0"} == set(SKILLS)
