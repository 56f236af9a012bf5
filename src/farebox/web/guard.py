"""What stands before a route that not everybody may use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.kernel.caller import (
    Caller,
    CallerKind,
    Grant,
    SessionRequired,
    Unauthenticated,
)
from farebox.kernel.errors import Outage, Refusal
from farebox.web.request_note import note_of

KEY: Final = "farebox.caller"
OUTAGE: Final = "farebox.caller_unknown"  # why nobody can tell
Headers = Sequence[tuple[bytes, bytes]]


class GrantMissing(Refusal):
    """The key does not carry the scope this needs."""

    def __init__(self, grant: Grant) -> None:
        super().__init__("scope_missing", f"The key needs the scope {grant.value}.")


class Authenticates(Protocol):
    """Tells who shows these headers."""

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        """The caller; None when no credential is shown at all.

        Raises:
            Unauthenticated: what is shown is not valid.
            Refusal: a browser's session without proof that our own page sent the request.
        """


@dataclass(frozen=True, slots=True)
class Needs:
    """Who may use a route: a key needs `grant`; None means that no key will do."""

    grant: Grant | None = None
    is_optional: bool = False  # also somebody who shows nothing
    is_for_any_key: bool = False  # whatever its grants: what it may do is the use case's to say

    def judge(self, caller: Caller | None) -> None:
        """Returns if `caller` may.

        Raises:
            Refusal: the caller may not, and why.
        """
        if caller is None:
            if not self.is_optional:
                raise Unauthenticated
            return
        if caller.kind is not CallerKind.KEY or self.is_for_any_key:
            return
        if self.grant is None:
            raise SessionRequired
        if self.grant not in caller.grants:
            raise GrantMissing(self.grant)


class Guarded:
    """An endpoint that only those reach whom `needs` lets pass; `caller_of` tells it who.

    One that `goes_on` is reached while nobody can tell who the caller is, as by somebody who shows
    nothing: what it does needs nobody, unless it asks for somebody (`require`).
    """

    def __init__(
        self,
        endpoint: ASGIApp,
        authenticates: Authenticates,
        needs: Needs,
        *,
        goes_on: bool = False,
    ) -> None:
        self._endpoint, self._authenticates = endpoint, authenticates
        self.needs, self._goes_on = needs, goes_on

    def with_endpoint(self, change: Callable[[ASGIApp], ASGIApp]) -> "Guarded":
        """The same guard before what `change` makes of its endpoint."""
        endpoint = change(self._endpoint)
        return Guarded(endpoint, self._authenticates, self.needs, goes_on=self._goes_on)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            caller = await self._authenticates.caller(scope["method"], scope["headers"])
        except Outage as outage:
            if not (self._goes_on and self.needs.is_optional):
                raise
            caller, scope[OUTAGE] = None, outage
        self.needs.judge(caller)
        scope[KEY] = caller
        if caller is not None:
            note_of(scope).say(caller=caller.owner, caller_kind=caller.kind.value)
        await self._endpoint(scope, receive, send)


def require(scope: Scope, needs: Needs) -> Caller | None:
    """Who sent a request that passed a guard, if it meets these needs too.

    Raises:
        Refusal: the caller may not.
        Outage: nobody can tell now.
    """
    caller = known_caller_of(scope)
    if caller is None and not needs.is_optional and OUTAGE in scope:
        outage: Outage = scope[OUTAGE]
        raise outage
    needs.judge(caller)
    return caller


def caller_of(scope: Scope) -> Caller:
    """Who sent a request that passed a guard.

    Raises:
        Unauthenticated: nobody is known, as on an optional route without credentials.
    """
    caller = known_caller_of(scope)
    if caller is None:
        raise Unauthenticated
    return caller


def known_caller_of(scope: Scope) -> Caller | None:
    """Who sent the request, where that is known."""
    caller: Caller | None = scope.get(KEY)
    return caller
