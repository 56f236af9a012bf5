"""The search for the transaction that used an authorization: nonce, transfers, envelope."""

import base64
import re
from typing import Final, Literal

import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LandedEnvelope, NoEnvelope, TransfersFound, TransferWindow
from farebox.stellar.rpc_responses import MalformedResponse, read_moment
from farebox.stellar.scval import ScKind
from farebox.stellar.transfer_envelope import (
    MAX_ENVELOPE_BYTES,
    TRANSFER,
    LandedCall,
    read_landed_call,
)
from farebox.stellar.xdr_reader import Malformed, decode_base64
from farebox.stellar.xdr_writer import (
    address_value,
    contract_call,
    i128_value,
    sc_address,
    symbol_value,
    uint32,
)

LEDGERS_MISSING: Final = frozenset({-32600, -32602})  # JSON-RPC: ledgers the node does not have
_CONTRACT_DATA: Final = 6  # LedgerEntryType
_TEMPORARY: Final = 0  # ContractDataDurability
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_ANY: Final = "*"


def nonce_key(address: Address, nonce: int) -> bytes:
    """The ledger key (XDR) of the entry that exists once an authorization's nonce was used.

    The entry exists until the authorization expires and is written only once.
    """
    value = uint32(ScKind.LEDGER_KEY_NONCE) + nonce.to_bytes(8, "big", signed=True)
    return uint32(_CONTRACT_DATA) + sc_address(address) + value + uint32(_TEMPORARY)


def transfer_call(asset: Address, payer: Address, pay_to: Address, amount: BaseUnits) -> bytes:
    """The InvokeContractArgs (XDR) of a transfer, which its authorization has as the root call."""
    parties = (address_value(payer), address_value(pay_to))
    return contract_call(asset, TRANSFER, *parties, i128_value(amount))


def read_use(
    envelope: bytes, tx_hash: str, *, network: Network, payer: Address, nonce: int, root_call: bytes
) -> LandedCall | None:
    """Read the call of the transaction of this hash, where it used the payer's authorization.

    The envelope is that transaction's own, outer or inner, and no other in its place; one of its
    entries has the payer and the nonce, and authorizes the very call. None otherwise.
    """
    call = read_landed_call(envelope)
    if call is None:
        return None
    hashes = (call.hash(network.id), call.inner_hash(network.id))
    is_used = bytes.fromhex(tx_hash) in hashes and any(
        (entry.address, entry.nonce) == (payer, nonce)
        and entry.is_contract_call
        and entry.root_call == root_call
        for entry in call.entries
    )
    return call if is_used else None


def transfer_search(window: TransferWindow, *, limit: int) -> dict[str, object]:
    """The parameters of `getEvents`: transfer events with and without the asset's name."""
    topics = [
        _base64(symbol_value(TRANSFER)),
        *(_base64(address_value(party)) for party in (window.sender, window.recipient)),
    ]
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
    """One event of `getEvents`: only its transaction."""

    tx_hash: str


class EventsFoundBody(msgspec.Struct, rename="camel"):
    """`getEvents`; a list without any event may be null."""

    latest_ledger: int
    events: list[EventSeen] | None = None


class EnvelopeBody(msgspec.Struct, rename="camel"):
    """`getTransaction`, read only for the envelope and the close time of its ledger."""

    status: Literal["SUCCESS", "FAILED", "NOT_FOUND"]
    envelope_xdr: str | None = None
    created_at: str | None = None


def read_transfers(body: EventsFoundBody) -> TransfersFound:
    """Read the transactions of the events, each once, in their order."""
    events = body.events or []
    if not all(_HASH.match(event.tx_hash) for event in events):
        raise MalformedResponse
    hashes = tuple(dict.fromkeys(event.tx_hash for event in events))
    return TransfersFound(hashes, body.latest_ledger, len(events))


def read_envelope_response(body: EnvelopeBody) -> LandedEnvelope | NoEnvelope:
    """Read the envelope of a transaction that succeeded."""
    if body.status != "SUCCESS":
        return NoEnvelope(is_unknown=body.status == "NOT_FOUND")
    if body.envelope_xdr is None:
        raise MalformedResponse
    try:
        envelope = decode_base64(body.envelope_xdr, max_bytes=MAX_ENVELOPE_BYTES)
    except Malformed:
        raise MalformedResponse from None
    return LandedEnvelope(envelope, read_moment(body.created_at))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
