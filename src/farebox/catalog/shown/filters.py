"""What browsing and searching are narrowed by."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Filters:
    """Plain equality, each; None does not narrow. A value nobody has matches nothing."""

    type: str | None = None  # as in `ListingType`, or a word that no listing has
    network: str | None = None  # CAIP-2
    pay_to: str | None = None
    scheme: str | None = None
    extension: str | None = None  # a key of the listing's extensions
