"""The operator's signing keys: the relayer pays for settlements, the paymaster for automation.

Both accounts are refused as a party of payments and sign-ins.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final, Protocol

from nacl.signing import SigningKey

from farebox.kernel.addresses import Address, account_address
from farebox.kernel.secret import Secret

_SEED_VERSION: Final = 18 << 3  # S…
_SEED_LENGTH: Final = 56
_SEED_BYTES: Final = 35  # version, seed, checksum


class OperatorAddresses(Protocol):
    """The operator's accounts on one network, read without a call."""

    @property
    def addresses(self) -> frozenset[Address]: ...


class BadSigner(Exception):
    """A signing key cannot be used; the message names its role and never contains the key."""


@dataclass(frozen=True, slots=True)
class SigningAccount:
    """An account with its secret key; `address` follows from the key."""

    address: Address
    key: Secret[SigningKey]

    def sign(self, digest: bytes) -> bytes:
        """The ed25519 signature (64 bytes) of a transaction's 32-byte hash."""
        if len(digest) != 32:
            raise ValueError("only a 32-byte hash is signed")
        return self.key.reveal().sign(digest).signature


@dataclass(frozen=True, slots=True)
class Signers:
    """The operator's accounts on one network; `paymaster` is None where none is configured."""

    relayer: SigningAccount
    paymaster: SigningAccount | None

    @property
    def addresses(self) -> frozenset[Address]:
        """The accounts that belong to the operator."""
        both = (self.relayer, self.paymaster)
        return frozenset(signer.address for signer in both if signer is not None)


def parse_secret_seed(text: str) -> Secret[SigningKey] | None:
    """Read an S… seed; None for every other string."""
    if len(text) != _SEED_LENGTH or not text.isascii():
        return None
    try:
        raw = base64.b32decode(text)
    except binascii.Error:
        return None
    if len(raw) != _SEED_BYTES:
        return None
    checksum = binascii.crc_hqx(raw[:33], 0).to_bytes(2, "little")
    if raw[0] != _SEED_VERSION or raw[33:] != checksum:
        return None
    return Secret(SigningKey(raw[1:33]))


def read_signers(relayer: Secret[str], paymaster: Secret[str] | None) -> Signers:
    """Read the operator's keys from their S… seeds.

    Raises:
        BadSigner: a seed cannot be read, or both are one account.
    """
    first = _read(relayer, "relayer")
    second = None if paymaster is None else _read(paymaster, "paymaster")
    if second is not None and second.address == first.address:
        raise BadSigner("the relayer and the paymaster must be two accounts")
    return Signers(first, second)


def derive_signing_account(parent: SigningAccount, purpose: str) -> SigningAccount:
    """Derive an account: its seed is the HMAC-SHA256 of `purpose` under the parent's key."""
    seed = hmac.new(bytes(parent.key.reveal()), purpose.encode(), hashlib.sha256).digest()
    key = SigningKey(seed)
    return SigningAccount(account_address(bytes(key.verify_key)), Secret(key))


def new_seed() -> Secret[bytes]:
    """A random ed25519 seed (32 bytes), from the system's randomness."""
    return Secret(bytes(SigningKey.generate()))


def public_key_of(seed: Secret[bytes]) -> bytes:
    """The public key (32 bytes) of a seed."""
    return bytes(SigningKey(seed.reveal()).verify_key)


def sign_with_seed(seed: Secret[bytes], digest: bytes) -> bytes:
    """The ed25519 signature (64 bytes) of a 32-byte digest.

    Raises:
        ValueError: the digest has another length.
    """
    if len(digest) != 32:
        raise ValueError("only a 32-byte hash is signed")
    return SigningKey(seed.reveal()).sign(digest).signature


def _read(seed: Secret[str], role: str) -> SigningAccount:
    key = parse_secret_seed(seed.reveal())
    if key is None:
        raise BadSigner(f"the secret of the {role} is not a Stellar secret seed (S...)")
    return SigningAccount(account_address(bytes(key.reveal().verify_key)), key)
