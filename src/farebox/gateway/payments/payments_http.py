"""`/v1/payments`: the declared routes of payments and their handlers."""

from datetime import datetime
from typing import Final, TypeVar

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.gateway.payments.find_payments import Payments, party_of
from farebox.gateway.payments.payment_record import PartyRole, RecordState
from farebox.gateway.payments.record_store import RecordFilter
from farebox.gateway.payments.refund import Refunds
from farebox.gateway.payments.wire import (
    PaymentBody,
    PaymentListBody,
    PaymentPlace,
    RefundRequest,
    payment_body,
    payment_list_body,
    place_of,
)
from farebox.kernel.caller import Caller, Grant, check_network
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    one_of,
    record_id,
    text,
)
from farebox.web.guard import Access, caller_of, optional_caller_of
from farebox.web.paging import PAGE_ERRORS, PAGE_PARAMETERS, cut_page, read_page
from farebox.web.query_string import read_pairs
from farebox.web.request_body import read_json
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

_HASH: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_PAYER: Final = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
_EXAMPLE: Final = {
    "transaction": _HASH,
    "network": "stellar:testnet",
    "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    "amount": "10000",
    "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
    "state": "delivered",
    "receipt": {
        "success": True,
        "transaction": _HASH,
        "network": "stellar:testnet",
        "payer": _PAYER,
    },
    "sentAt": "2026-11-23T09:30:00Z",
    "settledAt": "2026-11-23T09:30:05Z",
    "attemptsLeft": 0,
    "refund": None,
}
_TRANSACTION: Final = record_id("The hash of the payment's transaction.", name="transaction")
_SHOWN: Final = ResponseDeclaration("The payment.", PaymentBody)
_MAX_ID: Final = 64  # characters
_MAX_TIME: Final = 40
_TIME: Final = text(max_length=_MAX_TIME)
_FILTERS: Final = (
    Parameter(
        "role",
        "received (the default) and paid: by your wallet; settled: for you.",
        one_of(*(each.value for each in PartyRole)),
    ),
    Parameter(
        "network",
        "Only on this one: your wallet's own, or any for role=settled.",
        one_of(*(each.value for each in Network)),
    ),
    Parameter("state", "Only in this one.", one_of(*(each.value for each in RecordState))),
    Parameter("wrapper", "Only through the wrapper of this id.", text(max_length=_MAX_ID)),
    Parameter("since", "Only those sent at this time (RFC 3339) or later.", _TIME),
    Parameter("until", "Only those sent before this time (RFC 3339).", _TIME),
)
E = TypeVar("E", PartyRole, Network, RecordState)
_encode: Final = msgspec.json.Encoder().encode
_REFUND: Final = msgspec.json.Decoder(RefundRequest)

LIST: Final = RouteDeclaration(
    method="GET",
    path="/v1/payments",
    tag="payments",
    summary="Your payments, through the gateway or not, newest first.",
    responses={200: ResponseDeclaration("A page of payments.", PaymentListBody)},
    parameters=(*PAGE_PARAMETERS, *_FILTERS),
    access=Access(Grant.READ),
    errors=(
        *PAGE_ERRORS,
        ErrorCode.INVALID_FILTER,
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.ACCOUNT_NOT_PROVEN,
    ),
    example=Example(
        response={"items": [_EXAMPLE], "pagination": {"limit": 20, "nextCursor": None}}
    ),
)
SHOW: Final = RouteDeclaration(
    method="GET",
    path="/v1/payments/{transaction}",
    tag="payments",
    summary="The state and the receipt of a payment, for everybody.",
    responses={200: _SHOWN},
    parameters=(_TRANSACTION,),
    access=Access(Grant.READ, is_optional=True, fails_open=True),
    rate=Rate(RateClass.DISCOVERY),
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(response=_EXAMPLE),
)
REFUND: Final = RouteDeclaration(
    method="POST",
    path="/v1/payments/{transaction}/refund",
    tag="payments",
    summary="Tell which transaction paid an owed payment of your wrapper back.",
    request=RefundRequest,
    responses={200: _SHOWN},
    parameters=(_TRANSACTION,),
    access=Access(Grant.WRAPPERS),
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REFUND,
        ErrorCode.NOT_FOUND,
        ErrorCode.PAYMENT_NOT_OWED,
    ),
    example=Example(
        request={"transaction": _HASH}, response=_EXAMPLE | {"state": "refunded", "refund": _HASH}
    ),
)


