"""The transaction of a payment: a single `transfer` call with its authorizations.

Farebox builds its own transaction from the slices kept here. The other parts of the client's
transaction (fee, sequence, memo, preconditions, resources, signatures) are checked to be well
formed, then dropped.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from farebox.kernel.addresses import Address, account_address
from farebox.stellar.auth_entries import MAX_ARGUMENTS, AuthEntry, read_entries
from farebox.stellar.scval import (
    SYMBOL_MAX_BYTES,
    ScAddress,
    ScKind,
    ScNumber,
    ScValue,
    read_address,
    read_value,
    skip_value,
)
from farebox.stellar.soroban_data import read_resources
from farebox.stellar.xdr_reader import Malformed, XdrReader
from farebox.x402.reasons import Reason

MAX_ENVELOPE_BYTES: Final = 132_096  # the largest transaction the networks take
TRANSFER: Final = b"transfer"
_TRANSFER_ARGUMENTS: Final = 3

_ENVELOPE_V1: Final = 2
_FEE_BUMP: Final = 5
_MUXED_SOURCE: Final = 0x100
_TIME_BOUNDS: Final = 1
_MAX_OPERATIONS: Final = 100
_OPERATION_TYPES: Final = 27
_INVOKE_HOST_FUNCTION: Final = 24
_HOST_FUNCTION_TYPES: Final = 4
_INVOKE_CONTRACT: Final = 0
_MAX_SIGNATURES: Final = 20
_SIGNATURE_MAX_BYTES: Final = 64
_MEMO_TEXT_MAX_BYTES: Final = 28
_MAX_EXTRA_SIGNERS: Final = 2
_SIGNED_PAYLOAD: Final = 3
_SIGNED_PAYLOAD_MAX_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not an envelope of one contract call: `MALFORMED` or `WRONG_OPERATION`."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class NotATransfer:
    """A contract call, but not transfer(from: Address, to: Address, amount: i128)."""

    tx_source: Address
    operation_source: Address | None
    contract: Address
    function: bytes


@dataclass(frozen=True, slots=True)
class MuxedParty:
    """A recipient named by a muxed address (M… or W…): never equal to a plain one."""

    address: ScAddress


@dataclass(frozen=True, slots=True)
class TransferEnvelope:
    """A signed transfer as the client sent it, not yet judged."""

    tx_source: Address  # of a muxed source the account below it
    operation_source: Address | None
    contract: Address
    payer: Address
    pay_to: Address | MuxedParty
    amount: int  # i128, so it may be zero or negative
    call: bytes = field(repr=False)  # contract, function and arguments
    entries: tuple[AuthEntry, ...]
    has_resource_data: bool
    signature_count: int


@dataclass(frozen=True, slots=True)
class LandedCall:
    """A contract call on the ledger, with its authorization entries."""

    source: Address  # whose sequence number it used; of a muxed source the account below it
    fee_source: Address  # of a fee bump its payer, else the source
    sequence: int
    max_time: int | None  # Unix seconds; None where it had no simple time bounds
    entries: tuple[AuthEntry, ...]
    signed: bytes = field(repr=False)  # the hashed bytes after the network id
    inner_signed: bytes | None = field(
        repr=False
    )  # the same of the inner transaction of a fee bump

    def hash(self, network_id: bytes) -> bytes:
        """The transaction hash, 32 bytes."""
        return hashlib.sha256(network_id + self.signed).digest()

    def inner_hash(self, network_id: bytes) -> bytes | None:
        """The hash of the inner transaction of a fee bump, 32 bytes; None without one."""
        if self.inner_signed is None:
            return None
        return hashlib.sha256(network_id + self.inner_signed).digest()


class _WrongOperation(Exception):
    """A transaction, but not one invocation of a contract."""


def read_transfer_envelope(raw: bytes) -> TransferEnvelope | NotATransfer | Unreadable:
    """Read a transaction envelope of the current version; total over byte strings."""
    if len(raw) > MAX_ENVELOPE_BYTES:
        return Unreadable(Reason.MALFORMED)
    return read_envelope(XdrReader(raw))


def read_envelope(reader: XdrReader) -> TransferEnvelope | NotATransfer | Unreadable:
    """Read the envelope that is the whole of `reader`."""
    try:
        return _read_envelope(reader)
    except Malformed:
        return Unreadable(Reason.MALFORMED)
    except _WrongOperation:
        return Unreadable(Reason.WRONG_OPERATION)


def read_landed_call(raw: bytes) -> LandedCall | None:
    """Read the envelope of a landed call, a fee bump's inner one; None for anything else."""
    if len(raw) > MAX_ENVELOPE_BYTES:
        return None
    try:
        return _read_landed(XdrReader(raw))
    except (Malformed, _WrongOperation):
        return None


def _read_landed(reader: XdrReader) -> LandedCall:
    is_bumped = reader.raw[:4] == _FEE_BUMP.to_bytes(4, "big")
    fee_source = None
    if is_bumped:
        reader.expect(_FEE_BUMP)
        fee_source = _read_source(reader)
        reader.skip(8)  # the fee
    start = reader.at
    reader.expect(_ENVELOPE_V1)
    source = _read_source(reader)
    reader.skip(4)  # the fee
    sequence = reader.int64()
    max_time = _read_max_time(reader)
    _skip_memo(reader)
    _read_operation_head(reader)
    call = _read_call(reader)
    entries = read_entries(reader, call.raw if isinstance(call, _TransferCall) else None)
    if reader.flag():
        read_resources(reader)
    signed, inner_signed = reader.since(start), None
    _skip_signatures(reader)
    if is_bumped:
        reader.expect(0)  # no extension is known
        signed, inner_signed = reader.since(0), signed
        _skip_signatures(reader)
    reader.finish()
    payer = fee_source or source
    return LandedCall(source, payer, sequence, max_time, entries, signed, inner_signed)


