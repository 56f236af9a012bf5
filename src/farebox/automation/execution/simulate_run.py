"""Simulations for plans: with authorization enforced, and nothing taken from them but costs.

The source of a simulated transaction is no account of the operator's, and the call carries its own
entries only: no authority of a source account can come from a simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.facilitator.verification.verify import Simulator
from farebox.kernel.addresses import ZERO_ACCOUNT, Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.slots import Requester, Share
from farebox.stellar.auth_entries import MAX_ENTRIES, AuthEntry, read_entry
from farebox.stellar.ledger_clock import ClockStale
from farebox.stellar.returned_value import read_returned_value
from farebox.stellar.rpc import RawSimulation, RpcUnavailable
from farebox.stellar.scval import ScValue
from farebox.stellar.simulation import Simulated, Simulation, read_simulation
from farebox.stellar.simulation_slots import (
    NoSimulationSlot,
    SimulationPurpose,
    current_requester,
)
from farebox.stellar.transactions import AuthorizedCall, simulation_envelope
from farebox.stellar.xdr_reader import Malformed, decode_base64

NETWORK_UNAVAILABLE: Final = "network_unavailable"
NO_SLOT: Final = "no_simulation_slot"  # this service is busy, which is no attempt of a run
UNREAD: Final = frozenset((NETWORK_UNAVAILABLE, NO_SLOT))  # it is not known what the run would do
_SEQUENCE: Final = 1
_FEE_SHARE: Final = (115, 100)  # of the simulated resource fee
_FEE_BYTES: Final = 8  # the resource fee ends the resource data
_MAX_RETURNED_BYTES: Final = 65_536
_MAX_ENTRY_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """A simulation, and the value that the call returned; None where it returned none we know."""

    simulation: Simulation
    returned: ScValue | None = None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A simulation, and the entries that the call needs; only their trees may be used."""

    simulation: Simulation
    entries: tuple[AuthEntry, ...] = ()


class RecordingSimulator(Simulator, Protocol):
    """Simulates, and records which authorizations a call needs."""

    async def simulate(
        self, envelope: str, requester: Requester, *, within_s: float | None = None
    ) -> RawSimulation: ...
    async def record(self, envelope: str, requester: Requester) -> RawSimulation: ...


class RunSimulator:
    """Simulates the calls of plans; without `simulating_for` as those of the owner's runs."""

    def __init__(self, slots: RecordingSimulator) -> None:
        self._slots = slots

    async def simulate(
        self,
        call: AuthorizedCall,
        owner: OwnerId,
        *,
        source: Address = ZERO_ACCOUNT,
        within_s: float | None = None,
    ) -> SimulatedCall:
        """Simulate a call with its entries as they will be sent, by default as a source of nobody.

        Raises:
            RpcUnavailable: no node gave a usable answer.
            TimeoutError: the simulation took longer than `within_s`.
        """
        envelope = simulation_envelope(call, source=source, sequence=_SEQUENCE)
        raw = await self._slots.simulate(envelope, _requester_of(owner), within_s=within_s)
        returned = read_returned_value(raw.result, max_bytes=_MAX_RETURNED_BYTES)
        return SimulatedCall(read_simulation(raw.result), returned)

    async def record(self, call: bytes, owner: OwnerId) -> RecordedCall:
        """Simulate a call (InvokeContractArgs) without entries, to learn which ones it needs.

        Raises:
            RpcUnavailable: no node gave a usable answer.
        """
        bare = AuthorizedCall(call, ())
        envelope = simulation_envelope(bare, source=ZERO_ACCOUNT, sequence=_SEQUENCE)
        raw = await self._slots.record(envelope, _requester_of(owner))
        return RecordedCall(read_simulation(raw.result), _recorded_entries(raw.result))


def _requester_of(owner: OwnerId) -> Requester:
    return current_requester() or Requester(SimulationPurpose.AUTOMATION, Share(owner))


def unavailable_code(outage: RpcUnavailable | ClockStale) -> str:
    """The code of an error where the network could not be read."""
    return NO_SLOT if isinstance(outage, NoSimulationSlot) else NETWORK_UNAVAILABLE


def raise_resource_fee(simulated: Simulated) -> int:
    """The resource fee to offer, in stroops: the ledger may have changed by the time it lands."""
    return -(-simulated.resource_fee * _FEE_SHARE[0] // _FEE_SHARE[1])


def with_resource_fee(soroban_data: bytes, resource_fee: int) -> bytes:
    """The resource data of a simulation with another resource fee."""
    return soroban_data[:-_FEE_BYTES] + resource_fee.to_bytes(_FEE_BYTES, "big")


def _recorded_entries(result: Mapping[str, object]) -> tuple[AuthEntry, ...]:
    """The entries of a recording; none where one of them is of no known form."""
    results = result.get("results")
    first = results[0] if isinstance(results, list) and len(results) == 1 else None
    listed = first.get("auth") if isinstance(first, dict) else None
    if not isinstance(listed, list) or len(listed) > MAX_ENTRIES:
        return ()
    try:
        return tuple(
            read_entry(decode_base64(text, max_bytes=_MAX_ENTRY_BYTES))
            for text in listed
            if isinstance(text, str)
        )
    except Malformed:
        return ()
