"""`/v1/skills` and `/llms.txt`: the declared routes and their handlers."""

from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.catalog.browsing.query_string import (
    InvalidQueryString,
    QueryParameters,
    find_unapplied,
    read_query_string,
    read_text,
)
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.skills.agent_guide import agent_guide
from farebox.skills.find_skills import SkillFilter, find_skill, find_version, list_skills
from farebox.skills.skill import Skills, SkillVersion
from farebox.skills.skill_documents import SkillDocumentKind, SkillDocuments, entity_tag
from farebox.skills.spec import SkillStatus
from farebox.skills.wire import (
    SkillListBody,
    SkillVersionListBody,
    skill_list_body,
    version_list_body,
)
from farebox.web.conditional import ENTITY_HEADERS, IF_NONE_MATCH, Entity, send_entity
from farebox.web.endpoint import (
    JSON,
    BodyType,
    Endpoint,
    Example,
    Parameter,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    record_id,
    text,
)

SKILLS: Final = "/v1/skills"
GUIDE: Final = "/llms.txt"
MAX_QUERY: Final = 200  # characters
_MARKDOWN: Final = "text/markdown; charset=utf-8"
_PLAIN: Final = "text/plain; charset=utf-8"
_NEWEST: Final = "public, max-age=300"
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_encode: Final = msgspec.json.Encoder().encode
_MAX_NAME: Final = 64  # characters
_FILTERS: Final = (
    Parameter("query", "Words that a skill or its actions have.", text(max_length=MAX_QUERY)),
    Parameter("protocol", "The exact name of the protocol.", text(max_length=_MAX_NAME)),
    Parameter("network", "stellar:testnet or stellar:pubnet.", text(max_length=_MAX_NAME)),
    Parameter("action", "The exact name of an action.", text(max_length=_MAX_NAME)),
)
_SLUG: Final = record_id("The slug of the skill.", name="slug")
_VERSION: Final = Parameter(
    "version", "A version; the newest without it.", text(max_length=_MAX_NAME)
)
_PARAMETER_ERRORS: Final = (
    ErrorCode.INVALID_QUERY_STRING,
    ErrorCode.QUERY_STRING_TOO_LONG,
    ErrorCode.TOO_MANY_PARAMETERS,
    ErrorCode.REPEATED_PARAMETER,
    ErrorCode.EMPTY_PARAMETER,
    ErrorCode.CONTROL_CHARACTERS,
    ErrorCode.UNKNOWN_PARAMETER,
)
_DIGEST: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_URL: Final = "https://pay.example.com/v1/skills/x402-pay/spec?version=1.0.0"
_VERSION_EXAMPLE: Final = {
    "version": "1.0.0",
    "status": SkillStatus.AVAILABLE.value,
    "specUrl": _URL,
    "sha256": _DIGEST,
}
_SKILL_EXAMPLE: Final = {
    "slug": "x402-pay",
    "name": "Pay for a resource",
    "summary": "Ask a paid resource for its price, pay it with the user's wallet, and call it.",
    "category": "Payments",
    "protocol": "x402",
    "networks": ["stellar:testnet", "stellar:pubnet"],
    "actions": ["quote", "prepare", "complete", "paid_call"],
    "authMode": ["none", "wallet_auth_entry", "x402"],
    "safety": {"movesFunds": True, "requiresWalletSignature": True},
    **_VERSION_EXAMPLE,
}


def _declare(
    path: str,
    summary: str,
    body: BodyType,
    example: object,
    *,
    media: str = JSON,
    parameters: Sequence[Parameter] = (),
    errors: Sequence[ErrorCode] = (),
) -> RouteDeclaration:
    """Declare a public read of a document with an entity tag."""
    return RouteDeclaration(
        method="GET",
        path=path,
        tag="skills",
        summary=summary,
        responses={
            200: ResponseDeclaration("The document.", body, media, ENTITY_HEADERS),
            304: ResponseDeclaration("The document has not changed."),
        },
        parameters=(*parameters, IF_NONE_MATCH),
        rate=Rate(RateClass.DISCOVERY),
        errors=errors,
        is_cross_origin=True,
        example=Example(response=example),
    )


def _declare_document(
    name: str, summary: str, body: BodyType, example: object, *, media: str = JSON
) -> RouteDeclaration:
    return _declare(
        f"{SKILLS}/{{slug}}/{name}",
        summary,
        body,
        example,
        media=media,
        parameters=(_SLUG, _VERSION),
        errors=(
            *_PARAMETER_ERRORS,
            ErrorCode.SKILL_NOT_FOUND,
            ErrorCode.SKILL_VERSION_NOT_FOUND,
        ),
    )


