"""Route templates: one listing for all paths that differ only in their parameters."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from farebox.catalog.discovery.canonical_url import normalize_path

_MAX_TEMPLATE: Final = 512
_MAX_DECODING: Final = 5  # passes: no legitimate template is encoded deeper
_ALLOWED: Final = re.compile(r"/[A-Za-z0-9_/:.\-~%]+\Z", re.ASCII)
_PARAMETER: Final = re.compile(r":[A-Za-z_][A-Za-z0-9_]{0,63}\Z", re.ASCII)
_ANY_NAME: Final = "{}"  # not valid in a canonical path, so no path equals a template


@dataclass(frozen=True, slots=True)
class RouteTemplate:
    """A path in which each segment that starts with a colon matches any one segment."""

    path: str  # with the seller's parameter names

    @property
    def shape(self) -> str:
        """The path with anonymous parameters: equal for templates that differ in names only."""
        return "/".join(_ANY_NAME if _is_parameter(s) else s for s in self.path.split("/"))

    @property
    def names(self) -> tuple[str, ...]:
        """The seller's names of the parameters, in their order."""
        return tuple(s[1:] for s in self.path.split("/") if _is_parameter(s))

    def matches(self, path: str) -> bool:
        """Whether the template matches a canonical path."""
        own, other = self.path.split("/"), path.split("/")
        return len(own) == len(other) and all(
            (_is_parameter(a) and b != "") or a == b for a, b in zip(own, other, strict=True)
        )


def parse_route_template(text: object) -> RouteTemplate | None:
    """Parse a seller's template; None for a malformed one or a path traversal.

    The template is decoded to a fixed point first, so that no depth of encoding hides a traversal.
    """
    if not isinstance(text, str) or len(text) > _MAX_TEMPLATE or not _ALLOWED.match(text):
        return None
    decoded = _decode_fully(text)
    if decoded is None or _is_traversal(decoded) or decoded.count("/") != text.count("/"):
        return None
    path = normalize_path(text)
    if path is None or any(not _is_valid(segment) for segment in path.split("/")):
        return None
    return RouteTemplate(path)


def _decode_fully(text: str) -> str | None:
    for _ in range(_MAX_DECODING):
        decoded = unquote(text)
        if decoded == text:
            return text
        text = decoded
    return None


def _is_traversal(decoded: str) -> bool:
    """Whether a decoded template has dot segments, empty segments or characters not of a path."""
    return (
        ".." in decoded
        or "//" in decoded
        or "/./" in f"{decoded}/"
        or any(c in "\\?#\ufffd" or c.isspace() or not c.isprintable() for c in decoded)
    )


def _is_valid(segment: str) -> bool:
    return not segment.startswith(":") or _is_parameter(segment)


def _is_parameter(segment: str) -> bool:
    return _PARAMETER.match(segment) is not None
