"""The code of a plan's target against the hash that was pinned when the plan was proposed."""

from enum import StrEnum

from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.kernel.addresses import Address
from farebox.stellar.contract_instance import WasmCode, instance_key, read_contract_code
from farebox.stellar.rpc import RpcUnavailable


class PinState(StrEnum):
    """Whether the target still has the pinned code."""

    HOLDS = "holds"
    CHANGED = "changed"
    UNKNOWN = "unknown"  # no node answers


async def check_pin(ledger: EntryReader, terms: PlanTerms, target: Address) -> PinState:
    """Compare the code of `target` with the plan's pin; a plan without one pins nothing."""
    if terms.target_wasm_hash is None:
        return PinState.HOLDS
    key = instance_key(target)
    try:
        found = await ledger.ledger_entries([key])
    except RpcUnavailable:
        return PinState.UNKNOWN
    data = next((entry.data for entry in found.entries if entry.key == key), None)
    code = None if data is None else read_contract_code(data, target)
    is_pinned = isinstance(code, WasmCode) and code.wasm_hash == terms.target_wasm_hash
    return PinState.HOLDS if is_pinned else PinState.CHANGED
