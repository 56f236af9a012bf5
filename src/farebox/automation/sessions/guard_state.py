"""A session as the guard keeps it on the ledger: specification, rules, and how it was used."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.sessions.contract_codes import ServiceContract, pinned_hash
from farebox.automation.sessions.session_uses import SessionUses, read_uses
from farebox.kernel.addresses import Address
from farebox.stellar.contract_data import data_key, read_data
from farebox.stellar.contract_instance import WasmCode, instance_key, read_contract_code
from farebox.stellar.scval import ScBytes, ScKind, ScVec
from farebox.stellar.scval_reader import address_in, flag_in, members_in, number_in, pairs_in
from farebox.stellar.scval_writer import address_of, symbol_of, write_value
from farebox.stellar.xdr_reader import Malformed


@dataclass(frozen=True, slots=True)
class GuardSession:
    """What a guard of the pinned code keeps of a session; `rules` are the ids by contract."""

    spec_xdr: bytes = field(repr=False)
    is_closed: bool
    rules: Mapping[Address, int]
    uses: SessionUses
    live_until_ledger: int | None
    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class SessionMissing:
    """There is no such session at a guard of the pinned code, as of a ledger."""

    as_of_ledger: int


async def read_guard(
    ledger: EntryReader, guard: Address, account: Address, policy_id: PolicyId
) -> GuardSession | SessionMissing:
    """Read a session from the ledger.

    Raises:
        RpcUnavailable: no node answers.
    """
    instance = instance_key(guard)
    spec_key, state_key = (
        data_key(guard, ScVec((symbol_of(name), address_of(account), _bytes(policy_id))))
        for name in ("Spec", "State")
    )
    found = await ledger.ledger_entries([instance, spec_key, state_key])
    entries = {entry.key: entry for entry in found.entries}
    missing = SessionMissing(found.latest_ledger)
    if not {instance, spec_key, state_key} <= entries.keys():
        return missing
    pinned = WasmCode(pinned_hash(ServiceContract.GUARD))
    if read_contract_code(entries[instance].data, guard) != pinned:
        return missing
    spec = read_data(entries[spec_key].data, spec_key)
    try:
        state = members_in(read_data(entries[state_key].data, state_key))
        return GuardSession(
            spec_xdr=b"" if spec is None else write_value(spec),
            is_closed=flag_in(state.get("closed")),
            rules={
                address_in(contract): number_in(rule_id, ScKind.U32)
                for contract, rule_id in pairs_in(state.get("rules"))
            },
            uses=read_uses(state.get("uses")),
            live_until_ledger=entries[state_key].live_until_ledger,
            as_of_ledger=found.latest_ledger,
        )
    except Malformed:
        return missing


def _bytes(policy_id: PolicyId) -> ScBytes:
    return ScBytes(ScKind.BYTES, policy_id)
