"""The guard of a route: access, caller and the key of its rate limit."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from starlette.types import Message, Receive, Scope, Send

from farebox.kernel.caller import (
    Caller,
    CallerKind,
    Grant,
    OwnerId,
    SessionRequired,
    Unauthenticated,
)
from farebox.kernel.errors import Refusal, TooManyRequests
from farebox.kernel.slots import Share
from farebox.web.guard import (
    Access,
    Guard,
    Headers,
    RateLimitKey,
    ScopeMissing,
    caller_of,
    optional_caller_of,
    quota_client,
    rate_limit_key,
    share_name,
    share_of,
)
from farebox.web.request_context import KEY, RequestContext

OWNER = OwnerId("user_1")
SESSION = Caller(OWNER, CallerKind.SESSION)
OPERATOR = Caller(OWNER, CallerKind.OPERATOR)
READER = Caller(OWNER, CallerKind.KEY, frozenset({Grant.READ}), key_id="key_1")
BARE = Caller(OWNER, CallerKind.KEY, frozenset(), key_id="key_2")


@pytest.mark.parametrize(
    ("access", "passes", "refused"),
    [
        (
            Access(Grant.READ),
            [SESSION, OPERATOR, READER],
            [(None, Unauthenticated), (BARE, ScopeMissing)],
        ),
        (
            Access(Grant.WRAPPERS),
            [SESSION, OPERATOR],
            [(None, Unauthenticated), (READER, ScopeMissing)],
        ),
        (
            Access(),
            [SESSION, OPERATOR],
            [(None, Unauthenticated), (READER, SessionRequired), (BARE, SessionRequired)],
        ),
        (Access(is_for_any_key=True), [SESSION, OPERATOR, READER, BARE], [(None, Unauthenticated)]),
        (
            Access(Grant.READ, is_optional=True),
            [None, SESSION, OPERATOR, READER],
            [(BARE, ScopeMissing)],
        ),
    ],
)
def test_access_check_passes_and_refuses_callers_by_kind_and_scope(
    access: Access, passes: list[Caller | None], refused: list[tuple[Caller | None, type[Refusal]]]
) -> None:
    for caller in passes:
        access.check(caller)
    for caller, why in refused:
        with pytest.raises(why):
            access.check(caller)


class Known:
    def __init__(self, caller: Caller | Refusal | None) -> None:
        self._caller = caller

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        assert (method, headers) == ("GET", [(b"accept", b"*/*")])
        if isinstance(self._caller, Refusal):
            raise self._caller
        return self._caller


async def reached(
    known: Caller | Refusal | None,
    access: Access,
    *,
    count: Callable[[Scope], Awaitable[None]] | None = None,
) -> Scope | None:
    """Return the scope that the endpoint is called with; None when it is not reached."""
    scope: Scope = {"method": "GET", "headers": [(b"accept", b"*/*")], KEY: RequestContext()}
    seen: list[Scope] = []

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        raise AssertionError(message)

    await Guard(endpoint, Known(known), access, count)(scope, receive, send)
    return seen[0] if seen else None


async def test_guard_passes_the_caller_to_the_endpoint_and_the_log() -> None:
    scope = await reached(READER, Access(Grant.READ))
    assert scope is not None
    assert caller_of(scope) == replace(READER, site="unknown")
    assert caller_of(scope) is optional_caller_of(scope)
    assert scope[KEY].fields == {"caller": OWNER, "caller_kind": "key"}


async def test_endpoint_with_optional_access_gets_no_caller_for_an_anonymous_request() -> None:
    scope = await reached(None, Access(Grant.READ, is_optional=True))
    assert scope is not None
    assert optional_caller_of(scope) is None
    with pytest.raises(Unauthenticated):
        caller_of(scope)


async def test_invalid_credential_is_refused_where_access_is_optional() -> None:
    with pytest.raises(Unauthenticated):
        await reached(Unauthenticated(), Access(Grant.READ, is_optional=True))


@pytest.mark.parametrize(
    ("caller", "name"),
    [
        (None, None),
        (READER, None),
        (SESSION, None),
        (replace(READER, is_established=True), "key_1"),
        (replace(SESSION, is_established=True), "user_1"),
        (replace(OPERATOR, is_established=True), "user_1"),
    ],
)
def test_rate_limit_key_is_the_credential_if_established_else_the_address(
    caller: Caller | None, name: str | None
) -> None:
    scope = {"farebox.caller": caller, "farebox.client": "2001:db8::1:2"}
    address = "2001:db8::/64"
    assert rate_limit_key(scope) == RateLimitKey(name or address, is_client=name is None)
    site = "2001:db8::/48"
    assert quota_client(scope) == (site if name is None else None)
    assert share_of(scope) == (Share(site, is_new=True) if name is None else Share("user_1"))
    assert share_name(scope) == share_of(scope).name


@pytest.mark.parametrize("known", [None, READER, SESSION])
async def test_guard_counts_a_request_before_it_checks_access(known: Caller | None) -> None:
    counted: list[str] = []

    async def count(scope: Scope) -> None:
        counted.append(rate_limit_key(scope).name)
        raise TooManyRequests(retry_after_s=1)

    with pytest.raises(TooManyRequests):
        await reached(known, Access(), count=count)
    assert counted == ["unknown"]
