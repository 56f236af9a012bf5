"""What a payload says of the resource it pays for: bytes, unread until the payment has settled."""

from dataclasses import dataclass
from typing import Final

import msgspec

EXTENSION: Final = "bazaar"
MAX_DISCOVERY_BYTES: Final = 65_536  # of both members together, as they came


class _Extensions(msgspec.Struct, frozen=True):
    bazaar: msgspec.Raw = msgspec.Raw()


_EXTENSIONS: Final = msgspec.json.Decoder(_Extensions)


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


def read_discovery_text(
    resource: bytes | msgspec.Raw, extensions: bytes | msgspec.Raw
) -> DiscoveryText | None:
    """Both members of a payload as they came; None without an `extensions.bazaar`.

    What is no object holds no extension, as for every extension that is not served.
    """
    try:
        bazaar = _EXTENSIONS.decode(extensions).bazaar if extensions else b""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not bazaar or bytes(bazaar) == _NULL:
        return None
    return DiscoveryText(bytes(resource) or _NULL, bytes(bazaar))


_NULL: Final = b"null"
_WRAPPER_BYTES: Final = len(DiscoveryText(b"", b"").to_bytes())
