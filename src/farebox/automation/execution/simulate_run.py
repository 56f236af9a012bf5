"""Simulations for plans: with authorization enforced, and nothing taken from them but costs.

The source of a simulated transaction is no account of the operator's, and the call carries its own
entries only: no authority of a source account can come from a simulation.
"""

from dataclasses import dataclass
from typing import Final

from farebox.facilitator.verification.verify import Simulator
from farebox.kernel.addresses import ZERO_ACCOUNT
from farebox.kernel.caller import OwnerId
from farebox.stellar.returned_value import read_returned_value
from farebox.stellar.scval import ScValue
from farebox.stellar.simulation import Simulation, read_simulation
from farebox.stellar.simulation_slots import Requester, SimulationPurpose
from farebox.stellar.transactions import AuthorizedCall, simulation_envelope

_SEQUENCE: Final = 1
_MAX_RETURNED_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """A simulation, and the value that the call returned; None where it returned none we know."""

    simulation: Simulation
    returned: ScValue | None = None


class RunSimulator:
    """Simulates the calls of plans; each owner has a share of the slots."""

    def __init__(self, slots: Simulator) -> None:
        self._slots = slots

    async def simulate(self, call: AuthorizedCall, owner: OwnerId) -> SimulatedCall:
        """Simulate a call with its entries as they will be sent.

        Raises:
            RpcUnavailable: no node gave a usable answer.
        """
        envelope = simulation_envelope(call, source=ZERO_ACCOUNT, sequence=_SEQUENCE)
        raw = await self._slots.simulate(envelope, Requester(SimulationPurpose.AUTOMATION, owner))
        returned = read_returned_value(raw.result, max_bytes=_MAX_RETURNED_BYTES)
        return SimulatedCall(read_simulation(raw.result), returned)
