"""A mandate as its instance on the ledger has it: code, specification, and how it was used."""

from dataclasses import dataclass, field

from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.sessions.contract_codes import ServiceContract, pinned_hash
from farebox.automation.sessions.session_uses import SessionUses, read_uses
from farebox.kernel.addresses import Address
from farebox.stellar.contract_instance import (
    WasmCode,
    instance_key,
    read_contract_code,
    read_instance_storage,
)
from farebox.stellar.scval import ScKind
from farebox.stellar.scval_reader import bytes_in, flag_in, members_in, number_in
from farebox.stellar.scval_writer import VOID, write_value
from farebox.stellar.xdr_reader import Malformed


@dataclass(frozen=True, slots=True)
class MandateState:
    """What a mandate of the pinned code keeps; `spec_xdr` is the XDR of its specification.

    `last_index` is the index of its last run, None before the first one.
    """

    spec_xdr: bytes = field(repr=False)
    policy_id: bytes
    is_closed: bool
    last_index: int | None
    uses: SessionUses
    live_until_ledger: int | None
    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class MandateMissing:
    """There is no mandate of the pinned code at the address, as of a ledger."""

    as_of_ledger: int


async def read_mandate(ledger: EntryReader, mandate: Address) -> MandateState | MandateMissing:
    """Read a mandate from the ledger.

    Raises:
        RpcUnavailable: no node answers.
    """
    key = instance_key(mandate)
    found = await ledger.ledger_entries([key])
    entry = next((each for each in found.entries if each.key == key), None)
    missing = MandateMissing(found.latest_ledger)
    if entry is None:
        return missing
    pinned = WasmCode(pinned_hash(ServiceContract.MANDATE))
    if read_contract_code(entry.data, mandate) != pinned:
        return missing
    try:
        kept = members_in(read_instance_storage(entry.data, mandate))
        state = members_in(kept.get("state"))
        last = state.get("last_index")
        return MandateState(
            spec_xdr=write_value(kept["spec"]),
            policy_id=bytes_in(kept.get("id")),
            is_closed=flag_in(state.get("closed")),
            last_index=None if last == VOID else number_in(last, ScKind.U32),
            uses=read_uses(state.get("uses")),
            live_until_ledger=entry.live_until_ledger,
            as_of_ledger=found.latest_ledger,
        )
    except (Malformed, KeyError):
        return missing
