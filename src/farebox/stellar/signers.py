"""The operator's keys: the relayer signs settlements, the paymaster pays fee bumps."""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from nacl.signing import SigningKey

from farebox.kernel.addresses import Address, account_address
from farebox.kernel.secret import Secret

_SEED_VERSION: Final = 18 << 3  # S…
_SEED_LENGTH: Final = 56
_SEED_BYTES: Final = 35  # version, seed, checksum


class BadSigner(Exception):
    """A signing key cannot be used; the words name its role and never hold the key."""


@dataclass(frozen=True, slots=True)
class Relayer:
    """An account of the operator that can sign; `address` follows from the key."""

    address: Address
    key: Secret[SigningKey]

    def sign(self, digest: bytes) -> bytes:
        """The ed25519 signature (64 bytes) of a transaction's 32-byte hash."""
        if len(digest) != 32:
            raise ValueError("only a 32-byte hash is signed")
        return self.key.reveal().sign(digest).signature


@dataclass(frozen=True, slots=True)
class Signers:
    """The operator's accounts on one network; without a paymaster nothing is fee-bumped."""

    relayer: Relayer
    paymaster: Relayer | None

    @property
    def addresses(self) -> frozenset[Address]:
        """Every account that can be a transaction's or a fee's source."""
        both = (self.relayer, self.paymaster)
        return frozenset(signer.address for signer in both if signer is not None)

    @property
    def fee_source(self) -> Relayer:
        """Whoever pays the fee."""
        return self.paymaster or self.relayer


def parse_secret_seed(text: str) -> Secret[SigningKey] | None:
    """Read an S… seed; None for every other string. Nothing read is echoed."""
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
    """The operator's keys out of their S… seeds.

    Raises:
        BadSigner: a seed cannot be read, or both are one account.
    """
    first = _read(relayer, "relayer")
    second = None if paymaster is None else _read(paymaster, "paymaster")
    if second is not None and second.address == first.address:
        raise BadSigner("the relayer and the paymaster must be two accounts")
    return Signers(first, second)


def derived_signer(parent: Relayer, purpose: str) -> Relayer:
    """Another account whose key follows from the parent's: HMAC-SHA256 of `purpose` under it."""
    seed = hmac.new(bytes(parent.key.reveal()), purpose.encode(), hashlib.sha256).digest()
    key = SigningKey(seed)
    return Relayer(account_address(bytes(key.verify_key)), Secret(key))


def _read(seed: Secret[str], role: str) -> Relayer:
    key = parse_secret_seed(seed.reveal())
    if key is None:
        raise BadSigner(f"the secret of the {role} is not a Stellar secret seed (S...)")
    return Relayer(account_address(bytes(key.reveal().verify_key)), key)
