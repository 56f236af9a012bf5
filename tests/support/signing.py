"""Preparation and completion on one network, with the real rules and a fixed ledger clock."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from nacl.signing import SigningKey
from stellar_sdk import Keypair

from farebox.facilitator.verification.operator_rules import AssetPolicy, OperatorRules
from farebox.facilitator.verification.verify import VerificationNetwork, Verifier
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import Caller
from farebox.kernel.networks import Network
from farebox.kernel.slots import Requester
from farebox.signing.complete import Completion
from farebox.signing.prepare import Preparation, SigningNetwork
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import FeeStats, RawSimulation
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason
from support.accepted_payment import RULES
from support.manual_clock import ManualClock

READING: Final = LedgerReading(1_000, datetime(2026, 11, 23, 9, 30, tzinfo=UTC), 5.0, 0.0)
PAYER_KEY: Final = SigningKey(bytes([21]) * 32)
PAYER: Final = account_address(bytes(PAYER_KEY.verify_key))
PAY_TO: Final = Address(Keypair.from_raw_ed25519_seed(bytes([22]) * 32).public_key)
CHANNEL: Final = Address(Keypair.from_raw_ed25519_seed(bytes([23]) * 32).public_key)
USDC: Final = Address("CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA")
TERMS: Final = PaymentTerms(Network.TESTNET, USDC, BaseUnits(10_000), PAY_TO, 60)


@dataclass
class FixedLedgers:
    """A ledger clock that stands still; None is a stale one."""

    reading: LedgerReading | None = READING

    def now(self) -> LedgerReading:
        """The reading."""
        if self.reading is None:
            raise ClockStale(Network.TESTNET)
        return self.reading


@dataclass(frozen=True)
class Operators:
    """The operator's accounts."""

    addresses: frozenset[Address] = frozenset({RULES.relayer, CHANNEL})


class NoCall:
    """A node that must not be called, with no market and no budget."""

    fees: FeeStats | None = None

    async def simulate(self, envelope: str, requester: Requester) -> RawSimulation:
        """Fail: nothing is simulated here."""
        raise AssertionError("a simulation")

    def judge(
        self, terms: PaymentTerms, payer: Address, *, stroops: int, caller: Caller | None
    ) -> Reason | None:
        """Fail: no budget is judged here."""
        raise AssertionError("a budget")


@dataclass
class Signing:
    """Both use cases on testnet and pubnet."""

    assets: AssetPolicy = RULES.assets
    ledgers: FixedLedgers = field(default_factory=FixedLedgers)

    def rules(self, network: Network) -> OperatorRules:
        """The operator's rules of a network."""
        return replace(RULES, network=network, assets=self.assets)

    def verifier(self, *networks: Network) -> Verifier:
        """The facilitator's own verifier, without a node."""
        served = {
            each: VerificationNetwork(
                self.rules(each), Operators(), NoCall(), self.ledgers, NoCall(), NoCall()
            )
            for each in networks
        }
        return Verifier(served, ManualClock())

    def preparation(self, *networks: Network) -> Preparation:
        """What prepares, on these networks; without any on both."""
        served = networks or tuple(Network)
        return Preparation(self.verifier(*served), self._signing(served))

    def completion(self, *networks: Network) -> Completion:
        """What completes, likewise."""
        served = networks or tuple(Network)
        return Completion(self.verifier(*served), self._signing(served))

    def _signing(self, networks: tuple[Network, ...]) -> dict[Network, SigningNetwork]:
        return {each: SigningNetwork(self.rules(each), self.ledgers) for each in networks}
