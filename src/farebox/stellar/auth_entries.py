"""Authorization entries of a call: the address, the authorized call, expiry and signatures.

Whether a key is a signer of the account, and whether the signers weigh enough, is the network's
to say.
"""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from farebox.kernel.addresses import Address
from farebox.stellar.scval import (
    SYMBOL_MAX_BYTES,
    AddressKind,
    read_address,
    skip_address,
    skip_executable,
    skip_value,
)
from farebox.stellar.soroban_data import skip_asset
from farebox.stellar.xdr_reader import Malformed, XdrReader

MAX_ENTRIES: Final = 16
MAX_ACCOUNT_SIGNATURES: Final = 20  # an account cannot have more signers
MAX_ARGUMENTS: Final = 32
_MAX_BRANCHES: Final = 64  # sub-invocations or delegates at one level
_MAX_TREE_DEPTH: Final = 8  # and inside each other

_PREIMAGE: Final = (9).to_bytes(4, "big")  # ENVELOPE_TYPE_SOROBAN_AUTHORIZATION
_PREIMAGE_WITH_ADDRESS: Final = (10).to_bytes(4, "big")  # the same, with the address (CAP-71)


class CredentialKind(StrEnum):
    """The kind of credentials in an entry (SorobanCredentialsType)."""

    SOURCE_ACCOUNT = "source_account"
    ADDRESS = "address"
    ADDRESS_V2 = "address_v2"
    WITH_DELEGATES = "with_delegates"


_KINDS: Final = tuple(CredentialKind)  # in the order of their XDR discriminants
# the kinds by which a payer may authorize a payment (docs/decisions/0038)
PAYING_KINDS: Final = frozenset((CredentialKind.ADDRESS, CredentialKind.ADDRESS_V2))


@dataclass(frozen=True, slots=True)
class Unsigned:
    """There is no signature yet."""


