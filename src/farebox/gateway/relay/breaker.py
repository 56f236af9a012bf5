"""The circuit breakers of upstreams: a failing one gets no paid request for a while.

They live in one process. Each replica finds out for itself that an upstream fails.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

FAILURES: Final = 5  # in a row, until the breaker opens
OPEN_S: Final = 30.0
MAX_UPSTREAMS: Final = 10_000


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    open_until: float = 0.0


class UpstreamBreaker:
    """Opens for an upstream after five failures in a row, and lets one request try it later.

    Times are seconds of one monotonic clock. The upstreams that were used last are kept.
    """

    def __init__(self, *, max_upstreams: int = MAX_UPSTREAMS) -> None:
        self._circuits: OrderedDict[str, _Circuit] = OrderedDict()
        self._max_upstreams = max_upstreams

    def admit(self, upstream: str, now: float) -> float:
        """Return 0 when a request may be paid for, or the seconds until one may.

        Once the breaker was open for its time, one request is admitted as a trial. The next one is
        admitted after its result, or when the time has passed again without one.
        """
        circuit = self._circuits.get(upstream)
        if circuit is None or circuit.failures < FAILURES:
            return 0.0
        if now < circuit.open_until:
            return circuit.open_until - now
        circuit.open_until = now + OPEN_S
        return 0.0

    def record_success(self, upstream: str) -> None:
        """Close the breaker of the upstream."""
        self._circuits.pop(upstream, None)

    def record_failure(self, upstream: str, now: float) -> None:
        """Count a failure of the upstream; the fifth in a row opens its breaker."""
        circuit = self._circuits.setdefault(upstream, _Circuit())
        self._circuits.move_to_end(upstream)
        circuit.failures += 1
        if circuit.failures >= FAILURES:
            circuit.open_until = now + OPEN_S
        if len(self._circuits) > self._max_upstreams:
            self._circuits.popitem(last=False)
