"""The next run of a plan, simulated on the real ledger: each of its transactions (3.10).

Of an open plan it is built as a run is, with authorization enforced. Of every other mode nothing is
signed before activation, and what is installed may not be used before its time: then each call is
simulated as the account, and what it would have to authorize is recorded.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from farebox.automation.authority.planned_calls import (
    TRANSFER,
    RunContext,
    ValueMissing,
    resolve,
)
from farebox.automation.authority.stored_calls import RunCalls, decode_calls
from farebox.automation.execution.build_run import BuiltRun, RunBuilder
from farebox.automation.execution.run_authority import (
    NO_DRIFT,
    ONLY_TOO_EARLY,
    PLAN_UNREADABLE,
    RunNotPrepared,
)
from farebox.automation.execution.simulate_run import (
    UNREAD,
    RecordedCall,
    RunSimulator,
    raise_resource_fee,
)
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.proposing.funds_check import run_needs
from farebox.automation.proposing.preflight_report import PlanCheck, failed, passed
from farebox.automation.runs.effects_check import EffectsRefused, judge_effects
from farebox.automation.runs.materialise import find_next
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.amounts import Stroops
from farebox.stellar.auth_entries import AuthEntry, CredentialKind
from farebox.stellar.fees import FeeOverCeiling, FeePolicy, plan_fees
from farebox.stellar.invocations import Invocation, write_invocation
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import FeeStats, RpcUnavailable
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    Simulated,
    Simulation,
    SimulationRefused,
)
from farebox.storage.pool import Database

_CHOOSING: Final = (PlanKind.DCA, PlanKind.REBALANCE)
_SESSION_FEE: Final = 120_000  # stroops: measured on a devnet, 80,000 to 83,000
_UNSIGNED: Final = frozenset(
    (ProposalState.PROPOSED, ProposalState.PAYMENT_PENDING, ProposalState.PAID)
)
_WHY: Final = {
    RefusalKind.BALANCE: "the balance does not cover it",
    RefusalKind.TRUSTLINE: "a trustline is missing",
    RefusalKind.ARCHIVED: "an entry is archived and has to be restored first",
    RefusalKind.BUDGET: "it takes more than the network allows one transaction",
    RefusalKind.SIGNATURE: "an account does not accept the authorization",
    RefusalKind.EXPIRED: "the authorization has expired",
    RefusalKind.NONCE_USED: "the authorization was used",
    RefusalKind.UNREADABLE_EVENT: "it reports its effects in a form that is not known",
    RefusalKind.OTHER: "the contract refuses it",
}


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """The checks of a dry run; `fee` is that of the dearest transaction that succeeded.

    `changes` are the account's net changes by the first one. Not `is_whole`: what a run chooses is
    only known once the plan has its row.
    """

    checks: tuple[PlanCheck, ...]
    fee: Stroops | None = None
    changes: tuple[tuple[Address, int], ...] | None = None
    is_whole: bool = True


ChooseTree = Callable[
    [PlanTerms, RunCalls, Run, LedgerReading], Awaitable[Invocation | RunNotPrepared]
]


class FirstRunTrial:
    """Tries the next runs of plans of one network.

    `database` has the runs that were made. `choose` makes the tree of a run that chooses its
    values, for a plan that has its row.
    """

    def __init__(
        self,
        builder: RunBuilder,
        simulator: RunSimulator,
        fees: FeePolicy,
        database: Database,
        choose: ChooseTree,
        *,
        ledger_now: Callable[[], LedgerReading],
        fee_stats: Callable[[], FeeStats | None],
    ) -> None:
        self._builder, self._simulator, self._fees = builder, simulator, fees
        self._database, self._choose = database, choose
        self._ledger_now, self._fee_stats = ledger_now, fee_stats

    async def try_first(self, plan: StoredPlan, now: datetime) -> DryRunResult:
        """Try every transaction of a plan's next run.

        Raises:
            Outage: the network or the database cannot be read now.
        """
        terms, calls = plan.terms, decode_calls(plan.terms.calls)
        if terms.mode is AuthorityMode.OPEN or plan.state not in _UNSIGNED:
            built = await self._build(terms, calls, now)
            if built is not None:
                return built
        if terms.account is None or terms.kind not in _CHOOSING:
            return await self._record(terms, calls, self._legs(terms, calls))
        run = trial_run(terms, (0, 0), now)
        chosen = await self._choose(terms, calls, run, self._ledger_now())
        if isinstance(chosen, Invocation):
            return await self._record(terms, calls, [chosen])
        if chosen.code == NO_DRIFT:
            detail = "Not tried: the portfolio has not drifted, so that a run now would do nothing."
            return DryRunResult((passed("dry_run", detail),))
        if chosen.code != PLAN_UNREADABLE:
            detail = f"The first transaction fails as of now: {chosen.code} ({chosen.error})."
            return DryRunResult((failed("dry_run", detail),))
        return replace(await self._record(terms, calls, self._legs(terms, calls)), is_whole=False)

    async def _record(
        self, terms: PlanTerms, calls: RunCalls, roots: Sequence[Invocation] | None
    ) -> DryRunResult:
        """Record each call of a run as the account makes it; None: a run chooses their values."""
        account = terms.account
        if roots is None or account is None:
            detail = "Its amounts are known when it runs: it is simulated then."
            return DryRunResult((passed("dry_run", detail),))
        extra, tried = await self._authority_fee(terms, calls, account), []
        for leg, root in enumerate(roots):  # one owner has few slots for simulations
            recorded = await self._simulator.record(root.call, terms.owner)
            tried.append(self._judge(terms, leg, root, account, recorded, extra=extra))
        return _join(tried)

    async def _authority_fee(self, terms: PlanTerms, calls: RunCalls, account: Address) -> int:
        """What the mode adds to the resource fee of the call alone, in stroops.

        The tokens of a run pass through its mandate, which has no entry for them yet: a transfer of
        nothing to a new contract costs as much. A session's guard and verifier cost the same for
        every call.
        """
        if terms.mode is AuthorityMode.SESSION:
            return _SESSION_FEE
        if terms.mode is not AuthorityMode.MANDATE:
            return 0
        debits, credits_ = run_needs(calls)
        new = address_of(contract_address(terms.policy_id))
        fee = 0
        for token in dict.fromkeys((*debits, *credits_)):
            nothing = ScNumber(ScKind.I128, 0)
            entering = Invocation(token, TRANSFER, (address_of(account), new, nothing))
            recorded = await self._simulator.record(entering.call, terms.owner)
            if isinstance(recorded.simulation, Simulated):
                fee += raise_resource_fee(recorded.simulation)
        return fee

    async def _build(self, terms: PlanTerms, calls: RunCalls, now: datetime) -> DryRunResult | None:
        """The next transaction as it will be sent; None where its time has not come."""
        place = (0, 0)
        if terms.mode is not AuthorityMode.OPEN:
            async with self._database.connection() as db:
                following = await find_next(db, terms, now)
            if following is None:
                return DryRunResult((failed("dry_run", "No run is due any more."),))
            place = following.place
        built = await self._builder.build(terms, calls, trial_run(terms, place, now))
        if isinstance(built, BuiltRun):
            check = passed("dry_run", "The first transaction succeeds as of now.")
            return DryRunResult((check,), built.fee.highest_charge, ())
        if built.code in ONLY_TOO_EARLY:
            return None
        if built.error is ErrorClass.TRANSPORT and built.code in UNREAD:
            text = f"{terms.network} cannot be read now"
            raise RpcUnavailable(terms.network, text, certainly_not_sent=True)
        detail = f"The first transaction fails as of now: {built.code} ({built.error})."
        return DryRunResult((failed("dry_run", detail),))

    def _legs(self, terms: PlanTerms, calls: RunCalls) -> Sequence[Invocation] | None:
        """The calls of a run, made as the account; None where a run chooses a value."""
        if terms.account is None:
            return None
        if calls.planned.needs_recording:  # what is nested is what the recording finds
            planned = replace(calls.planned, calls=calls.planned.calls[:1])
        else:
            planned = calls.planned
        credited = calls.effects_of(0).min_credit
        context = RunContext(
            actor=terms.account,
            run_index=0,
            ledger_time=int(self._ledger_now().close_at.timestamp()),
            min_out=credited[0].amount if credited else None,
        )
        try:
            return [resolve(planned, replace(context, row=leg)) for leg in range(terms.legs)]
        except ValueMissing:
            return None

    def _judge(
        self,
        terms: PlanTerms,
        leg: int,
        root: Invocation,
        account: Address,
        recorded: RecordedCall,
        *,
        extra: int,
    ) -> DryRunResult:
        simulation, calls = recorded.simulation, decode_calls(terms.calls)
        name = "The first transaction" if terms.legs == 1 else f"Leg {leg}"
        if not isinstance(simulation, Simulated):
            detail = f"{name} fails as of now: {_explain(terms, simulation)}."
            return DryRunResult((failed("dry_run", detail),))
        checks = [passed("dry_run", f"{name} succeeds as of now.")]
        checks.append(_check_authority(terms, root, account, recorded.entries))
        measured = judge_effects(simulation.events, account, calls.effects_of(leg))
        if isinstance(measured, EffectsRefused):
            detail = f"{name} has other effects: {measured.fault}, token {measured.token}."
            checks.append(failed("effects", detail))
            changes = None
        else:
            checks.append(passed("effects", "The effects are inside those declared."))
            changes = measured.changes
        check, fee = self._check_fee(terms, raise_resource_fee(simulation) + extra)
        return DryRunResult((*checks, check), fee, changes)

    def _check_fee(self, terms: PlanTerms, resource_fee: int) -> tuple[PlanCheck, Stroops]:
        ceiling = min(self._fees.ceiling, terms.max_fee)
        policy = FeePolicy(ceiling, min(self._fees.inclusion_cap, ceiling))
        planned = plan_fees(resource_fee, self._fee_stats(), policy, fee_bumped=True)
        if isinstance(planned, FeeOverCeiling):
            fee = planned.lowest_charge
            detail = f"A transaction costs {fee} stroops, and the plan allows {ceiling}."
            return failed("fee_ceiling", detail), fee
        fee = planned.highest_charge
        return passed("fee_ceiling", f"A transaction costs {fee} stroops at most."), fee


def trial_run(terms: PlanTerms, place: tuple[int, int], at: datetime) -> Run:
    """A run of a plan that is only tried; `place` is its index and that of its leg."""
    return Run(
        id="",
        proposal_id=terms.id,
        run_index=place[0],
        leg_index=place[1],
        network=terms.network,
        owner=terms.owner,
        account=terms.account,
        scheduled_for=at,
        deadline_at=terms.window.not_after,
        state=RunState.BUILDING,
        due_at=None,
    )


def _join(legs: Sequence[DryRunResult]) -> DryRunResult:
    """One result for all legs of a run: of each check the first that failed, else the first."""
    checks: dict[str, PlanCheck] = {}
    for check in (check for leg in legs for check in leg.checks):
        known = checks.get(check.code)
        if known is None or (known.is_ok and not check.is_ok):
            checks[check.code] = check
    fees = [leg.fee for leg in legs if leg.fee is not None]
    return DryRunResult(tuple(checks.values()), max(fees, default=None), legs[0].changes)


def _check_authority(
    terms: PlanTerms, root: Invocation, account: Address, entries: tuple[AuthEntry, ...]
) -> PlanCheck:
    """Whether the call needs no authority but the account's, and a signed entry has all of it."""
    others = [each for each in entries if each.address != account]
    if others or any(each.kind is CredentialKind.SOURCE_ACCOUNT for each in entries):
        named = next((each.address for each in others if each.address), "another account")
        detail = f"The call needs the authority of {named}, which no plan has."
        return failed("authority", detail)
    is_signed_ahead = terms.mode is AuthorityMode.PRESIGNED
    tree = write_invocation(root)
    if is_signed_ahead and [each.invocation for each in entries] != [tree]:
        detail = "What is signed ahead is not what the call asks the account to authorize."
        return failed("authority", detail)
    return passed("authority", "The call needs the account's authority and no other.")


def _explain(terms: PlanTerms, simulation: Simulation) -> str:
    match simulation:
        case NeedsRestore():
            return _WHY[RefusalKind.ARCHIVED]
        case SimulationRefused(kind=kind, contract_error=number):
            suffix = "" if number is None else f" (error {number} of a contract)"
            return _WHY[kind] + suffix
        case _:
            text = f"a node of {terms.network} gave a response of an unknown form"
            raise RpcUnavailable(terms.network, text, certainly_not_sent=True)
