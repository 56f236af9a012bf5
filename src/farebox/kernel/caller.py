"""Who asks: the one value that stands for a caller, however it has shown who it is."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network

OwnerId = NewType("OwnerId", str)  # what every record of a caller is scoped to
_OPERATOR: Final = "operator"
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


class Unauthenticated(Refusal):
    """Nothing was shown, or nothing that is valid now; which of the two is not told."""

    def __init__(self) -> None:
        words = "Show a session or a key: Authorization: Bearer …"
        super().__init__("unauthenticated", words)


class SessionRequired(Refusal):
    """A key was shown where only a wallet's session or the operator may act."""

    def __init__(self) -> None:
        words = "Sign in with the wallet: a key may not do this."
        super().__init__("session_required", words)


def user_id(network: Network, address: str) -> OwnerId:
    """The id of a wallet's user: the same for ever, another on every network."""
    return _derived("user", f"{network.value}\n{address}")


def operator_id(digest: bytes) -> OwnerId:
    """The id under which the operator with a key of this SHA-256 digest acts."""
    return _derived(_OPERATOR, digest.hex())


def is_operators(owner: OwnerId) -> bool:
    """Whether it is the id of an operator's key, of whichever."""
    return owner.startswith(f"{_OPERATOR}_")


def _derived(kind: str, name: str) -> OwnerId:
    digest = hashlib.sha256(f"farebox {kind}\n{name}".encode()).hexdigest()
    return OwnerId(f"{kind}_{digest[:_DIGITS]}")
