"""One line in the log for each request, and the id that ties it to every other line."""

from time import perf_counter
from typing import Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.web.request_note import KEY, RequestNote, request_id_now

PATH_LIMIT: Final = 200  # a longer path is somebody trying something


class EventLog(Protocol):
    """Where the line goes."""

    def info(self, event: str, **fields: object) -> object:
        """An event is written with its fields."""
        ...


class RequestLog:
    """Gives a request its id, sends it back as `x-request-id`, and writes the one line.

    The line has the method, the path without its query, the status, the time taken and what the
    route said of it; bodies and headers are not looked at.
    """

    def __init__(self, app: ASGIApp, log: EventLog) -> None:
        self._app, self._log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note = scope[KEY] = RequestNote()
        token = request_id_now.set(note.request_id)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                note.status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-request-id", note.request_id.encode()),
                ]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._log.info(
                "request",
                method=scope["method"][:16],
                path=scope["path"][:PATH_LIMIT],
                status=note.status,
                ms=round((perf_counter() - note.started_at) * 1000, 2),
                **note.fields,
            )
            request_id_now.reset(token)
