"""The XDR (RFC 4506) of the few values in transactions and ledger keys of our own making."""

from farebox.kernel.addresses import Address, is_account, raw_key
from farebox.stellar.scval import AddressKind


def uint32(value: int) -> bytes:
    """Four bytes: a number, a count, or the discriminant of an enum or union."""
    return int(value).to_bytes(4, "big")


def opaque(raw: bytes) -> bytes:
    """Variable-length bytes: their length, themselves, and zeros up to a multiple of four."""
    return uint32(len(raw)) + raw + bytes(-len(raw) % 4)


def sc_address(address: Address) -> bytes:
    """An SCAddress: of a G… account its public key of the one kind, of a C… contract its id."""
    if is_account(address):
        return uint32(AddressKind.ACCOUNT) + uint32(0) + raw_key(address)
    return uint32(AddressKind.CONTRACT) + raw_key(address)
