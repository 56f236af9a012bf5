"""Prepare a payer's authorization for signing; no call to the network is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.facilitator.verification.operator_rules import OperatorRules
from farebox.facilitator.verification.verdict import Rejected, expires_too_soon, judge_policy
from farebox.facilitator.verification.verify import PaymentJudge
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.signing.authorization import (
    UnsignedAuthorization,
    choose_expiry,
    payment_of,
    write_authorization,
)
from farebox.stellar.auth_entries import read_entry
from farebox.stellar.entry_writer import draw_nonce
from farebox.stellar.ledger_clock import ClockStale, Ledgers
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason


@dataclass(frozen=True, slots=True)
class SigningNetwork:
    """The operator's rules and the ledger clock of one network."""

    rules: OperatorRules
    ledgers: Ledgers


class Preparation:
    """Prepares authorizations that lack nothing but the payer's signature."""

    def __init__(self, judge: PaymentJudge, networks: Mapping[Network, SigningNetwork]) -> None:
        self._judge, self._networks = judge, networks

    def prepare(self, terms: PaymentTerms, payer: Address) -> UnsignedAuthorization | Rejected:
        """Write the authorization of `terms` by `payer`, with a nonce of its own.

        Rejected: the facilitator would refuse the payment, whatever its signature. Whether the
        payer holds the token is not known without a call to the network, and not judged.

        Raises:
            ClockStale: the latest ledger is not known, or a single look has named it.
        """
        network = self._networks.get(terms.network)
        if network is None:
            return Rejected(Reason.INVALID_NETWORK)
        refusal = judge_policy(terms, network.rules)
        if refusal is not None:
            return Rejected(refusal, payer)
        now = network.ledgers.now()
        if not now.is_confirmed:  # the authorization would end too late, or too soon
            raise ClockStale(terms.network)
        expires = choose_expiry(terms, now)
        authorization = write_authorization(
            terms, payer, nonce=draw_nonce(), expires_at_ledger=expires, now=now
        )
        verdict = self._judge.examine(payment_of(read_entry(authorization.entry), terms))
        missing = Reason.MISSING_PAYER_SIGNATURE  # the last rule that a prepared payment breaks
        if isinstance(verdict, Rejected) and verdict.reason is not missing:
            return verdict
        if expires_too_soon(expires, network.rules, now):
            return Rejected(Reason.EXPIRES_TOO_SOON, payer)
        return authorization
