"""Read a signed SEP-10 challenge from untrusted text: exactly the form that we issue.

Other forms are refused, so that untrusted input never reaches a general decoder. A challenge
counts only if its digest is that of a stored one.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Final

from farebox.kernel.addresses import Address, account_address, raw_key
from farebox.kernel.networks import Network
from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64

MAX_BYTES: Final = 2_048  # a challenge with all twenty signatures has about 1,900
MAX_SIGNATURES: Final = 20
AUTH_DOMAIN: Final = "web_auth_domain"
NONCE_BYTES: Final = 64  # 48 random bytes in base64
_TRANSACTION: Final = 2  # EnvelopeType of a version 1 transaction
_ED25519: Final = 0  # the plain form of an account; the muxed one is refused
_TIME_BOUNDS: Final = 1  # Preconditions
_NO_MEMO: Final = 0
_MANAGE_DATA: Final = 10
_NAME_BYTES: Final = 64
_SIGNATURE_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class ChallengeTerms:
    """The contents common to all challenges of the service for one network."""

    network: Network
    server: Address  # the account that signs challenges
    domain: str  # both the home domain and the web-auth domain


@dataclass(frozen=True, slots=True)
class SignedChallenge:
    """A well-formed challenge; its signatures are not verified yet."""

    address: Address  # the account that signs in
    digest: bytes  # the transaction's hash on its network
    min_time: int  # seconds of Unix time
    max_time: int
    signatures: tuple[tuple[bytes, bytes], ...] = field(repr=False)  # hint and signature


def read_signed_challenge(text: str, terms: ChallengeTerms) -> SignedChallenge | None:
    """Read a challenge in base64 XDR; None for every other text."""
    try:
        return _read(XdrReader(decode_base64(text, max_bytes=MAX_BYTES)), terms)
    except Malformed:
        return None


def _read(reader: XdrReader, terms: ChallengeTerms) -> SignedChallenge:
    server = raw_key(terms.server)
    reader.expect(_TRANSACTION)
    _key(reader, server)
    reader.uint32()  # the fee, which is not paid
    if reader.int64() != 0:
        raise Malformed  # with another sequence number it could be submitted
    reader.expect(_TIME_BOUNDS)
    min_time, max_time = reader.uint64(), reader.uint64()
    if min_time >= max_time:
        raise Malformed  # also 0, which means no end
    reader.expect(_NO_MEMO)
    reader.expect(2)  # operations
    reader.expect(1)  # a source of its own
    client = _key(reader, None)
    if len(_data(reader, f"{terms.domain} auth")) != NONCE_BYTES:
        raise Malformed
    reader.expect(1)
    _key(reader, server)
    if _data(reader, AUTH_DOMAIN) != terms.domain.encode():
        raise Malformed
    reader.expect(0)  # no extension
    digest = hashlib.sha256(terms.network.id + reader.since(0)).digest()
    signatures = tuple(_signature(reader) for _ in range(reader.count(MAX_SIGNATURES)))
    reader.finish()
    return SignedChallenge(account_address(client), digest, min_time, max_time, signatures)


def _key(reader: XdrReader, expected: bytes | None) -> bytes:
    reader.expect(_ED25519)
    key = reader.fixed(32)
    if expected is not None and key != expected:
        raise Malformed
    return key


def _data(reader: XdrReader, name: str) -> bytes:
    reader.expect(_MANAGE_DATA)
    if reader.opaque(_NAME_BYTES) != name.encode():
        raise Malformed
    reader.expect(1)  # there is a value
    return reader.opaque(NONCE_BYTES)


def _signature(reader: XdrReader) -> tuple[bytes, bytes]:
    hint = reader.fixed(4)
    signature = reader.opaque(_SIGNATURE_BYTES)
    if len(signature) != _SIGNATURE_BYTES:
        raise Malformed
    return hint, signature
