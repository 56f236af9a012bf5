"""Sealed values in one piece, for the tables of other features."""

from typing import Final

from farebox.kernel.secret import Secret
from farebox.vault.sealing import NONCE_BYTES, AssociatedData, SealBroken, Sealed, Sealer

_VERSION_BYTES: Final = 4
_HEAD_BYTES: Final = _VERSION_BYTES + NONCE_BYTES


class ByteSealer:
    """Seals bytes of one domain; key version and nonce stand before the ciphertext."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def seal(self, value: Secret[bytes], *, owner: str, purpose: str, record: str) -> bytes:
        """Seal the value for one record of an owner."""
        return join_sealed(self._sealer.seal_bytes(value, AssociatedData(owner, purpose, record)))

    def open(self, sealed: bytes, *, owner: str, purpose: str, record: str) -> Secret[bytes]:
        """Open a value that was sealed for this record.

        Raises:
            SealBroken: the value or the data was changed, or its key is not configured.
        """
        if len(sealed) < _HEAD_BYTES:
            raise SealBroken
        return self._sealer.open_bytes(split_sealed(sealed), AssociatedData(owner, purpose, record))


def join_sealed(sealed: Sealed) -> bytes:
    """A sealed value in one piece."""
    return sealed.key_version.to_bytes(_VERSION_BYTES, "big") + sealed.nonce + sealed.body


def split_sealed(raw: bytes) -> Sealed:
    """The parts of a sealed value; one that is too short has a key version of its own making."""
    version = int.from_bytes(raw[:_VERSION_BYTES], "big")
    return Sealed(version, raw[_VERSION_BYTES:_HEAD_BYTES], raw[_HEAD_BYTES:])
