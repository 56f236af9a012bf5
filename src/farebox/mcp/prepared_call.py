"""A paid call that passed every check."""

from collections.abc import Callable, MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeAlias

from farebox.kernel.secret import Secret
from farebox.mcp.call_arguments import CallMethod

Sender: TypeAlias = MutableMapping[str, Any]  # the ASGI scope of the request to `/mcp`
AT_END: Final = "farebox.mcp_at_end"  # an exit stack, closed when its response is written
SHARE: Final = "farebox.mcp_share"  # the `Share` of the calls that it takes
SEND: Final = "farebox.mcp_send"  # sends to the caller of `/mcp`
P = ParamSpec("P")


def at_end(sender: Sender, do: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Do something once the response to the sender is written, or the sender has left."""
    stack: ExitStack = sender[AT_END]
    stack.callback(do, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """The request to send; `url` is built from the listing, never the caller's text."""

    url: str
    method: CallMethod
    body: bytes | None = field(default=None, repr=False)
    signature: Secret[str] | None = None
