"""Complete a payment with the payer's signature; no call to the network is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.facilitator.verification.verdict import Rejected, judge_expiry, judge_policy
from farebox.facilitator.verification.verify import PaymentJudge
from farebox.kernel.networks import Network
from farebox.signing.authorization import payment_of
from farebox.signing.prepare import SigningNetwork
from farebox.stellar.auth_entries import AuthEntry, read_entry
from farebox.stellar.entry_writer import with_signature
from farebox.stellar.xdr_reader import Malformed
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason


@dataclass(frozen=True, slots=True)
class SignedAuthorization:
    """An unsigned entry (ADDRESS or ADDRESS_V2), and the signature (SCVal) to put into it."""

    entry: AuthEntry
    signature: bytes


class Completion:
    """Builds payments that pass every rule of the facilitator that needs no simulation."""

    def __init__(self, judge: PaymentJudge, networks: Mapping[Network, SigningNetwork]) -> None:
        self._judge, self._networks = judge, networks

    def complete(
        self, authorization: SignedAuthorization, terms: PaymentTerms
    ) -> Payment | Rejected:
        """Put the signature into the entry, and judge the payment by it.

        The key of a classic account is verified. The signature of a contract account is not: its
        code judges it, in the simulation that `/verify` and `/settle` make.

        Raises:
            ClockStale: the latest ledger is not known.
        """
        try:
            signed = read_entry(with_signature(authorization.entry, authorization.signature))
        except Malformed:  # together they have more items than an entry may have
            return Rejected(Reason.MALFORMED)
        payment = payment_of(signed, terms)
        verdict = self._judge.examine(payment)
        if isinstance(verdict, Rejected):
            return verdict
        network = self._networks[terms.network]
        refusal = judge_policy(terms, network.rules) or judge_expiry(
            verdict.entry, terms, network.rules, network.ledgers.now()
        )
        return payment if refusal is None else Rejected(refusal, verdict.payer)
