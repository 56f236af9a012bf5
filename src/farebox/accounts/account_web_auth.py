"""SEP-10: prove control of a classic account (G…) with a signed challenge transaction.

The only module of the service that imports the Stellar SDK to build challenges.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from stellar_sdk import TimeBounds, TransactionEnvelope
from stellar_sdk.sep.stellar_web_authentication import (
    build_challenge_transaction,
    read_challenge_transaction,
)

from farebox.accounts.account_signers import (
    AccountSigners,
    SignatureVerdict,
    default_signers,
    find_signature,
    judge_signatures,
    read_account_signers,
)
from farebox.accounts.signed_challenge import (
    ChallengeTerms,
    SignedChallenge,
    read_signed_challenge,
)
from farebox.accounts.web_auth_scheme import (
    IssuedChallenge,
    ReturnedChallenge,
    SignatureRefused,
    UnreadableChallenge,
)
from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.clock import Clock
from farebox.kernel.secret import Secret
from farebox.stellar.account_entry import account_key
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc

CHALLENGE_LIFE: Final = timedelta(minutes=5)
_CONCURRENT_LOOKUPS: Final = 8  # settlements use the same connections
_LOOKUP_WAIT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge transaction that the service alone has signed."""

    transaction: str = field(repr=False)  # base64 XDR
    digest: bytes  # its hash on its network
    expires_at: datetime  # the last whole second at which it is valid


def make_challenge(
    terms: ChallengeTerms, secret: Secret[str], address: Address, *, now: datetime
) -> Challenge:
    """Build a challenge for the account that is valid for five minutes from `now`.

    The SDK builds the transaction and validates it by the machine's clock; the time bounds are
    then replaced by those from `now`, and the transaction is signed again.
    """
    passphrase = terms.network.passphrase
    built = build_challenge_transaction(
        server_secret=secret.reveal(),
        client_account_id=address,
        home_domain=terms.domain,
        web_auth_domain=terms.domain,
        network_passphrase=passphrase,
        timeout=int(CHALLENGE_LIFE.total_seconds()),
    )
    read_challenge_transaction(built, terms.server, terms.domain, terms.domain, passphrase)
    envelope = TransactionEnvelope.from_xdr(built, passphrase)
    starts_at = now.replace(microsecond=0)
    ends_at = starts_at + CHALLENGE_LIFE
    preconditions = envelope.transaction.preconditions
    if preconditions is None:
        raise ValueError("a challenge has time bounds")
    preconditions.time_bounds = TimeBounds(int(starts_at.timestamp()), int(ends_at.timestamp()))
    envelope.signatures.clear()
    envelope.sign(secret.reveal())
    return Challenge(envelope.to_xdr(), envelope.hash(), ends_at)


class AccountWebAuth:
    """The `WebAuthScheme` of the classic accounts of one network; reads their signers each time."""

    def __init__(
        self, terms: ChallengeTerms, secret: Secret[str], rpc: SorobanRpc, clock: Clock
    ) -> None:
        self._terms, self._secret, self._rpc, self._clock = terms, secret, rpc, clock
        self._lookups = asyncio.Semaphore(_CONCURRENT_LOOKUPS)

    async def issue(self, address: Address) -> IssuedChallenge:
        """Issue a challenge for the account, which need not be on the ledger."""
        challenge = make_challenge(self._terms, self._secret, address, now=self._clock.now())
        return IssuedChallenge(
            address, challenge.transaction, challenge.digest, challenge.expires_at
        )

    def read(self, document: str) -> ReturnedChallenge:
        """Read a challenge in base64 XDR that the service has signed.

        Raises:
            UnreadableChallenge: it is no challenge, or the service has not signed it.
        """
        challenge = read_signed_challenge(document, self._terms)
        if challenge is None or not find_signature(
            raw_key(self._terms.server), challenge.digest, challenge.signatures
        ):
            raise UnreadableChallenge
        return ReturnedChallenge(
            challenge.address, challenge.digest, partial(self._verify, challenge)
        )

    async def _verify(self, challenge: SignedChallenge) -> bool:
        signers = await self._signers(challenge.address)
        verdict = judge_signatures(
            challenge.digest,
            challenge.signatures,
            server=self._terms.server,
            signers=default_signers(challenge.address) if signers is None else signers,
        )
        if verdict is not SignatureVerdict.SUFFICIENT:
            raise SignatureRefused
        return signers is not None

    async def _signers(self, account: Address) -> AccountSigners | None:
        """Read the account's signers from the latest ledger; None when it has no such account.

        Raises:
            RpcUnavailable: no up-to-date node answered, or too many look-ups are running.
        """
        key = account_key(account)
        result = await self._look_up(key)
        entry = next((each for each in result.entries if each.key == key), None)
        if entry is None:
            return None
        signers = read_account_signers(entry.data, account)
        if signers is None:
            network = self._terms.network
            text = f"the ledger entry of an account of {network} cannot be read"
            raise RpcUnavailable(network, text, certainly_not_sent=True)
        return signers

    async def _look_up(self, key: bytes) -> LedgerEntries:
        try:
            async with asyncio.timeout(_LOOKUP_WAIT_S):
                await self._lookups.acquire()
        except TimeoutError:
            network = self._terms.network
            text = f"too many account look-ups on {network} are running"
            raise RpcUnavailable(
                network, text, certainly_not_sent=True, node_was_called=False
            ) from None
        try:
            return await self._rpc.ledger_entries([key])
        finally:
            self._lookups.release()
