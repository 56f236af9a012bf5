"""The call of SEP-45 (web_auth_verify): its bytes, its authorization entries, its simulation."""

from collections.abc import Iterable, Mapping
from typing import Final

from farebox.kernel.addresses import Address
from farebox.stellar.auth_entries import (
    AuthEntry,
    CredentialKind,
    authorization_digest,
    read_entry,
)
from farebox.stellar.entry_writer import key_signature, unsigned_entry, with_signature
from farebox.stellar.scval import AddressKind, ScBytes, ScKind, ScMap, read_address, read_value
from farebox.stellar.signers import SigningAccount
from farebox.stellar.xdr_reader import Malformed, XdrReader
from farebox.stellar.xdr_writer import contract_call, opaque, symbol_value, uint32

FUNCTION: Final = b"web_auth_verify"
MAX_ARGUMENT_BYTES: Final = 512

_CONTRACT_DATA: Final = 6  # LedgerEntryType
_TEMPORARY: Final = 0  # ContractDataDurability


def build_call(contract: Address, arguments: Mapping[str, str]) -> bytes:
    """The call of `contract` with these arguments: a map of strings, in the order hosts require."""
    pairs = [
        symbol_value(name.encode()) + uint32(ScKind.STRING) + opaque(arguments[name].encode())
        for name in sorted(arguments)
    ]
    argument = uint32(ScKind.MAP) + uint32(1) + uint32(len(pairs)) + b"".join(pairs)
    return contract_call(contract, FUNCTION, argument)


def read_call(call: bytes) -> tuple[Address, dict[str, str]]:
    """Read the contract and the arguments; `build_call` of them gives the same bytes.

    Raises:
        Malformed: another call, or another encoding than that of `build_call`.
    """
    reader = XdrReader(call)
    called = read_address(reader)
    if called.kind is not AddressKind.CONTRACT or called.plain is None:
        raise Malformed
    if reader.opaque(len(FUNCTION)) != FUNCTION:
        raise Malformed
    reader.expect(1)
    argument = read_value(reader, depth=1)
    reader.finish()
    if not isinstance(argument, ScMap) or argument.entries is None:
        raise Malformed
    arguments = {_text(name, ScKind.SYMBOL): _text(text, ScKind.STRING)
                 for name, text in argument.entries}  # fmt: skip
    if build_call(called.plain, arguments) != call:
        raise Malformed
    return called.plain, arguments


def signed_entry(
    account: SigningAccount, *, nonce: int, expires_at_ledger: int, call: bytes, network_id: bytes
) -> bytes:
    """The same entry of a classic account of ours, signed by its own key."""
    raw = unsigned_entry(
        account.address, nonce=nonce, expires_at_ledger=expires_at_ledger, call=call
    )
    entry = read_entry(raw)
    signature = account.sign(authorization_digest(entry, network_id))
    return with_signature(entry, key_signature(account.address, signature))


def join_entries(entries: Iterable[bytes]) -> bytes:
    """The entries as one document (SorobanAuthorizationEntries)."""
    each = list(entries)
    return uint32(len(each)) + b"".join(each)


def is_plain_entry(entry: AuthEntry) -> bool:
    """Whether it authorizes one contract call alone, by an address in the form wallets sign."""
    return (
        entry.kind is CredentialKind.ADDRESS
        and entry.address is not None
        and entry.is_contract_call
        and not entry.has_subinvocations
    )


def spends_nonce(soroban_data: bytes, entry: AuthEntry) -> bool:
    """Whether a simulation used the entry: then it writes the entry's nonce.

    An entry that no call requires is ignored, so that success alone proves nothing.
    """
    key = uint32(_CONTRACT_DATA) + entry.address_xdr + uint32(ScKind.LEDGER_KEY_NONCE)
    return key + entry.nonce_and_expiry[:8] + uint32(_TEMPORARY) in soroban_data


def _text(value: object, kind: ScKind) -> str:
    if not isinstance(value, ScBytes) or value.kind is not kind:
        raise Malformed
    if len(value.raw) > MAX_ARGUMENT_BYTES or not value.raw.isascii():
        raise Malformed
    return value.raw.decode()
