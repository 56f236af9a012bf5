"""`/v1/audit`: the declared route and its handler."""

from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.audit.audit_log import AuditLog
from farebox.audit.event import Action
from farebox.audit.wire import AuditBody, AuditEventCursor, audit_body
from farebox.kernel.caller import Grant
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    ResponseDeclaration,
    RouteDeclaration,
    one_of,
)
from farebox.web.guard import Access, caller_of
from farebox.web.paging import PAGE_ERRORS, PAGE_PARAMETERS, cut_page, read_page
from farebox.web.query_string import read_values
from farebox.web.responses import send_json

LIST: Final = RouteDeclaration(
    method="GET",
    path="/v1/audit",
    tag="accounts",
    summary="The actions on your records, newest first.",
    responses={200: ResponseDeclaration("A page of the audit log.", AuditBody)},
    parameters=(
        *PAGE_PARAMETERS,
        Parameter("action", "Only these.", one_of(*(action.value for action in Action))),
    ),
    access=Access(Grant.READ),
    errors=(*PAGE_ERRORS, ErrorCode.INVALID_ACTION),
    example=Example(
        response={
            "items": [
                {
                    "id": "evt_2nAbCdEfGhIjKlMnOpQrSt",
                    "action": "secret.created",
                    "subject": "sec_2nAbCdEfGhIjKlMnOpQrSt",
                    "actor": "session",
                    "actorId": "ses_2nAbCdEfGhIjKlMnOpQrSt",
                    "requestId": "5a1f0c2e9b7d4466",
                    "doneAt": "2026-11-21T09:30:00Z",
                }
            ],
            "pagination": {"limit": 20, "nextCursor": None},
        }
    ),
)
_encode: Final = msgspec.json.Encoder().encode


class UnknownAction(Refusal):
    """The filter's value is not an action of the audit log."""

    def __init__(self) -> None:
        words = "The action is one of " + ", ".join(action.value for action in Action) + "."
        super().__init__(ErrorCode.INVALID_ACTION, words)


class ListAuditEvents:
    """Lists the events of the caller's own records by page, newest first."""

    def __init__(self, audit_log: AuditLog) -> None:
        self._audit_log = audit_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = read_page(scope["query_string"], AuditEventCursor)
        entries = await self._audit_log.list_events(
            caller_of(scope).owner,
            action=_parse_action(scope["query_string"]),
            after=page.after.place if page.after else None,
            limit=page.limit + 1,
        )
        items, cursor = cut_page(entries, page.limit, lambda each: AuditEventCursor.of(each.place))
        body = audit_body(items, limit=page.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body))


def _parse_action(query: bytes) -> Action | None:
    """Parse the filter `action` of a query string that `read_page` has accepted."""
    values = read_values(query, "action")
    if not values:
        return None
    actions = [action for action in Action if values == {action.value}]
    if not actions:
        raise UnknownAction
    return actions[0]


def audit_endpoints(audit_log: AuditLog) -> list[Endpoint]:
    """Return the route of the audit log."""
    return [Endpoint(LIST, ListAuditEvents(audit_log))]
