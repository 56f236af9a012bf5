"""Judge the token movements among a call's events: exactly the payment's transfer, or refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import asset_contract
from farebox.stellar.events import (
    ContractEvent,
    EventKind,
    TransferEvent,
    looks_like_token_movement,
    read_transfer_event,
)
from farebox.stellar.scval import ScBytes
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason

_ASSET_NAME_TOPIC: Final = 3


@dataclass(frozen=True, slots=True)
class Movement:
    """The one transfer of a payment; `asset_name` is the asset that the token claims to be."""

    transfer: TransferEvent
    asset_name: str | None


def judge_movement(
    events: Sequence[ContractEvent], terms: PaymentTerms, payer: Address
) -> Movement | Reason:
    """Find the payment's one transfer among the events, or the reason why they are refused.

    Events of contracts other than the asset are allowed unless they have the name of a token
    movement: a signer pays for one transfer and must not authorize another. Events of failed calls
    and of the network itself move nothing.
    """
    movements = []
    for event in events:
        if event.kind is not EventKind.CONTRACT or not event.in_successful_call:
            continue
        transfer = read_transfer_event(event)
        if transfer is not None:
            movements.append(Movement(transfer, _asset_name(event)))
        elif event.contract == terms.asset or looks_like_token_movement(event):
            return Reason.EVENT_NOT_TRANSFER
    if not movements:
        return Reason.NO_TRANSFER_EVENTS
    if len(movements) > 1:
        return Reason.MULTIPLE_TRANSFERS
    return judge_transfer_event(movements[0].transfer, terms, payer) or movements[0]


def judge_transfer_event(
    transfer: TransferEvent, terms: PaymentTerms, payer: Address
) -> Reason | None:
    """Judge one transfer event by the terms; None when it is the payment."""
    checks = (
        (transfer.asset is not None, Reason.EVENT_MISSING_CONTRACT_ID),
        (transfer.asset == terms.asset, Reason.EVENT_WRONG_ASSET),
        (transfer.sender == payer, Reason.EVENT_WRONG_FROM),
        (transfer.recipient == terms.pay_to, Reason.EVENT_WRONG_TO),
        (transfer.amount == terms.amount, Reason.EVENT_WRONG_AMOUNT),
        (transfer.muxed_id is None, Reason.EVENT_MUXED_ID),
    )
    return next((reason for holds, reason in checks if not holds), None)


def is_verified_token(movement: Movement, network: Network) -> bool:
    """Whether the event proves that its contract is the asset contract of the asset it names."""
    name = movement.asset_name
    return name is not None and asset_contract(name, network) == movement.transfer.asset


def _asset_name(event: ContractEvent) -> str | None:
    name = event.topics[_ASSET_NAME_TOPIC] if len(event.topics) > _ASSET_NAME_TOPIC else None
    return name.raw.decode("ascii", "replace") if isinstance(name, ScBytes) else None
