"""The calls of a plan that is signed ahead, whose target takes a token by a call of its own."""

from farebox.automation.authority.planned_calls import (
    PlannedCalls,
    RunContext,
    ValueMissing,
    fix_nested,
    resolve_recorded,
)
from farebox.automation.execution.record_nested import (
    RecordingFailed,
    nested_amounts,
    record_tree,
)
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.refusal import spec_mismatch
from farebox.automation.runs.retries import ErrorClass
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.stellar.rpc import RpcUnavailable


class SignedAheadCalls:
    """Finds what is nested below the calls of one network's plans, by a recording as of now."""

    def __init__(self, network: Network, simulator: RunSimulator) -> None:
        self._network, self._simulator = network, simulator

    async def fix(self, planned: PlannedCalls, account: Address, owner: OwnerId) -> PlannedCalls:
        """The calls with the transfers of the account's tokens that the first run would make.

        Every run is signed with the same amounts: one that takes another amount fails. Calls whose
        root needs a value that only a run knows come back as they are.

        Raises:
            AutomationRefused: `spec_mismatch`: the call would fail as of now.
            Outage: the network cannot be read now.
        """
        if not planned.needs_recording:
            return planned
        try:
            root = resolve_recorded(planned, RunContext(account, 0, 0), {})
            tree = await record_tree(self._simulator, root, account, owner)
        except ValueMissing:
            return planned
        except RecordingFailed as failed:
            if failed.error is ErrorClass.TRANSPORT:
                text = f"{self._network} cannot be read now"
                raise RpcUnavailable(self._network, text, certainly_not_sent=True) from None
            why = (
                "What the call takes is signed ahead, and is found by a simulation, which fails as"
                f" of now ({failed.error})."
            )
            raise spec_mismatch("authorityMode", why) from None
        return fix_nested(planned, nested_amounts(planned, tree, root=0))
