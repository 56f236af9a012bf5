"""Route templates: one listing for all the paths that differ only in their parameters."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from farebox.catalog.discovery.canonical_url import normal_path

_MAX_TEMPLATE: Final = 512
_MAX_DECODING: Final = 5  # passes: what is encoded deeper is no honest template
_ALLOWED: Final = re.compile(r"/[A-Za-z0-9_/:.\-~%]+\Z", re.ASCII)
_PARAMETER: Final = re.compile(r":[A-Za-z_][A-Za-z0-9_]{0,63}\Z", re.ASCII)
_ANY_NAME: Final = "{}"  # cannot stand in a canonical path, so no path is spelled like a template


@dataclass(frozen=True, slots=True)
class RouteTemplate:
    """A path whose segments that start with a colon stand for any one segment."""

    path: str  # as the seller names its parameters

    @property
    def shape(self) -> str:
        """The same for every template that differs in the names of its parameters only."""
        return "/".join(_ANY_NAME if _is_parameter(s) else s for s in self.path.split("/"))

    def covers(self, path: str) -> bool:
        """Whether a canonical path is one of those the template stands for."""
        wanted, given = self.path.split("/"), path.split("/")
        return len(wanted) == len(given) and all(
            (_is_parameter(w) and g != "") or w == g for w, g in zip(wanted, given, strict=True)
        )


def parse_route_template(text: object) -> RouteTemplate | None:
    """Read a seller's template; None for everything that could lead elsewhere than it says.

    It is decoded to a fixed point first, so that no depth of encoding hides a traversal.
    """
    if not isinstance(text, str) or len(text) > _MAX_TEMPLATE or not _ALLOWED.match(text):
        return None
    decoded = _decode_fully(text)
    if decoded is None or _leads_elsewhere(decoded) or decoded.count("/") != text.count("/"):
        return None
    path = normal_path(text)
    if path is None or any(not _is_sound(segment) for segment in path.split("/")):
        return None
    return RouteTemplate(path)


def _decode_fully(text: str) -> str | None:
    for _ in range(_MAX_DECODING):
        decoded = unquote(text)
        if decoded == text:
            return text
        text = decoded
    return None


def _leads_elsewhere(decoded: str) -> bool:
    """Whether a decoded template climbs, starts anew, or holds what no path may hold."""
    return (
        ".." in decoded
        or "//" in decoded
        or "/./" in f"{decoded}/"
        or any(c in "\\?#\ufffd" or c.isspace() or not c.isprintable() for c in decoded)
    )


def _is_sound(segment: str) -> bool:
    return not segment.startswith(":") or _is_parameter(segment)


def _is_parameter(segment: str) -> bool:
    return _PARAMETER.match(segment) is not None
