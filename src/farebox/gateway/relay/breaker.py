"""The circuit breakers of wrappers: one whose upstream fails sells nothing for a while.

They live in one process. Each replica finds out for itself that an upstream fails.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from farebox.facilitator.settlement import PaymentIdentity

FAILURES: Final = 5  # payments in a row, until the breaker opens
OPEN_S: Final = 30.0
MAX_WRAPPERS: Final = 10_000


@dataclass(slots=True)
class _Circuit:
    failed: dict[PaymentIdentity, None] = field(default_factory=dict)  # oldest first
    open_until: float = 0.0
    trial: PaymentIdentity | None = None


class UpstreamBreaker:
    """Opens for a wrapper after five failed payments in a row, and lets one payment try it later.

    The attempts of one payment count once, so that nobody opens it by a payment of his own. Times
    are seconds of one monotonic clock. The wrappers that failed last are kept.
    """

    def __init__(self, *, max_wrappers: int = MAX_WRAPPERS) -> None:
        self._circuits: OrderedDict[str, _Circuit] = OrderedDict()
        self._max_wrappers = max_wrappers

    def wait_s(self, wrapper_id: str, now: float) -> float:
        """Return 0 when a request may be paid for, or the seconds until one may."""
        circuit = self._circuits.get(wrapper_id)
        if circuit is None or len(circuit.failed) < FAILURES:
            return 0.0
        return max(0.0, circuit.open_until - now)

    def admit(self, wrapper_id: str, payment: PaymentIdentity, now: float) -> float:
        """Admit a payment and return 0, or the seconds until one may be admitted.

        Once the breaker was open for its time, one payment is admitted as a trial. The next one is
        admitted after its result, or when the time has passed again without one.
        """
        wait_s = self.wait_s(wrapper_id, now)
        circuit = self._circuits.get(wrapper_id)
        if not wait_s and circuit is not None and len(circuit.failed) >= FAILURES:
            circuit.open_until, circuit.trial = now + OPEN_S, payment
        return wait_s

    def end_trial(self, wrapper_id: str, payment: PaymentIdentity) -> None:
        """Let another payment try the upstream if this one was to, and had no result."""
        circuit = self._circuits.get(wrapper_id)
        if circuit is not None and circuit.trial == payment:
            circuit.open_until, circuit.trial = 0.0, None

    def record_answer(self, wrapper_id: str) -> None:
        """Close the breaker of a wrapper whose upstream serves."""
        self._circuits.pop(wrapper_id, None)

    def record_failure(self, wrapper_id: str, payment: PaymentIdentity, now: float) -> None:
        """Count a payment that failed; the fifth in a row opens the breaker."""
        circuit = self._circuits.setdefault(wrapper_id, _Circuit())
        self._circuits.move_to_end(wrapper_id)
        if payment in circuit.failed:
            return
        circuit.failed[payment] = None
        if len(circuit.failed) >= FAILURES:
            circuit.open_until, circuit.trial = now + OPEN_S, None
        if len(circuit.failed) > FAILURES:
            del circuit.failed[next(iter(circuit.failed))]
        if len(self._circuits) > self._max_wrappers:
            self._circuits.popitem(last=False)
