"""A wrapper: a seller's HTTPS API behind x402, with its price, its limits and its upstream."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.upstream_url import Reading, read_path, read_segments
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.pages import Place
from farebox.kernel.slots import Share

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
    the wrapper counts on the owner's own budget, or on the common one. `site` is where the request
    of an owner who was not established came from when the wrapper was made, as quotas count it.
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
    site: str | None = None

    @property
    def share(self) -> Share:
        """The share that the wrapper takes of what all wrappers use at the same time."""
        if self.is_established:
            return Share(self.owner)
        return Share(self.site or self.owner, is_new=True)

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

    An upstream may take one path for another (`read_path`), and which it takes is not known: every
    reading must be for sale, and the price is the dearest of theirs. No spelling is cheaper.
    Of the routes that match a reading the one with the most fixed segments sets its price, whatever
    their order; the first of several.

    Args:
        settings: the wrapper's.
        method: one of `METHODS`.
        path: the path below the wrapper's URL, as it is forwarded; `/` for the URL.
    """
    readings = read_path(path) if settings.routes else ((),)
    calls: dict[int | None, PricedCall] = {}
    for met in _find_met(settings.routes, readings):
        call = _price_reading(settings, method, [settings.routes[number] for number in met])
        if isinstance(call, NotOffered):
            return call
        calls.setdefault(None if call.route is None else id(call.route), call)
    found = calls.values()
    covering = (each for each in found if all(_covers(each, other) for other in found))
    return next(covering, NotOffered())


def _find_met(
    routes: Sequence[PricedRoute], readings: Sequence[Reading]
) -> Iterable[tuple[int, ...]]:
    """Return the routes that each reading matches, by number and best first; each answer once.

    Each reading is compared with and without its empty names and differences of case.
    """
    answers: dict[tuple[int, ...], None] = {}
    for fold in _FOLDS:
        templates = sorted(
            ((fold(_read_template(route.template)), at) for at, route in enumerate(routes)),
            key=lambda each: each[0].count(None),
        )
        longest = max((len(names) for names, _ in templates), default=0)
        compared: dict[_Names, None] = {}
        for reading in readings:
            if len(reading) - reading.count("") <= longest:
                compared.setdefault(fold(reading))
            else:
                answers.setdefault(())
        for names in compared:
            answers.setdefault(tuple(at for each, at in templates if _matches(each, names)))
    return answers


def _price_reading(
    settings: WrapperSettings, method: str, on_path: Sequence[PricedRoute]
) -> PricedCall | NotOffered:
    """Return the price of one reading of a path, of which `on_path` are the routes, best first."""
    for route in on_path:
        if route.method == method:
            return PricedCall(route_terms(settings, route), route)
    if settings.routes and settings.other_paths is OtherPaths.REFUSED:
        return NotOffered(tuple(dict.fromkeys(each.method for each in on_path)))
    if settings.method is not None and settings.method != method:
        return NotOffered((settings.method, *(each.method for each in on_path)))
    return PricedCall(settings.terms)


def _covers(call: PricedCall, other: PricedCall) -> bool:
    """Whether who pays by any term of `call` pays no less than by the same term of `other`."""
    amounts = {(each.network, each.asset, each.pay_to): each.amount for each in other.terms}
    return all(
        (least := amounts.get((each.network, each.asset, each.pay_to))) is not None
        and each.amount >= least
        for each in call.terms
    )


_Names: TypeAlias = tuple[str | None, ...]  # of segments; None for a parameter


@lru_cache(maxsize=4096)
def _read_template(template: RouteTemplate) -> _Names:
    """Return the segments of a template as those of a reading."""
    names = read_segments(template.path)
    given = template.path.split("/")[1:]
    return tuple(
        None if each.startswith(":") else name for each, name in zip(given, names, strict=False)
    )


def _fold(names: _Names, case: Callable[[str], str], *, keeps_empty: bool) -> _Names:
    return tuple(
        None if name is None else case(name) for name in names if keeps_empty or name != ""
    )


_FOLDS: Final[tuple[Callable[[_Names], _Names], ...]] = tuple(
    partial(_fold, case=case, keeps_empty=keeps_empty)
    for keeps_empty in (True, False)
    for case in (str, str.lower, str.casefold)  # servers ignore case by different tables
)


def _matches(template: _Names, names: _Names) -> bool:
    return len(template) == len(names) and all(
        name != "" if own is None else own == name
        for own, name in zip(template, names, strict=True)
    )
