"""The rules of a wrapper's members, applied to a new wrapper or to a change of one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from farebox.catalog.discovery.metadata import read_metadata
from farebox.catalog.discovery.route_template import RouteTemplate, parse_route_template
from farebox.gateway.relay.header_rules import PAYMENT, TOKEN
from farebox.gateway.upstream_url import is_path_confined
from farebox.gateway.wrapper import (
    OtherPaths,
    PricedRoute,
    Upstream,
    UpstreamAuth,
    WrapperLimits,
    WrapperSettings,
    WrapperTerm,
)
from farebox.gateway.wrappers.wire import MAX_SCHEMA_BYTES, RouteBody, TermBody, WrapperFields
from farebox.kernel.addresses import parse_contract, parse_party
from farebox.kernel.amounts import BaseUnits, parse_base_units
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.outbound.request import HOP_BY_HOP
from farebox.outbound.target import Target, parse_target

T = TypeVar("T")
_SHORT: Final = {"network": "accepts", "asset": "asset", "amount": "amount", "pay_to": "payTo"}
_ROOT: Final = "/"
_NO_CREDENTIAL: Final = frozenset({"content-length", "content-type", "expect", "host"})
_LIMITS: Final = {
    "requests_per_minute": "requests_per_minute",
    "monthly_request_quota": "monthly_requests",
    "max_concurrent_requests": "concurrent_requests",
    "max_request_bytes": "max_request_bytes",
    "max_response_bytes": "max_response_bytes",
    "timeout_seconds": "timeout_s",
    "keep_answer_bytes": "kept_response_bytes",
}
# the members of metadata, by their names in the catalog
_METADATA: Final = {"serviceName": "name", "description": "description", "mimeType": "mimeType"}


class InvalidWrapper(Refusal):
    """A member of the wrapper breaks a rule, which the message names; `member` may be empty."""

    def __init__(self, member: str, why: str) -> None:
        message = f"Look at {member}. {why}" if member else why
        super().__init__(ErrorCode.INVALID_WRAPPER, message, field=member)


def make_settings(fields: WrapperFields) -> WrapperSettings:
    """Make the settings of a new wrapper.

    Raises:
        InvalidWrapper: a member is missing or breaks a rule.
    """
    name = _required(fields.name, "name")
    url = _required(fields.upstream_url, "upstreamUrl")
    if fields.accepts is UNSET:
        for name, member in _SHORT.items():
            _required(getattr(fields, name), member)
    return change_settings(WrapperSettings(name, Upstream(url), ()), fields)


def change_settings(settings: WrapperSettings, fields: WrapperFields) -> WrapperSettings:
    """Apply a change to the settings of a wrapper.

    Another host of the upstream removes the reference to the secret, unless the change names the
    secret again: a credential is for the host it was given for.

    Raises:
        InvalidWrapper: the result breaks a rule.
    """
    terms = _change_terms(settings.terms, fields)
    changed = replace(
        settings,
        name=_given(fields.name, settings.name),
        description=_given(fields.description, settings.description),
        mime_type=_given(fields.mime_type, settings.mime_type),
        tags=settings.tags if fields.tags is UNSET else tuple(fields.tags),
        upstream=_change_upstream(settings.upstream, fields),
        terms=terms,
        method=_given(fields.method, settings.method),
        routes=settings.routes if fields.routes is UNSET else _read_routes(fields.routes),
        other_paths=_given(fields.other_paths, settings.other_paths),
        limits=_change_limits(settings.limits, fields),
        is_repeatable=_given(fields.is_repeatable, settings.is_repeatable),
    )
    _check_upstream(changed.upstream)
    _check_routes(changed)
    return _check_metadata(changed)


def _required(value: T | UnsetType, member: str) -> T:
    if isinstance(value, UnsetType):
        raise InvalidWrapper(member, "A wrapper needs it.")
    return value


def _given(value: T | UnsetType, kept: T) -> T:
    return kept if isinstance(value, UnsetType) else value


def _change_terms(terms: Sequence[WrapperTerm], fields: WrapperFields) -> tuple[WrapperTerm, ...]:
    short = {name: getattr(fields, name) for name in _SHORT if getattr(fields, name) is not UNSET}
    if fields.accepts is not UNSET:
        if short:
            raise InvalidWrapper("accepts", "Name the terms there or one by one, not both.")
        return _read_terms(fields.accepts, "accepts")
    if not short:
        return tuple(terms)
    if len(terms) > 1:
        raise InvalidWrapper("accepts", "The wrapper has several terms: name all of them there.")
    kept = msgspec.structs.asdict(_body_of(terms[0])) if terms else {}
    return _read_terms([TermBody(**(kept | short))], "")


def _body_of(term: WrapperTerm) -> TermBody:
    return TermBody(term.network, term.asset, str(term.amount), term.pay_to)


def _read_terms(bodies: Sequence[TermBody], member: str) -> tuple[WrapperTerm, ...]:
    terms = tuple(
        _read_term(body, f"{member}[{number}]." if member else "")
        for number, body in enumerate(bodies)
    )
    if len({(term.network, term.asset) for term in terms}) < len(terms):
        raise InvalidWrapper(member, "Two terms have the same network and asset.")
    recipients = {(term.network, term.pay_to) for term in terms}
    if len({network for network, _ in recipients}) < len(recipients):
        raise InvalidWrapper(member, "The terms of one network have one payTo.")
    return terms


def _read_term(body: TermBody, prefix: str) -> WrapperTerm:
    asset, pay_to = parse_contract(body.asset), parse_party(body.pay_to)
    if asset is None:
        raise InvalidWrapper(f"{prefix}asset", "It is no contract address (C…).")
    if pay_to is None:
        raise InvalidWrapper(f"{prefix}payTo", "It is no account (G…) and no contract (C…).")
    return WrapperTerm(body.network, asset, _read_amount(body.amount, f"{prefix}amount"), pay_to)


def _read_amount(text: str, member: str) -> BaseUnits:
    amount = parse_base_units(text)
    if not amount:
        raise InvalidWrapper(member, "It is a whole number of base units, from 1 to 2^127-1.")
    return amount


def _change_upstream(upstream: Upstream, fields: WrapperFields) -> Upstream:
    url = _given(fields.upstream_url, upstream.url)
    kept = upstream
    if _origin_of(url) != _origin_of(upstream.url) and fields.secret_id is UNSET:
        kept = Upstream(url)
    secret_id = _given(fields.secret_id, kept.secret_id)
    auth = _given(fields.auth_type, kept.auth if secret_id else UpstreamAuth.NONE)
    return Upstream(
        url=url,
        auth=auth,
        auth_header=_given(
            fields.auth_header, kept.auth_header if auth is UpstreamAuth.HEADER else None
        ),
        secret_id=secret_id,
    )


def _origin_of(url: str) -> tuple[str, int] | None:
    target = parse_target(url)
    return (target.host, target.port) if isinstance(target, Target) else None


def _check_upstream(upstream: Upstream) -> None:
    target = parse_target(upstream.url)
    if not isinstance(target, Target):
        raise InvalidWrapper("upstreamUrl", f"It cannot be called: {target.value}.")
    if not is_path_confined(target.path):
        raise InvalidWrapper("upstreamUrl", "Its path has empty, dot or encoded segments.")
    needs_secret = upstream.auth is not UpstreamAuth.NONE
    if needs_secret is not (upstream.secret_id is not None):
        raise InvalidWrapper("secretId", "authType header or bearer needs one, none has none.")
    header = upstream.auth_header
    if (upstream.auth is UpstreamAuth.HEADER) is not (header is not None):
        raise InvalidWrapper("authHeader", "authType header needs one, the others have none.")
    if header is not None and not _carries_credential(header):
        raise InvalidWrapper("authHeader", "A credential cannot be sent under this name.")


def _carries_credential(name: str) -> bool:
    lowered = name.lower()
    if lowered in HOP_BY_HOP or lowered in PAYMENT or lowered in _NO_CREDENTIAL:
        return False
    return TOKEN.match(name) is not None and not lowered.startswith("x-farebox-")


def _read_routes(bodies: Sequence[RouteBody]) -> tuple[PricedRoute, ...]:
    return tuple(_read_route(body, f"routes[{number}]") for number, body in enumerate(bodies))


def _read_route(body: RouteBody, member: str) -> PricedRoute:
    template = RouteTemplate(_ROOT) if body.path == _ROOT else parse_route_template(body.path)
    if template is None:
        raise InvalidWrapper(f"{member}.path", "It is a path as in /city/:name.")
    if len(set(template.names)) < len(template.names):
        raise InvalidWrapper(f"{member}.path", "Two parameters have the same name.")
    if body.amount is not UNSET and body.accepts is not UNSET:
        raise InvalidWrapper(f"{member}.accepts", "A route has an amount or terms, not both.")
    return PricedRoute(
        method=body.method,
        template=template,
        amount=None if body.amount is UNSET else _read_amount(body.amount, f"{member}.amount"),
        terms=() if body.accepts is UNSET else _read_terms(body.accepts, f"{member}.accepts"),
        description=_given(body.description, ""),
        input_schema=_read_schema(body.input, f"{member}.input"),
        output_schema=_read_schema(body.output, f"{member}.output"),
    )


def _read_schema(schema: Mapping[str, object] | UnsetType, member: str) -> str:
    if isinstance(schema, UnsetType):
        return ""
    text = msgspec.json.encode(schema)
    if len(text) > MAX_SCHEMA_BYTES:
        raise InvalidWrapper(member, f"It is longer than {MAX_SCHEMA_BYTES} bytes.")
    return text.decode()


def _check_routes(settings: WrapperSettings) -> None:
    if settings.other_paths is OtherPaths.REFUSED and not settings.routes:
        raise InvalidWrapper("otherPaths", "Without routes there are no other paths to refuse.")
    if len(settings.terms) != 1 and any(each.amount is not None for each in settings.routes):
        raise InvalidWrapper("routes", "With several terms a route has accepts, not an amount.")
    shapes = {(each.method, each.template.shape.lower()) for each in settings.routes}
    if len(shapes) < len(settings.routes):
        raise InvalidWrapper("routes", "Two routes have the same method and path.")


def _change_limits(limits: WrapperLimits, fields: WrapperFields) -> WrapperLimits:
    given = {own: getattr(fields, name) for name, own in _LIMITS.items()}
    return replace(limits, **{name: value for name, value in given.items() if value is not UNSET})


def _check_metadata(settings: WrapperSettings) -> WrapperSettings:
    """Hold name, description, media type and tags against the catalog's rules."""
    metadata, dropped = read_metadata(
        {
            "serviceName": settings.name,
            "description": settings.description,
            "mimeType": settings.mime_type,
            "tags": list(settings.tags),
        }
    )
    for field in dropped:
        raise InvalidWrapper(_METADATA.get(field.field, field.field), field.sentence)
    if metadata.service_name is None:
        raise InvalidWrapper("name", "It has only spaces.")
    return replace(
        settings,
        name=metadata.service_name,
        description=metadata.description or "",
        tags=metadata.tags,
    )
