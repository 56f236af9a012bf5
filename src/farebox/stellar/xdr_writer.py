"""The XDR (RFC 4506) of the few values in transactions and ledger keys of our own making."""

from farebox.kernel.addresses import Address, is_account, raw_key
from farebox.stellar.scval import AddressKind, ScKind


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


def address_value(address: Address) -> bytes:
    """An SCVal of an address."""
    return uint32(ScKind.ADDRESS) + sc_address(address)


def symbol_value(name: bytes) -> bytes:
    """An SCVal of a symbol; `name` has 32 characters at most."""
    return uint32(ScKind.SYMBOL) + opaque(name)


def i128_value(value: int) -> bytes:
    """An SCVal of a signed number of 128 bits.

    Raises:
        OverflowError: it does not fit.
    """
    return uint32(ScKind.I128) + value.to_bytes(16, "big", signed=True)


def contract_call(contract: Address, function: bytes, *arguments: bytes) -> bytes:
    """The InvokeContractArgs of a call; each argument is an SCVal (XDR)."""
    head = sc_address(contract) + opaque(function) + uint32(len(arguments))
    return head + b"".join(arguments)
