"""A request's body as a value of a known shape."""

from typing import TypeVar

import msgspec
from starlette.types import Receive

from farebox.kernel.errors import Refusal
from farebox.web.limits import read_body

T = TypeVar("T")


class UnreadableBody(Refusal):
    """The body is not JSON of the shape the route takes; what it holds is not repeated."""

    def __init__(self, expected: str) -> None:
        super().__init__("invalid_request", f"Send JSON of this shape: {expected}")


async def read_json(receive: Receive, decoder: msgspec.json.Decoder[T], expected: str) -> T:
    """The body; `expected` says in words what it should be. An empty body is an empty object.

    Raises:
        UnreadableBody: it is something else.
        ClientDisconnect: the caller left before the body was whole.
        Refusal: the body is too large or too slow.
    """
    body = await read_body(receive)
    try:
        return decoder.decode(body or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnreadableBody(expected) from None
