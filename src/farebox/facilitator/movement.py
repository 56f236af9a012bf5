"""What a call moves, read off its events: exactly the one transfer that was asked for, or not."""

from collections.abc import Sequence

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
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason


def judge_movement(
    events: Sequence[ContractEvent | None], terms: PaymentTerms, payer: Address
) -> TransferEvent | Reason:
    """The one transfer the payment is, or why the events are not exactly that (decision D4).

    `events` are those a simulation would emit; None stands for one that could not be read. Events
    of contracts other than the asset are allowed unless they are shaped like token movement.
    """
    transfers = []
    for event in events:
        if event is None:
            return Reason.EVENT_NOT_TRANSFER
        if event.kind is not EventKind.CONTRACT or not event.in_successful_call:
            continue
        transfer = read_transfer_event(event)
        if transfer is not None:
            transfers.append(transfer)
        elif event.contract == terms.asset or looks_like_token_movement(event):
            return Reason.EVENT_NOT_TRANSFER
    if not transfers:
        return Reason.NO_TRANSFER_EVENTS
    if len(transfers) > 1:
        return Reason.MULTIPLE_TRANSFERS
    return judge_transfer_event(transfers[0], terms, payer) or transfers[0]


def judge_transfer_event(
    transfer: TransferEvent, terms: PaymentTerms, payer: Address
) -> Reason | None:
    """Hold one transfer event against the terms; None when it is the payment."""
    checks = (
        (transfer.asset is not None, Reason.EVENT_MISSING_CONTRACT_ID),
        (transfer.asset == terms.asset, Reason.EVENT_WRONG_ASSET),
        (transfer.sender == payer, Reason.EVENT_WRONG_FROM),
        (transfer.recipient == terms.pay_to, Reason.EVENT_WRONG_TO),
        (transfer.amount == terms.amount, Reason.EVENT_WRONG_AMOUNT),
        (transfer.mux_id is None, Reason.EVENT_MUXED_ID),
    )
    return next((reason for holds, reason in checks if not holds), None)


def is_verified_token(transfer: TransferEvent, network: Network) -> bool:
    """Whether the event proves that its contract is the asset contract it says it is."""
    name = transfer.asset_name
    return name is not None and asset_contract(name, network) == transfer.asset


def transfer_landed(
    events: Sequence[ContractEvent | None], terms_asset: Address, *, payer: Address,
    pay_to: Address, amount: int,
) -> bool:
    """Whether the expected transfer is among the events of a transaction on the ledger."""
    for event in events:
        transfer = read_transfer_event(event) if event is not None else None
        if (
            transfer is not None
            and transfer.asset == terms_asset
            and (transfer.sender, transfer.recipient) == (payer, pay_to)
            and transfer.amount == amount
        ):
            return True
    return False
