"""Runs the service and traces the modules that a marked request enters.

For a request with the header `x-trace-file` it writes the modules that its own context entered to
that file, one a line, without those of background tasks.
"""

import sys
import threading
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, Final

from starlette.types import Receive, Scope, Send

import farebox
from farebox.app.asgi import Application
from farebox.cli.main import main

HEADER: Final = "x-trace-file"
_SOURCES: Final = str(Path(farebox.__file__).parent)
_entered: ContextVar[set[str] | None] = ContextVar("entered", default=None)
_serve: Final = Application.__call__


def _on_call(frame: FrameType, event: str, arg: Any) -> None:
    if event == "call" and (entered := _entered.get()) is not None:
        entered.add(frame.f_code.co_filename)


async def _traced(self: Application, scope: Scope, receive: Receive, send: Send) -> None:
    headers = dict(scope.get("headers", ()))
    path = headers.get(HEADER.encode())
    if path is None:
        await _serve(self, scope, receive, send)
        return
    entered: set[str] = set()
    token = _entered.set(entered)
    try:
        await _serve(self, scope, receive, send)
    finally:
        _entered.reset(token)
        _write(Path(path.decode()), entered)


def _write(path: Path, entered: set[str]) -> None:
    own = sorted(name for name in entered if name.startswith(_SOURCES))
    unfinished = path.with_suffix(".part")
    unfinished.write_text("\n".join(own))
    unfinished.rename(path)  # the caller reads it as soon as it is there


if __name__ == "__main__":
    Application.__call__ = _traced  # type: ignore[method-assign]  # this process exists to trace
    threading.setprofile(_on_call)
    sys.setprofile(_on_call)
    main()
