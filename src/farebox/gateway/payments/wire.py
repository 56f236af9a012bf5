"""The JSON of `/v1/payments`."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.gateway.payments.payment_record import GatewaySale, PaymentRecord, RecordState
from farebox.kernel.caller import OwnerId
from farebox.kernel.pages import Moment, PaginationBody, Place, PlaceBody

HashText = Annotated[
    str,
    Meta(pattern=r"^[0-9a-f]{64}$(?!\n)", max_length=64, description="64 lower-case hex digits."),
]


class ReceiptBody(msgspec.Struct, rename="camel"):
    """The members of `PAYMENT-RESPONSE`."""

    success: bool
    transaction: str
    network: str
    payer: str
    error_reason: str | UnsetType = UNSET


class SaleBody(msgspec.Struct, rename="camel"):
    """The part of a payment that its wrapper's owner alone sees."""

    wrapper: str
    slug: str
    method: str
    path: str
    attempts: int
    upstream_status: int | None
    paid_at: Moment | None
    ended_at: Moment | None


class PaymentBody(msgspec.Struct, rename="camel"):
    """A payment; `sale` is shown to the owner of the wrapper that made it."""

    transaction: str
    network: str
    asset: str
    amount: str
    pay_to: str
    state: RecordState
    receipt: ReceiptBody
    sent_at: Moment
    settled_at: Moment | None
    attempts_left: int
    refund: str | None
    sale: SaleBody | UnsetType = UNSET


class PaymentListBody(msgspec.Struct, rename="camel"):
    """A page of payments, newest first."""

    items: list[PaymentBody]
    pagination: PaginationBody


class RefundRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The transaction that paid an owed payment back."""

    transaction: HashText


class PaymentPlace(PlaceBody):
    """The end of a page of payments: when it was sent, and the hash of what was sent."""

    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


def place_of(record: PaymentRecord) -> Place:
    """Return the position of a payment in a list."""
    return record.claimed_at, record.sent_hash


def payment_body(record: PaymentRecord, reader: OwnerId | None) -> PaymentBody:
    """Render a payment for a reader; None for one without credentials."""
    identity, sale = record.identity, record.sale
    receipt = ReceiptBody(
        success=record.is_landed,
        transaction=record.tx_hash,
        network=identity.network.value,
        payer=identity.payer,
        error_reason=UNSET if record.is_landed or record.reason is None else record.reason,
    )
    return PaymentBody(
        transaction=record.tx_hash,
        network=identity.network.value,
        asset=record.asset,
        amount=str(record.amount),
        pay_to=record.pay_to,
        state=record.state,
        receipt=receipt,
        sent_at=record.claimed_at,
        settled_at=record.settled_at,
        attempts_left=record.attempts_left,
        refund=record.refund_hash or None,
        sale=UNSET if sale is None or sale.owner != reader else _sale_body(sale),
    )


def payment_list_body(
    records: Sequence[PaymentRecord], reader: OwnerId, *, limit: int, next_cursor: str | None
) -> PaymentListBody:
    """Render a page of payments."""
    items = [payment_body(each, reader) for each in records]
    return PaymentListBody(items, PaginationBody(limit, next_cursor))


def _sale_body(sale: GatewaySale) -> SaleBody:
    return SaleBody(
        wrapper=sale.wrapper_id,
        slug=sale.slug,
        method=sale.method,
        path=sale.path,
        attempts=sale.attempts,
        upstream_status=sale.status,
        paid_at=sale.paid_at,
        ended_at=sale.ended_at,
    )
