"""AES-256-GCM: a sealed value opens in its own context and under its own key version alone."""

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
UPSTREAM_SECRETS: Final = "vault secret"  # the domain of what sellers keep here


class SealBroken(Outage):
    """A sealed value does not open; which of the many possible reasons it has is not told."""

    def __init__(self) -> None:
        super().__init__("vault", "A secret cannot be opened.")


class NonceUsed(Outage):
    """The system's randomness has given the same twice: nothing is sealed with it."""

    def __init__(self) -> None:
        super().__init__("vault", "A nonce came up for the second time.")


@dataclass(frozen=True, slots=True)
class Context:
    """What a sealed value is bound to: in any other context it does not open."""

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
    """Seals and opens the values of one domain, which no other domain's keys open."""

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
            version: AESGCM(_derived(key, domain)) for version, key in keys.keys.items()
        }

    def seal(self, value: Secret[str], context: Context) -> Sealed:
        """The value under the newest key with a nonce of its own."""
        nonce = self._entropy(NONCE_BYTES)
        bound_to = _encoded(self._domain, context, self.version)
        plain = value.reveal().encode()
        body = self._ciphers[self.version].encrypt(nonce, plain, bound_to)
        return Sealed(self.version, nonce, body)

    def open(self, sealed: Sealed, context: Context) -> Secret[str]:
        """The value that was sealed in this very context.

        Raises:
            SealBroken: anything about it differs from what was sealed, or its key is not here.
        """
        cipher = self._ciphers.get(sealed.key_version)
        if cipher is None:
            raise SealBroken
        bound_to = _encoded(self._domain, context, sealed.key_version)
        try:
            return Secret(cipher.decrypt(sealed.nonce, sealed.body, bound_to).decode())
        except (InvalidTag, ValueError):  # a nonce of another length is a ValueError
            raise SealBroken from None


def _derived(key: Secret[bytes], domain: str) -> bytes:
    expansion = HKDFExpand(SHA256(), KEY_BYTES, b"farebox " + domain.encode())
    return expansion.derive(key.reveal())


def _encoded(domain: str, context: Context, version: int) -> bytes:
    """Every field behind its length, so that no two contexts are encoded alike."""
    fields = (domain, context.owner, context.purpose, context.id, str(version))
    raw = [field.encode("utf-8", "surrogatepass") for field in fields]
    return b"".join(len(each).to_bytes(4, "big") + each for each in raw)
