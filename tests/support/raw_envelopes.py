"""An envelope built from raw parts, each of which a test may replace."""

from typing import Final

from stellar_sdk import xdr

from support.sdk_envelopes import ASSET, PAYEE, PAYER, signed_entry, transfer_call
from support.sdk_values import account


def u32(number: int) -> bytes:
    """Four bytes of XDR."""
    return number.to_bytes(4, "big")


CALL: Final = transfer_call(
    ASSET, account(PAYER.raw_public_key()), account(PAYEE.raw_public_key()), 10_000
)
ENTRY: Final = signed_entry(CALL, PAYER)
NONE: Final = u32(0)
ONE: Final = u32(1)
SOURCE: Final = NONE + PAYER.raw_public_key()

_PARTS: Final = {
    "envelope_type": u32(2),
    "source": SOURCE,
    "fee_and_sequence": u32(100) + bytes(8),
    "preconditions": NONE,
    "memo": NONE,
    "operation_count": ONE,
    "operation_source": NONE,
    "operation_type": u32(24),
    "function_type": NONE,
    "call": CALL.to_xdr_bytes(),
    "entries": ONE + ENTRY.to_xdr_bytes(),
    "resources": NONE,
    "signatures": NONE,
    "rest": b"",
}


def raw_envelope(**parts: bytes) -> bytes:
    """An ordinary payment with the named parts exchanged."""
    unknown = parts.keys() - _PARTS.keys()
    assert not unknown, unknown
    return b"".join((_PARTS | parts).values())


def raw_entry(
    *,
    credentials: bytes = ENTRY.credentials.to_xdr_bytes(),
    invocation: bytes = ENTRY.root_invocation.to_xdr_bytes(),
) -> bytes:
    """One entry, counted, with its credentials or its invocation exchanged."""
    return ONE + credentials + invocation


def contract_credentials(signature: bytes) -> bytes:
    """Credentials of a contract account with any bytes for a signature."""
    address = ONE + b"\x0c" * 32
    return u32(xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS) + (
        address + bytes(8) + u32(1_000) + signature
    )
