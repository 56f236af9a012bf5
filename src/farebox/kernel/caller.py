"""The caller of a request, whichever credential it has shown."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.kernel.slots import Share

OwnerId = NewType("OwnerId", str)  # every record of a caller belongs to one
SHARED: Final = OwnerId("shared")  # the common budget of callers that are not established
_OPERATOR: Final = "operator"
COMMANDS: Final = OwnerId("operator_commands")  # the operator on the command line
_DIGITS: Final = 32  # of SHA-256 in hexadecimal: 128 bits


class CallerKind(StrEnum):
    """The kind of the credential."""

    SESSION = "session"
    KEY = "key"
    OPERATOR = "operator"
    SERVICE = "service"  # no credential: the service acts by itself


class Grant(StrEnum):
    """A scope of a personal key; a session and the operator have every scope."""

    READ = "read"
    FACILITATOR = "facilitator"
    WRAPPERS = "wrappers"
    AUTOMATION = "automation"


EVERY_GRANT: Final = frozenset(Grant)


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner whose records a request may use, and its scopes.

    `network` and `address` are the wallet's; the operator has none. `key_id` is set for a personal
    key alone, `session_id` for a session; neither is a secret. `is_established`: the wallet's
    account was on the ledger at a sign-in, or the operator made the key. Every other identity
    can be made for free, so that limits by owner do not bound them: `site` is where the request of
    such a caller came from, as quotas count it; None for an established one.
    """

    owner: OwnerId
    kind: CallerKind
    grants: frozenset[Grant] = EVERY_GRANT
    network: Network | None = None
    address: str | None = None
    key_id: str | None = None
    session_id: str | None = None
    is_established: bool = False
    site: str | None = None

    @property
    def share(self) -> Share:
        """The share that the caller takes of what all callers use at the same time.

        An operator's keys are for as many customers, a wallet's keys for one.
        """
        own = (self.key_id if is_operators(self.owner) else None) or self.owner
        return Share(self.site or own, is_new=not self.is_established)


class AnotherNetwork(Refusal):
    """A wallet's caller names a network that the wallet is not signed in on."""

    def __init__(self, own: Network, named: Network) -> None:
        message = f"You are signed in on {own.value}: sign in on {named.value} for what is there."
        super().__init__(ErrorCode.ACCOUNT_NOT_PROVEN, message)


class Unauthenticated(Refusal):
    """There is no valid credential; whether one was shown is not disclosed."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNAUTHENTICATED)


class SessionRequired(Refusal):
    """The credential is a key, and only a wallet's session or the operator is allowed."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.SESSION_REQUIRED)


def check_network(caller: Caller, named: Network | None) -> None:
    """Return if the caller's records may be on the network that a request names, if it names one.

    The same address on another network is another user, whose keys may be others. An operator has
    no wallet, and so no network of its own.

    Raises:
        AnotherNetwork: it is not the network of the caller's wallet.
    """
    if caller.network is not None and named not in (None, caller.network):
        raise AnotherNetwork(caller.network, named)


def user_id(network: Network, address: str) -> OwnerId:
    """The id of a wallet's user: permanent, and different on each network."""
    return _derived("user", f"{network.value}\n{address}")


def operator_id(digest: bytes) -> OwnerId:
    """The id of the operator whose key has this SHA-256 digest."""
    return _derived(_OPERATOR, digest.hex())


def is_operators(owner: OwnerId) -> bool:
    """Whether `owner` is an operator's id."""
    return owner.startswith(f"{_OPERATOR}_")


def budget_owner(caller: Caller | None) -> OwnerId:
    """The owner of the budget for a caller's payments: itself, or the common one."""
    return caller.owner if caller is not None and caller.is_established else SHARED


def _derived(kind: str, name: str) -> OwnerId:
    digest = hashlib.sha256(f"farebox {kind}\n{name}".encode()).hexdigest()
    return OwnerId(f"{kind}_{digest[:_DIGITS]}")
