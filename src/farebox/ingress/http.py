"""What stands before the routes: how often an asker is answered, by address or by key."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Final

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.ingress.limiter import Limiter
from farebox.ingress.limits import Limit
from farebox.kernel.caller import Unauthenticated
from farebox.kernel.errors import TooManyRequests
from farebox.web.client_address import client_name, client_of
from farebox.web.guard import Guarded, known_caller_of

# what clients ask when they start, some of them once: nothing of it reaches the database
_UNLIMITED: Final = frozenset({"/supported", "/v1/errors"})
_REMEMBERED: Final = 10_000  # credentials
_CREDENTIALS: Final = frozenset({b"authorization", b"x-api-key", b"cookie"})


@dataclass(frozen=True, slots=True)
class Rates:
    """How often who may ask."""

    address: Limit  # somebody who shows nothing
    key: Limit  # a key; the holder of a session, and the operator, likewise
    guess: Limit  # credentials that are not valid, from one address


def rates(*, per_address: int, per_key: int) -> Rates:
    """The limits of the routes; guessing is as free as asking without anything."""
    return Rates(Limit("address", per_address), Limit("key", per_key), Limit("guess", per_address))


class Limited:
    """An endpoint that answers each asker so often a minute; behind the guard, if there is one."""

    def __init__(self, endpoint: ASGIApp, limiter: Limiter, allowed: Rates) -> None:
        self._endpoint, self._limiter, self._allowed = endpoint, limiter, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = known_caller_of(scope)
        if caller is None:
            limit, who = self._allowed.address, client_name(client_of(scope))
        else:
            limit, who = self._allowed.key, caller.key_id or caller.owner
        wait_s = await self._limiter.take(limit, who)
        if wait_s is not None:
            raise TooManyRequests(retry_after_s=wait_s)
        await self._endpoint(scope, receive, send)


class GuessLimit:
    """Looks no credential up for an address that has shown too many that were not valid.

    What was valid a while ago from anywhere is looked up all the same: one who guesses does not
    shut out those behind the same address.
    """

    def __init__(self, app: ASGIApp, limiter: Limiter, limit: Limit) -> None:
        self._app, self._limiter, self._limit = app, limiter, limit
        self._valid: OrderedDict[bytes, None] = OrderedDict()  # digests of what was shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shown = [each for each in scope["headers"] if each[0] in _CREDENTIALS]
        if not shown:
            await self._app(scope, receive, send)
            return
        digest = sha256(repr(shown).encode()).digest()
        who = client_name(client_of(scope))
        wait_s = self._limiter.look(self._limit, who)
        if wait_s is not None and digest not in self._valid:
            raise TooManyRequests(retry_after_s=wait_s)
        try:
            await self._app(scope, receive, send)
        except Unauthenticated:
            self._valid.pop(digest, None)
            wait_s = await self._limiter.take(self._limit, who)
            if wait_s is not None:
                raise TooManyRequests(retry_after_s=wait_s) from None
            raise
        if known_caller_of(scope) is not None:
            self._remember(digest)

    def _remember(self, digest: bytes) -> None:
        self._valid[digest] = None
        self._valid.move_to_end(digest)
        if len(self._valid) > _REMEMBERED:
            self._valid.popitem(last=False)


def limited(route: BaseRoute, limiter: Limiter, allowed: Rates) -> BaseRoute:
    """The route with the limits before its endpoint, and behind its guard where it has one.

    Routes whose answer is at hand have none.
    """
    if not isinstance(route, Route) or route.path in _UNLIMITED:
        return route
    before = partial(Limited, limiter=limiter, allowed=allowed)
    endpoint = route.endpoint
    inner = endpoint.with_endpoint(before) if isinstance(endpoint, Guarded) else before(endpoint)
    return Route(route.path, inner, methods=sorted(route.methods or ()), name=route.name)
