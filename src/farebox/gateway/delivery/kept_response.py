"""A delivered response that is kept for a day, to be replayed byte for byte."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from farebox.kernel.secret import Secret

PURPOSE: Final = "gateway response"  # of the associated data


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """Status, headers and body as the buyer got them, without the receipt."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def to_secret(self) -> Secret[bytes]:
        """Return headers and body in one piece."""
        return Secret(msgspec.msgpack.encode((self.headers, self.body)))


_PARTS: Final = msgspec.msgpack.Decoder(tuple[tuple[tuple[bytes, bytes], ...], bytes])


@dataclass(frozen=True, slots=True)
class SealedResponse:
    """A delivered response as it is stored."""

    sealed: bytes
    kept_for: timedelta


def read_kept_response(status: int, opened: Secret[bytes]) -> KeptResponse:
    """Read a response back from the bytes of `KeptResponse.to_secret`."""
    headers, body = _PARTS.decode(opened.reveal())
    return KeptResponse(status, headers, body)
