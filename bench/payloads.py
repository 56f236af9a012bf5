"""Signed payments for the verify bench, as the stock npm client builds them, by the public SDK.

ADDRESS credentials (the npm facilitator refuses the newer kind), one recording and one enforcing
simulation, and the client's own fee and resource data in the envelope.
"""

from dataclasses import dataclass
from typing import Final

import msgspec
from stellar_sdk import (
    Account,
    Keypair,
    Network,
    SorobanServer,
    TransactionBuilder,
    TransactionEnvelope,
    scval,
    xdr,
)
from stellar_sdk.auth import authorize_entry
from stellar_sdk.operation import InvokeHostFunction

from testing.payment_terms import payment_requirements

NETWORK: Final = "stellar:testnet"
_NO_SOURCE: Final = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF"
_INCLUSION_FEE: Final = 100
_CUTS: Final = 8


@dataclass(frozen=True, slots=True)
class Terms:
    """The payment terms of a bench."""

    asset: str
    pay_to: str
    amount: int
    max_timeout_s: int

    def requirements(self, *, amount: int | None = None) -> dict[str, object]:
        """Return the payment requirements; `amount` overrides the signed amount."""
        required = self.amount if amount is None else amount
        return payment_requirements(NETWORK, self.asset, required, self.pay_to, self.max_timeout_s)


def signed_transfer(
    server: SorobanServer, payer: Keypair, terms: Terms, *, expires_at_ledger: int
) -> str:
    """Build and sign one payment of `terms` by `payer`; return the envelope in base64."""
    envelope = _unsigned(payer.public_key, terms)
    recorded = server.simulate_transaction(envelope, use_upgraded_auth=False)
    if recorded.error or not recorded.results or not recorded.results[0].auth:
        raise RuntimeError(f"the recording simulation failed: {recorded.error}")
    entry = authorize_entry(
        recorded.results[0].auth[0],
        payer,
        expires_at_ledger,
        Network.TESTNET_NETWORK_PASSPHRASE,
    )
    operation = envelope.transaction.operations[0]
    if not isinstance(operation, InvokeHostFunction):
        raise TypeError("the envelope holds no contract call")
    operation.auth = [entry]
    enforced = server.simulate_transaction(envelope)
    if enforced.error or enforced.min_resource_fee is None or not enforced.transaction_data:
        raise RuntimeError(f"the enforcing simulation failed: {enforced.error}")
    envelope.transaction.fee = _INCLUSION_FEE + enforced.min_resource_fee
    envelope.transaction.soroban_data = xdr.SorobanTransactionData.from_xdr(
        enforced.transaction_data
    )
    return envelope.to_xdr()


def _unsigned(payer: str, terms: Terms) -> TransactionEnvelope:
    builder = TransactionBuilder(
        Account(_NO_SOURCE, 0), Network.TESTNET_NETWORK_PASSPHRASE, base_fee=_INCLUSION_FEE
    )
    arguments = [
        scval.to_address(payer),
        scval.to_address(terms.pay_to),
        scval.to_int128(terms.amount),
    ]
    builder.append_invoke_contract_function_op(terms.asset, "transfer", arguments)
    return builder.set_timeout(3600).build()


def verify_body(transaction: str, terms: Terms) -> bytes:
    """Build the /verify request of a valid payment."""
    return _body(transaction, terms.requirements(), version=2)


def broken_xdr_body(transaction: str, terms: Terms, turn: int) -> bytes:
    """Build a request with a truncated envelope: valid base64, no transaction."""
    kept = len(transaction) * (turn % _CUTS + 1) // (_CUTS + 1)
    return _body(transaction[: kept - kept % 4], terms.requirements(), version=2)


def wrong_version_body(transaction: str, terms: Terms, turn: int) -> bytes:
    """Build a request with an unknown protocol version."""
    return _body(transaction, terms.requirements(), version=3 + turn % _CUTS)


def wrong_amount_body(transaction: str, terms: Terms, turn: int) -> bytes:
    """Build a request that requires more than was signed, by a different amount each turn."""
    required = terms.amount + 1 + turn
    return _body(transaction, terms.requirements(amount=required), version=2)


def _body(transaction: str, requirements: dict[str, object], *, version: int) -> bytes:
    payment = {
        "x402Version": version,
        "resource": {
            "url": "https://seller.example/report",
            "description": "A paid report",
            "mimeType": "application/json",
        },
        "accepted": requirements,
        "payload": {"transaction": transaction},
    }
    return msgspec.json.encode(
        {
            "x402Version": version,
            "paymentPayload": payment,
            "paymentRequirements": requirements,
        }
    )
