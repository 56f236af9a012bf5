"""Slugs: the name of a wrapper in its URL, `/gateway/<slug>`."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import count
from typing import Final

MAX_SLUG: Final = 63
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{2,62}\Z", re.ASCII)
_OTHERS: Final = re.compile(r"[^a-z0-9]+")
_MIN: Final = 3
_SHORT_ENDING: Final = "-api"


def is_slug(text: str) -> bool:
    """Whether the text is a slug: 3 to 63 lower-case letters, digits and hyphens."""
    return _SLUG.match(text) is not None


def derive_slug(name: str) -> str:
    """Derive a slug from a wrapper's name; `api` where the name has no letter or digit."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = _OTHERS.sub("-", plain).strip("-")[:MAX_SLUG].strip("-") or "api"
    return slug if len(slug) >= _MIN else f"{slug}{_SHORT_ENDING}"


def alternative_slugs(slug: str) -> Iterator[str]:
    """Yield the slug, then the slug with -2, -3 and so on; each is a slug."""
    yield slug
    for number in count(2):
        ending = f"-{number}"
        yield slug[: MAX_SLUG - len(ending)].rstrip("-") + ending
