"""Seal and open values with AES-256-GCM, bound to associated data and a key version."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.vault.master_keys import KEY_BYTES, MasterKeys

NONCE_BYTES: Final = 12
UPSTREAM_SECRETS: Final = "vault secret"  # the domain of sellers' secrets


class SealBroken(Outage):
    """A sealed value cannot be opened; the reason is not disclosed."""

    def __init__(self) -> None:
        super().__init__("vault", "A secret cannot be opened.")


class NonceUsed(Outage):
    """A random nonce repeated, so the system's randomness is broken; nothing was sealed."""

    def __init__(self) -> None:
        super().__init__("vault", "A nonce was generated twice.")


@dataclass(frozen=True, slots=True)
class AssociatedData:
    """The associated data of a sealed value, without which it cannot be opened."""

    owner: str
    purpose: str
    id: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A value as it is stored; `body` is ciphertext and tag."""

    key_version: int
    nonce: bytes
    body: bytes


class Sealer:
    """Seals and opens the values of one domain, with data keys derived for that domain."""

    def __init__(
        self,
        keys: MasterKeys,
        *,
        domain: str = UPSTREAM_SECRETS,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.version = keys.sealing
        self._domain, self._entropy = domain, entropy
        self._ciphers = {
            version: AESGCM(_derive_key(key, domain)) for version, key in keys.keys.items()
        }

    def seal(self, value: Secret[str], associated_data: AssociatedData) -> Sealed:
        """Seal the value with the first key and a random nonce."""
        return self.seal_bytes(Secret(value.reveal().encode()), associated_data)

    def open(self, sealed: Sealed, associated_data: AssociatedData) -> Secret[str]:
        """Open a value that was sealed with this associated data.

        Raises:
            SealBroken: the value or the data was changed, or its key is not configured.
        """
        try:
            return Secret(self.open_bytes(sealed, associated_data).reveal().decode())
        except ValueError:
            raise SealBroken from None

    def seal_bytes(self, value: Secret[bytes], associated_data: AssociatedData) -> Sealed:
        """Seal bytes as `seal` seals a text."""
        nonce = self._entropy(NONCE_BYTES)
        aad = _encode(self._domain, associated_data, self.version)
        body = self._ciphers[self.version].encrypt(nonce, value.reveal(), aad)
        return Sealed(self.version, nonce, body)

    def open_bytes(self, sealed: Sealed, associated_data: AssociatedData) -> Secret[bytes]:
        """Open bytes that were sealed with this associated data.

        Raises:
            SealBroken: the value or the data was changed, or its key is not configured.
        """
        cipher = self._ciphers.get(sealed.key_version)
        if cipher is None:
            raise SealBroken
        aad = _encode(self._domain, associated_data, sealed.key_version)
        try:
            return Secret(cipher.decrypt(sealed.nonce, sealed.body, aad))
        except (InvalidTag, ValueError):  # a nonce of another length is a ValueError
            raise SealBroken from None


def _derive_key(key: Secret[bytes], domain: str) -> bytes:
    expansion = HKDFExpand(SHA256(), KEY_BYTES, b"farebox " + domain.encode())
    return expansion.derive(key.reveal())


def _encode(domain: str, associated_data: AssociatedData, version: int) -> bytes:
    """Encode every field with its length, so that the encoding is unique."""
    fields = (
        domain,
        associated_data.owner,
        associated_data.purpose,
        associated_data.id,
        str(version),
    )
    raw = [field.encode("utf-8", "surrogatepass") for field in fields]
    return b"".join(len(each).to_bytes(4, "big") + each for each in raw)
