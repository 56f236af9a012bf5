"""The guard of a route: authenticates the caller, checks its access, and counts the request."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.kernel.caller import (
    Caller,
    CallerKind,
    Grant,
    SessionRequired,
    Unauthenticated,
)
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.slots import Share
from farebox.web.client_address import client_name, client_of, site_name
from farebox.web.request_context import context_of

KEY: Final = "farebox.caller"
OUTAGE: Final = "farebox.caller_outage"  # why the caller could not be authenticated
Headers = Sequence[tuple[bytes, bytes]]


class ScopeMissing(Refusal):
    """The key does not carry the scope that the route needs."""

    def __init__(self, grant: Grant) -> None:
        message = f"The key needs the scope {grant.value}."
        super().__init__(ErrorCode.SCOPE_MISSING, message)


class Authentication(Protocol):
    """Authenticates the sender of a request."""

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        """Return the caller; None for a request without credentials.

        Raises:
            Unauthenticated: the credential is not valid.
            Refusal: a browser's session without proof that our own page sent the request, or for
                another account than the request was made for.
            Outage: callers cannot be authenticated now.
        """


@dataclass(frozen=True, slots=True)
class Access:
    """The callers that a route admits: a key needs `grant`; None admits no key.

    With `fails_open` the route admits a request as one without credentials while callers cannot
    be authenticated; the handler may still ask for a caller (`require_access`).
    """

    grant: Grant | None = None
    is_optional: bool = False  # admits requests without credentials too
    is_for_any_key: bool = False  # admits every key: the use case checks what it may do
    fails_open: bool = False

    def check(self, caller: Caller | None) -> None:
        """Return if `caller` is admitted.

        Raises:
            Refusal: it is not, and why.
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
            raise ScopeMissing(self.grant)

    @property
    def codes(self) -> set[ErrorCode]:
        """The codes that a request is refused with."""
        codes = {ErrorCode.UNAUTHENTICATED, ErrorCode.CROSS_SITE_REQUEST}
        codes.add(ErrorCode.ACCOUNT_MISMATCH)
        if not self.is_for_any_key:
            is_scoped = self.grant is not None
            codes.add(ErrorCode.SCOPE_MISSING if is_scoped else ErrorCode.SESSION_REQUIRED)
        return codes

    @property
    def sentence(self) -> str:
        """A sentence for the callers of the API."""
        if self.is_for_any_key:
            return "A session, the operator, or any key."
        if self.grant is None:
            return "A wallet's session or the operator; a key will not do."
        return f"A session, the operator, or a key with the scope {self.grant.value}."


class Guard:
    """A handler that only admitted callers reach; `caller_of` returns the caller.

    `count` counts every request, admitted or not, once its caller is known.
    """

    def __init__(
        self,
        handler: ASGIApp,
        authentication: Authentication,
        access: Access,
        count: Callable[[Scope], Awaitable[None]] | None = None,
    ) -> None:
        self._handler, self._authentication = handler, authentication
        self._access, self._count = access, count
        self._fails_open = access.fails_open and access.is_optional

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            caller = await self._authentication.caller(scope["method"], scope["headers"])
        except Outage as outage:
            if not self._fails_open:
                raise
            caller, scope[OUTAGE] = None, outage
        if caller is not None and not caller.is_established:
            caller = replace(caller, site=site_name(client_of(scope)))
        scope[KEY] = caller
        if caller is not None:
            context = context_of(scope)
            context.is_private = True
            context.add_log_fields(caller=caller.owner, caller_kind=caller.kind.value)
        if self._count is not None:
            await self._count(scope)
        self._access.check(caller)
        await self._handler(scope, receive, send)


def require_access(scope: Scope, access: Access) -> Caller | None:
    """Return the caller of a request that passed a guard, if it meets this access too.

    Raises:
        Refusal: the caller is not admitted.
        Outage: the caller could not be authenticated.
    """
    caller = optional_caller_of(scope)
    if caller is None and not access.is_optional and OUTAGE in scope:
        outage: Outage = scope[OUTAGE]
        raise outage
    access.check(caller)
    return caller


def caller_of(scope: Scope) -> Caller:
    """Return the caller of a request that passed a guard.

    Raises:
        Unauthenticated: there is none, as on an optional route without credentials.
    """
    caller = optional_caller_of(scope)
    if caller is None:
        raise Unauthenticated
    return caller


def optional_caller_of(scope: Scope) -> Caller | None:
    """Return the caller of a request, where it is known."""
    caller: Caller | None = scope.get(KEY)
    return caller


@dataclass(frozen=True, slots=True)
class RateLimitKey:
    """The name whose rate limit a request counts against: a key or owner, or a client address."""

    name: str
    is_client: bool


def rate_limit_key(scope: Scope) -> RateLimitKey:
    """Return the name that a request counts against.

    A caller who is not established counts by its address, with or without a key: wallets are free.
    """
    caller = optional_caller_of(scope)
    if caller is None or not caller.is_established:
        return RateLimitKey(client_name(client_of(scope)), is_client=True)
    return RateLimitKey(caller.key_id or caller.owner, is_client=False)


def quota_client(scope: Scope) -> str | None:
    """Return the site whose quota new records count against.

    None for an established caller: the owner's own quota is enough.
    """
    caller = optional_caller_of(scope)
    if caller is not None and caller.is_established:
        return None
    return site_name(client_of(scope))


def share_name(scope: Scope) -> str:
    """Return the name whose share a request takes of what all requests use at the same time."""
    return share_of(scope).name


def share_of(scope: Scope) -> Share:
    """Return the share of a request, which is new for every site."""
    caller = optional_caller_of(scope)
    if caller is not None and caller.is_established:
        return caller.share
    return Share(site_name(client_of(scope)), is_new=True)
