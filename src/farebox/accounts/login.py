"""Signing in, whatever proves the account: what is issued, what comes back, why it is refused.

A `Login` proves accounts of one kind on one network. It neither stores nor consumes anything:
`SignIn` does, alike for every kind.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.errors import Refusal


class Proof(StrEnum):
    """What a wallet is given to sign, as the wire names it."""

    TRANSACTION = "transactionXdr"  # accounts: SEP-10
    ENTRIES = "authorizationEntriesXdr"  # contract accounts: SEP-45


@dataclass(frozen=True, slots=True)
class Issued:
    """A challenge: `document` is base64 XDR, `digest` names exactly what was issued."""

    address: Address
    document: str = field(repr=False)
    digest: bytes  # SHA-256, 32 bytes
    expires_at: datetime  # when it can no more be consumed, whatever the ledger says


@dataclass(frozen=True, slots=True)
class Shown:
    """A signed challenge as it was read: well formed and ours, its wallet's part not judged yet.

    `prove` returns if the account has signed, by the ledger as it is now. It raises
    `SignatureRefused` if not, and an Outage where the network cannot be asked.
    """

    address: Address
    digest: bytes  # as in `Issued`
    prove: Callable[[], Awaitable[None]] = field(repr=False)


class Login(Protocol):
    """Proves accounts of one kind on one network."""

    async def issue(self, address: Address) -> Issued:
        """A fresh challenge for the account, signed by the service, not stored yet.

        Raises:
            Refusal: this account cannot sign in.
            Outage: the network was needed and could not be asked.
        """
        ...

    def read(self, document: str) -> Shown:
        """A stranger's text as a challenge of ours; bounded work, no network.

        Raises:
            UnreadableChallenge: it is not one.
        """
        ...


class SignInUnavailable(Refusal):
    """The operator has not set it up."""

    def __init__(self) -> None:
        words = "Signing in is not set up here: the operator sets FAREBOX_AUTH_SIGNING_SECRET."
        super().__init__("sign_in_unavailable", words)


class ContractLoginUnavailable(Refusal):
    """The operator has not named a web-auth contract for the network."""

    def __init__(self) -> None:
        words = "Contract accounts cannot sign in on this network: no web-auth contract is named."
        super().__init__("contract_login_unavailable", words)


class NoOneDocument(Refusal):
    """Nothing signed was sent, or two things."""

    def __init__(self) -> None:
        words = "Send one signed challenge: a transaction, or authorization entries."
        super().__init__("invalid_request", words)


class UnreadableChallenge(Refusal):
    """What was sent is not a challenge this service could have issued."""

    def __init__(self) -> None:
        words = "This is not a challenge of this service for this network, signed or not."
        super().__init__("invalid_challenge", words)


class ChallengeNotOpen(Refusal):
    """It was never issued, is used up, is over, or belongs to another account."""

    def __init__(self) -> None:
        words = "The challenge cannot be used (again): ask for a new one."
        super().__init__("challenge_not_open", words)


class SignatureRefused(Refusal):
    """The signatures do not speak for the account."""

    def __init__(self) -> None:
        words = "The signatures do not reach what the account asks for, or one is not of a signer."
        super().__init__("signature_refused", words)
