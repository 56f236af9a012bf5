"""The path of a request to the gateway, read undecoded."""

from dataclasses import dataclass
from typing import Final

from farebox.gateway.wrappers.slug import is_slug

PREFIX: Final = "/gateway"


@dataclass(frozen=True, slots=True)
class GatewayPath:
    """A slug, and the rest of the path behind it: empty or with a leading slash."""

    slug: str
    rest: str


def is_gateway_path(raw_path: bytes) -> bool:
    """Whether a request is for the gateway; `raw_path` is the undecoded path."""
    return raw_path.startswith(b"/gateway/") or raw_path == b"/gateway"


def parse_gateway_path(raw_path: bytes) -> GatewayPath | None:
    """Read the undecoded path of a request; None when no wrapper can have it.

    A slug has one spelling: another letter case or an escape makes it none.
    """
    if not raw_path.isascii():
        return None
    slug, slash, rest = raw_path.decode().removeprefix(f"{PREFIX}/").partition("/")
    return GatewayPath(slug, slash + rest) if is_slug(slug) else None


def logged_path(raw_path: bytes) -> str:
    """Return the path for the log: the slug alone, since the rest may be private."""
    path = parse_gateway_path(raw_path)
    return f"{PREFIX}/{path.slug if path is not None else '-'}"