@dataclass(frozen=True, slots=True)
class KeySignatures:
    """The signatures of a classic account: (public key, signature) as listed, perhaps none."""

    pairs: tuple[tuple[bytes, bytes], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpaqueSignature:
    """A value that only the payer's contract can verify, or that no account can use."""


Signature = Unsigned | KeySignatures | OpaqueSignature


@dataclass(frozen=True, slots=True)
class AuthEntry:
    """One authorization entry, with the slices that are signed or sent on unchanged."""

    raw: bytes = field(repr=False)
    kind: CredentialKind
    address: Address | None  # None: the source account, or an address that is neither G… nor C…
    nonce: int
    expires_at_ledger: int  # the last ledger it is valid in
    signature: Signature
    root_call: bytes = field(repr=False)  # contract, function and arguments
    has_subinvocations: bool
    is_contract_call: bool  # False: it authorizes the creation of a contract
    address_xdr: bytes = field(repr=False)
    nonce_and_expiry: bytes = field(repr=False)
    invocation: bytes = field(repr=False)


def authorization_preimage(entry: AuthEntry, network_id: bytes) -> bytes:
    """The HashIDPreimage (XDR) whose hash the signers of an entry sign, made from its own slices.

    Raises:
        ValueError: the entry has source-account credentials, for which nothing is signed.
    """
    if entry.kind is CredentialKind.SOURCE_ACCOUNT:
        raise ValueError("source-account credentials have no digest")
    if entry.kind is CredentialKind.ADDRESS:
        parts = (_PREIMAGE, network_id, entry.nonce_and_expiry, entry.invocation)
    else:
        bound = entry.nonce_and_expiry + entry.address_xdr
        parts = (_PREIMAGE_WITH_ADDRESS, network_id, bound, entry.invocation)
    return b"".join(parts)


def authorization_digest(entry: AuthEntry, network_id: bytes) -> bytes:
    """The 32 bytes the signers of an entry sign; raises as `authorization_preimage`."""
    return hashlib.sha256(authorization_preimage(entry, network_id)).digest()


def read_entries(reader: XdrReader, call: bytes | None = None) -> tuple[AuthEntry, ...]:
    """The authorization entries at the cursor.

    `call` is the call the operation makes, already read: an entry that authorizes the same bytes
    needs no second reading of them.

    Raises:
        Malformed: an unknown arm, or more entries or deeper trees than the bounds.
    """
    known = None if call is None else _CONTRACT_CALL + call
    return tuple(_read_entry(reader, known) for _ in range(reader.count(MAX_ENTRIES)))


def read_entry(raw: bytes) -> AuthEntry:
    """The one authorization entry that `raw` is.

    Raises:
        Malformed: as `read_entries`, or something follows.
    """
    reader = XdrReader(raw)
    entry = _read_entry(reader, None)
    reader.finish()
    return entry


def skip_call(reader: XdrReader) -> None:
    """Move past a contract address, a function name and the arguments."""
    skip_address(reader)
    reader.opaque(SYMBOL_MAX_BYTES)
    for _ in range(reader.count(MAX_ARGUMENTS)):
        skip_value(reader)


class _Credentials(NamedTuple):  # a tuple is made in a third of the time of a frozen dataclass
    address: Address | None = None
    nonce: int = 0
    expires_at_ledger: int = 0
    signature: Signature = Unsigned()
    address_xdr: bytes = b""
    nonce_and_expiry: bytes = b""


def _read_entry(reader: XdrReader, known: bytes | None) -> AuthEntry:
    start = reader.at
    arm = reader.uint32()
    if arm >= len(_KINDS):
        raise Malformed
    kind = _KINDS[arm]
    who = _SOURCE_ACCOUNT if kind is CredentialKind.SOURCE_ACCOUNT else _read_credentials(reader)
    if kind is CredentialKind.WITH_DELEGATES:
        _skip_delegates(reader, _MAX_TREE_DEPTH)
    invocation_start = reader.at
    is_known = known is not None and reader.take(known)
    is_contract_call = is_known or _skip_function(reader)
    root_call = reader.raw[invocation_start + 4 : reader.at]
    has_subinvocations = _skip_subinvocations(reader, _MAX_TREE_DEPTH)
    return AuthEntry(
        raw=reader.since(start),
        kind=kind,
        address=who.address,
        nonce=who.nonce,
        expires_at_ledger=who.expires_at_ledger,
        signature=who.signature,
        root_call=root_call,
        has_subinvocations=has_subinvocations,
        is_contract_call=is_contract_call,
        address_xdr=who.address_xdr,
        nonce_and_expiry=who.nonce_and_expiry,
        invocation=reader.since(invocation_start),
    )


_SOURCE_ACCOUNT: Final = _Credentials()


def _read_credentials(reader: XdrReader) -> _Credentials:
    start = reader.at
    address = read_address(reader)
    bounds_start = reader.at
    nonce, expires_at_ledger = reader.int64(), reader.uint32()
    bounds_end = reader.at
    return _Credentials(
        address=address.plain,
        nonce=nonce,
        expires_at_ledger=expires_at_ledger,
        signature=_read_signature(reader, is_account=address.kind is AddressKind.ACCOUNT),
        address_xdr=reader.raw[start:bounds_start],
        nonce_and_expiry=reader.raw[bounds_start:bounds_end],
    )


# The one form an account's signatures have: a vector of {public_key: bytes, signature: bytes}.
_VOID: Final = bytes.fromhex("00000001")
_VECTOR: Final = bytes.fromhex("00000010 00000001")
_PUBLIC_KEY: Final = (
    bytes.fromhex("00000011 00000001 00000002 0000000f 0000000a")
    + b"public_key\0\0"
    + bytes.fromhex("0000000d 00000020")
)
_SIGNATURE: Final = (
    bytes.fromhex("0000000f 00000009") + b"signature\0\0\0" + bytes.fromhex("0000000d 00000040")
)


def _read_signature(reader: XdrReader, *, is_account: bool) -> Signature:
    if reader.take(_VOID):
        return Unsigned()
    start = reader.at
    pairs = _read_key_signatures(reader) if is_account else None
    if pairs is not None:
        return KeySignatures(pairs)
    reader.at = start
    skip_value(reader)
    return OpaqueSignature()


def _read_key_signatures(reader: XdrReader) -> tuple[tuple[bytes, bytes], ...] | None:
    if not reader.take(_VECTOR):
        return None
    pairs = []
    for _ in range(reader.count(MAX_ACCOUNT_SIGNATURES)):
        if not reader.take(_PUBLIC_KEY):
            return None
        key = reader.fixed(32)
        if not reader.take(_SIGNATURE):
            return None
        pairs.append((key, reader.fixed(64)))
    return tuple(pairs)


_CONTRACT_CALL: Final = bytes(4)  # the arm of SorobanAuthorizedFunction


def _skip_function(reader: XdrReader) -> bool:
    """Move past the authorized function; whether it is a contract call."""
    arm = reader.uint32()
    if arm == 0:
        skip_call(reader)
    elif arm in (1, 2):  # the creation of a contract, without and with constructor arguments
        _skip_contract_id_preimage(reader)
        skip_executable(reader)
        for _ in range(reader.count(MAX_ARGUMENTS) if arm == 2 else 0):
            skip_value(reader)
    else:
        raise Malformed
    return arm == 0


def _skip_contract_id_preimage(reader: XdrReader) -> None:
    if reader.flag():
        skip_asset(reader)
    else:
        skip_address(reader)
        reader.skip(32)


def _skip_subinvocations(reader: XdrReader, depth: int) -> bool:
    branches = reader.count(_MAX_BRANCHES if depth else 0)
    for _ in range(branches):
        _skip_function(reader)
        _skip_subinvocations(reader, depth - 1)
    return branches > 0


def _skip_delegates(reader: XdrReader, depth: int) -> None:
    for _ in range(reader.count(_MAX_BRANCHES if depth else 0)):
        skip_address(reader)
        skip_value(reader)
        _skip_delegates(reader, depth - 1)


def every_signature_verifies(entry: AuthEntry, network_id: bytes) -> bool:
    """Whether the entry lists key signatures, at least one, and each verifies for `network_id`.

    False for an unsigned entry and for a signature only the payer's contract can judge.
    """
    signature = entry.signature
    if not isinstance(signature, KeySignatures) or not signature.pairs:
        return False
    if entry.kind is CredentialKind.SOURCE_ACCOUNT:
        return False
    digest = authorization_digest(entry, network_id)
    return all(signature_verifies(key, signed, digest) for key, signed in signature.pairs)


def keys_are_sorted(entry: AuthEntry) -> bool:
    """Whether the listed keys rise strictly, as the network requires; True without any."""
    signature = entry.signature
    if not isinstance(signature, KeySignatures):
        return True
    return all(key < following for (key, _), (following, _) in pairwise(signature.pairs))


def signature_verifies(key: bytes, signed: bytes, digest: bytes) -> bool:
    """Whether `signed` (64 bytes) is the signature of `key` (32 bytes) over `digest`."""
    try:
        crypto_sign_open(signed + digest, key)
    except BadSignatureError:
        return False
    return True
