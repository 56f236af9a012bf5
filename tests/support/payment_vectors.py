"""The vectors of the console's payment decoder, made by the code that prepares payments.

`python -m support.payment_vectors` (with `tests` on the path) prints them.
"""

import base64
import json
import sys
from datetime import UTC, datetime
from typing import Any, Final

from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.signing.authorization import write_authorization
from farebox.stellar.auth_entries import authorization_preimage, read_entry
from farebox.stellar.entry_writer import unsigned_entry
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.scval import AddressKind, ScKind
from farebox.stellar.xdr_writer import address_value, contract_call, i128_value, uint32
from farebox.x402.payment import PaymentTerms

_PAYER: Final = account_address(bytes(range(32)))
_CONTRACT_PAYER: Final = contract_address(bytes(range(32, 64)))
_RECIPIENT: Final = account_address(bytes(range(64, 96)))
_CONTRACT_RECIPIENT: Final = contract_address(bytes(range(96, 128)))
_TOKEN: Final = contract_address(bytes(range(128, 160)))
_AMOUNT: Final = 100_000
_LARGEST: Final = 2**127 - 1
_NONCE: Final = 1_234_567_890_123_456_789
_EXPIRY: Final = 54_321_012
_NOW: Final = LedgerReading(54_321_000, datetime(2026, 11, 25, tzinfo=UTC), 5.0, 0.0)
_TRANSFER: Final = b"transfer"
_ADDRESS_V2: Final = uint32(2)  # SorobanCredentialsType
_CREATE_CONTRACT: Final = uint32(1)  # SorobanAuthorizedFunctionType


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _terms(network: Network, amount: int, pay_to: Address) -> PaymentTerms:
    return PaymentTerms(
        network=network,
        asset=_TOKEN,
        amount=BaseUnits(amount),
        pay_to=pay_to,
        max_timeout_s=60,
    )


def _prepared(
    name: str,
    *,
    network: Network = Network.TESTNET,
    payer: Address = _PAYER,
    pay_to: Address = _RECIPIENT,
    amount: int = _AMOUNT,
    nonce: int = _NONCE,
) -> dict[str, Any]:
    """A preimage as `/v1/payments/prepare` makes it, and what is in it."""
    authorization = write_authorization(
        _terms(network, amount, pay_to), payer, nonce=nonce, expires_at_ledger=_EXPIRY, now=_NOW
    )
    transfer = {
        "network": network.value,
        "asset": _TOKEN,
        "payer": payer,
        "recipient": pay_to,
        "amount": str(amount),
        "expirationLedger": _EXPIRY,
        "nonce": str(nonce),
    }
    return {"name": name, "preimage": _text(authorization.preimage), "transfer": transfer}


def _with_address(vector: dict[str, Any]) -> dict[str, Any]:
    """The same authorization by credentials that bind the address (CAP-71)."""
    transfer = vector["transfer"]
    call = _call(address_value(transfer["payer"]), address_value(transfer["recipient"]))
    preimage = _preimage(call, payer=transfer["payer"], credentials=_ADDRESS_V2)
    return {**vector, "name": f"{vector['name']}, address bound", "preimage": _text(preimage)}


def _call(*parties: bytes, function: bytes = _TRANSFER, amount: bytes = b"") -> bytes:
    return contract_call(_TOKEN, function, *parties, amount or i128_value(_AMOUNT))


def _preimage(call: bytes, *, payer: Address = _PAYER, credentials: bytes = b"") -> bytes:
    entry = unsigned_entry(payer, nonce=_NONCE, expires_at_ledger=_EXPIRY, call=call)
    return authorization_preimage(
        read_entry((credentials or entry[:4]) + entry[4:]), Network.TESTNET.id
    )


def _refused() -> dict[str, bytes]:
    parties = address_value(_PAYER), address_value(_RECIPIENT)
    plain = _preimage(_call(*parties))
    subcall = uint32(1) + bytes(4) + _call(*parties) + bytes(4)
    muxed = uint32(ScKind.ADDRESS) + uint32(AddressKind.MUXED_ACCOUNT) + bytes(8) + bytes(32)
    pool = uint32(ScKind.ADDRESS) + uint32(AddressKind.LIQUIDITY_POOL) + bytes(32)
    u128 = uint32(ScKind.U128) + _AMOUNT.to_bytes(16, "big")
    head = plain[:48]  # kind, network, nonce, expiry
    return {
        "a call below the transfer": plain[:-4] + subcall,
        "an unknown network": plain[:4] + bytes(32) + plain[36:],
        "another function": _preimage(_call(*parties, function=b"approve")),
        "a function whose name begins the same": _preimage(
            _call(*parties, function=b"transfer_from")
        ),
        "two arguments": _preimage(contract_call(_TOKEN, _TRANSFER, *parties)),
        "four arguments": _preimage(_call(*parties, parties[1])),
        "the amount as an unsigned number": _preimage(_call(*parties, amount=u128)),
        "an amount of zero": _preimage(_call(*parties, amount=i128_value(0))),
        "a negative amount": _preimage(_call(*parties, amount=i128_value(-_AMOUNT))),
        "a muxed recipient": _preimage(_call(parties[0], muxed)),
        "a liquidity pool as the recipient": _preimage(_call(parties[0], pool)),
        "an account in place of the token": plain[:52] + bytes(8) + plain[56:],
        "the creation of a contract": head + _CREATE_CONTRACT + plain[52:],
        "another kind of preimage": uint32(8) + plain[4:],
        "the address of another account": _preimage(
            _call(*parties), payer=_CONTRACT_PAYER, credentials=_ADDRESS_V2
        ),
        "bytes behind the end": plain + bytes(4),
        "no bytes": b"",
    }


def payment_vectors() -> bytes:
    """Serialize the vectors; every preimage is base64."""
    prepared = [
        _prepared("an account pays an account"),
        _prepared("a contract pays an account", payer=_CONTRACT_PAYER),
        _prepared("an account pays a contract", pay_to=_CONTRACT_RECIPIENT),
        _prepared("on pubnet", network=Network.PUBNET),
        _prepared("the largest amount", amount=_LARGEST),
        _prepared("the smallest amount and nonce", amount=1, nonce=-(2**63)),
    ]
    vectors = {
        "prepared": [*prepared, *(_with_address(each) for each in prepared[:3])],
        "refused": [{"name": name, "preimage": _text(raw)} for name, raw in _refused().items()],
    }
    return json.dumps(vectors, indent=1).encode() + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(payment_vectors())
