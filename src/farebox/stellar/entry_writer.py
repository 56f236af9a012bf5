"""Authorization entries of our own making, and signatures put into entries (XDR)."""

import secrets
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.stellar.auth_entries import AuthEntry, CredentialKind
from farebox.stellar.scval import ScKind
from farebox.stellar.xdr_writer import opaque, sc_address, symbol_value, uint32

_CONTRACT_CALL: Final = bytes(4)  # SorobanAuthorizedFunction
_CREDENTIALS: Final = {
    kind: number.to_bytes(4, "big")
    for number, kind in enumerate((CredentialKind.ADDRESS, CredentialKind.ADDRESS_V2), start=1)
}
_NO_SUBINVOCATIONS: Final = bytes(4)


def draw_nonce() -> int:
    """Draw a random nonce of an entry: a signed number of 64 bits."""
    return secrets.randbits(64) - 2**63


def unsigned_entry(address: Address, *, nonce: int, expires_at_ledger: int, call: bytes) -> bytes:
    """The entry by which `address` will authorize the call, without a signature yet.

    Its credentials are of the kind ADDRESS, which every wallet and facilitator reads. `call` is
    InvokeContractArgs (XDR).
    """
    invocation = _CONTRACT_CALL + call + _NO_SUBINVOCATIONS
    return unsigned_tree(
        address, nonce=nonce, expires_at_ledger=expires_at_ledger, invocation=invocation
    )


def unsigned_tree(
    address: Address,
    *,
    nonce: int,
    expires_at_ledger: int,
    invocation: bytes,
    kind: CredentialKind = CredentialKind.ADDRESS,
) -> bytes:
    """The entry by which `address` will authorize a tree of calls, without a signature yet.

    `invocation` is a SorobanAuthorizedInvocation (XDR); `kind` is ADDRESS or ADDRESS_V2.
    """
    numbers = nonce.to_bytes(8, "big", signed=True) + expires_at_ledger.to_bytes(4, "big")
    head = _CREDENTIALS[kind] + sc_address(address) + numbers
    return head + uint32(ScKind.VOID) + invocation


def unsigned_form(entry: AuthEntry, *, expires_at_ledger: int) -> bytes:
    """The entry as it was before its address signed it and chose the expiry."""
    numbers = entry.nonce_and_expiry[:8] + expires_at_ledger.to_bytes(4, "big")
    head = entry.raw[:4] + entry.address_xdr + numbers
    return head + uint32(ScKind.VOID) + entry.invocation


def with_signature(entry: AuthEntry, signature: bytes) -> bytes:
    """The entry with this signature (an SCVal); it has ADDRESS or ADDRESS_V2 credentials."""
    return entry.raw[:4] + entry.address_xdr + entry.nonce_and_expiry + signature + entry.invocation


def key_signature(account: Address, signature: bytes) -> bytes:
    """The SCVal of one ed25519 signature (64 bytes), as the network wants it of classic accounts.

    It is a vector of one {public_key, signature}; `account` (G…) has the public key.
    """
    members = ((b"public_key", raw_key(account)), (b"signature", signature))
    pairs = b"".join(
        symbol_value(name) + uint32(ScKind.BYTES) + opaque(raw) for name, raw in members
    )
    vector = uint32(ScKind.VEC) + uint32(1) + uint32(1)
    return vector + uint32(ScKind.MAP) + uint32(1) + uint32(len(members)) + pairs
