"""Token movements in events (SEP-41, CAP-67): transfers, mints, burns, clawbacks, approvals."""

from dataclasses import dataclass
from enum import StrEnum

from farebox.kernel.addresses import Address
from farebox.stellar.events import ContractEvent, EventKind, read_transfer_event
from farebox.stellar.scval import ScAddress, ScBytes, ScKind, ScMap, ScNumber, ScValue, ScVec


class MovementKind(StrEnum):
    """The kind of an event of a token."""

    TRANSFER = "transfer"
    MINT = "mint"
    BURN = "burn"
    CLAWBACK = "clawback"
    APPROVE = "approve"


@dataclass(frozen=True, slots=True)
class TokenMovement:
    """A movement of a token, or an approval: then `source` lets `recipient` spend `amount`.

    An address that is neither G… nor C…, or that the kind does not have, is None.
    """

    kind: MovementKind
    token: Address
    source: Address | None
    recipient: Address | None
    amount: int


def read_token_event(event: ContractEvent) -> TokenMovement | None:
    """The movement that a contract's event reports; None for every other event.

    None too for an event that has the name of a movement and another form: see
    `looks_like_token_movement`.
    """
    if event.kind is not EventKind.CONTRACT or event.contract is None:
        return None
    transfer = read_transfer_event(event)
    if transfer is not None:
        parties = transfer.sender, transfer.recipient
        return TokenMovement(MovementKind.TRANSFER, event.contract, *parties, transfer.amount)
    match event.topics:
        case (ScBytes(ScKind.SYMBOL, name), *rest):
            return _read_other(name, rest, event.data, event.contract)
        case _:
            return None


def _read_other(
    name: bytes, topics: list[ScValue], data: ScValue, token: Address
) -> TokenMovement | None:
    parties = [each.plain for each in topics if isinstance(each, ScAddress)]
    if name == b"approve":
        return _read_approval(parties, data, token)
    amount = _amount(data)
    if amount is None or not parties:
        return None
    last = parties[-1]  # before CAP-67 the administrator stood before it
    if name == b"mint":
        return TokenMovement(MovementKind.MINT, token, None, last, amount)
    if name == b"burn" and len(parties) == 1:
        return TokenMovement(MovementKind.BURN, token, last, None, amount)
    if name == b"clawback":
        return TokenMovement(MovementKind.CLAWBACK, token, last, None, amount)
    return None


def _read_approval(
    parties: list[Address | None], data: ScValue, token: Address
) -> TokenMovement | None:
    match parties, data:
        case [owner, spender], ScVec((ScNumber(ScKind.I128, amount), ScNumber())):
            return TokenMovement(MovementKind.APPROVE, token, owner, spender, amount)
        case _:
            return None


def _amount(data: ScValue) -> int | None:
    match data:
        case ScNumber(ScKind.I128, amount):
            return amount
        case ScMap(((ScBytes(ScKind.SYMBOL, b"amount"), ScNumber(ScKind.I128, amount)), *_)):
            return amount
        case _:
            return None
