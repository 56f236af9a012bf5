"""Parse a seller's metadata: each field is bounded, and an invalid one is left out alone."""

import re
from collections.abc import Mapping
from typing import Final

from farebox.catalog.discovery.canonical_url import MAX_URL, normalize_path, split_url
from farebox.catalog.discovery.drop_reason import DropReason, FieldDropped
from farebox.catalog.discovery.outside_text import clean_text
from farebox.catalog.discovery.public_host import read_host
from farebox.catalog.listing import Metadata

MAX_DESCRIPTION: Final = 500
MAX_NAME: Final = 32  # of a service, and of a tag
MAX_TAGS: Final = 5
_PRINTABLE: Final = re.compile(r"[ -~]{1,32}\Z", re.ASCII)
_MIME_TYPE: Final = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}"
    r"(?:; ?[A-Za-z0-9-]{1,32}=[A-Za-z0-9_.+-]{1,64})?\Z",
    re.ASCII,
)
_PORT: Final = re.compile(r"(?::[0-9]{1,5})?\Z", re.ASCII)


def read_metadata(
    resource: Mapping[str, object], *, fallback_description: str | None = None
) -> tuple[Metadata, tuple[FieldDropped, ...]]:
    """Parse the fields to list; also return those that were left out or cut.

    `fallback_description` is that of a tool's own info, for a resource without one.
    """
    dropped: list[FieldDropped] = []
    metadata = Metadata(
        description=_parse_description(resource.get("description"), fallback_description, dropped),
        mime_type=_parse_matching(resource, "mimeType", _MIME_TYPE, "is no media type.", dropped),
        service_name=_parse_service_name(resource, dropped),
        tags=_parse_tags(resource.get("tags"), dropped),
        icon_url=_parse_icon_url(resource.get("iconUrl"), dropped),
    )
    return metadata, tuple(dropped)


def _parse_description(
    value: object, fallback: str | None, dropped: list[FieldDropped]
) -> str | None:
    if value is not None and not isinstance(value, str):
        dropped.append(FieldDropped("description", "is no text."))
    text = value if isinstance(value, str) and value else fallback or ""
    shown = clean_text(text, limit=MAX_DESCRIPTION)
    if len(text) > MAX_DESCRIPTION:
        dropped.append(FieldDropped("description", f"is cut after {MAX_DESCRIPTION} characters."))
    return shown or None


def _parse_service_name(resource: Mapping[str, object], dropped: list[FieldDropped]) -> str | None:
    why = f"must be 1 to {MAX_NAME} printable ASCII characters."
    name = _parse_matching(resource, "serviceName", _PRINTABLE, why, dropped)
    return name.strip() or None if name else None


def _parse_matching(
    resource: Mapping[str, object],
    field: str,
    pattern: re.Pattern[str],
    why: str,
    dropped: list[FieldDropped],
) -> str | None:
    value = resource.get(field)
    if isinstance(value, str) and pattern.match(value):
        return value
    if value is not None and value != "":
        dropped.append(FieldDropped(field, why))
    return None


def _parse_tags(value: object, dropped: list[FieldDropped]) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else []
    valid = [tag.strip() for tag in entries if isinstance(tag, str) and _PRINTABLE.match(tag)]
    first: dict[str, str] = {}
    for tag in filter(None, valid):
        first.setdefault(tag.lower(), tag)
    tags = tuple(first.values())
    if len(valid) != len(entries) or (value is not None and not isinstance(value, list)):
        why = f"must be a list of texts of 1 to {MAX_NAME} printable ASCII characters."
        dropped.append(FieldDropped("tags", why))
    if len(tags) > MAX_TAGS:
        dropped.append(FieldDropped("tags", f"are cut after {MAX_TAGS}."))
    return tags[:MAX_TAGS]


def _parse_icon_url(value: object, dropped: list[FieldDropped]) -> str | None:
    if value is None or value == "":
        return None
    url = read_icon_url(value)
    if url is None:
        why = f"must be an http or https URL of a public host, at most {MAX_URL} characters."
        dropped.append(FieldDropped("iconUrl", why))
    return url


def read_icon_url(value: object) -> str | None:
    """The URL with a canonical host; None when it could lead into a private network.

    The service never fetches it.
    """
    parts = split_url(value)
    if isinstance(parts, DropReason):
        return None
    scheme, authority, path, rest = parts
    name, colon, port = authority.partition(":")
    host, normalized = read_host(name), normalize_path(path)
    if scheme not in ("http", "https") or isinstance(host, DropReason) or normalized is None:
        return None
    if not _PORT.match(colon + port) or not rest.isascii():
        return None
    url = f"{scheme}://{host}{colon}{port}{normalized}{rest}"
    return url if len(url) <= MAX_URL else None
