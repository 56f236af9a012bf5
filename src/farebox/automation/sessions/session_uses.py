"""How a session or a mandate was used so far, as guard and mandate keep it (`Uses`)."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.automation.plans.session_spec import SessionSpec
from farebox.kernel.addresses import Address
from farebox.stellar.scval import ScKind, ScValue
from farebox.stellar.scval_reader import address_in, members_in, number_in, pairs_in

_ROWS = 64  # of one root call in the numbers of slots, as contracts/session-rules has it


@dataclass(frozen=True, slots=True)
class SessionUses:
    """The uses in all, the second of the last use of each slot, and what was spent of a token."""

    count: int
    last: Mapping[int, int]
    spent: Mapping[Address, int]

    def is_used_up(self, spec: SessionSpec) -> bool:
        """Whether no use is left."""
        return self.count >= spec.max_uses

    def is_too_early(self, spec: SessionSpec, *, root: int, row: int, ledger_time: int) -> bool:
        """Whether the interval of the slot of a root call and its row has not passed."""
        last = self.last.get(root * _ROWS + row)
        return last is not None and ledger_time - last < spec.interval_s


def read_uses(value: ScValue | None) -> SessionUses:
    """Read the struct `Uses`.

    Raises:
        Malformed: it is none.
    """
    members = members_in(value)
    return SessionUses(
        count=number_in(members.get("count"), ScKind.U32),
        last={
            number_in(slot, ScKind.U32): number_in(at, ScKind.U64)
            for slot, at in pairs_in(members.get("last"))
        },
        spent={
            address_in(token): number_in(amount, ScKind.I128)
            for token, amount in pairs_in(members.get("spent"))
        },
    )