def _read_max_time(reader: XdrReader) -> int | None:
    start = reader.at
    _skip_preconditions(reader)
    bounds = reader.since(start)
    is_simple = bounds[:4] == _TIME_BOUNDS.to_bytes(4, "big")
    return int.from_bytes(bounds[-8:], "big") if is_simple else None


def _read_envelope(reader: XdrReader) -> TransferEnvelope | NotATransfer:
    reader.expect(_ENVELOPE_V1)
    tx_source = _read_source(reader)
    reader.skip(4 + 8)  # fee and sequence number
    _skip_preconditions(reader)
    _skip_memo(reader)
    operation_source = _read_operation_head(reader)
    call = _read_call(reader)
    entries = read_entries(reader, call.raw if isinstance(call, _TransferCall) else None)
    has_resource_data = reader.flag()
    if has_resource_data:
        read_resources(reader)
    signature_count = _skip_signatures(reader)
    reader.finish()
    if isinstance(call, _OtherCall):
        return NotATransfer(tx_source, operation_source, call.contract, call.function)
    return TransferEnvelope(
        tx_source=tx_source,
        operation_source=operation_source,
        contract=call.contract,
        payer=call.payer,
        pay_to=call.pay_to,
        amount=call.amount,
        call=call.raw,
        entries=entries,
        has_resource_data=has_resource_data,
        signature_count=signature_count,
    )


def _read_source(reader: XdrReader) -> Address:
    arm = reader.uint32()
    if arm == _MUXED_SOURCE:
        reader.skip(8)
    elif arm != 0:
        raise Malformed
    return account_address(reader.fixed(32))


def _read_operation_head(reader: XdrReader) -> Address | None:
    """Move to the call and return the operation's own source account; None without one."""
    operations = reader.count(_MAX_OPERATIONS)
    if operations != 1:
        raise _WrongOperation
    source = _read_source(reader) if reader.flag() else None
    _only(reader.uint32(), _INVOKE_HOST_FUNCTION, of=_OPERATION_TYPES)
    _only(reader.uint32(), _INVOKE_CONTRACT, of=_HOST_FUNCTION_TYPES)
    return source


def _only(arm: int, wanted: int, *, of: int) -> None:
    if arm >= of:
        raise Malformed
    if arm != wanted:
        raise _WrongOperation


class _OtherCall(NamedTuple):
    contract: Address
    function: bytes


class _TransferCall(NamedTuple):  # a tuple is made in a third of the time of a frozen dataclass
    contract: Address
    payer: Address
    pay_to: Address | MuxedParty
    amount: int
    raw: bytes


def _read_call(reader: XdrReader) -> _TransferCall | _OtherCall:
    start = reader.at
    contract = read_address(reader).plain
    if contract is None:
        raise Malformed  # nothing but a contract can be invoked
    function = reader.opaque(SYMBOL_MAX_BYTES)
    arguments = reader.count(MAX_ARGUMENTS)
    if function != TRANSFER or arguments != _TRANSFER_ARGUMENTS:
        for _ in range(arguments):
            skip_value(reader)
        return _OtherCall(contract, function)
    values = read_value(reader), read_value(reader), read_value(reader)
    return _transfer_call(contract, values, reader.since(start)) or _OtherCall(contract, function)


def _transfer_call(
    contract: Address, values: tuple[ScValue, ScValue, ScValue], raw: bytes
) -> _TransferCall | None:
    sender, recipient, amount = values
    if not (isinstance(sender, ScAddress) and isinstance(recipient, ScAddress)):
        return None
    if not (isinstance(amount, ScNumber) and amount.kind is ScKind.I128):
        return None
    payer = sender.plain
    pay_to = recipient.plain or (MuxedParty(recipient) if recipient.mux_id is not None else None)
    if payer is None or pay_to is None:
        return None
    return _TransferCall(contract, payer, pay_to, amount.value, raw)


def _skip_preconditions(reader: XdrReader) -> None:
    arm = reader.uint32()
    if arm == _TIME_BOUNDS:
        reader.skip(8 + 8)
    elif arm == 2:
        reader.skip(16 if reader.flag() else 0)  # time bounds
        reader.skip(8 if reader.flag() else 0)  # ledger bounds
        reader.skip(8 if reader.flag() else 0)  # lowest sequence number
        reader.skip(8 + 4)  # its age and ledger gap
        for _ in range(reader.count(_MAX_EXTRA_SIGNERS)):
            _skip_signer_key(reader)
    elif arm != 0:
        raise Malformed


def _skip_signer_key(reader: XdrReader) -> None:
    arm = reader.uint32()
    reader.skip(32)
    if arm == _SIGNED_PAYLOAD:
        reader.opaque(_SIGNED_PAYLOAD_MAX_BYTES)
    elif arm > _SIGNED_PAYLOAD:
        raise Malformed


def _skip_memo(reader: XdrReader) -> None:
    arm = reader.uint32()
    if arm == 1:
        _check_text(reader.opaque(_MEMO_TEXT_MAX_BYTES))
    elif arm == 2:
        reader.skip(8)
    elif arm in (3, 4):
        reader.skip(32)
    elif arm != 0:
        raise Malformed


def _check_text(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise Malformed from None


def _skip_signatures(reader: XdrReader) -> int:
    signatures = reader.count(_MAX_SIGNATURES)
    for _ in range(signatures):
        reader.skip(4)  # the hint
        reader.opaque(_SIGNATURE_MAX_BYTES)
    return signatures
