"""A wrapper: a seller's HTTPS API behind x402, with its price, its limits and its upstream."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.pages import Place

ID_KIND: Final = "wrp"
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")  # those that are paid for
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
MAX_TERMS: Final = 8
MAX_ROUTES: Final = 32


class UpstreamAuth(StrEnum):
    """How the upstream takes the wrapper's secret."""

    NONE = "none"
    HEADER = "header"  # the secret is the value of a header of the seller's choice
    BEARER = "bearer"  # `Authorization: Bearer` and the secret


class OtherPaths(StrEnum):
    """What a request costs that matches no route of a wrapper with routes."""

    BASE = "base"  # the wrapper's own price
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class WrapperTerm:
    """One way to pay for a request: an amount of one token on one network."""

    network: Network
    asset: Address
    amount: BaseUnits
    pay_to: Address


@dataclass(frozen=True, slots=True)
class PricedRoute:
    """A method and a path below the wrapper's URL with a price and a description of its own.

    `amount` is paid instead of that of the wrapper's one term, `terms` instead of all its terms;
    a route has one of the two at most. The schemas are JSON objects, as text: of the query
    parameters or of the body, and of the response.
    """

    method: Method
    template: RouteTemplate
    amount: BaseUnits | None = None
    terms: tuple[WrapperTerm, ...] = ()
    description: str = ""
    input_schema: str = ""
    output_schema: str = ""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The seller's API; `secret_id` names a secret in the owner's vault."""

    url: str
    auth: UpstreamAuth = UpstreamAuth.NONE
    auth_header: str | None = None
    secret_id: str | None = None


@dataclass(frozen=True, slots=True)
class WrapperLimits:
    """The limits of a wrapper; paid requests alone count."""

    requests_per_minute: int = 60
    monthly_requests: int = 100_000  # a calendar month in UTC
    concurrent_requests: int = 50
    max_request_bytes: int = 1_048_576
    max_response_bytes: int = 5_242_880
    timeout_s: int = 30  # for the upstream, from the first lookup to the last byte of a response
    kept_response_bytes: int = 65_536  # the longest response that is stored; 0 stores none


@dataclass(frozen=True, slots=True)
class WrapperSettings:
    """The part of a wrapper that its owner writes."""

    name: str
    upstream: Upstream
    terms: tuple[WrapperTerm, ...]
    description: str = ""
    mime_type: str = "application/json"
    tags: tuple[str, ...] = ()
    method: Method | None = None  # the only one that is offered; None: all of `METHODS`
    routes: tuple[PricedRoute, ...] = ()
    other_paths: OtherPaths = OtherPaths.BASE
    limits: WrapperLimits = WrapperLimits()
    is_repeatable: bool = False  # a POST or PATCH may reach the upstream again


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A stored wrapper; `revision` counts the changes of its settings.

    `is_established` is that of its owner (`Caller`) at the last change: the cost of settling for
    the wrapper counts on the owner's own budget, or on the common one.
    """

    id: str
    owner: OwnerId
    slug: str
    settings: WrapperSettings
    is_enabled: bool
    is_established: bool
    revision: int
    created_at: datetime
    updated_at: datetime

    @property
    def place(self) -> Place:
        """The wrapper's position in the owner's list."""
        return self.created_at, self.id


@dataclass(frozen=True, slots=True)
class PricedCall:
    """The price of one request: the terms, and the route that set them, if one did."""

    terms: tuple[WrapperTerm, ...]
    route: PricedRoute | None = None


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A request that a wrapper does not sell; `methods` are those that its path is sold under."""

    methods: tuple[str, ...] = ()


def route_terms(settings: WrapperSettings, route: PricedRoute) -> tuple[WrapperTerm, ...]:
    """Return the terms that a route of the wrapper is sold at."""
    if route.amount is not None:
        return tuple(replace(term, amount=route.amount) for term in settings.terms)
    return route.terms or settings.terms


def price_call(settings: WrapperSettings, method: str, path: str) -> PricedCall | NotOffered:
    """Return the price of a request, or that it is not for sale.

    The first route that matches sets the price. Letter case, a trailing slash and parameters of a
    segment (`;a=1`) make no difference: an upstream may ignore them, and no spelling is cheaper.

    Args:
        settings: the wrapper's.
        method: one of `METHODS`.
        path: the path below the wrapper's URL, canonical (`normalize_path`); `/` for the URL.
    """
    on_path = [each for each in settings.routes if _matches(each.template, path)]
    for route in on_path:
        if route.method == method:
            return PricedCall(route_terms(settings, route), route)
    if settings.routes and settings.other_paths is OtherPaths.REFUSED:
        return NotOffered(tuple(dict.fromkeys(each.method for each in on_path)))
    if settings.method is not None and settings.method != method:
        return NotOffered((settings.method, *(each.method for each in on_path)))
    return PricedCall(settings.terms)


def _matches(template: RouteTemplate, path: str) -> bool:
    folded = RouteTemplate(_fold(template.path))
    return folded.matches(_fold(path))


def _fold(path: str) -> str:
    named = "/".join(segment.partition(";")[0] for segment in path.lower().split("/"))
    return named.rstrip("/") or "/"
