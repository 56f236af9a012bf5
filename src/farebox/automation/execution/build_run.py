"""Build a run: its call by the plan's authority, simulated, with effects and fee judged (3.10)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.run_authority import (
    Authorities,
    PreparedRun,
    RunAuthority,
    RunNotPrepared,
)
from farebox.automation.execution.simulate_run import (
    RunSimulator,
    raise_resource_fee,
    unavailable_code,
    with_resource_fee,
)
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.classify_error import (
    ContractRole,
    ErrorNumbers,
    classify_simulation,
)
from farebox.automation.runs.effects_check import EffectsRefused, judge_effects
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.kernel.amounts import Stroops
from farebox.stellar.auth_entries import CredentialKind
from farebox.stellar.events import ContractEvent
from farebox.stellar.fees import FeeOverCeiling, FeePlan, FeePolicy, plan_fees
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import FeeStats, RpcUnavailable
from farebox.stellar.scval_writer import write_value
from farebox.stellar.signers import OperatorAddresses
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    Simulated,
    SimulationRefused,
)

_NUMBERS: Final = ErrorNumbers(
    (
        ContractRole.TOKEN,
        ContractRole.SOROSWAP,
        ContractRole.SMART_ACCOUNT,
        ContractRole.GUARD,
        ContractRole.MANDATE,
    )
)
FEE_CEILING: Final = "fee_ceiling"  # of the operator, or of the plan
FEE_ABOVE_QUOTE: Final = "fee_above_quote"  # more than the run was paid for


@dataclass(frozen=True, slots=True)
class BuiltRun:
    """A run that may be sent: what it calls, what it costs, and how long it may take."""

    prepared: PreparedRun
    fee: FeePlan
    soroban_data: bytes = field(repr=False)
    simulated_ledger: int
    result: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RunNotBuilt:
    """Nothing may be sent for the run now; `code` says why.

    `is_used`: the run's authorization seems to be used already; `nonce` is that of an entry. `fee`
    is what the transaction costs at least, where that is too much.
    """

    error: ErrorClass
    code: str
    is_used: bool = False
    nonce: int | None = None
    fee: Stroops | None = None


class RunBuilder:
    """Builds the runs of one network.

    `ledger_now` and `fee_stats` read the ledger clock and the market without a call. `fees` are the
    operator's limits for one transaction of a run; a plan's own limit counts where it is lower.
    """

    def __init__(
        self,
        authorities: Authorities,
        simulator: RunSimulator,
        operators: OperatorAddresses,
        fees: FeePolicy,
        *,
        ledger_now: Callable[[], LedgerReading],
        fee_stats: Callable[[], FeeStats | None],
    ) -> None:
        self._authorities, self._simulator = authorities, simulator
        self._operators, self._fees = operators, fees
        self._ledger_now, self._fee_stats = ledger_now, fee_stats

    def with_authority(self, mode: AuthorityMode, authority: RunAuthority) -> "RunBuilder":
        """The same builder with another authority of one mode: what a dry run sends."""
        return RunBuilder(
            {**self._authorities, mode: authority},
            self._simulator,
            self._operators,
            self._fees,
            ledger_now=self._ledger_now,
            fee_stats=self._fee_stats,
        )

    async def build(
        self, terms: PlanTerms, calls: RunCalls, run: Run, *, paid: Stroops | None = None
    ) -> BuiltRun | RunNotBuilt:
        """Build a run as of the newest ledger; `paid` is the most that its price pays for.

        Raises:
            DatabaseUnavailable: the plan's entries cannot be read.
        """
        authority = self._authorities.get(terms.mode)
        if authority is None:
            return RunNotBuilt(ErrorClass.PROGRAM, "mode_unavailable")
        try:
            prepared = await authority.prepare(terms, calls, run, self._ledger_now())
            if isinstance(prepared, RunNotPrepared):
                return RunNotBuilt(prepared.error, prepared.code, prepared.is_used)
            if not self._is_allowed(prepared):
                return RunNotBuilt(ErrorClass.PROGRAM, "entry_not_allowed")
            return await self._simulate(terms, calls, run, prepared, paid)
        except (ClockStale, RpcUnavailable) as outage:
            return RunNotBuilt(ErrorClass.TRANSPORT, unavailable_code(outage))

    def _is_allowed(self, prepared: PreparedRun) -> bool:
        """Whether every entry is of the plan's account: none of a source, none of the operator."""
        ours = self._operators.addresses
        return prepared.account not in ours and all(
            entry.kind is not CredentialKind.SOURCE_ACCOUNT and entry.address == prepared.account
            for entry in prepared.call.entries
        )

    async def _simulate(
        self,
        terms: PlanTerms,
        calls: RunCalls,
        run: Run,
        prepared: PreparedRun,
        paid: Stroops | None,
    ) -> BuiltRun | RunNotBuilt:
        simulated = await self._simulator.simulate(prepared.call, terms.owner)
        simulation = simulated.simulation
        if not isinstance(simulation, Simulated):
            if isinstance(simulation, NeedsRestore):
                return RunNotBuilt(ErrorClass.ARCHIVED, "entry_archived")
            code = simulation.kind.value if isinstance(simulation, SimulationRefused) else "node"
            number = getattr(simulation, "contract_error", None)
            code = code if number is None else f"contract_{number}"
            is_used = code == RefusalKind.NONCE_USED.value
            error = classify_simulation(simulation, _NUMBERS)
            return RunNotBuilt(error, code, is_used, prepared.nonce)
        fault = self._judge_effects(calls, run, prepared, simulation.events)
        if fault is not None:
            return RunNotBuilt(ErrorClass.PROGRAM, fault)
        resource_fee = raise_resource_fee(simulation)
        fee = self._plan_fee(terms, run, resource_fee, paid)
        if isinstance(fee, RunNotBuilt):
            return fee
        returned = None if simulated.returned is None else write_value(simulated.returned)
        raised = with_resource_fee(simulation.soroban_data, resource_fee)
        return BuiltRun(prepared, fee, raised, simulation.latest_ledger, returned)

    def _judge_effects(
        self,
        calls: RunCalls,
        run: Run,
        prepared: PreparedRun,
        events: tuple[ContractEvent, ...],
    ) -> str | None:
        """Why the account's tokens would move other than the plan says; None where they do not."""
        if prepared.account is not None:
            judged = judge_effects(events, prepared.account, calls.effects_of(run.leg_index))
            if isinstance(judged, EffectsRefused):
                return judged.fault.value
        return None

    def _plan_fee(
        self, terms: PlanTerms, run: Run, resource_fee: int, paid: Stroops | None
    ) -> FeePlan | RunNotBuilt:
        agreed = min(self._fees.ceiling, terms.max_fee)
        ceiling = agreed if paid is None else min(agreed, paid)
        policy = FeePolicy(ceiling, min(self._fees.inclusion_cap, ceiling))
        stats, attempt = self._fee_stats(), run.attempts
        fee = plan_fees(resource_fee, stats, policy, fee_bumped=True, attempt=attempt)
        if not isinstance(fee, FeeOverCeiling):
            return fee
        code = FEE_CEILING if fee.lowest_charge > agreed else FEE_ABOVE_QUOTE
        return RunNotBuilt(ErrorClass.ADMISSION, code, fee=fee.lowest_charge)
