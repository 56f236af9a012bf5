"""Prove that somebody controls a classic account (G…): SEP-10."""

from farebox.accounts.challenge import make_challenge
from farebox.accounts.login import Issued, Shown, SignatureRefused, UnreadableChallenge
from farebox.accounts.signed_challenge import (
    ChallengeTerms,
    SignedChallenge,
    read_signed_challenge,
)
from farebox.accounts.signing import Said, is_signed_by, judge_signatures
from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.clock import Clock
from farebox.kernel.secret import Secret
from farebox.stellar.account_entry import account_key
from farebox.stellar.account_signers import (
    AccountSigners,
    read_account_signers,
    signers_of_absent,
)
from farebox.stellar.rpc import RpcUnavailable, SorobanRpc


class WalletLogin:
    """A `Login` of one network: its signers and thresholds are asked of the ledger each time."""

    def __init__(
        self, terms: ChallengeTerms, secret: Secret[str], rpc: SorobanRpc, clock: Clock
    ) -> None:
        self._terms, self._secret, self._rpc, self._clock = terms, secret, rpc, clock

    async def issue(self, address: Address) -> Issued:
        """A fresh challenge for the account, which need not be on the ledger."""
        made = make_challenge(self._terms, self._secret, address, now=self._clock.now())
        return Issued(address, made.transaction, made.digest, made.expires_at)

    def read(self, document: str) -> Shown:
        """The challenge in base64 XDR, signed by us at least.

        Raises:
            UnreadableChallenge: it is of another shape, or we have not signed it.
        """
        read = read_signed_challenge(document, self._terms)
        if read is None or not is_signed_by(
            raw_key(self._terms.server), read.digest, read.signatures
        ):
            raise UnreadableChallenge

        async def prove() -> None:
            await self._prove(read)

        return Shown(read.address, read.digest, prove)

    async def _prove(self, challenge: SignedChallenge) -> None:
        said = judge_signatures(
            challenge.digest,
            challenge.signatures,
            server=self._terms.server,
            signers=await self._signers(challenge.address),
        )
        if said is not Said.ENOUGH:
            raise SignatureRefused

    async def _signers(self, account: Address) -> AccountSigners:
        """Who speaks for the account in a newest ledger.

        Raises:
            RpcUnavailable: no node says so, or none that is up to date.
        """
        key = account_key(account)
        found = await self._rpc.ledger_entries([key])
        entry = next((each for each in found.entries if each.key == key), None)
        if entry is None:
            return signers_of_absent(account)
        signers = read_account_signers(entry.data, account)
        if signers is None:
            network = self._terms.network
            text = f"an account of {network} came back in a form that is not known"
            raise RpcUnavailable(network, text, certainly_not_sent=True)
        return signers
