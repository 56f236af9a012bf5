"""The calls below a root call, learnt from a recording of it: only their shape is taken (3.10).

Credentials, nonces and every entry that is not of the plan's account are dropped.
"""

from farebox.automation.authority.planned_calls import PlannedCalls
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.runs.classify_error import ContractRole, ErrorNumbers, classify_simulation
from farebox.automation.runs.retries import ErrorClass
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.stellar.invocations import Invocation, flatten, read_invocation
from farebox.stellar.scval import ScNumber
from farebox.stellar.simulation import Simulated
from farebox.stellar.xdr_reader import Malformed

_NUMBERS = ErrorNumbers((ContractRole.TOKEN, ContractRole.SOROSWAP))


class RecordingFailed(Exception):
    """The call would fail as of now; `error` is the class of its error."""

    def __init__(self, error: ErrorClass) -> None:
        super().__init__(error)
        self.error = error


async def record_tree(
    simulator: RunSimulator, root: Invocation, account: Address, owner: OwnerId
) -> Invocation:
    """The tree that `account` must authorize for a root call; the bare root where it is nothing.

    Raises:
        RecordingFailed: the call would fail.
        RpcUnavailable: no node answers.
    """
    recorded = await simulator.record(root.call, owner)
    if not isinstance(recorded.simulation, Simulated):
        raise RecordingFailed(classify_simulation(recorded.simulation, _NUMBERS))
    for entry in recorded.entries:
        if entry.address == account and entry.root_call == root.call:
            try:
                return read_invocation(entry.invocation)
            except Malformed:
                break
    return root


def nested_amounts(planned: PlannedCalls, tree: Invocation, *, root: int) -> dict[int, int]:
    """The amount of each planned call below `root` that the tree has, by its index.

    A call of the tree that is not planned is left out; the signer refuses what then differs.
    """
    amounts: dict[int, int] = {}
    for made in flatten(tree)[1:]:
        for index, each in enumerate(planned.calls):
            call = each.allowed
            is_it = call.under == root and index not in amounts
            if is_it and (call.contract, call.function) == (made.contract, made.function):
                place = call.amount if call.amount is not None else len(made.arguments)
                value = made.arguments[place] if place < len(made.arguments) else None
                if isinstance(value, ScNumber):
                    amounts[index] = value.value
                    break
    return amounts
