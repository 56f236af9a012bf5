"""The paths of routes, with parameters as they declare them: `/v1/things/{id}`."""

import re
from typing import Final
from urllib.parse import unquote

_SLASH: Final = re.compile("%2f", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"\\\{(\w+)\\\}")


def compile_path(template: str) -> re.Pattern[str]:
    """The pattern of the paths of a template: each parameter is one segment, a named group."""
    pattern = _PARAMETER.sub(r"(?P<\1>[^/]+)", re.escape(template))
    return re.compile(rf"{pattern}\Z")


def route_path(raw_path: bytes) -> str:
    """Return the decoded path that a route is found by; an encoded slash separates nothing."""
    return unquote(_SLASH.sub("%252F", raw_path.decode("latin-1")))
