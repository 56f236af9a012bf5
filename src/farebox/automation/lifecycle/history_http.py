"""Runs, events and receipts under `/v1/automations/{id}`: declared routes and handlers."""

import asyncio
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from farebox.automation.lifecycle.changes_http import ACCESS, AUTOMATIONS, PLAN_ID, TAG
from farebox.automation.lifecycle.event_feed import LONGEST_WAIT_S, EventFeed
from farebox.automation.lifecycle.read_history import RunHistory
from farebox.automation.lifecycle.repeat_run import RunRepeat
from farebox.automation.lifecycle.run_history_store import ShownRun
from farebox.automation.lifecycle.wire import (
    EventListBody,
    RunBody,
    RunLegsBody,
    RunListBody,
    RunPlace,
    event_body,
    run_body,
    run_detail_body,
)
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.pages import PaginationBody
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    ParameterLocation,
    ResponseDeclaration,
    RouteDeclaration,
    integer,
)
from farebox.web.guard import caller_of
from farebox.web.paging import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    PAGE_ERRORS,
    PAGE_PARAMETERS,
    cut_page,
    read_page,
)
from farebox.web.query_string import read_values
from farebox.web.request_body import read_body
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

NDJSON: Final = "application/x-ndjson"
_MOST_NUMBER: Final = 2**53
_MOST_INDEX: Final = 2**31 - 1
_encode: Final = msgspec.json.Encoder().encode
_INDEX: Final = Parameter(
    "index",
    "The run's number in its plan, from 0 on.",
    integer(0, _MOST_INDEX),
    ParameterLocation.PATH,
    is_required=True,
)
_RUN: Final[dict[str, Any]] = {
    "id": "run_2nAbCdEfGhIjKlMnOpQrSt",
    "runIndex": 0,
    "legIndex": 0,
    "scheduledFor": "2026-11-26T08:00:00Z",
    "deadlineAt": "2026-11-26T08:30:00Z",
    "state": "succeeded",
    "reason": None,
    "errorClass": None,
    "errorCode": None,
    "attempts": 1,
    "transaction": "6e1f0a9c" * 8,
    "ledger": 1042,
    "feeStroops": "41212",
    "effects": [],
    "executedBy": "service",
    "finishedAt": "2026-11-26T08:00:07Z",
}
_ATTEMPT: Final = {
    "number": 1,
    "transaction": "6e1f0a9c" * 8,
    "outcome": "success",
    "errorCode": None,
    "feeLimitStroops": "98110",
    "feeStroops": "41212",
    "maxTime": "2026-11-26T08:01:00Z",
    "sentAt": "2026-11-26T08:00:02Z",
}

RUNS: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/{{id}}/runs",
    tag=TAG,
    summary="The runs of a plan and their legs, newest first.",
    responses={200: ResponseDeclaration("A page of runs.", RunListBody)},
    parameters=(PLAN_ID, *PAGE_PARAMETERS),
    access=ACCESS,
    errors=(*PAGE_ERRORS, ErrorCode.NOT_FOUND),
    example=Example(response={"items": [_RUN], "pagination": {"limit": 20, "nextCursor": None}}),
)
RUN: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/{{id}}/runs/{{index}}",
    tag=TAG,
    summary="One run of a plan: its legs, each with its attempts.",
    responses={200: ResponseDeclaration("The legs of the run.", RunLegsBody)},
    parameters=(PLAN_ID, _INDEX),
    access=ACCESS,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(response={"legs": [_RUN | {"attemptList": [_ATTEMPT]}]}),
)
RETRY: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTOMATIONS}/{{id}}/runs/{{index}}/retry",
    tag=TAG,
    summary="Run the failed legs of a run again, while it may still land.",
    responses={200: ResponseDeclaration("The first leg that is repeated.", RunBody)},
    parameters=(PLAN_ID, _INDEX),
    access=ACCESS,
    errors=(
        ErrorCode.NOT_FOUND,
        ErrorCode.ILLEGAL_TRANSITION,
        ErrorCode.RUN_INDEX_PASSED,
        ErrorCode.NETWORK_UNAVAILABLE,
        ErrorCode.AUTOMATION_UNAVAILABLE,
    ),
    example=Example(
        response=_RUN
        | {"state": "scheduled", "transaction": None, "ledger": None, "finishedAt": None}
    ),
)
EVENTS: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/{{id}}/events",
    tag=TAG,
    summary="The events of a plan behind a number; with waitSeconds it waits for the next one.",
    responses={200: ResponseDeclaration("Events, oldest first.", EventListBody)},
    parameters=(
        PLAN_ID,
        Parameter("after", "next of the response before.", integer(0, _MOST_NUMBER)),
        Parameter("limit", "How many at most.", integer(1, MAX_LIMIT)),
        Parameter("waitSeconds", "How long to wait for an event.", integer(0, LONGEST_WAIT_S)),
    ),
    access=ACCESS,
    errors=(ErrorCode.INVALID_QUERY_STRING, ErrorCode.INVALID_LIMIT, ErrorCode.NOT_FOUND),
    example=Example(
        response={
            "items": [
                {
                    "number": 1,
                    "kind": "plan.activate",
                    "data": {"from": "paid", "to": "active", "reason": None},
                    "at": "2026-11-25T09:32:00Z",
                }
            ],
            "next": 1,
        }
    ),
)
RECEIPTS: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/{{id}}/receipts",
    tag=TAG,
    summary="The signed receipts of a plan's runs: one line of JSON for each leg.",
    responses={
        200: ResponseDeclaration(
            "Lines of {receipt, delegate, signature}.", {"type": "string"}, media=NDJSON
        )
    },
    parameters=(PLAN_ID,),
    access=ACCESS,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(response="{}\n"),
)


