"""The base64 headers of the HTTP transport, encoded and decoded.

Written in the standard alphabet, padded, without line breaks; read leniently (outer white space,
either alphabet, padding optional), because the stock clients differ in what they accept.
"""

import base64
import binascii
from typing import Final

import msgspec

from farebox.kernel.json_text import has_repeated_name, read_number

EXTENSION_RESPONSES: Final = "EXTENSION-RESPONSES"
PAYMENT_REQUIRED: Final = "PAYMENT-REQUIRED"
PAYMENT_SIGNATURE: Final = "PAYMENT-SIGNATURE"
PAYMENT_RESPONSE: Final = "PAYMENT-RESPONSE"

_OBJECT: Final = msgspec.json.Decoder(dict[str, object], float_hook=read_number)
_TO_STANDARD: Final = str.maketrans("-_", "+/")


def encode_header(value: object) -> str:
    """The header text of a JSON object."""
    return base64.b64encode(msgspec.json.encode(value)).decode()


def decode_header(text: str) -> dict[str, object] | None:
    """Read a header back into its JSON object; None when it does not hold one.

    None too when an object has a member name twice: two readers would find two values.
    """
    raw = header_bytes(text)
    try:
        value = None if raw is None else _OBJECT.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return None if value is None or raw is None or has_repeated_name(raw) else value


def header_bytes(text: str) -> bytes | None:
    """The decoded bytes of a header; None when it is not base64."""
    bare = text.strip().rstrip("=").translate(_TO_STANDARD)
    padded = bare + "=" * (-len(bare) % 4)
    try:
        return binascii.a2b_base64(padded.encode("ascii"), strict_mode=True)
    except ValueError:
        return None
