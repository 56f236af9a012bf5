"""An accepted payment, and the relayer and rules that settle it."""

from typing import Final

from nacl.signing import SigningKey

from farebox.facilitator.verification.operator_rules import AssetRule, OperatorRules
from farebox.facilitator.verification.verdict import Accepted, SignedTransfer
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.fees import FeePlan, FeePolicy
from farebox.stellar.signers import SigningAccount
from farebox.stellar.simulation import Simulated
from farebox.stellar.soroban_data import Resources
from farebox.stellar.transfer_envelope import TransferEnvelope, read_transfer_envelope
from farebox.x402.payment import Payment, PaymentTerms
from support.raw_envelopes import raw_envelope
from support.sdk_ledger_keys import resource_data

NET: Final = Network.TESTNET
_KEY: Final = SigningKey(bytes([7]) * 32)
RELAYER: Final = SigningAccount(account_address(bytes(_KEY.verify_key)), Secret(_KEY))
PAYEE: Final = account_address(bytes(32))
LIFE_S: Final = 60
RULES: Final = OperatorRules(
    network=NET,
    relayer=RELAYER.address,
    assets=AssetRule.ANY,
    fees=FeePolicy(),
    expiry_tolerance_ledgers=2,
    min_life_ledgers=3,
    transaction_life_s=LIFE_S,
)


def signed_transfer() -> SignedTransfer:
    """A payment that passed every rule that needs no network."""
    envelope = read_transfer_envelope(raw_envelope())
    assert isinstance(envelope, TransferEnvelope)
    (entry,) = envelope.entries
    terms = PaymentTerms(NET, contract_address(bytes(32)), BaseUnits(10_000), PAYEE, 60)
    return SignedTransfer(Payment(terms, Secret(b"signed")), envelope, entry)


def accepted_payment() -> Accepted:
    """A payment whose simulation and fees are known."""
    data = resource_data(read_only=[], read_write=[], fee=23_000).to_xdr_bytes()
    return Accepted(
        signed_transfer(),
        Simulated(data, Resources(1, 1, 0, 1, 1, 1, 23_000), (), 100),
        FeePlan(Stroops(100), Stroops(23_000), Stroops(23_100), Stroops(23_200)),
        token_is_verified=True,
    )
