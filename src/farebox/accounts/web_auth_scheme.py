"""The interface of web authentication, for SEP-10 and SEP-45: challenges and refusals.

A scheme issues and verifies challenges; `SignIn` stores and consumes them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal


class DocumentKind(StrEnum):
    """The document that a wallet signs, by its name on the wire."""

    TRANSACTION = "transactionXdr"  # accounts: SEP-10
    ENTRIES = "authorizationEntriesXdr"  # contract accounts: SEP-45


@dataclass(frozen=True, slots=True)
class IssuedChallenge:
    """A new challenge: `document` is base64 XDR, `digest` identifies it."""

    address: Address
    document: str = field(repr=False)
    digest: bytes  # SHA-256, 32 bytes
    expires_at: datetime  # it cannot be consumed afterwards


@dataclass(frozen=True, slots=True)
class ReturnedChallenge:
    """A challenge of ours that a wallet sent back; its signatures are not verified yet.

    `verify` checks them against the current ledger and returns whether the account is on it. It
    raises `SignatureRefused`, or an Outage where the network is unavailable.
    """

    address: Address
    digest: bytes  # that of the issued challenge
    verify: Callable[[], Awaitable[bool]] = field(repr=False)


class WebAuthScheme(Protocol):
    """Web authentication for one kind of account on one network."""

    async def issue(self, address: Address) -> IssuedChallenge:
        """Issue a challenge for the account, signed by the service.

        Raises:
            Refusal: this account cannot sign in.
            Outage: the network is unavailable.
        """
        ...

    def read(self, document: str) -> ReturnedChallenge:
        """Read a challenge of the service from untrusted text; no network call.

        Raises:
            UnreadableChallenge: it is not one.
        """
        ...


class SignInUnavailable(Refusal):
    """The operator has not configured sign-in."""

    def __init__(self) -> None:
        words = "Sign-in is not configured: the operator sets FAREBOX_AUTH_SIGNING_SECRET."
        super().__init__(ErrorCode.SIGN_IN_UNAVAILABLE, words)


class ContractSignInUnavailable(Refusal):
    """The network has no usable web-auth contract."""

    def __init__(self) -> None:
        words = "Contract accounts cannot sign in on this network: it has no web-auth contract."
        super().__init__(ErrorCode.CONTRACT_LOGIN_UNAVAILABLE, words)


class OneDocumentRequired(Refusal):
    """The request holds no signed document, or two."""

    def __init__(self) -> None:
        words = "Send one signed challenge: a transaction, or authorization entries."
        super().__init__(ErrorCode.INVALID_REQUEST, words)


class UnreadableChallenge(Refusal):
    """The document is not a challenge that this service could have issued."""

    def __init__(self) -> None:
        words = "This is not a challenge of this service for this network, signed or not."
        super().__init__(ErrorCode.INVALID_CHALLENGE, words)


class ChallengeNotOpen(Refusal):
    """The challenge is unknown, consumed, expired, or belongs to another account."""

    def __init__(self) -> None:
        words = "The challenge is expired or already used: request a new one."
        super().__init__(ErrorCode.CHALLENGE_NOT_OPEN, words)


class SignatureRefused(Refusal):
    """The signatures do not authorize the account."""

    def __init__(self) -> None:
        words = "The signatures are below the account's threshold, or one is not of a signer."
        super().__init__(ErrorCode.SIGNATURE_REFUSED, words)
