"""Which kind of account an address is: a classic one, or a generation of smart accounts (1.2).

A smart account is known by the hash of its code, or else by the functions of its interface.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from farebox.automation.execution.entry_reader import EntryReader
from farebox.kernel.addresses import Address, is_account
from farebox.stellar.contract_code import find_custom_section, read_code
from farebox.stellar.contract_instance import WasmCode, instance_key, read_contract_code
from farebox.stellar.contract_interface import SECTION, read_functions
from farebox.stellar.contract_operations import code_key
from farebox.stellar.xdr_reader import Malformed

_MOST_KEPT: Final = 1_000  # hashes of code, whose functions never change


class AccountKind(StrEnum):
    """The kind of an account; sessions are for `oz_b` (signed as `oz_c`), `oz_c` and `oz_d`."""

    CLASSIC = "g"
    OZ_B = "oz_b"
    OZ_C = "oz_c"
    OZ_D = "oz_d"
    PASSKEY_1 = "passkey1"
    UNKNOWN = "unknown"


SESSION_KINDS: Final = frozenset((AccountKind.OZ_B, AccountKind.OZ_C, AccountKind.OZ_D))
KNOWN_CODES: Final[Mapping[str, AccountKind]] = MappingProxyType(
    {  # of contracts/: the accounts of crate stellar-accounts 0.7.3 and 0.8.0
        "aad9fe665f8c1a1d0081008c9608cc6d188c9656aa90a53007e3f77fe137a058": AccountKind.OZ_C,
        "bfcdd4ea0e4caf06a2574a4315226a1fa1370a915890e39663f2dc9664481e50": AccountKind.OZ_D,
    }
)
# what every account of crate stellar-accounts from 0.7 on exports; 0.8.0 shows its digest too
_OZ_FUNCTIONS: Final = frozenset(
    ("__check_auth", "add_context_rule", "remove_context_rule", "get_context_rule")
)
_OF_OLDER_ONES: Final = "get_context_rules"  # which 0.7 has no more
_OF_D: Final = "auth_digest"
_OF_PASSKEY: Final = frozenset(("__check_auth", "add_signer", "update_signer", "remove_signer"))


class AccountKindReader:
    """Reads the kind of accounts of one network from the ledger."""

    def __init__(self, ledger: EntryReader) -> None:
        self._ledger = ledger
        self._by_code: dict[bytes, AccountKind] = {}

    async def kind_of(self, account: Address) -> AccountKind:
        """The kind of an account.

        Raises:
            RpcUnavailable: no node answers.
        """
        if is_account(account):
            return AccountKind.CLASSIC
        key = instance_key(account)
        found = await self._ledger.ledger_entries([key])
        data = next((each.data for each in found.entries if each.key == key), b"")
        code = read_contract_code(data, account)
        if not isinstance(code, WasmCode):
            return AccountKind.UNKNOWN
        return await self._kind_of_code(code.wasm_hash)

    async def _kind_of_code(self, wasm_hash: bytes) -> AccountKind:
        known = KNOWN_CODES.get(wasm_hash.hex()) or self._by_code.get(wasm_hash)
        if known is not None:
            return known
        key = code_key(wasm_hash)
        found = await self._ledger.ledger_entries([key])
        data = next((each.data for each in found.entries if each.key == key), b"")
        code = read_code(data, wasm_hash)
        kind = AccountKind.UNKNOWN if code is None else kind_of_functions(_functions(code))
        if code is not None and len(self._by_code) < _MOST_KEPT:
            self._by_code[wasm_hash] = kind
        return kind


def kind_of_functions(functions: frozenset[str]) -> AccountKind:
    """The kind of a contract account by the names of its functions."""
    if functions >= _OZ_FUNCTIONS and _OF_OLDER_ONES not in functions:
        return AccountKind.OZ_D if _OF_D in functions else AccountKind.OZ_C
    if functions >= _OF_PASSKEY and "add_context_rule" not in functions:
        return AccountKind.PASSKEY_1
    return AccountKind.UNKNOWN


def _functions(code: bytes) -> frozenset[str]:
    try:
        section = find_custom_section(code, SECTION)
        return frozenset(each.name for each in read_functions(section or b""))
    except Malformed:
        return frozenset()
