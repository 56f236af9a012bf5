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
from farebox.stellar.simulation_slots import Requester
from farebox.stellar.transactions import simulation_envelope
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason

_SIMULATED_SEQUENCE: Final = 1  # a simulation ignores the sequence number
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

        It simulates once, and a second time where the first simulation misses an entry as of a
        ledger that has just closed: a node serves its entries some time after it publishes it. It
        waits for no ledger: whoever pays from an account that does not exist is answered at once.
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
        """Simulate the transfer; again where the node may not serve the ledger's entries yet."""
        envelope = simulation_envelope(
            transfer.envelope, source=network.rules.relayer, sequence=_SIMULATED_SEQUENCE
        )
        simulation = await self._simulate(network, envelope, requester)
        if isinstance(simulation, SimulationRefused) and simulation.entry_is_missing:
            served_in = _served_in(simulation.latest_ledger, network.ledgers.now())
            if served_in > 0:
                await self._clock.sleep(served_in)
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


def _served_in(looked_at: int, newest: LedgerReading) -> float:
    """The seconds until a node certainly serves the entries of the newest ledger.

    A node that names a later ledger than the newest seen here has just published it.
    """
    return _ENTRIES_S if looked_at > newest.sequence else _ENTRIES_S - newest.age_s
