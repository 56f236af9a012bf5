"""What repeated questions to a resource come to: a state that one odd answer does not change."""

from dataclasses import dataclass, replace
from typing import Final

from farebox.catalog.listing import Ownership, ProbeState
from farebox.catalog.origin.offers import Offers, OriginSilent, Silence
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network

EQUAL_RESULTS: Final = 3  # in a row, before a state changes


@dataclass(frozen=True, slots=True)
class Standing:
    """The state, and the last result with how often it came in a row."""

    state: ProbeState = ProbeState.UNKNOWN
    seen: ProbeState | None = None
    times: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether the last result is what the state says."""
        return self.seen is self.state


def result_of(said: Offers | OriginSilent, network: Network, pay_to: Address) -> ProbeState:
    """One result, as seen from a listing with this recipient."""
    if isinstance(said, OriginSilent):
        return _SILENT[said.why]
    named = said.name(network, pay_to)
    return ProbeState.CONFIRMED if named else ProbeState.OTHER_RECIPIENT


def follow(standing: Standing, seen: ProbeState) -> Standing:
    """The standing after one more result; the state follows the third equal one in a row."""
    times = min(standing.times + 1, EQUAL_RESULTS) if seen is standing.seen else 1
    state = seen if times >= EQUAL_RESULTS else standing.state
    return replace(standing, state=state, seen=seen, times=times)


def ownership_by(state: ProbeState) -> Ownership | None:
    """What a state says of who controls the resource; None when it says nothing."""
    return _OWNERSHIP.get(state)


_SILENT: Final = {
    Silence.NOT_CALLED: ProbeState.NOT_CALLED,
    Silence.UNREACHABLE: ProbeState.UNREACHABLE,
    Silence.NO_ANSWER: ProbeState.UNREACHABLE,
    Silence.NO_PAYMENT_ASKED: ProbeState.NO_PAYMENT_ASKED,
    Silence.UNREADABLE: ProbeState.UNREADABLE,
}
_OWNERSHIP: Final = {
    ProbeState.CONFIRMED: Ownership.VERIFIED,
    ProbeState.OTHER_RECIPIENT: Ownership.UNVERIFIED,
}
