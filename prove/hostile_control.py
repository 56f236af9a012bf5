"""A build of the service that must fail: it has no limits on requests.

Its modules end with classes and functions that override their own: uvicorn's protocol without
limits, and patterns of any size compiled on the event loop.
"""

from pathlib import Path
from typing import Final

from prove.broken_build import Ends, sources_with_ends

_PROTOCOL: Final = """
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class UnboundedHttpProtocol(HttpToolsProtocol):
    open = None
    hosts = None

    def connection_made(self, transport):
        super().connection_made(HeadBuffer(transport, self.loop, lambda: False))


BoundedHttpProtocol = UnboundedHttpProtocol
"""
_QUESTION: Final = """

_read_within_bounds = read_submission


def read_submission(body):
    import jsonschema_rs

    def compiled(value):
        if isinstance(value, dict):
            if isinstance(value.get("pattern"), str):
                try:
                    jsonschema_rs.Draft202012Validator({"pattern": value["pattern"]})
                except ValueError:
                    pass
            for each in value.values():
                compiled(each)

    compiled(msgspec.json.decode(body))
    return _read_within_bounds(body)
"""
_ENDS: Final[Ends] = {
    "web/http_protocol.py": ("class BoundedHttpProtocol(", _PROTOCOL),
    "catalog/validate_http.py": ("def read_submission(", _QUESTION),
}


def unbounded_sources(folder: Path) -> Path:
    """Write a copy of the sources without the limits.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_ends(folder, _ENDS)
