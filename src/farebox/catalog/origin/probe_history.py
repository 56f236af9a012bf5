"""A resource's probe state, decided from the results of repeated probes.

One odd result does not change a state: it takes three equal results in a row.
"""

from dataclasses import dataclass, replace
from typing import Final

from farebox.catalog.listing import Ownership, ProbeState
from farebox.catalog.origin.payment_required import (
    OriginFailure,
    OriginFault,
    OriginResponse,
)
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network

EQUAL_RESULTS: Final = 3  # in a row, before a state changes


@dataclass(frozen=True, slots=True)
class ProbeHistory:
    """The state, and the last result with the number of times it came in a row."""

    state: ProbeState = ProbeState.UNKNOWN
    last_result: ProbeState | None = None
    repeats: int = 0  # counted up to `EQUAL_RESULTS`

    @property
    def is_stable(self) -> bool:
        """Whether the last result agrees with the state."""
        return self.last_result is self.state


def probe_result(response: OriginResponse, network: Network, pay_to: Address) -> ProbeState | None:
    """The result for a listing with this recipient; None when no request was made."""
    if isinstance(response, OriginFailure):
        return _FAULT_RESULTS.get(response.fault)
    is_named = response.names_recipient(network, pay_to)
    return ProbeState.CONFIRMED if is_named else ProbeState.OTHER_RECIPIENT


def add_result(history: ProbeHistory, result: ProbeState) -> ProbeHistory:
    """The history after one more result; the third equal one in a row becomes the state."""
    is_repeat = result is history.last_result
    repeats = min(history.repeats + 1, EQUAL_RESULTS) if is_repeat else 1
    state = result if repeats >= EQUAL_RESULTS else history.state
    return replace(history, state=state, last_result=result, repeats=repeats)


def ownership_for(state: ProbeState) -> Ownership | None:
    """The ownership that a state proves or disproves; None when it does neither."""
    return _OWNERSHIP.get(state)


_FAULT_RESULTS: Final = {
    OriginFault.NOT_CALLED: ProbeState.NOT_CALLED,
    OriginFault.UNREACHABLE: ProbeState.UNREACHABLE,
    OriginFault.NO_ANSWER: ProbeState.UNREACHABLE,
    OriginFault.NO_PAYMENT_ASKED: ProbeState.NO_PAYMENT_ASKED,
    OriginFault.UNREADABLE: ProbeState.UNREADABLE,
}
_OWNERSHIP: Final = {
    ProbeState.CONFIRMED: Ownership.VERIFIED,
    ProbeState.OTHER_RECIPIENT: Ownership.UNVERIFIED,
}
