"""Canonical resource URLs: two spellings of one URL are one listing."""

import re
from dataclasses import dataclass
from typing import Final

from farebox.catalog.discovery.drop_reason import DropReason
from farebox.catalog.discovery.public_host import is_local, read_host

MAX_URL: Final = 2048
MCP: Final = "mcp"
HTTPS: Final = "https"
_HTTP: Final = "http"
_DEFAULT_PORTS: Final = {HTTPS: 443, _HTTP: 80}
_MAX_PORT: Final = 65_535
_PARTS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(.*)\Z", re.ASCII)
_PORT: Final = re.compile(r"[0-9]{0,5}\Z", re.ASCII)
_TOOL: Final = re.compile(r"/[A-Za-z0-9_.-]{1,128}\Z", re.ASCII)
_ESCAPE: Final = re.compile(r"%(..)", re.ASCII | re.DOTALL)
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)
_KEPT: Final = _UNRESERVED | frozenset(b"!$&'()*+,;=:@/")


@dataclass(frozen=True, slots=True)
class CanonicalUrl:
    """A normalized URL without query and fragment."""

    scheme: str
    authority: str  # the host, and the port if it is not the scheme's default
    path: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def read_url(text: object, *, is_local_allowed: bool = False) -> CanonicalUrl | DropReason:
    """Canonicalize a resource's URL, or give the reason against it.

    Accepted are https and `mcp://tool/<name>`; http only for local hosts, if they are allowed.
    """
    parts = split_url(text)
    if isinstance(parts, DropReason):
        return parts
    scheme, authority, path, _ = parts
    if scheme == MCP:
        return _read_tool_url(authority, path)
    if scheme not in _DEFAULT_PORTS or (scheme == _HTTP and not is_local_allowed):
        return DropReason.RESOURCE_URL_SCHEME
    host, port = _split_port(authority)
    canonical = read_host(host, is_local_allowed=is_local_allowed)
    if isinstance(canonical, DropReason):
        return canonical
    if not _PORT.match(port) or not 0 < int(port or 443) <= _MAX_PORT:
        return DropReason.RESOURCE_HOST_INVALID
    if scheme == _HTTP and not is_local(canonical):
        return DropReason.RESOURCE_URL_SCHEME
    is_custom = port and int(port) != _DEFAULT_PORTS[scheme]
    authority = f"{canonical}:{int(port)}" if is_custom else canonical
    normalized = normalize_path(path)
    if normalized is None:
        return DropReason.RESOURCE_URL_INVALID
    url = CanonicalUrl(scheme, authority, normalized)
    return url if len(str(url)) <= MAX_URL else DropReason.RESOURCE_URL_TOO_LONG


def split_url(text: object) -> tuple[str, str, str, str] | DropReason:
    """Split into lower-case scheme, authority, path, and the rest from `?` or `#` on."""
    if not isinstance(text, str) or not text:
        return DropReason.RESOURCE_URL_MISSING
    if len(text) > MAX_URL:
        return DropReason.RESOURCE_URL_TOO_LONG
    if any(c <= " " or c in "\\\x7f" or c.isspace() or not c.isprintable() for c in text):
        return DropReason.RESOURCE_URL_INVALID
    parts = _PARTS.match(text)
    if parts is None:
        has_scheme = text.partition(":")[0].isalpha() and ":" in text
        return DropReason.RESOURCE_URL_SCHEME if has_scheme else DropReason.RESOURCE_URL_INVALID
    scheme, authority, path, rest = parts.groups()
    if "@" in authority:
        return DropReason.RESOURCE_URL_USERINFO
    return scheme.lower(), authority, path, rest


def normalize_path(path: str) -> str | None:
    """Normalize a path's escapes and remove dot segments; None for a path that is not valid.

    Escapes of unreserved characters are decoded, the others written in upper case; characters that
    a path may not contain are escaped. Broken escapes and control characters are not valid.
    """
    if _BROKEN_ESCAPE.search(path):
        return None
    escaped = _ESCAPE.sub(_normalize_escape, path)
    raw = escaped.encode("utf-8", "surrogatepass")
    encoded = "".join(chr(b) if b in _KEPT or b == _PERCENT else f"%{b:02X}" for b in raw)
    if _CONTROL_ESCAPE.search(encoded):
        return None
    return _remove_dot_segments(encoded)


def _normalize_escape(match: re.Match[str]) -> str:
    byte = int(match[1], 16)
    return chr(byte) if byte in _UNRESERVED else f"%{byte:02X}"


def _remove_dot_segments(path: str) -> str:
    """Remove dot segments of an absolute path (RFC 3986 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")[1:] or [""]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _split_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, bracket, port = authority.partition("]")
        return host + bracket, port[1:] if port.startswith(":") else port and "?"
    host, _, port = authority.partition(":")
    return host, port


def _read_tool_url(authority: str, path: str) -> CanonicalUrl | DropReason:
    if authority != "tool":
        return DropReason.RESOURCE_URL_SCHEME
    if not _TOOL.match(path):
        return DropReason.TOOL_NAME_INVALID
    return CanonicalUrl(MCP, authority, path)


_PERCENT: Final = ord("%")
_CONTROL_ESCAPE: Final = re.compile(r"%(?:[01][0-9A-F]|7F)", re.ASCII)
