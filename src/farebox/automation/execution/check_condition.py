"""`autolayer_check` of a target: simulated, bounded, and nothing but a boolean (3.10, 3.14)."""

from dataclasses import dataclass
from typing import Final

from farebox.automation.execution.simulate_run import RunSimulator, SimulatedCall, unavailable_code
from farebox.automation.plans.call_check import CHECK_FUNCTION
from farebox.automation.runs.classify_error import ErrorNumbers, classify_simulation
from farebox.automation.runs.retries import ErrorClass
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.scval import ScKind, ScOther
from farebox.stellar.simulation import RefusalKind, Simulated, SimulationRefused
from farebox.stellar.transactions import AuthorizedCall
from farebox.stellar.xdr_writer import contract_call

MAX_INSTRUCTIONS: Final = 20_000_000
_CHECK_S: Final = 5.0
_TRUE: Final = ScOther(ScKind.BOOL, (1).to_bytes(4, "big"))
_FALSE: Final = ScOther(ScKind.BOOL, bytes(4))
_NUMBERS: Final = ErrorNumbers(())


@dataclass(frozen=True, slots=True)
class ConditionHolds:
    """The target says that a run now would do something, as of a ledger."""

    ledger: int


@dataclass(frozen=True, slots=True)
class ConditionFails:
    """The target says that a run now would do nothing, as of a ledger."""

    ledger: int


@dataclass(frozen=True, slots=True)
class CheckBroken:
    """The target gave no answer that counts; `code` says why. It is an error, never a no."""

    error: ErrorClass
    code: str


ConditionAnswer = ConditionHolds | ConditionFails | CheckBroken


class ConditionCheck:
    """Asks targets; each check has its own deadline and its limit of instructions."""

    def __init__(self, simulator: RunSimulator) -> None:
        self._simulator = simulator

    async def ask(self, target: Address, owner: OwnerId) -> ConditionAnswer:
        """Ask a target whether a run now would do something."""
        call = AuthorizedCall(contract_call(target, CHECK_FUNCTION.encode()), ())
        try:
            return _judge(await self._simulator.simulate(call, owner, within_s=_CHECK_S))
        except TimeoutError:
            return CheckBroken(ErrorClass.PROGRAM, "check_timeout")
        except RpcUnavailable as outage:
            return CheckBroken(ErrorClass.TRANSPORT, unavailable_code(outage))


def _judge(simulated: SimulatedCall) -> ConditionAnswer:
    simulation = simulated.simulation
    if not isinstance(simulation, Simulated):
        error = classify_simulation(simulation, _NUMBERS)
        is_budget = (
            isinstance(simulation, SimulationRefused) and simulation.kind is RefusalKind.BUDGET
        )
        return CheckBroken(error, "check_too_expensive" if is_budget else "check_failed")
    if simulation.resources.instructions > MAX_INSTRUCTIONS:
        return CheckBroken(ErrorClass.PROGRAM, "check_too_expensive")
    if simulation.resources.read_write_keys:
        return CheckBroken(ErrorClass.PROGRAM, "check_changes_state")
    if simulated.returned == _TRUE:
        return ConditionHolds(simulation.latest_ledger)
    if simulated.returned == _FALSE:
        return ConditionFails(simulation.latest_ledger)
    return CheckBroken(ErrorClass.PROGRAM, "check_not_boolean")
