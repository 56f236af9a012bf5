"""Signatures of wallets as text: of a classic account's key, or as a contract account wants it."""

import re
from typing import Final

from farebox.kernel.addresses import Address
from farebox.stellar.entry_writer import key_signature
from farebox.stellar.scval import skip_value
from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64

SIGNATURE_BYTES: Final = 64
MAX_VALUE_BYTES: Final = 16_384  # three times the largest signature of a post-quantum key
_MAX_ITEMS: Final = 500
_HEX: Final = re.compile(r"[0-9A-Fa-f]{128}\Z", re.ASCII)


def read_key_signature(text: str, signer: Address) -> bytes | None:
    """The SCVal of an ed25519 signature, 64 bytes in hex or base64; None for any other text.

    `signer` (G…) is the account of the key that signed.
    """
    if _HEX.match(text):
        return key_signature(signer, bytes.fromhex(text))
    try:
        raw = decode_base64(text, max_bytes=SIGNATURE_BYTES)
    except Malformed:
        return None
    return key_signature(signer, raw) if len(raw) == SIGNATURE_BYTES else None


def read_signature_value(text: str) -> bytes | None:
    """The SCVal (base64 XDR) for a contract account's `__check_auth`; None for any other text."""
    try:
        raw = decode_base64(text, max_bytes=MAX_VALUE_BYTES)
        reader = XdrReader(raw, max_items=_MAX_ITEMS)
        skip_value(reader)
        reader.finish()
    except Malformed:
        return None
    return raw
