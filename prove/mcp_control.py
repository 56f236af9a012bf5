"""A build of the service that must fail: what a tool raises gets out, as it does of the MCP SDK."""

from pathlib import Path
from typing import Final

from prove.broken_build import Change, sources_with_changes

_HTTP: Final = "mcp/http.py"
_HANDLER: Final = "mcp/handler.py"
_ANSWERED: Final = "        except RpcError as error:\n            context.add_log_fields("
_LET_OUT: Final = """\
        except Exception as error:
            if not isinstance(error, RpcError):
                failure = {"code": 0, "message": repr(error)}
                return _encode({"jsonrpc": "2.0", "id": call.id, "error": failure})
            context.add_log_fields("""
_CHANGES: Final[tuple[Change, ...]] = (
    (_HTTP, _ANSWERED, _LET_OUT),
    (
        _HANDLER,
        "    if isinstance(error, Outage):\n",
        "    if isinstance(error, Outage):\n        raise error\n",
    ),
)


def leaking_sources(folder: Path) -> Path:
    """Write a copy of the sources whose handler lets the text of exceptions out.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_changes(folder, _CHANGES)
