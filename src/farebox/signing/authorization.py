"""A payer's authorization of one transfer: the unsigned entry, its hash, and the envelope."""

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from farebox.kernel.addresses import ZERO_ACCOUNT, Address
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import AuthEntry, authorization_preimage, read_entry
from farebox.stellar.entry_writer import unsigned_entry
from farebox.stellar.known_tokens import find_token
from farebox.stellar.ledger_clock import LedgerReading, ledgers_for
from farebox.stellar.transactions import AuthorizedCall, simulation_envelope
from farebox.stellar.transfer_envelope import TRANSFER
from farebox.stellar.xdr_writer import address_value, contract_call, i128_value
from farebox.x402.payment import Payment, PaymentTerms

# The facilitator may have observed another cadence, or observe it later, on a network that closes
# ledgers fast: an authorization uses this share of the window that it admits.
_CADENCE_MARGIN: Final = 1.25
_SEQUENCE: Final = 1


@dataclass(frozen=True, slots=True)
class UnsignedAuthorization:
    """The entry by which `payer` will authorize the transfer of `terms`, not signed yet.

    `preimage` is the HashIDPreimage (XDR) whose SHA-256 is signed. `expires_at` is the estimated
    close of the last ledger in which the authorization is valid.
    """

    terms: PaymentTerms
    payer: Address
    entry: bytes = field(repr=False)
    preimage: bytes = field(repr=False)
    expires_at_ledger: int
    expires_at: datetime

    @property
    def digest(self) -> bytes:
        """The 32 bytes that the payer signs."""
        return hashlib.sha256(self.preimage).digest()

    @property
    def statements(self) -> tuple[str, ...]:
        """A sentence for each thing that the signature allows."""
        terms = self.terms
        amount = f"{terms.amount} base units of the token {terms.asset}"
        token = find_token(terms.network, terms.asset)
        if token is not None:
            amount += f" ({token.show(terms.amount)})"
        moment = self.expires_at.strftime("%Y-%m-%d %H:%M:%S UTC")
        return (
            f"Transfer {amount} from {self.payer} to {terms.pay_to} on {terms.network}, once.",
            f"This is allowed until ledger {self.expires_at_ledger} closes, at about {moment}.",
            "Nothing else is allowed: no other amount, token or recipient, no second transfer.",
        )


def choose_expiry(terms: PaymentTerms, now: LedgerReading) -> int:
    """The last ledger of an authorization that is signed now: `maxTimeoutSeconds` from now.

    It is within the window that the facilitator admits (docs/decisions/0038).
    """
    cadence_s = now.cadence_s * _CADENCE_MARGIN
    return now.sequence + ledgers_for(terms.max_timeout_s, cadence_s=cadence_s, tolerance=0)


def write_authorization(
    terms: PaymentTerms, payer: Address, *, nonce: int, expires_at_ledger: int, now: LedgerReading
) -> UnsignedAuthorization:
    """Write the entry that authorizes transfer(payer, payTo, amount) and nothing else."""
    parties = address_value(payer), address_value(terms.pay_to)
    call = contract_call(terms.asset, TRANSFER, *parties, i128_value(terms.amount))
    raw = unsigned_entry(payer, nonce=nonce, expires_at_ledger=expires_at_ledger, call=call)
    preimage = authorization_preimage(read_entry(raw), terms.network.id)
    return UnsignedAuthorization(
        terms, payer, raw, preimage, expires_at_ledger, now.earliest_close(expires_at_ledger)
    )


def payment_of(entry: AuthEntry, terms: PaymentTerms) -> Payment:
    """The payment by this entry: an envelope of the call that it authorizes, and the terms.

    The envelope is as the buyers of x402 send it, without resource data: source account zero, no
    signature, no memo. A facilitator sets its own source, fee and resources.
    """
    authorized = AuthorizedCall(entry.root_call, (entry,))
    envelope = simulation_envelope(authorized, source=ZERO_ACCOUNT, sequence=_SEQUENCE)
    return Payment(terms, Secret(base64.b64decode(envelope)))
