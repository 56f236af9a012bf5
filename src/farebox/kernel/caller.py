"""Who asks: the one value that stands for a caller, however it has shown who it is."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from farebox.kernel.networks import Network

OwnerId = NewType("OwnerId", str)  # what every record of a caller is scoped to
_DIGITS: Final = 32  # of SHA-256 in hexadecimal: 128 bits


class CallerKind(StrEnum):
    """What was shown."""

    SESSION = "session"
    KEY = "key"
    OPERATOR = "operator"


class Grant(StrEnum):
    """What a personal key may be used for; a session and the operator may do everything."""

    READ = "read"
    FACILITATOR = "facilitator"
    WRAPPERS = "wrappers"
    AUTOMATION = "automation"


EVERY_GRANT: Final = frozenset(Grant)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose records a request may touch, and what it may do.

    `network` and `address` are the wallet's; the operator has none. `key_id` is set for a personal
    key alone, `session_id` for a session; neither is a secret.
    """

    owner: OwnerId
    kind: CallerKind
    grants: frozenset[Grant] = EVERY_GRANT
    network: Network | None = None
    address: str | None = None
    key_id: str | None = None
    session_id: str | None = None


def user_id(network: Network, address: str) -> OwnerId:
    """The id of a wallet's user: the same for ever, another on every network."""
    return _derived("user", f"{network.value}\n{address}")


def operator_id(digest: bytes) -> OwnerId:
    """The id under which the operator with a key of this SHA-256 digest acts."""
    return _derived("operator", digest.hex())


def _derived(kind: str, name: str) -> OwnerId:
    digest = hashlib.sha256(f"farebox {kind}\n{name}".encode()).hexdigest()
    return OwnerId(f"{kind}_{digest[:_DIGITS]}")
