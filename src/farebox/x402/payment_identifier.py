"""The `payment-identifier` extension: what the buyer calls a payment, so that retries are known.

The buyer writes it into the payload; nothing signs it, so it says who is who among payments of one
payer and proves nothing.
"""

import re
from typing import Final

import msgspec

from farebox.x402.reasons import Reason

EXTENSION: Final = "payment-identifier"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{16,128}\Z", re.ASCII)


class _Extensions(msgspec.Struct, frozen=True):
    identifier: object = msgspec.field(default=None, name=EXTENSION)


_EXTENSIONS = msgspec.json.Decoder(_Extensions)


def read_payment_identifier(extensions: bytes | msgspec.Raw) -> str | Reason | None:
    """The id in a payload's `extensions`; None when there is none and the seller requires none.

    What is no object holds no extension, as for every extension that is not served.
    """
    try:
        extension = _EXTENSIONS.decode(extensions).identifier if extensions else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if extension is None:
        return None
    info = extension.get("info") if isinstance(extension, dict) else None
    required = info.get("required") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(required, bool):
        return Reason.INVALID_PAYMENT_IDENTIFIER
    return _read_id(info.get("id"), is_required=required)


def _read_id(value: object, *, is_required: bool) -> str | Reason | None:
    if value is None:
        return Reason.PAYMENT_IDENTIFIER_REQUIRED if is_required else None
    if isinstance(value, str) and _ID.match(value):
        return value
    return Reason.INVALID_PAYMENT_IDENTIFIER
