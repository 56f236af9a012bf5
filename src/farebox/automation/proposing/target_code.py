"""The code and interface of the contracts that proposals name, read from the ledger (SEP-48)."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.refusal import spec_mismatch
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import asset_contract
from farebox.stellar.asset_interface import ASSET_INTERFACE
from farebox.stellar.contract_code import find_custom_section, read_code
from farebox.stellar.contract_instance import (
    AssetCode,
    ContractCode,
    WasmCode,
    instance_key,
    read_contract_code,
)
from farebox.stellar.contract_interface import SECTION, ContractInterface, read_interface
from farebox.stellar.contract_operations import code_key
from farebox.stellar.xdr_reader import Malformed

_MOST_KEPT: Final = 64  # interfaces, by the hash of their code
_ABSENT: Final = "There is no contract at this address."
_FOREIGN: Final = "Another contract chooses its code, so that no code can be agreed on."
_ARCHIVED: Final = "Its code is not on the ledger now: restore it first."
_UNDESCRIBED: Final = "Its code does not describe its functions (SEP-48)."


@dataclass(frozen=True, slots=True)
class TargetCode:
    """A contract's interface; `wasm_hash` is None for the network's own code of an asset.

    `asset` is the name of a classic asset (`native` or `CODE:ISSUER`) whose contract it is.
    """

    interface: ContractInterface
    wasm_hash: bytes | None = None
    asset: str | None = None


class TargetReader:
    """Reads contracts of one network; the newest interfaces are kept by the hash of their code."""

    def __init__(self, network: Network, ledger: EntryReader) -> None:
        self.network, self._ledger = network, ledger
        self._interfaces: OrderedDict[bytes, ContractInterface] = OrderedDict()

    async def read(self, contract: Address, *, field: str) -> TargetCode:
        """Read the contract that the member `field` names.

        Raises:
            AutomationRefused: `spec_mismatch`: it is not there, or has no interface.
            RpcUnavailable: no node answers.
        """
        code = await self.find_code(contract)
        if code is None:
            raise spec_mismatch(field, _ABSENT)
        if isinstance(code, AssetCode):
            name = code.name or ""
            if asset_contract(name, self.network) != contract:
                raise spec_mismatch(field, _UNDESCRIBED)
            return TargetCode(ASSET_INTERFACE, asset=name)
        if not isinstance(code, WasmCode):
            raise spec_mismatch(field, _FOREIGN)
        return TargetCode(await self._interface(code.wasm_hash, field), code.wasm_hash)

    async def find_code(self, contract: Address) -> ContractCode | None:
        """The code that a contract runs; None where there is none of a known form.

        Raises:
            RpcUnavailable: no node answers.
        """
        data = await self._entry(instance_key(contract))
        return None if data is None else read_contract_code(data, contract)

    async def _interface(self, wasm_hash: bytes, field: str) -> ContractInterface:
        known = self._interfaces.get(wasm_hash)
        if known is not None:
            self._interfaces.move_to_end(wasm_hash)
            return known
        data = await self._entry(code_key(wasm_hash))
        code = None if data is None else read_code(data, wasm_hash)
        if code is None:
            raise spec_mismatch(field, _ARCHIVED)
        try:
            section = find_custom_section(code, SECTION)
            if section is None:
                raise spec_mismatch(field, _UNDESCRIBED)
            interface = read_interface(section)
        except Malformed:
            raise spec_mismatch(field, _UNDESCRIBED) from None
        self._interfaces[wasm_hash] = interface
        while len(self._interfaces) > _MOST_KEPT:
            self._interfaces.popitem(last=False)
        return interface

    async def _entry(self, key: bytes) -> bytes | None:
        found = await self._ledger.ledger_entries([key])
        return next((entry.data for entry in found.entries if entry.key == key), None)
