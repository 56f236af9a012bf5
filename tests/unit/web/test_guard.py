"""Who passes a guard."""

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
from farebox.kernel.errors import Refusal
from farebox.web.guard import (
    GrantMissing,
    Guarded,
    Headers,
    Needs,
    caller_of,
    known_caller_of,
)
from farebox.web.request_note import KEY, RequestNote

OWNER = OwnerId("user_1")
SESSION = Caller(OWNER, CallerKind.SESSION)
OPERATOR = Caller(OWNER, CallerKind.OPERATOR)
READER = Caller(OWNER, CallerKind.KEY, frozenset({Grant.READ}), key_id="key_1")
BARE = Caller(OWNER, CallerKind.KEY, frozenset(), key_id="key_2")


@pytest.mark.parametrize(
    ("needs", "passes", "refused"),
    [
        (
            Needs(Grant.READ),
            [SESSION, OPERATOR, READER],
            [(None, Unauthenticated), (BARE, GrantMissing)],
        ),
        (
            Needs(Grant.WRAPPERS),
            [SESSION, OPERATOR],
            [(None, Unauthenticated), (READER, GrantMissing)],
        ),
        (
            Needs(),
            [SESSION, OPERATOR],
            [(None, Unauthenticated), (READER, SessionRequired), (BARE, SessionRequired)],
        ),
        (
            Needs(is_for_any_key=True),
            [SESSION, OPERATOR, READER, BARE],
            [(None, Unauthenticated)],
        ),
        (
            Needs(Grant.READ, is_optional=True),
            [None, SESSION, OPERATOR, READER],
            [(BARE, GrantMissing)],
        ),
    ],
)
def test_a_route_lets_in_those_it_is_for(
    needs: Needs, passes: list[Caller | None], refused: list[tuple[Caller | None, type[Refusal]]]
) -> None:
    for caller in passes:
        needs.judge(caller)
    for caller, why in refused:
        with pytest.raises(why):
            needs.judge(caller)


class Known:
    def __init__(self, caller: Caller | Refusal | None) -> None:
        self._caller = caller

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        assert (method, headers) == ("GET", [(b"accept", b"*/*")])
        if isinstance(self._caller, Refusal):
            raise self._caller
        return self._caller


async def reached(known: Caller | Refusal | None, needs: Needs) -> Scope | None:
    """What the endpoint is given; None when it is not reached."""
    scope: Scope = {"method": "GET", "headers": [(b"accept", b"*/*")], KEY: RequestNote()}
    seen: list[Scope] = []

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        raise AssertionError(message)

    guarded = Guarded(endpoint, Known(known), needs)
    await guarded(scope, receive, send)
    return seen[0] if seen else None


async def test_the_endpoint_is_told_who_asks_and_the_log_too() -> None:
    scope = await reached(READER, Needs(Grant.READ))
    assert scope is not None
    assert caller_of(scope) is known_caller_of(scope) is READER
    assert scope[KEY].fields == {"caller": OWNER, "caller_kind": "key"}


async def test_an_endpoint_for_everybody_is_told_that_nobody_is_known() -> None:
    scope = await reached(None, Needs(Grant.READ, is_optional=True))
    assert scope is not None
    assert known_caller_of(scope) is None
    with pytest.raises(Unauthenticated):
        caller_of(scope)


async def test_a_credential_that_is_not_valid_is_refused_where_none_would_be_taken() -> None:
    with pytest.raises(Unauthenticated):
        await reached(Unauthenticated(), Needs(Grant.READ, is_optional=True))
