"""The JSON shapes of wrappers; a change names the members that it changes."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.wrapper import (
    MAX_ROUTES,
    MAX_TERMS,
    Method,
    OtherPaths,
    PricedRoute,
    UpstreamAuth,
    Wrapper,
    WrapperTerm,
)
from farebox.gateway.wrappers.slug import MAX_SLUG
from farebox.kernel.networks import Network
from farebox.kernel.pages import Moment, PaginationBody, PlaceBody

MAX_NAME: Final = 32  # as in the catalog
MAX_DESCRIPTION: Final = 500
MAX_TAGS: Final = 5
MAX_URL: Final = 2048
MAX_SCHEMA_BYTES: Final = 2048
SCHEME: Final = "exact"

AmountText = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,38}$(?!\n)", description="Base units.")]
ContractText = Annotated[str, Meta(pattern=r"^C[A-Z2-7]{55}$(?!\n)", max_length=56)]
PartyText = Annotated[str, Meta(pattern=r"^[GC][A-Z2-7]{55}$(?!\n)", max_length=56)]
PathText = Annotated[str, Meta(min_length=1, max_length=512)]
UrlText = Annotated[str, Meta(min_length=1, max_length=MAX_URL)]
SlugText = Annotated[str, Meta(min_length=3, max_length=MAX_SLUG)]
NameText = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
DescriptionText = Annotated[str, Meta(max_length=MAX_DESCRIPTION)]
MimeText = Annotated[str, Meta(min_length=3, max_length=120)]
TagTexts = Annotated[list[NameText], Meta(max_length=MAX_TAGS)]
HeaderText = Annotated[str, Meta(min_length=1, max_length=100)]
SecretIdText = Annotated[str, Meta(pattern=r"^sec_[0-9A-Za-z]{22}$(?!\n)", max_length=26)]
Schema = Annotated[dict[str, Any], Meta(description="A JSON Schema, 2 KB at most.")]


class TermBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One way to pay for a request; `amount` is in base units of the token."""

    network: Network
    asset: ContractText
    amount: AmountText
    pay_to: PartyText


Terms = Annotated[list[TermBody], Meta(min_length=1, max_length=MAX_TERMS)]


class RouteBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A method and a path with a price of its own: `amount` with one term, else `accepts`."""

    method: Method
    path: PathText
    amount: AmountText | UnsetType = UNSET
    accepts: Terms | UnsetType = UNSET
    description: DescriptionText | UnsetType = UNSET
    input: Schema | UnsetType = UNSET
    output: Schema | UnsetType = UNSET


Routes = Annotated[list[RouteBody], Meta(max_length=MAX_ROUTES)]


class WrapperFields(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """The members of a wrapper that its owner writes; those left out keep their value.

    `network`, `asset`, `amount` and `payTo` are short for `accepts` with one entry.
    """

    name: NameText | UnsetType = UNSET
    description: DescriptionText | UnsetType = UNSET
    tags: TagTexts | UnsetType = UNSET
    mime_type: MimeText | UnsetType = UNSET
    upstream_url: UrlText | UnsetType = UNSET
    auth_type: UpstreamAuth | UnsetType = UNSET
    auth_header: HeaderText | UnsetType | None = UNSET
    secret_id: SecretIdText | UnsetType | None = UNSET
    accepts: Terms | UnsetType = UNSET
    network: Network | UnsetType = UNSET
    asset: ContractText | UnsetType = UNSET
    amount: AmountText | UnsetType = UNSET
    pay_to: PartyText | UnsetType = UNSET
    method: Method | UnsetType | None = UNSET
    routes: Routes | UnsetType = UNSET
    other_paths: OtherPaths | UnsetType = UNSET
    requests_per_minute: Annotated[int, Meta(ge=1, le=10_000)] | UnsetType = UNSET
    monthly_request_quota: Annotated[int, Meta(ge=1, le=100_000_000)] | UnsetType = UNSET
    max_concurrent_requests: Annotated[int, Meta(ge=1, le=1_000)] | UnsetType = UNSET
    max_request_bytes: Annotated[int, Meta(ge=0, le=10_485_760)] | UnsetType = UNSET
    max_response_bytes: Annotated[int, Meta(ge=1_024, le=52_428_800)] | UnsetType = UNSET
    timeout_seconds: Annotated[int, Meta(ge=1, le=300)] | UnsetType = UNSET
    keep_answer_bytes: Annotated[int, Meta(ge=0, le=65_536)] | UnsetType = UNSET
    is_repeatable: bool | UnsetType = UNSET


class CreateWrapperRequest(WrapperFields, forbid_unknown_fields=True):
    """A new wrapper; without a slug one is derived from its name."""

    slug: SlugText | UnsetType = UNSET


class WrapperBody(msgspec.Struct, rename="camel"):
    """A wrapper as its owner sees it; `endpoint` is the URL that buyers pay at."""

    id: str
    slug: str
    endpoint: str
    scheme: Literal["exact"]
    enabled: bool
    name: str
    description: str
    tags: list[str]
    mime_type: str
    upstream_url: str
    auth_type: UpstreamAuth
    auth_header: str | None
    secret_id: str | None
    accepts: list[TermBody]
    method: Method | None
    routes: list[RouteBody]
    other_paths: OtherPaths
    requests_per_minute: int
    monthly_request_quota: int
    max_concurrent_requests: int
    max_request_bytes: int
    max_response_bytes: int
    timeout_seconds: int
    keep_answer_bytes: int
    is_repeatable: bool
    created_at: Moment
    updated_at: Moment


class WrapperListBody(msgspec.Struct, rename="camel"):
    """Some of the caller's wrappers, newest first."""

    items: list[WrapperBody]
    pagination: PaginationBody


