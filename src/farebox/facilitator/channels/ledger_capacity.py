"""The capacity of one ledger in settlements, from the network's own limits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from farebox.stellar.network_settings import ConfigSettings, LedgerLimits

_WEIGHT: Final = 16  # one envelope moves the average by a sixteenth


@dataclass(frozen=True, slots=True)
class LedgerUse:
    """The resources of a ledger that one settlement uses."""

    transaction_bytes: float
    instructions: float
    write_entries: float
    write_bytes: float


# a transfer of an asset contract between two accounts, inside a fee bump
TYPICAL: Final = LedgerUse(
    transaction_bytes=1212, instructions=1_500_000, write_entries=3, write_bytes=420
)


@dataclass(frozen=True, slots=True)
class LedgerCapacity:
    """The number of settlements that an otherwise empty ledger takes, and the limit it meets."""

    settlements: int
    limit: str


def compute_capacity(limits: LedgerLimits, use: LedgerUse) -> LedgerCapacity:
    """Compute how many settlements of this use fit in a ledger, one at least.

    Payments to one payee follow each other in one cluster and so may meet the limit of its
    instructions earlier.
    """
    resources = {
        "transactions": (limits.transactions, 1),
        "transaction bytes": (limits.transaction_bytes, use.transaction_bytes),
        "instructions": (limits.instructions * limits.clusters, use.instructions),
        "write entries": (limits.write_entries, use.write_entries),
        "write bytes": (limits.write_bytes, use.write_bytes),
    }
    fitting = {name: int(limit / used) for name, (limit, used) in resources.items() if used > 0}
    least = min(fitting, key=lambda name: fitting[name])
    return LedgerCapacity(max(1, fitting[least]), least)


class CapacityMeter:
    """Averages the resources that one network's settlements use, and so its ledgers' capacity."""

    def __init__(self, settings: Callable[[], ConfigSettings | None]) -> None:
        self._settings = settings
        self._use: LedgerUse | None = None

    def measure(self, use: LedgerUse) -> None:
        """Add the use of one more settlement to the average."""
        self._use = use if self._use is None else _move_average(self._use, use)

    def capacity(self) -> LedgerCapacity | None:
        """The capacity by the current limits; None while they are unknown."""
        settings = self._settings()
        return None if settings is None else compute_capacity(settings.ledger, self._use or TYPICAL)


def _move_average(average: LedgerUse, one: LedgerUse) -> LedgerUse:
    def move(old: float, new: float) -> float:
        return old + (new - old) / _WEIGHT

    return LedgerUse(
        transaction_bytes=move(average.transaction_bytes, one.transaction_bytes),
        instructions=move(average.instructions, one.instructions),
        write_entries=move(average.write_entries, one.write_entries),
        write_bytes=move(average.write_bytes, one.write_bytes),
    )