LIST: Final = _declare(
    SKILLS,
    "The skills: what an agent may do with this service.",
    SkillListBody,
    {"items": [_SKILL_EXAMPLE], "total": 1},
    parameters=_FILTERS,
    errors=(*_PARAMETER_ERRORS, ErrorCode.QUERY_TOO_LONG),
)
VERSIONS: Final = _declare(
    f"{SKILLS}/{{slug}}/versions",
    "Every version of a skill, newest first.",
    SkillVersionListBody,
    {"items": [_VERSION_EXAMPLE], "total": 1},
    parameters=(_SLUG,),
    errors=(*_PARAMETER_ERRORS, ErrorCode.SKILL_NOT_FOUND),
)
SPEC: Final = _declare_document(
    "spec",
    "The spec of a skill: schemas, errors and endpoints of its actions; a version never changes.",
    {"type": "object", "required": ["schemaVersion", "slug", "version", "actions"]},
    {"schemaVersion": "1.0", "slug": "x402-pay", "version": "1.0.0", "actions": []},
)
PAGE: Final = _declare_document(
    SkillDocumentKind.PAGE,
    "The skill as a page in the Agent Skills format.",
    {"type": "string"},
    '---\nname: x402-pay\ndescription: "Pays for a resource."\n---\n\n# Pay for a resource\n',
    media=_MARKDOWN,
)
TOOLS: Final = _declare_document(
    SkillDocumentKind.TOOLS,
    "The actions of a skill as MCP tools, for a client that calls the routes itself.",
    {"type": "object", "required": ["tools"]},
    {"tools": []},
)
OPENAPI: Final = _declare_document(
    SkillDocumentKind.OPENAPI,
    "The endpoints of a skill as OpenAPI 3.1.",
    {"type": "object", "required": ["openapi", "paths"]},
    {"openapi": "3.1.0", "paths": {}},
)
LLMS: Final = _declare(
    GUIDE,
    "What this service offers agents, on one page.",
    {"type": "string"},
    "# Farebox\n\n> An x402 facilitator on Stellar.\n",
    media=_PLAIN,
)


class ListSkills:
    """Lists the skills that fit a filter."""

    def __init__(self, skills: Skills, origin: str) -> None:
        self._skills, self._origin = skills, origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = list_skills(self._skills, _read_filter(scope["query_string"]))
        body = _encode(skill_list_body(found, self._origin))
        await send_entity(scope, send, Entity(body, entity_tag(body), _NEWEST))


class ListVersions:
    """Lists the versions of a skill."""

    def __init__(self, skills: Skills, origin: str) -> None:
        self._skills, self._origin = skills, origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _read_parameters(scope["query_string"], frozenset())
        skill = find_skill(self._skills, scope["path_params"]["slug"])
        body = _encode(version_list_body(skill, self._origin))
        await send_entity(scope, send, Entity(body, entity_tag(body), _NEWEST))


class ShowSpec:
    """Shows the spec of a version as it was written."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version, is_named = _read_version(self._skills, scope)
        caching = _FOR_EVER if is_named else _NEWEST
        await send_entity(scope, send, Entity(version.body, f'"{version.sha256}"', caching))


class ShowGenerated:
    """Shows a document that is generated from a spec."""

    def __init__(
        self, skills: Skills, documents: SkillDocuments, kind: SkillDocumentKind, media: str
    ) -> None:
        self._skills, self._documents = skills, documents
        self._kind, self._media = kind, media

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version, _ = _read_version(self._skills, scope)
        body = self._documents.find(version, self._kind)
        # a later Farebox may write it better, so it is not kept for ever
        await send_entity(scope, send, Entity(body, entity_tag(body), _NEWEST, self._media))


class ShowGuide:
    """Shows the page for agents."""

    def __init__(self, page: str) -> None:
        body = page.encode()
        self._entity = Entity(body, entity_tag(body), _NEWEST, _PLAIN)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_entity(scope, send, self._entity)


def skill_endpoints(skills: Skills, origin: str, networks: Sequence[Network]) -> list[Endpoint]:
    """Return the routes of skills; `origin` is the public URL of the service."""
    documents = SkillDocuments()
    generated = ((PAGE, SkillDocumentKind.PAGE), (TOOLS, SkillDocumentKind.TOOLS))
    return [
        Endpoint(LIST, ListSkills(skills, origin)),
        Endpoint(VERSIONS, ListVersions(skills, origin)),
        Endpoint(SPEC, ShowSpec(skills)),
        *(
            Endpoint(route, ShowGenerated(skills, documents, kind, route.responses[200].media))
            for route, kind in (*generated, (OPENAPI, SkillDocumentKind.OPENAPI))
        ),
        Endpoint(LLMS, ShowGuide(agent_guide(skills, origin, networks))),
    ]


def _read_filter(query: bytes) -> SkillFilter:
    """Read the filters of a list.

    Raises:
        InvalidQueryString: a parameter is unknown, empty, given twice or too long.
    """
    parameters = _read_parameters(query, frozenset(each.name for each in _FILTERS))
    words = read_text(parameters, "query")
    if words is not None and len(words) > MAX_QUERY:
        raise InvalidQueryString(
            ErrorCode.QUERY_TOO_LONG, f"A query for skills has at most {MAX_QUERY} characters."
        )
    named = {
        name: read_text(parameters, name, max_length=_MAX_NAME)
        for name in ("protocol", "network", "action")
    }
    return SkillFilter(words, **named)


def _read_version(skills: Skills, scope: Scope) -> tuple[SkillVersion, bool]:
    """Read which version a request is about, and whether it names the version.

    Raises:
        Refusal: there is no such skill or version, or a parameter cannot be read.
    """
    parameters = _read_parameters(scope["query_string"], frozenset({"version"}))
    named = read_text(parameters, "version", max_length=_MAX_NAME)
    return find_version(find_skill(skills, scope["path_params"]["slug"]), named), named is not None


def _read_parameters(query: bytes, known: frozenset[str]) -> QueryParameters:
    """Read a query string, in which every parameter has to have an effect."""
    parameters = read_query_string(query)
    unknown = find_unapplied(parameters, known)
    if unknown:
        names = ", ".join(sorted(known)) or "none"
        message = f"There is no parameter {unknown[0]}; this route takes: {names}."
        raise InvalidQueryString(ErrorCode.UNKNOWN_PARAMETER, message)
    return parameters
