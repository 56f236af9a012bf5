"""What is known of one request while it is answered: its id, its status, what the log will say."""

from contextvars import ContextVar
from random import getrandbits
from time import perf_counter
from typing import Final

from starlette.types import Scope

KEY: Final = "farebox.note"
request_id_now: ContextVar[str | None] = ContextVar("request_id_now", default=None)


class RequestNote:
    """Made when the request arrives, written to the log when its answer is out."""

    __slots__ = ("fields", "request_id", "started_at", "status")

    def __init__(self) -> None:
        self.request_id = f"{getrandbits(64):016x}"  # a name, nothing secret
        self.started_at = perf_counter()
        self.status = 0  # 0 = no answer has begun
        self.fields: dict[str, str | int] = {}

    def say(self, **fields: str | int) -> None:
        """The request's log line carries these too: ids and codes, never what was sent."""
        self.fields.update(fields)


def note_of(scope: Scope) -> RequestNote:
    """The note of the request this scope belongs to."""
    note: RequestNote = scope[KEY]
    return note
