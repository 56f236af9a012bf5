"""Judge whether a payment can be settled now: decode, check, simulate, check; write nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from farebox.facilitator.verification.operator_rules import OperatorRules
from farebox.facilitator.verification.verdict import (
    Accepted,
    Rejected,
    SignedTransfer,
    Verdict,
    judge_effect,
    judge_expiry,
    judge_policy,
    judge_request,
    judge_signatures,
    judge_simulation,
)
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.kernel.slots import Requester
from farebox.stellar.ledger_clock import ClockStale, LedgerReading, Ledgers
from farebox.stellar.network_state import FeeMarket
from farebox.stellar.rpc import RawSimulation, RpcUnavailable
from farebox.stellar.signers import OperatorAddresses
from farebox.stellar.simulation import (
    Simulated,
    Simulation,
    SimulationRefused,
    read_simulation,
)
from farebox.stellar.transactions import simulation_envelope
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason

_SIMULATED_SEQUENCE: Final = 1  # a simulation ignores the sequence number
_NEXT_LEDGER_S: Final = 10.0  # the longest wait for the next ledger
_POLL_S: Final = 0.1
_ENTRIES_S: Final = 0.5  # from a ledger's close until a node reads its entries


class Simulator(Protocol):
    """Makes the one network call of a verification."""

    async def simulate(self, envelope: str, requester: Requester) -> RawSimulation: ...


class BudgetCheck(Protocol):
    """Judges a payment by the sponsor budget without a call, as `SponsorBudget` does."""

    def judge(
        self, terms: PaymentTerms, payer: Address, *, stroops: int, caller: Caller | None
    ) -> Reason | None: ...


@dataclass(frozen=True, slots=True)
class VerificationNetwork:
    """The parts of one network that judge payments."""

    rules: OperatorRules
    operators: OperatorAddresses
    simulator: Simulator
    ledgers: Ledgers
    market: FeeMarket
    budget: BudgetCheck


class PaymentJudge(Protocol):
    """Judges payments, as `Verifier` does."""

    def examine(self, payment: Payment) -> SignedTransfer | Rejected:
        """Judge a payment by every rule that needs neither network, time nor asset list."""
        ...

    async def judge(
        self, transfer: SignedTransfer, requester: Requester, *, caller: Caller | None = None
    ) -> Verdict:
        """Judge an examined payment by the operator's policy and the ledger as they are now."""
        ...


class Verifier:
    """Judges payments on the configured networks."""

    def __init__(self, networks: Mapping[Network, VerificationNetwork], clock: Clock) -> None:
        self._networks, self._clock = networks, clock

    def examine(self, payment: Payment) -> SignedTransfer | Rejected:
        """Judge a payment by every rule that needs neither network, time nor asset list.

        A payment that passes may have been claimed before the asset list changed.
        """
        network = self._networks.get(payment.terms.network)
        if network is None:
            return Rejected(Reason.INVALID_NETWORK)
        transfer = judge_request(payment, network.operators.addresses)
        if isinstance(transfer, Rejected):
            return transfer
        reason = judge_signatures(transfer)
        return transfer if reason is None else Rejected(reason, transfer.payer)

    async def judge(
        self, transfer: SignedTransfer, requester: Requester, *, caller: Caller | None = None
    ) -> Verdict:
        """Judge an examined payment by the operator's policy and the ledger as they are now.

        It simulates once, and a second time after the next ledger where the first simulation was
        refused for a missing entry: a node that is catching up lacks entries of the ledger.
        """
        network = self._networks[transfer.payment.terms.network]
        reason = await self._judge(network, transfer, requester, caller)
        return Rejected(reason, transfer.payer) if isinstance(reason, Reason) else reason

    async def _judge(
        self,
        network: VerificationNetwork,
        transfer: SignedTransfer,
        requester: Requester,
        caller: Caller | None,
    ) -> Accepted | Reason:
        rules, terms, budget = network.rules, transfer.payment.terms, network.budget
        refusal = judge_policy(terms, rules) or budget.judge(
            terms, transfer.payer, stroops=0, caller=caller
        )
        if refusal is not None:
            return refusal
        try:
            now = network.ledgers.now()
            expiry = judge_expiry(transfer.entry, terms, rules, now)
            if expiry is not None:
                return expiry
            simulated = await self._simulate_effect(network, transfer, now, requester)
        except (ClockStale, RpcUnavailable):
            return Reason.NETWORK_UNAVAILABLE
        if isinstance(simulated, Reason):
            return simulated
        accepted = judge_effect(simulated, transfer, rules, network.market.fees)
        if isinstance(accepted, Reason):
            return accepted
        cost = accepted.fee.highest_charge
        return budget.judge(terms, transfer.payer, stroops=cost, caller=caller) or accepted

    async def _simulate_effect(
        self,
        network: VerificationNetwork,
        transfer: SignedTransfer,
        now: LedgerReading,
        requester: Requester,
    ) -> Simulated | Reason:
        """Simulate the transfer; after a missing entry again in the next ledger."""
        envelope = simulation_envelope(
            transfer.envelope, source=network.rules.relayer, sequence=_SIMULATED_SEQUENCE
        )
        simulation = await self._simulate(network, envelope, requester)
        if isinstance(simulation, SimulationRefused) and simulation.entry_is_missing:
            if not await self._await_next_ledger(network.ledgers, simulation.latest_ledger):
                return Reason.NETWORK_UNAVAILABLE
            now = network.ledgers.now()
            simulation = await self._simulate(network, envelope, requester)
        return judge_simulation(simulation, now)

    async def _simulate(
        self, network: VerificationNetwork, envelope: str, requester: Requester
    ) -> Simulation:
        raw = await network.simulator.simulate(envelope, requester)
        simulation = read_simulation(raw.result)
        if raw.nodes and isinstance(simulation, Simulated):
            return replace(simulation, nodes=raw.nodes)
        return simulation

    async def _await_next_ledger(self, ledgers: Ledgers, sequence: int) -> bool:
        """Wait until a ledger after `sequence` closed; whether one did within ten seconds.

        A node serves the entries of a ledger some time after it publishes the ledger.
        """
        until = self._clock.monotonic() + _NEXT_LEDGER_S
        while ledgers.now().sequence <= sequence:
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(_POLL_S)
        await self._clock.sleep(_ENTRIES_S)
        return True
