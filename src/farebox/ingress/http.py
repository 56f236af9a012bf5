"""The rate limits before the routes, by client address or by key."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.ingress.rate_limiter import RateLimit, RateLimiter
from farebox.kernel.caller import Unauthenticated
from farebox.kernel.errors import TooManyRequests
from farebox.web.client_address import client_name, client_of
from farebox.web.endpoint import Endpoint, Rate, RateClass
from farebox.web.guard import (
    Authentication,
    Guard,
    RateLimitKey,
    optional_caller_of,
    rate_limit_key,
)

_MAX_CREDENTIALS: Final = 10_000
_CREDENTIAL_HEADERS: Final = frozenset({b"authorization", b"x-api-key", b"cookie"})


@dataclass(frozen=True, slots=True)
class Rates:
    """The tokens a minute of each client address and of each key, by rate class."""

    per_address: Mapping[RateClass, int]
    per_key: Mapping[RateClass, int]

    def limit(self, rate_class: RateClass, *, is_client: bool) -> RateLimit:
        """Return the limit of a client address, or of a key or owner."""
        if is_client:
            return RateLimit(f"{rate_class} address", self.per_address[rate_class])
        return RateLimit(f"{rate_class} key", self.per_key[rate_class])

    @property
    def guesses(self) -> RateLimit:
        """The limit of invalid credentials from one client address."""
        return RateLimit("guess", self.per_address[RateClass.MANAGEMENT])


class RequestCount:
    """Counts the requests of a rate for their senders."""

    def __init__(self, limiter: RateLimiter, rates: Rates, rate: Rate) -> None:
        self._limiter, self._cost = limiter, rate.cost
        self._of_client = rates.limit(rate.rate_class, is_client=True)
        self._of_key = rates.limit(rate.rate_class, is_client=False)

    async def __call__(self, scope: Scope) -> None:
        """Return if the request is allowed.

        Raises:
            TooManyRequests: the sender has exceeded its limit.
        """
        key = rate_limit_key(scope)
        limit = self._of_client if key.is_client else self._of_key
        wait_s = await self._limiter.acquire(limit, key.name, cost=self._cost)
        if wait_s is not None:
            raise TooManyRequests(retry_after_s=wait_s)


class RateLimited:
    """A public handler behind the rate limit of its senders."""

    def __init__(self, handler: ASGIApp, count: RequestCount) -> None:
        self._handler, self._count = handler, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._count(scope)
        await self._handler(scope, receive, send)


class UnknownRouteLimit:
    """The routing table, behind the rate limit of requests that it finds no route for."""

    def __init__(self, table: ASGIApp, count: RequestCount) -> None:
        self._table, self._count = table, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._table(scope, receive, send)
        except HTTPException:  # no path, or not this method
            await self._count(scope)
            raise


class CredentialLimit:
    """Refuses requests with credentials before they are looked up, where the result is known.

    This process remembers how requests with a valid credential are counted, and refuses them here
    while that limit is exceeded. Any other credential is refused from an address that has sent too
    many invalid ones, so that a guesser does not lock out the others behind its address.
    """

    def __init__(
        self,
        app: ASGIApp,
        limiter: RateLimiter,
        rates: Rates,
        rate_of: Callable[[str, str], Rate | None],
    ) -> None:
        """`rate_of` returns the rate of a method and path; None for an unlimited route."""
        self._app, self._limiter = app, limiter
        self._rates, self._rate_of = rates, rate_of
        # by digest of the credential: the name it counts under, or None for the client address
        self._valid: OrderedDict[bytes, str | None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        credentials = [each for each in scope["headers"] if each[0] in _CREDENTIAL_HEADERS]
        if not credentials:
            await self._app(scope, receive, send)
            return
        digest = sha256(repr(credentials).encode()).digest()
        client = client_name(client_of(scope))
        wait_s = self._wait_s(digest, client, scope)
        if wait_s is not None:
            raise TooManyRequests(retry_after_s=wait_s)
        try:
            await self._app(scope, receive, send)
        except Unauthenticated:
            self._valid.pop(digest, None)
            wait_s = await self._limiter.acquire(self._rates.guesses, client)
            if wait_s is not None:
                raise TooManyRequests(retry_after_s=wait_s) from None
            raise
        finally:
            if optional_caller_of(scope) is not None:
                self._remember(digest, rate_limit_key(scope))

    def _wait_s(self, digest: bytes, client: str, scope: Scope) -> int | None:
        """Return how long the request has to wait, as far as this process knows."""
        if digest not in self._valid:
            return self._limiter.peek(self._rates.guesses, client)
        rate, name = self._rate_of(scope["method"], scope["path"]), self._valid[digest]
        if rate is None:
            return None
        limit = self._rates.limit(rate.rate_class, is_client=name is None)
        return self._limiter.peek(limit, name or client, cost=rate.cost)

    def _remember(self, digest: bytes, key: RateLimitKey) -> None:
        self._valid[digest] = None if key.is_client else key.name
        self._valid.move_to_end(digest)
        if len(self._valid) > _MAX_CREDENTIALS:
            self._valid.popitem(last=False)


def protect(
    endpoint: Endpoint, authentication: Authentication, limiter: RateLimiter, rates: Rates
) -> ASGIApp:
    """Put the guard and the rate limit that the route declares before its handler."""
    route, handler = endpoint.route, endpoint.handler
    count = RequestCount(limiter, rates, route.rate) if route.rate else None
    if route.access is not None:
        return Guard(handler, authentication, route.access, count)
    return RateLimited(handler, count) if count else handler
