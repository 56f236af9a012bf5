"""What a payload says of the resource it pays for: bytes, unread until the payment has settled."""

from dataclasses import dataclass
from typing import Final

MAX_DISCOVERY_BYTES: Final = 65_536  # of both members together, as they came


@dataclass(frozen=True, slots=True)
class DiscoveryText:
    """`resource` and `extensions.bazaar` of a payload, each one JSON value, never parsed here."""

    resource: bytes
    bazaar: bytes

    @property
    def is_oversized(self) -> bool:
        """Whether it is too long to be kept with the settlement."""
        return len(self.resource) + len(self.bazaar) + _WRAPPER_BYTES > MAX_DISCOVERY_BYTES

    def to_bytes(self) -> bytes:
        """One JSON object with both members, as it is kept with the settlement."""
        return b'{"resource":' + self.resource + b',"bazaar":' + self.bazaar + b"}"


_WRAPPER_BYTES: Final = len(DiscoveryText(b"", b"").to_bytes())
