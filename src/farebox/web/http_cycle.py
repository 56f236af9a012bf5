"""The flow of a connection's bytes, and one request on it with its response."""

from typing import TYPE_CHECKING

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveEvent


class HoldableFlow(FlowControl):
    """Does not resume reading while bytes that were read wait to be parsed."""

    is_held = False

    def hold(self) -> None:
        """Stop reading."""
        self.is_held = True
        self.pause_reading()

    def release(self) -> None:
        """Read again."""
        self.is_held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        """Read again, unless bytes wait to be parsed."""
        if self.read_paused and not self.is_held:
            super().resume_reading()


class HalfClosableCycle(RequestResponseCycle):
    """One request and its response, which a caller that has ended its sending side still gets.

    Such a caller looks like one that has left. A handler that waits for callers to leave is told
    so, and what it then writes goes nowhere; any other answers.
    """

    has_end = False  # no byte of the caller follows
    _is_body_taken = False

    def end(self) -> None:
        """Note that the caller has ended its sending side."""
        self.has_end = True
        self.message_event.set()

    async def receive(self) -> "ASGIReceiveEvent":
        """Return the next part of the body; behind it, the disconnect."""
        is_body_taken = self._is_body_taken
        if not (is_body_taken and self.has_end):
            message = await super().receive()
            if message["type"] == "http.request":
                self._is_body_taken = not message.get("more_body", False)
            if not (is_body_taken and self.has_end):
                return message
        self.disconnected = True
        self.transport.close()
        return {"type": "http.disconnect"}
