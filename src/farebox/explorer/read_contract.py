"""Read a contract: its kind, its code's hash and its functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from farebox.catalog.tokens.token import Token, TokenKind, identify_token
from farebox.explorer.ledger_reads import LedgerReads
from farebox.kernel.addresses import Address
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.contract_code import find_custom_section, read_code
from farebox.stellar.contract_instance import instance_key, read_contract_code
from farebox.stellar.contract_interface import SECTION, ContractFunction, read_functions
from farebox.stellar.contract_operations import code_key
from farebox.stellar.xdr_reader import Malformed


class ContractNotFound(Refusal):
    """There is no contract at the address."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.CONTRACT_NOT_FOUND)


class InterfaceState(StrEnum):
    """Whether the functions of a contract are known, and why not."""

    READ = "read"
    BUILT_IN = "built_in"  # the network's own code for classic assets (CAP-46-6, SEP-41)
    ELSEWHERE = "elsewhere"  # the code is chosen by the owner of the reference
    NO_CODE = "no_code"  # the code is not on the ledger now, most likely archived
    NOT_DESCRIBED = "not_described"  # the code has no section that describes it
    UNREADABLE = "unreadable"  # that section breaks a rule of its format, or a bound


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract as of `latest_ledger`; `functions` are those of a readable interface."""

    address: Address
    latest_ledger: int
    token: Token
    is_archived: bool
    interface: InterfaceState
    functions: tuple[ContractFunction, ...] = ()


class ContractReader:
    """Reads contracts, in one or two reads of ledger entries."""

    def __init__(self, network: Network, reads: LedgerReads) -> None:
        self._network, self._reads = network, reads

    async def read(self, address: Address) -> Contract:
        """Read the contract at `address`.

        Raises:
            ContractNotFound: there is none.
            Outage: the network cannot be read now.
        """
        key = instance_key(address)
        async with self._reads.within_deadline():
            found = await self._reads.entries([key])
            data = found.data(key)
            if data is None:
                raise ContractNotFound
            code = read_contract_code(data, address)
            if code is None:
                raise self._reads.unreadable("the contract")
            token = identify_token(code, address, self._network)
            interface, functions = await self._read_interface(token)
        is_archived = found.is_archived(key)
        return Contract(address, found.latest_ledger, token, is_archived, interface, functions)

    async def _read_interface(
        self, token: Token
    ) -> tuple[InterfaceState, tuple[ContractFunction, ...]]:
        if token.kind is TokenKind.ASSET_CONTRACT:
            return InterfaceState.BUILT_IN, ()
        if token.wasm_hash is None:
            return InterfaceState.ELSEWHERE, ()
        key = code_key(token.wasm_hash)
        data = (await self._reads.entries([key])).data(key)
        if data is None:
            return InterfaceState.NO_CODE, ()
        code = read_code(data, token.wasm_hash)
        if code is None:
            raise self._reads.unreadable("the code of the contract")
        return _read_functions(code)


def _read_functions(code: bytes) -> tuple[InterfaceState, tuple[ContractFunction, ...]]:
    try:
        section = find_custom_section(code, SECTION)
        if section is None:
            return InterfaceState.NOT_DESCRIBED, ()
        return InterfaceState.READ, read_functions(section)
    except Malformed:
        return InterfaceState.UNREADABLE, ()


ContractReaders = Mapping[Network, ContractReader]
