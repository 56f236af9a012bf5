"""`/v1/audit` over HTTP."""

from typing import Final
from urllib.parse import parse_qsl

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from farebox.audit.read_trail import Trail
from farebox.audit.trail import Action
from farebox.audit.wire import DeedPlace, audit_body
from farebox.kernel.caller import Grant
from farebox.kernel.errors import Refusal
from farebox.web.answers import send_json
from farebox.web.guard import Authenticates, Guarded, Needs, caller_of
from farebox.web.paging import read_page, write_cursor

AUDIT: Final = "/v1/audit"
_encode: Final = msgspec.json.Encoder().encode


class UnknownAction(Refusal):
    """The filter names no action there is."""

    def __init__(self) -> None:
        words = "The action is one of " + ", ".join(action.value for action in Action) + "."
        super().__init__("invalid_action", words)


class ListDeeds:
    """The deeds done to the caller's own records, by page, newest first."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = read_page(scope["query_string"], DeedPlace)
        found = await self._trail.page(
            caller_of(scope).owner,
            action=_action(scope["query_string"]),
            after=asked.after.place if asked.after else None,
            limit=asked.limit + 1,
        )
        shown = found[: asked.limit]
        cursor = write_cursor(DeedPlace.of(shown[-1].place)) if len(found) > len(shown) else None
        body = audit_body(shown, limit=asked.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body))


def _action(query: bytes) -> Action | None:
    """What the list is narrowed to; the query is one that `read_page` has taken."""
    pairs = parse_qsl(query.decode(), keep_blank_values=True)
    named = {text for name, text in pairs if name == "action"}
    if not named:
        return None
    found = [action for action in Action if named == {action.value}]
    if not found:
        raise UnknownAction
    return found[0]


def audit_routes(trail: Trail, authenticates: Authenticates) -> list[Route]:
    """The trail's route."""
    guarded = Guarded(ListDeeds(trail), authenticates, Needs(Grant.READ))
    return [Route(AUDIT, guarded, methods=["GET"])]
