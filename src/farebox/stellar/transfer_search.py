"""How a node is asked who used an authorization: its nonce, the transfers, the envelope."""

import base64
import re
import struct
from typing import Final, Literal

import msgspec

from farebox.kernel.addresses import Address, is_account, raw_key
from farebox.stellar.rpc import LandedEnvelope, NoEnvelope, TransfersFound, TransferWindow
from farebox.stellar.rpc_answers import Garbled
from farebox.stellar.scval import ScKind
from farebox.stellar.transfer_envelope import MAX_ENVELOPE_BYTES, TRANSFER
from farebox.stellar.xdr_reader import Malformed, decode_base64

_CONTRACT_DATA: Final = 6  # LedgerEntryType
_TEMPORARY: Final = 0  # ContractDataDurability
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_ANY: Final = "*"


def nonce_key(address: Address, nonce: int) -> bytes:
    """The ledger key (XDR) of the entry that is there once an authorization's nonce was used.

    The entry lives until the authorization expires and is written only once.
    """
    kind = struct.pack(">Iq", ScKind.LEDGER_KEY_NONCE, nonce)
    return (
        struct.pack(">I", _CONTRACT_DATA)
        + _sc_address(address)
        + kind
        + struct.pack(">I", _TEMPORARY)
    )


def transfer_search(window: TransferWindow, *, limit: int) -> dict[str, object]:
    """The parameters of `getEvents`: transfer events with and without the asset's name."""
    topics = [_symbol(TRANSFER), _party(window.sender), _party(window.recipient)]
    return {
        "startLedger": window.first_ledger,
        "endLedger": window.last_ledger + 1,
        "filters": [
            {
                "type": "contract",
                "contractIds": [window.asset],
                "topics": [topics, [*topics, _ANY]],
            }
        ],
        "pagination": {"limit": limit},
    }


class EventSeen(msgspec.Struct, rename="camel"):
    """One event of `getEvents`: only whose it is."""

    tx_hash: str


class EventsFoundBody(msgspec.Struct, rename="camel"):
    """`getEvents`; a list without any event may be null."""

    latest_ledger: int
    events: list[EventSeen] | None = None


class EnvelopeBody(msgspec.Struct, rename="camel"):
    """`getTransaction`, asked for nothing but the envelope."""

    status: Literal["SUCCESS", "FAILED", "NOT_FOUND"]
    envelope_xdr: str | None = None


def events_answer(body: EventsFoundBody) -> TransfersFound:
    """The transactions that the events are of, each once, in their order."""
    events = body.events or []
    if not all(_HASH.match(event.tx_hash) for event in events):
        raise Garbled
    hashes = tuple(dict.fromkeys(event.tx_hash for event in events))
    return TransfersFound(hashes, body.latest_ledger)


def envelope_answer(body: EnvelopeBody) -> LandedEnvelope | NoEnvelope:
    """The envelope of a transaction that succeeded."""
    if body.status != "SUCCESS":
        return NoEnvelope(is_unknown=body.status == "NOT_FOUND")
    if body.envelope_xdr is None:
        raise Garbled
    try:
        return LandedEnvelope(decode_base64(body.envelope_xdr, max_bytes=MAX_ENVELOPE_BYTES))
    except Malformed:
        raise Garbled from None


def _symbol(text: bytes) -> str:
    padded = text + bytes(-len(text) % 4)
    return _base64(struct.pack(">II", ScKind.SYMBOL, len(text)) + padded)


def _party(address: Address) -> str:
    return _base64(struct.pack(">I", ScKind.ADDRESS) + _sc_address(address))


def _sc_address(address: Address) -> bytes:
    head = struct.pack(">II", 0, 0) if is_account(address) else struct.pack(">I", 1)
    return head + raw_key(address)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
