"""Account (G…) and contract (C…) addresses in their text form, checksum verified (SEP-23)."""

import base64
import binascii
from functools import lru_cache
from typing import Final, NewType

Address = NewType("Address", str)  # a plain G… or C… address whose checksum was verified

_LENGTH: Final = 56
_ACCOUNT_VERSION: Final = 6 << 3
_CONTRACT_VERSION: Final = 2 << 3


def _decode(text: str, version: int) -> bytes | None:
    if len(text) != _LENGTH or not text.isascii():
        return None
    try:
        raw = base64.b32decode(text)
    except binascii.Error:
        return None
    if raw[0] != version or binascii.crc_hqx(raw[:33], 0) != int.from_bytes(raw[33:], "little"):
        return None
    return raw[1:33]


def encode_strkey(raw: bytes, version: int) -> str:
    """The text of a key with its version byte and checksum (SEP-23)."""
    body = bytes([version]) + raw
    checksum = binascii.crc_hqx(body, 0).to_bytes(2, "little")
    return base64.b32encode(body + checksum).decode().rstrip("=")


def parse_account(text: str) -> Address | None:
    """Read a G… address; None for every other string."""
    return Address(text) if _decode(text, _ACCOUNT_VERSION) is not None else None


@lru_cache(maxsize=4096)
def parse_contract(text: str) -> Address | None:
    """Read a C… address; None for every other string."""
    return Address(text) if _decode(text, _CONTRACT_VERSION) is not None else None


@lru_cache(maxsize=4096)
def parse_party(text: str) -> Address | None:
    """Read an address that can pay or be paid, G… or C…; None for every other string."""
    return parse_account(text) or parse_contract(text)


def is_account(address: Address) -> bool:
    """Whether the address is a classic account, whose signatures are ed25519."""
    return address.startswith("G")


def raw_key(address: Address) -> bytes:
    """The 32 bytes an address stands for: a public key (G…) or a contract id (C…)."""
    return base64.b32decode(address)[1:33]


@lru_cache(maxsize=4096)
def account_address(raw: bytes) -> Address:
    """The G… address of a 32-byte public key."""
    return Address(encode_strkey(raw, _ACCOUNT_VERSION))


@lru_cache(maxsize=4096)
def contract_address(raw: bytes) -> Address:
    """The C… address of a 32-byte contract id."""
    return Address(encode_strkey(raw, _CONTRACT_VERSION))


ZERO_ACCOUNT: Final = account_address(bytes(32))  # nobody's: no key is known for it
