"""A buyer's signed payment and the request that carries it, with every part open to change."""

import base64
import dataclasses
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stellar_sdk import Keypair, xdr

from farebox.kernel.networks import Network
from support.envelopes import call_operation, sealed, transaction
from testing.contract_calls import invocation, transfer
from testing.entries import Credentials, signed_entry
from testing.payment_terms import payment_requirements

Json = dict[str, Any]


def fresh_nonce() -> int:
    """Draw a random nonce from the whole int64 range."""
    return int.from_bytes(secrets.token_bytes(8), signed=True)


@dataclass(frozen=True, slots=True)
class Draft:
    """A transfer to be signed: its parties, signers and expiry."""

    network: Network
    asset: str
    payer: str
    signers: tuple[Keypair, ...] = field(repr=False)
    pay_to: str
    expires_at_ledger: int
    amount: int = 10_000
    timeout_s: int = 900
    nonce: int = field(default_factory=fresh_nonce)
    kind: Credentials = Credentials.ADDRESS

    def but(self, **changes: Any) -> "Draft":
        """The same draft with some fields changed, and a nonce of its own unless one is given."""
        changes.setdefault("nonce", fresh_nonce())
        return dataclasses.replace(self, **changes)

    def call(self) -> xdr.InvokeContractArgs:
        """The transfer itself."""
        return transfer(self.asset, self.payer, self.pay_to, self.amount)

    def entry(
        self,
        root: xdr.SorobanAuthorizedInvocation | None = None,
        *,
        network: Network | None = None,
        is_sorted: bool = True,
    ) -> xdr.SorobanAuthorizationEntry:
        """The payer's signed entry; of the transfer, unless another root is given."""
        return signed_entry(
            root or invocation(self.call()),
            self.payer,
            self.signers,
            (network or self.network).passphrase,
            nonce=self.nonce,
            expires_at_ledger=self.expires_at_ledger,
            kind=self.kind,
            is_sorted=is_sorted,
        )

    def envelope(
        self, *entries: xdr.SorobanAuthorizationEntry, call: xdr.InvokeContractArgs | None = None
    ) -> xdr.TransactionEnvelope:
        """The unsigned envelope the official client sends; around other parts if given."""
        operation = call_operation(call or self.call(), entries or (self.entry(),))
        return sealed(transaction([operation]))

    def without_entries(self) -> xdr.TransactionEnvelope:
        """The envelope with nothing authorized."""
        return sealed(transaction([call_operation(self.call(), ())]))

    def around(self, operations: Sequence[xdr.Operation], **parts: Any) -> bytes:
        """The bytes of a transaction of other operations or parts."""
        return sealed(transaction(operations, **parts)).to_xdr_bytes()

    def operation(self, *, source: str | None = None) -> xdr.Operation:
        """The one operation of the payment."""
        return call_operation(self.call(), (self.entry(),), source=source)

    def terms(self, **changes: Any) -> Json:
        """The seller's requirements that this draft meets, with members changed or added."""
        terms = payment_requirements(
            self.network, self.asset, self.amount, self.pay_to, self.timeout_s
        )
        return terms | changes

    def request(
        self, envelope: xdr.TransactionEnvelope | bytes | None = None, **terms: Any
    ) -> Json:
        """The body of both routes; for this payment, or with other bytes or terms on both sides."""
        wanted = self.terms(**terms)
        return wrapper(wanted, wanted, envelope if envelope is not None else self.envelope())


def wrapper(
    accepted: Json, required: Json, envelope: xdr.TransactionEnvelope | bytes | str
) -> Json:
    """Build the request of an official client: payload with `accepted`, and requirements."""
    return {
        "x402Version": 2,
        "paymentPayload": {
            "x402Version": 2,
            "accepted": dict(accepted),
            "payload": {"transaction": encoded(envelope)},
        },
        "paymentRequirements": dict(required),
    }


def encoded(envelope: xdr.TransactionEnvelope | bytes | str) -> str:
    """The base64 text of an envelope; text is passed through as it is."""
    if isinstance(envelope, str):
        return envelope
    raw = envelope if isinstance(envelope, bytes) else envelope.to_xdr_bytes()
    return base64.b64encode(raw).decode()