class ListRuns:
    """List the runs of a plan by page."""

    def __init__(self, history: RunHistory) -> None:
        self._history = history

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = read_page(scope["query_string"], RunPlace)
        before = None if page.after is None else (page.after.run_index, page.after.leg_index)
        runs = await self._history.page(
            caller_of(scope).owner,
            scope["path_params"]["id"],
            before=before,
            limit=page.limit + 1,
        )
        shown, cursor = cut_page(runs, page.limit, _place)
        body = RunListBody([run_body(each) for each in shown], PaginationBody(page.limit, cursor))
        await send_json(send, 200, _encode(body))


class ShowRun:
    """Show one run with its attempts."""

    def __init__(self, history: RunHistory) -> None:
        self._history = history

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner, proposal_id = caller_of(scope).owner, scope["path_params"]["id"]
        details = await self._history.detail(owner, proposal_id, _index(scope))
        await send_json(send, 200, _encode(RunLegsBody([run_detail_body(d) for d in details])))


class RetryRun:
    """Repeat the failed legs of a run."""

    def __init__(self, repeat: RunRepeat) -> None:
        self._repeat = repeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        run = await self._repeat.repeat(
            caller_of(scope),
            context_of(scope).request_id,
            scope["path_params"]["id"],
            _index(scope),
        )
        await send_json(send, 200, _encode(run_body(ShownRun(run, None))))


class ListEvents:
    """List events, at once or when there is one; a client that leaves ends its wait."""

    def __init__(self, feed: EventFeed) -> None:
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner, proposal_id = caller_of(scope).owner, scope["path_params"]["id"]
        query = scope["query_string"]
        after = _number(query, "after", default=0, most=_MOST_NUMBER)
        wait_s = _number(query, "waitSeconds", default=0, most=LONGEST_WAIT_S)
        limit = _number(query, "limit", default=DEFAULT_LIMIT, least=1, most=MAX_LIMIT)
        events = await self._feed.read(owner, proposal_id, after=after, limit=limit)
        if not events and wait_s:
            await read_body(receive)
            wait = self._feed.wait(owner, proposal_id, after=after, within_s=wait_s)
            if await _has_left(wait, receive):
                raise ClientDisconnect
            events = await self._feed.read(owner, proposal_id, after=after, limit=limit)
        last = events[-1].number if events else after
        await send_json(send, 200, _encode(EventListBody([event_body(e) for e in events], last)))


class SendReceipts:
    """Send the receipts of a plan, line by line."""

    def __init__(self, history: RunHistory) -> None:
        self._history = history

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner, proposal_id = caller_of(scope).owner, scope["path_params"]["id"]
        receipts = await self._history.receipts(owner, proposal_id)
        headers = [(b"content-type", NDJSON.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for some in receipts:
            body = "".join(f"{line}\n" for line in some).encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def history_endpoints(history: RunHistory, repeat: RunRepeat, feed: EventFeed) -> list[Endpoint]:
    """Return the routes of runs, events and receipts."""
    return [
        Endpoint(RUNS, ListRuns(history)),
        Endpoint(RUN, ShowRun(history)),
        Endpoint(RETRY, RetryRun(repeat)),
        Endpoint(EVENTS, ListEvents(feed)),
        Endpoint(RECEIPTS, SendReceipts(history)),
    ]


async def _has_left(wait: Any, receive: Receive) -> bool:
    """Whether the client left before the wait was over; then nothing waits any more."""
    waiting, leaving = asyncio.ensure_future(wait), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        return leaving.done() and not waiting.done()
    finally:
        for task in (waiting, leaving):
            task.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)


def _place(shown: ShownRun) -> RunPlace:
    return RunPlace(shown.run.run_index, shown.run.leg_index)


def _index(scope: Scope) -> int:
    """The index of a run in the path; a text that is none is the index of no run."""
    text: str = scope["path_params"]["index"]
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or int(text) > _MOST_INDEX:
        raise NotFound
    return int(text)


def _number(query: bytes, name: str, *, default: int, most: int, least: int = 0) -> int:
    code = ErrorCode.INVALID_LIMIT if name == "limit" else ErrorCode.INVALID_QUERY_STRING
    try:
        values = read_values(query, name)
    except ValueError:  # bytes that are not ASCII, or too many parameters
        raise Refusal(ErrorCode.INVALID_QUERY_STRING) from None
    if not values:
        return default
    text = values.pop()
    is_number = text.isascii() and text.isdigit() and len(text) <= 16
    if values or not is_number or not least <= int(text) <= most:
        raise Refusal(code, f"{name} is a whole number from {least} to {most}.")
    return int(text)
