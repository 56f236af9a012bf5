"""Contract events of a simulation or a landed transaction, as values."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from farebox.kernel.addresses import Address, contract_address
from farebox.stellar.scval import (
    ScAddress,
    ScBytes,
    ScKind,
    ScMap,
    ScNumber,
    ScValue,
    read_value,
)
from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64

MAX_EVENT_BYTES: Final = 65_536  # pubnet admits 16,384 for all events of a transaction
_MAX_TOPICS: Final = 16
_TRANSFER: Final = b"transfer"
_TOKEN_MOVEMENTS: Final = frozenset({_TRANSFER, b"mint", b"burn", b"clawback", b"approve"})


class EventKind(IntEnum):
    """The origin of an event: the network, a contract, or the host for debugging."""

    SYSTEM = 0
    CONTRACT = 1
    DIAGNOSTIC = 2


_KINDS: Final = tuple(EventKind)


@dataclass(frozen=True, slots=True)
class ContractEvent:
    """One event; `in_successful_call` is False for an event of a call that failed."""

    contract: Address | None
    kind: EventKind
    topics: tuple[ScValue, ...]
    data: ScValue
    in_successful_call: bool


MuxId = int | bytes  # a number or a hash, or the bytes of a text


@dataclass(frozen=True, slots=True)
class TransferEvent:
    """A SEP-41 transfer; an address that is neither G… nor C… is None and so matches no account."""

    asset: Address | None
    sender: Address | None
    recipient: Address | None
    amount: int
    muxed_id: MuxId | None


def decode_contract_event(encoded: str | bytes) -> ContractEvent | None:
    """Read a ContractEvent, base64 text or bytes, of a landed call; None when it cannot be read."""
    try:
        reader = _open(encoded)
        return _read_event(reader, in_successful_call=True)
    except Malformed:
        return None


def decode_diagnostic_event(encoded: str | bytes) -> ContractEvent | None:
    """Read a DiagnosticEvent, with whether its call succeeded; None when it cannot be read."""
    try:
        reader = _open(encoded)
        return _read_event(reader, in_successful_call=reader.flag())
    except Malformed:
        return None


def read_transfer_event(event: ContractEvent) -> TransferEvent | None:
    """The transfer an event reports; None for every other event.

    Topics are `transfer`, from, to and, from an asset contract, the asset's name; the data is the
    amount, or a map of the amount and the mux id of the recipient.
    """
    if event.kind is not EventKind.CONTRACT or _name(event) != _TRANSFER:
        return None
    parties = _parties(event.topics)
    amount = _amount(event.data)
    if parties is None or amount is None:
        return None
    sender, recipient = parties
    return TransferEvent(event.contract, sender.plain, recipient.plain, *amount)


def looks_like_token_movement(event: ContractEvent) -> bool:
    """Whether a contract's event has the name of a token movement, whatever else it contains."""
    return event.kind is EventKind.CONTRACT and _name(event) in _TOKEN_MOVEMENTS


def _open(encoded: str | bytes) -> XdrReader:
    if isinstance(encoded, str):
        encoded = decode_base64(encoded, max_bytes=MAX_EVENT_BYTES)
    if len(encoded) > MAX_EVENT_BYTES:
        raise Malformed
    return XdrReader(encoded)


def _read_event(reader: XdrReader, *, in_successful_call: bool) -> ContractEvent:
    reader.expect(0)  # no extension is known
    contract = contract_address(reader.fixed(32)) if reader.flag() else None
    arm = reader.uint32()
    if arm >= len(_KINDS):
        raise Malformed
    reader.expect(0)  # the one version of the body
    topics = tuple(read_value(reader) for _ in range(reader.count(_MAX_TOPICS)))
    data = read_value(reader)
    reader.finish()
    return ContractEvent(contract, _KINDS[arm], topics, data, in_successful_call)


def _name(event: ContractEvent) -> bytes | None:
    first = event.topics[0] if event.topics else None
    if isinstance(first, ScBytes) and first.kind in (ScKind.SYMBOL, ScKind.STRING):
        return first.raw
    return None


def _parties(topics: tuple[ScValue, ...]) -> tuple[ScAddress, ScAddress] | None:
    match topics:
        case (
            ScBytes(ScKind.SYMBOL),
            ScAddress() as sender,
            ScAddress() as recipient,
            *asset_name,
        ) if _is_asset_name(asset_name):
            return sender, recipient
        case _:
            return None


def _is_asset_name(topics: list[ScValue]) -> bool:
    match topics:
        case [] | [ScBytes(ScKind.STRING)]:
            return True
        case _:
            return False


def _amount(data: ScValue) -> tuple[int, MuxId | None] | None:
    match data:
        case ScNumber(ScKind.I128, amount):
            return amount, None
        case ScMap(
            (
                (ScBytes(ScKind.SYMBOL, b"amount"), ScNumber(ScKind.I128, amount)),
                (ScBytes(ScKind.SYMBOL, b"to_muxed_id"), mux_id),
            )
        ):
            mux = _mux_id(mux_id)
            return None if mux is None else (amount, mux)
        case _:
            return None


def _mux_id(value: ScValue) -> MuxId | None:
    match value:
        case ScNumber(ScKind.U64, number):
            return number
        case ScBytes(ScKind.BYTES | ScKind.STRING, raw):
            return raw
        case _:
            return None
