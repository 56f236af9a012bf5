"""Authorization entries and their signatures, by the public SDK."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from stellar_sdk import Address, Keypair, scval, xdr
from stellar_sdk.auth import authorization_payload_hash, authorize_entry

from testing.contract_calls import address
from testing.machine import RunFailed

Signature = Callable[[xdr.HashIDPreimage], xdr.SCVal]
VOID: Final = scval.to_void()
_Kind = xdr.SorobanCredentialsType


class Credentials(StrEnum):
    """The four kinds of credentials of protocol 27 and later."""

    SOURCE_ACCOUNT = "source account"
    ADDRESS = "address"
    ADDRESS_V2 = "address, version 2"
    WITH_DELEGATES = "address with delegates"


def unsigned_entry(
    root: xdr.SorobanAuthorizedInvocation,
    who: xdr.SCAddress,
    *,
    nonce: int,
    expires_at_ledger: int,
    kind: Credentials = Credentials.ADDRESS,
    signature: xdr.SCVal = VOID,
) -> xdr.SorobanAuthorizationEntry:
    """Build an unsigned entry, or one with exactly the signature given."""
    owned = xdr.SorobanAddressCredentials(
        who, xdr.Int64(nonce), xdr.Uint32(expires_at_ledger), signature
    )
    return xdr.SorobanAuthorizationEntry(_credentials(kind, owned), root)


def _credentials(kind: Credentials, owned: xdr.SorobanAddressCredentials) -> xdr.SorobanCredentials:
    match kind:
        case Credentials.SOURCE_ACCOUNT:
            return xdr.SorobanCredentials(_Kind.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT)
        case Credentials.ADDRESS:
            return xdr.SorobanCredentials(_Kind.SOROBAN_CREDENTIALS_ADDRESS, address=owned)
        case Credentials.ADDRESS_V2:
            return xdr.SorobanCredentials(_Kind.SOROBAN_CREDENTIALS_ADDRESS_V2, address_v2=owned)
        case Credentials.WITH_DELEGATES:
            return xdr.SorobanCredentials(
                _Kind.SOROBAN_CREDENTIALS_ADDRESS_WITH_DELEGATES,
                address_with_delegates=xdr.SorobanAddressCredentialsWithDelegates(owned, []),
            )


def signed_entry(
    root: xdr.SorobanAuthorizedInvocation,
    who: str,
    signers: Sequence[Keypair],
    passphrase: str,
    *,
    nonce: int,
    expires_at_ledger: int,
    kind: Credentials = Credentials.ADDRESS,
    is_sorted: bool = True,
) -> xdr.SorobanAuthorizationEntry:
    """Build an entry signed by every key, sorted as the network requires or in the given order."""
    entry = unsigned_entry(
        root, address(who), nonce=nonce, expires_at_ledger=expires_at_ledger, kind=kind
    )
    ordered = sorted(signers, key=_raw_key) if is_sorted else signers
    return authorize_entry(entry, by_keys(ordered), expires_at_ledger, passphrase)


def by_keys(signers: Sequence[Keypair]) -> Signature:
    """How a classic account signs by these keys, in their order."""

    def sign(preimage: xdr.HashIDPreimage) -> xdr.SCVal:
        digest = authorization_payload_hash(preimage)
        return key_signatures([(_raw_key(key), key.sign(digest)) for key in signers])

    return sign


def in_bytes(key: Keypair) -> Signature:
    """How a smart wallet signs whose signatures are 64 bytes."""
    return lambda preimage: scval.to_bytes(key.sign(authorization_payload_hash(preimage)))


def last_ledger(entry: xdr.SorobanAuthorizationEntry) -> int:
    """The last ledger in which an entry may be used, as it is."""
    credentials = entry.credentials.address
    if credentials is None:
        raise RunFailed("an entry names no address")
    return credentials.signature_expiration_ledger.uint32


def address_of(entry: xdr.SorobanAuthorizationEntry) -> str:
    """The address that authorizes with an entry, or nothing."""
    credentials = entry.credentials.address
    return Address.from_xdr_sc_address(credentials.address).address if credentials else ""


def key_signatures(pairs: Sequence[tuple[bytes, bytes]]) -> xdr.SCVal:
    """The signature value of a classic account: one map for each key."""
    return scval.to_vec(
        [
            scval.to_map(
                {
                    scval.to_symbol("public_key"): scval.to_bytes(key),
                    scval.to_symbol("signature"): scval.to_bytes(signature),
                }
            )
            for key, signature in pairs
        ]
    )


def _raw_key(key: Keypair) -> bytes:
    return key.raw_public_key()
