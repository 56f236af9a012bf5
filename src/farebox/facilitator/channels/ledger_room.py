"""How many settlements one ledger has room for, from the network's own limits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from farebox.stellar.network_settings import LedgerLimits, NetworkSettings

_WEIGHT: Final = 16  # one envelope moves the average by a sixteenth


@dataclass(frozen=True, slots=True)
class LedgerUse:
    """What one settlement takes of a ledger."""

    transaction_bytes: float
    instructions: float
    write_entries: float
    write_bytes: float


# a transfer of an asset contract between two accounts, inside a fee bump
TYPICAL: Final = LedgerUse(
    transaction_bytes=1212, instructions=1_500_000, write_entries=3, write_bytes=420
)


@dataclass(frozen=True, slots=True)
class LedgerRoom:
    """How many settlements a ledger takes when it takes nothing else, and what binds then."""

    settlements: int
    binds: str


def room_for(limits: LedgerLimits, use: LedgerUse) -> LedgerRoom:
    """How many settlements of this use fit in a ledger, one at least.

    Payments to one payee follow each other in one cluster and so may meet the limit of its
    instructions earlier.
    """
    asked = {
        "transactions": (limits.transactions, 1),
        "transaction bytes": (limits.transaction_bytes, use.transaction_bytes),
        "instructions": (limits.instructions * limits.clusters, use.instructions),
        "write entries": (limits.write_entries, use.write_entries),
        "write bytes": (limits.write_bytes, use.write_bytes),
    }
    rooms = {kind: int(has / wants) for kind, (has, wants) in asked.items() if wants > 0}
    binds = min(rooms, key=lambda kind: rooms[kind])
    return LedgerRoom(max(1, rooms[binds]), binds)


class RoomMeter:
    """Measures what the settlements of one network take, and so how many a ledger has room for."""

    def __init__(self, settings: Callable[[], NetworkSettings | None]) -> None:
        self._settings = settings
        self._use: LedgerUse | None = None

    def measure(self, use: LedgerUse) -> None:
        """One more settlement took this much."""
        self._use = use if self._use is None else _nearer(self._use, use)

    def room(self) -> LedgerRoom | None:
        """By the limits as they are now; None while they are not known."""
        settings = self._settings()
        return None if settings is None else room_for(settings.ledger, self._use or TYPICAL)


def _nearer(average: LedgerUse, one: LedgerUse) -> LedgerUse:
    def moved(was: float, now: float) -> float:
        return was + (now - was) / _WEIGHT

    return LedgerUse(
        transaction_bytes=moved(average.transaction_bytes, one.transaction_bytes),
        instructions=moved(average.instructions, one.instructions),
        write_entries=moved(average.write_entries, one.write_entries),
        write_bytes=moved(average.write_bytes, one.write_bytes),
    )
