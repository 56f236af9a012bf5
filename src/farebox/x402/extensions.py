"""The extensions of a payload that are read: `bazaar` and `payment-identifier`.

Nothing signs them. `bazaar` describes the resource that is paid for: its bytes are kept unread
until the payment has settled. `payment-identifier` is the buyer's name for a payment, by which a
retry is recognized; it proves nothing.
"""

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from farebox.x402.reasons import Reason

BAZAAR: Final = "bazaar"
PAYMENT_IDENTIFIER: Final = "payment-identifier"
# as a seller offers it, where the buyer may add an id (`declarePaymentIdentifierExtension`)
PAYMENT_IDENTIFIER_DECLARATION: Final = {
    "info": {"required": False},
    "schema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "required": {"type": "boolean"},
            "id": {
                "type": "string",
                "minLength": 16,
                "maxLength": 128,
                "pattern": "^[a-zA-Z0-9_-]+$",
            },
        },
        "required": ["required"],
    },
}
MAX_DISCOVERY_BYTES: Final = 65_536  # of both members together, as they came
_ID: Final = re.compile(r"[A-Za-z0-9_-]{16,128}\Z", re.ASCII)
_NULL: Final = b"null"


class ExtensionsBody(msgspec.Struct, frozen=True):
    """`extensions` of a payload; an extension that is not served is skipped unread."""

    bazaar: msgspec.Raw = msgspec.Raw()
    identifier: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name=PAYMENT_IDENTIFIER)


_EXTENSIONS: Final = msgspec.json.Decoder(ExtensionsBody)
_IDENTIFIER: Final = msgspec.json.Decoder()
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True, slots=True)
class DiscoveryText:
    """`resource` and `extensions.bazaar` of a payload, each one JSON value, never parsed here."""

    resource: bytes
    bazaar: bytes

    @property
    def is_oversized(self) -> bool:
        """Whether it is too long to be stored with the settlement."""
        return len(self.resource) + len(self.bazaar) + _WRAPPER_BYTES > MAX_DISCOVERY_BYTES

    def to_bytes(self) -> bytes:
        """One JSON object with both members, as it is stored with the settlement."""
        return b'{"resource":' + self.resource + b',"bazaar":' + self.bazaar + b"}"


_WRAPPER_BYTES: Final = len(DiscoveryText(b"", b"").to_bytes())


def read_discovery_text(
    resource: bytes | msgspec.Raw, extensions: bytes | msgspec.Raw
) -> DiscoveryText | None:
    """Both members of a payload as they came; None without an `extensions.bazaar`.

    `extensions` that are no object hold no extension.
    """
    bazaar = bytes(_read_extensions(extensions).bazaar)
    if not bazaar or bazaar == _NULL:
        return None
    return DiscoveryText(bytes(resource) or _NULL, bazaar)


def read_payment_identifier(extensions: bytes | msgspec.Raw) -> str | Reason | None:
    """The id in a payload's `extensions`; None when there is none and the seller requires none.

    `extensions` that are no object hold no extension.
    """
    text = _read_extensions(extensions).identifier
    try:
        extension = _IDENTIFIER.decode(text) if text else None
    except _UNREADABLE:
        return None
    if extension is None:
        return None
    info = extension.get("info") if isinstance(extension, dict) else None
    required = info.get("required") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(required, bool):
        return Reason.INVALID_PAYMENT_IDENTIFIER
    return _read_id(info.get("id"), is_required=required)


def _read_extensions(text: bytes | msgspec.Raw) -> ExtensionsBody:
    try:
        return _EXTENSIONS.decode(text) if text else _NONE
    except _UNREADABLE:
        return _NONE


_NONE: Final = ExtensionsBody()


def _read_id(value: object, *, is_required: bool) -> str | Reason | None:
    if value is None:
        return Reason.PAYMENT_IDENTIFIER_REQUIRED if is_required else None
    if isinstance(value, str) and _ID.match(value):
        return value
    return Reason.INVALID_PAYMENT_IDENTIFIER
