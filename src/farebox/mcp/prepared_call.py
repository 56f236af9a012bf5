"""A paid call that passed every check."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from farebox.kernel.secret import Secret
from farebox.mcp.call_arguments import CallMethod

Sender: TypeAlias = MutableMapping[str, Any]  # the ASGI scope of the request to `/mcp`


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """The request to send; `url` is built from the listing, never the caller's text."""

    url: str
    method: CallMethod
    body: bytes | None = field(default=None, repr=False)
    signature: Secret[str] | None = None
