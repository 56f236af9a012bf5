"""What a plan needs of the ledger before it can be proposed: interfaces, code pins, venues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.automation.authority.plan_calls import ResolvedPlan
from farebox.automation.authority.planned_calls import TRANSFER
from farebox.automation.plans.call_check import check_call, check_convention
from farebox.automation.plans.plan import (
    ContractCallPlan,
    DcaPlan,
    DisbursementPlan,
    Plan,
    RebalancePlan,
)
from farebox.automation.proposing.session_materials import PlanVenues
from farebox.automation.proposing.target_code import TargetCode, TargetReader
from farebox.automation.refusal import AutomationRefused, spec_mismatch
from farebox.automation.schedules.schedule import ConditionSchedule, Schedule
from farebox.kernel.addresses import Address
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.contract_instance import WasmCode
from farebox.stellar.contract_interface import ContractInterface

_PARTIES: Final = ("Address", "MuxedAddress")
_NO_VENUE: Final = "The operator has configured no router of this venue for the network."


@dataclass(frozen=True, slots=True)
class FoundPlan:
    """What of a plan was found on the ledger.

    `check` is the contract whose `autolayer_check` is asked before a run; None without one.
    """

    resolved: ResolvedPlan
    check: Address | None = None


class PlanResolution:
    """Finds what plans of one network name; `venues` is None where none is configured."""

    def __init__(self, targets: TargetReader, venues: PlanVenues | None) -> None:
        self._targets, self._venues = targets, venues

    async def find(self, plan: Plan, schedule: Schedule) -> FoundPlan:
        """Hold a plan against the contracts that it names.

        Raises:
            AutomationRefused: `spec_mismatch`, `function_not_found` or `target_upgraded`.
            Outage: the network cannot be read now.
        """
        is_polled = isinstance(schedule, ConditionSchedule)
        found = await self._find(plan, is_polled=is_polled)
        if is_polled and found.check is None:
            why = "A condition needs a contract with autolayer_check, and a plan that runs it."
            raise spec_mismatch("schedule.type", why)
        return found

    async def pin(self, target: Address) -> bytes | None:
        """The hash of the code that the root call's contract runs; None for the network's own.

        Raises:
            Outage: the network cannot be read now.
        """
        code = await self._targets.find_code(target)
        return code.wasm_hash if isinstance(code, WasmCode) else None

    async def _find(self, plan: Plan, *, is_polled: bool) -> FoundPlan:
        match plan:
            case ContractCallPlan():
                return await self._find_call(plan, is_polled=is_polled)
            case RebalancePlan(strategy=strategy) if strategy is not None:
                code = await self._targets.read(strategy, field="spec.strategy")
                has_check = check_convention(code.interface, needs_check=is_polled)
                return FoundPlan(ResolvedPlan(), strategy if has_check else None)
            case DisbursementPlan():
                code = await self._targets.read(plan.token, field="spec.token")
                _check_token(code.interface)
                return FoundPlan(ResolvedPlan())
            case DcaPlan() | RebalancePlan():
                if self._venues is None:
                    raise spec_mismatch("spec.venue", _NO_VENUE)
                return FoundPlan(await self._venues.resolve(plan))

    async def _find_call(self, plan: ContractCallPlan, *, is_polled: bool) -> FoundPlan:
        code = await self._targets.read(plan.contract, field="spec.contract")
        _check_hash(plan, code)
        if plan.function is None:
            has_check = check_convention(code.interface, needs_check=is_polled)
            return FoundPlan(ResolvedPlan(), plan.contract if has_check else None)
        values = check_call(code.interface, plan.function, plan.arguments)
        return FoundPlan(ResolvedPlan(values))


def check_receivers(plan: Plan, operators: Sequence[Address]) -> None:
    """Check that no account of the operator's is paid by a plan (3.10).

    Raises:
        AutomationRefused: `spec_mismatch`.
    """
    legs = plan.legs if isinstance(plan, DisbursementPlan) else ()
    for number, leg in enumerate(legs):
        if leg.to in operators:
            why = "It is an account of the service, which no plan pays."
            raise spec_mismatch(f"spec.legs[{number}].to", why)


def _check_hash(plan: ContractCallPlan, code: TargetCode) -> None:
    expected = plan.expected_wasm_hash
    if expected is not None and expected != code.wasm_hash:
        now = "the network's own" if code.wasm_hash is None else code.wasm_hash.hex()
        why = f"The contract's code is {now}."
        raise AutomationRefused(ErrorCode.TARGET_UPGRADED, why, field="spec.expectedWasmHash")


def _check_token(interface: ContractInterface) -> None:
    """Check that a contract has the `transfer` of SEP-41."""
    transfer = interface.find(TRANSFER)
    types = [] if transfer is None else [str(each.type) for each in transfer.inputs]
    is_transfer = len(types) == 3 and types[0] == "Address" and types[2] == "i128"
    if not (is_transfer and types[1] in _PARTIES):
        raise spec_mismatch("spec.token", "It is no token: it has no transfer of SEP-41.")