class WrapperPlace(PlaceBody):
    """The end of a page of wrappers."""

    id: Annotated[str, Meta(pattern=r"^wrp_[0-9A-Za-z]{22}\Z")]


class SlugBody(msgspec.Struct, rename="camel"):
    """The slug of a name; `modified`: the name's own slug is taken."""

    slug: str
    available: bool
    modified: bool


def wrapper_list_body(
    wrappers: Sequence[Wrapper], gateway: GatewayUrl, *, limit: int, next_cursor: str | None
) -> WrapperListBody:
    """Render a page of wrappers."""
    items = [wrapper_body(each, gateway) for each in wrappers]
    return WrapperListBody(items, PaginationBody(limit, next_cursor))


def wrapper_body(wrapper: Wrapper, gateway: GatewayUrl) -> WrapperBody:
    """Render a wrapper as its owner sees it."""
    settings, limits = wrapper.settings, wrapper.settings.limits
    return WrapperBody(
        id=wrapper.id,
        slug=wrapper.slug,
        endpoint=gateway.endpoint(wrapper.slug),
        scheme=SCHEME,
        enabled=wrapper.is_enabled,
        name=settings.name,
        description=settings.description,
        tags=list(settings.tags),
        mime_type=settings.mime_type,
        upstream_url=settings.upstream.url,
        auth_type=settings.upstream.auth,
        auth_header=settings.upstream.auth_header,
        secret_id=settings.upstream.secret_id,
        accepts=list(map(term_body, settings.terms)),
        method=settings.method,
        routes=list(map(route_body, settings.routes)),
        other_paths=settings.other_paths,
        requests_per_minute=limits.requests_per_minute,
        monthly_request_quota=limits.monthly_requests,
        max_concurrent_requests=limits.concurrent_requests,
        max_request_bytes=limits.max_request_bytes,
        max_response_bytes=limits.max_response_bytes,
        timeout_seconds=limits.timeout_s,
        keep_answer_bytes=limits.kept_response_bytes,
        is_repeatable=settings.is_repeatable,
        created_at=wrapper.created_at,
        updated_at=wrapper.updated_at,
    )


def term_body(term: WrapperTerm) -> TermBody:
    """Render one way to pay."""
    return TermBody(term.network, term.asset, str(term.amount), term.pay_to)


def route_body(route: PricedRoute) -> RouteBody:
    """Render a route with a price of its own."""
    return RouteBody(
        method=route.method,
        path=route.template.path,
        amount=UNSET if route.amount is None else str(route.amount),
        accepts=list(map(term_body, route.terms)) or UNSET,
        description=route.description or UNSET,
        input=_schema(route.input_schema),
        output=_schema(route.output_schema),
    )


def _schema(text: str) -> dict[str, Any] | UnsetType:
    return msgspec.json.decode(text, type=dict[str, Any]) if text else UNSET
