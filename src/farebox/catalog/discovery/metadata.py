"""What a seller says of a resource: each field bounded, and each bad one left out alone."""

import re
from collections.abc import Mapping
from typing import Final

from farebox.catalog.discovery.canonical_url import MAX_URL, normal_path, split_url
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
    resource: Mapping[str, object], *, spoken: str | None = None
) -> tuple[Metadata, tuple[FieldDropped, ...]]:
    """The fields that may be shown, and those that were left out or cut.

    `spoken` is what a tool's own info says of it, for a resource without a description.
    """
    dropped: list[FieldDropped] = []
    metadata = Metadata(
        description=_description(resource.get("description"), spoken, dropped),
        mime_type=_matching(resource, "mimeType", _MIME_TYPE, "is no media type.", dropped),
        service_name=_service_name(resource, dropped),
        tags=_tags(resource.get("tags"), dropped),
        icon_url=_icon_url(resource.get("iconUrl"), dropped),
    )
    return metadata, tuple(dropped)


def _description(value: object, spoken: str | None, dropped: list[FieldDropped]) -> str | None:
    if value is not None and not isinstance(value, str):
        dropped.append(FieldDropped("description", "is no text."))
    text = value if isinstance(value, str) and value else spoken or ""
    shown = clean_text(text, limit=MAX_DESCRIPTION)
    if len(text) > MAX_DESCRIPTION:
        dropped.append(FieldDropped("description", f"is cut after {MAX_DESCRIPTION} characters."))
    return shown or None


def _service_name(resource: Mapping[str, object], dropped: list[FieldDropped]) -> str | None:
    why = f"must be 1 to {MAX_NAME} printable ASCII characters."
    name = _matching(resource, "serviceName", _PRINTABLE, why, dropped)
    return name.strip() or None if name else None


def _matching(
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


def _tags(value: object, dropped: list[FieldDropped]) -> tuple[str, ...]:
    given = value if isinstance(value, list) else []
    sound = [tag.strip() for tag in given if isinstance(tag, str) and _PRINTABLE.match(tag)]
    first: dict[str, str] = {}
    for tag in filter(None, sound):
        first.setdefault(tag.lower(), tag)
    tags = tuple(first.values())
    if len(sound) != len(given) or (value is not None and not isinstance(value, list)):
        why = f"must be a list of texts of 1 to {MAX_NAME} printable ASCII characters."
        dropped.append(FieldDropped("tags", why))
    if len(tags) > MAX_TAGS:
        dropped.append(FieldDropped("tags", f"are cut after {MAX_TAGS}."))
    return tags[:MAX_TAGS]


def _icon_url(value: object, dropped: list[FieldDropped]) -> str | None:
    if value is None or value == "":
        return None
    url = read_icon_url(value)
    if url is None:
        why = f"must be an http or https URL of a public host, at most {MAX_URL} characters."
        dropped.append(FieldDropped("iconUrl", why))
    return url


def read_icon_url(value: object) -> str | None:
    """The URL with its host in the one spelling; None when it could lead into a private network.

    The service never fetches it.
    """
    parts = split_url(value)
    if isinstance(parts, DropReason):
        return None
    scheme, authority, path, rest = parts
    name, colon, port = authority.partition(":")
    host, spelled = read_host(name), normal_path(path)
    if scheme not in ("http", "https") or isinstance(host, DropReason) or spelled is None:
        return None
    if not _PORT.match(colon + port) or not rest.isascii():
        return None
    url = f"{scheme}://{host}{colon}{port}{spelled}{rest}"
    return url if len(url) <= MAX_URL else None
