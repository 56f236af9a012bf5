"""Is a payment payable now? Decode, judge, simulate, judge; nothing is written anywhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.facilitator.verification.served_network import OperatorRules
from farebox.facilitator.verification.verdict import (
    Accepted,
    Rejected,
    SignedTransfer,
    Verdict,
    judge_effect,
    judge_expiry,
    judge_request,
    judge_signatures,
    judge_simulation,
)
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import FeeStats, RawSimulation, RpcUnavailable
from farebox.stellar.simulation import (
    Simulated,
    Simulation,
    SimulationRefused,
    read_simulation,
)
from farebox.stellar.splice import simulation_envelope
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason

_SIMULATED_SEQUENCE: Final = 1  # a simulation looks at no sequence number
_NEXT_LEDGER_S: Final = 10.0  # the longest the next ledger is waited for
_LOOK_S: Final = 0.1
_PUBLISHED_S: Final = 0.5  # until the entries of a ledger that is seen can be read


class Simulator(Protocol):
    """The one call a verification makes."""

    async def simulate(self, envelope: str) -> RawSimulation: ...


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


class Operators(Protocol):
    """The operator's accounts, read without a call."""

    @property
    def addresses(self) -> frozenset[Address]: ...


class Market(Protocol):
    """What others pay to be included, read without a call."""

    @property
    def fees(self) -> FeeStats | None: ...


class Sponsor(Protocol):
    """What the operator pays for now, read without a call."""

    def refusal(
        self, terms: PaymentTerms, payer: Address, *, stroops: int, caller: OwnerId | None
    ) -> Reason | None: ...


@dataclass(frozen=True, slots=True)
class VerifiedNetwork:
    """One network a verification can be made on."""

    rules: OperatorRules
    operators: Operators
    simulator: Simulator
    ledgers: Ledgers
    market: Market
    sponsor: Sponsor


class Verifier:
    """Judges payments on the networks it was given."""

    def __init__(self, networks: Mapping[Network, VerifiedNetwork], clock: Clock) -> None:
        self._networks, self._clock = networks, clock

    async def verify(self, payment: Payment, *, caller: OwnerId | None = None) -> Verdict:
        """Whether the payment could be settled now, for this caller where one is known.

        One call to the network, and no trace of it. A second call, after the next ledger, where
        the first was refused for an entry that is missing: a node that is catching up lacks
        entries that are there.
        """
        transfer = self.examine(payment)
        if isinstance(transfer, Rejected):
            return transfer
        return await self.judge(transfer, caller=caller)

    def examine(self, payment: Payment) -> SignedTransfer | Rejected:
        """Everything that needs neither the network nor the time: the same answer for ever."""
        network = self._networks.get(payment.terms.network)
        if network is None:
            return Rejected(Reason.INVALID_NETWORK)
        transfer = judge_request(payment, network.rules, network.operators.addresses)
        if isinstance(transfer, Rejected):
            return transfer
        reason = judge_signatures(transfer)
        return transfer if reason is None else Rejected(reason, transfer.payer)

    async def judge(self, transfer: SignedTransfer, *, caller: OwnerId | None = None) -> Verdict:
        """Hold an examined payment against the ledger as it stands."""
        network = self._networks[transfer.payment.terms.network]
        reason = await self._judge(network, transfer, caller)
        return Rejected(reason, transfer.payer) if isinstance(reason, Reason) else reason

    async def _judge(
        self, network: VerifiedNetwork, transfer: SignedTransfer, caller: OwnerId | None
    ) -> Accepted | Reason:
        rules, terms, sponsor = network.rules, transfer.payment.terms, network.sponsor
        unpaid = sponsor.refusal(terms, transfer.payer, stroops=0, caller=caller)
        if unpaid is not None:
            return unpaid
        try:
            now = network.ledgers.now()
            expiry = judge_expiry(transfer.entry, terms, rules, now)
            if expiry is not None:
                return expiry
            simulated = await self._effect(network, transfer, now)
        except (ClockStale, RpcUnavailable):
            return Reason.NETWORK_UNAVAILABLE
        if isinstance(simulated, Reason):
            return simulated
        accepted = judge_effect(simulated, transfer, rules, network.market.fees)
        if isinstance(accepted, Reason):
            return accepted
        cost = accepted.fee.highest_charge
        return sponsor.refusal(terms, transfer.payer, stroops=cost, caller=caller) or accepted

    async def _effect(
        self, network: VerifiedNetwork, transfer: SignedTransfer, now: LedgerReading
    ) -> Simulated | Reason:
        """What the network would do; an entry that is missing is asked for in the next ledger."""
        envelope = simulation_envelope(
            transfer.envelope, source=network.rules.relayer, sequence=_SIMULATED_SEQUENCE
        )
        simulation = await self._simulate(network, envelope)
        if isinstance(simulation, SimulationRefused) and simulation.entry_is_missing:
            if not await self._pass_ledger(network.ledgers, simulation.latest_ledger):
                return Reason.NETWORK_UNAVAILABLE
            now = network.ledgers.now()
            simulation = await self._simulate(network, envelope)
        return judge_simulation(simulation, now)

    async def _simulate(self, network: VerifiedNetwork, envelope: str) -> Simulation:
        return read_simulation((await network.simulator.simulate(envelope)).result)

    async def _pass_ledger(self, ledgers: Ledgers, sequence: int) -> bool:
        """Wait until a ledger after `sequence` closed; whether one did within ten seconds.

        A node answers queries of a ledger some time after it publishes it.
        """
        until = self._clock.monotonic() + _NEXT_LEDGER_S
        while ledgers.now().sequence <= sequence:
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(_LOOK_S)
        await self._clock.sleep(_PUBLISHED_S)
        return True