class InvalidFilter(Refusal):
    """A filter of a list has a value that it does not take."""

    def __init__(self, name: str) -> None:
        super().__init__(ErrorCode.INVALID_FILTER, f"Look at {name}. {_FILTER_SENTENCE}")


_FILTER_SENTENCE: Final = "A filter is given once, with one of the values that docs/api.md names."


class ListPayments:
    """Lists the caller's payments by page, newest first."""

    def __init__(self, payments: Payments) -> None:
        self._payments = payments

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, page = caller_of(scope), read_page(scope["query_string"], PaymentPlace)
        wanted = _read_filter(scope["query_string"], caller)
        after = page.after.place if page.after else None
        records = await self._payments.list(wanted, after=after, limit=page.limit + 1)
        shown, cursor = cut_page(records, page.limit, lambda each: PaymentPlace.of(place_of(each)))
        body = payment_list_body(shown, caller.owner, limit=page.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body))


class ShowPayment:
    """Shows a payment to everybody, its sale to the wrapper's owner."""

    def __init__(self, payments: Payments) -> None:
        self._payments = payments

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = await self._payments.find(scope["path_params"]["transaction"])
        caller = optional_caller_of(scope)
        body = payment_body(record, None if caller is None else caller.owner)
        await send_json(send, 200, _encode(body))


class RecordRefund:
    """Records the refund of an owed payment."""

    def __init__(self, refunds: Refunds) -> None:
        self._refunds = refunds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _REFUND, '{transaction: "<64 hex digits>"}')
        caller, tx_hash = caller_of(scope), scope["path_params"]["transaction"]
        record = await self._refunds.record(
            caller, context_of(scope).request_id, tx_hash, request.transaction
        )
        await send_json(send, 200, _encode(payment_body(record, caller.owner)))


def payment_endpoints(payments: Payments, refunds: Refunds) -> list[Endpoint]:
    """Return the routes of payments."""
    return [
        Endpoint(LIST, ListPayments(payments)),
        Endpoint(SHOW, ShowPayment(payments)),
        Endpoint(REFUND, RecordRefund(refunds)),
    ]


def _read_filter(query: bytes, caller: Caller) -> RecordFilter:
    """Read the filters of a query string that `read_page` has accepted.

    Raises:
        InvalidFilter: one of them has a value that it does not take.
        SessionRequired: the caller has no wallet.
        AnotherNetwork: it is not the network of the caller's wallet.
    """
    given: dict[str, str] = {}
    names = {each.name for each in _FILTERS}
    for name, value in read_pairs(query):
        if name in names and given.setdefault(name, value) != value:
            raise InvalidFilter(name)
    if len(given.get("wrapper", "")) > _MAX_ID:
        raise InvalidFilter("wrapper")
    role = _member(PartyRole, "role", given) or PartyRole.RECEIVED
    network = _member(Network, "network", given)
    if role is not PartyRole.SETTLED:  # those are the owner's records: no address finds them
        check_network(caller, network)
    return RecordFilter(
        role,
        party_of(caller, role),
        network=network or caller.network,
        state=_member(RecordState, "state", given),
        wrapper_id=given.get("wrapper"),
        since=_moment("since", given),
        until=_moment("until", given),
    )


def _member(of: type[E], name: str, given: dict[str, str]) -> E | None:
    if name not in given:
        return None
    try:
        return of(given[name])
    except ValueError:
        raise InvalidFilter(name) from None


def _moment(name: str, given: dict[str, str]) -> datetime | None:
    if name not in given:
        return None
    if len(given[name]) > _MAX_TIME:
        raise InvalidFilter(name)
    try:
        moment = datetime.fromisoformat(given[name])
    except ValueError:
        raise InvalidFilter(name) from None
    if moment.tzinfo is None:
        raise InvalidFilter(name)
    return moment
