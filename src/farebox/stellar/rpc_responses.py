"""The JSON of a node's responses: needed members are checked strictly, others are ignored."""

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Generic, Literal, TypeVar

import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.stellar.account_entry import read_account
from farebox.stellar.rpc import (
    AccountState,
    FeeStats,
    LedgerEntries,
    LedgerEntry,
    LedgerStatus,
    NodeHealth,
    RawSimulation,
    SendResponse,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
)
from farebox.stellar.simulation import SimulationErrorKind, classify_simulation_error
from farebox.stellar.transaction_result import TransactionResult, read_transaction_result

T = TypeVar("T")
_DIGITS: Final = re.compile(r"[0-9]{1,18}\Z", re.ASCII)
_LAST_SECOND: Final = 253_402_300_799  # the end of the year 9999
_HEALTHY: Final = "healthy"


class MalformedResponse(Exception):
    """The response has the expected members with unusable values; `why` never quotes it."""

    def __init__(self, why: str = "gave a response of another form") -> None:
        super().__init__(why)
        self.why = why


class JsonRpcError(msgspec.Struct):
    """The node's own refusal; its message is compared with known ones and never stored."""

    code: int
    message: str = ""


class JsonRpcResponse(msgspec.Struct, Generic[T]):
    """A JSON-RPC response: `result` or `error`."""

    id: int | str | None = None
    result: T | None = None
    error: JsonRpcError | None = None


class SendBody(msgspec.Struct, rename="camel"):
    """`sendTransaction`."""

    status: SendStatus
    hash: str
    latest_ledger: int
    error_result_xdr: str | None = None


class EventsBody(msgspec.Struct):
    """The events of one transaction; both lists may be left out."""

    contract_events: list[list[str]] | None = msgspec.field(default=None, name="contractEventsXdr")


class TransactionBody(msgspec.Struct, rename="camel"):
    """`getTransaction`; with the status NOT_FOUND only the ledgers are used."""

    status: Literal["SUCCESS", "FAILED", "NOT_FOUND"]
    latest_ledger: int
    latest_ledger_close_time: str
    oldest_ledger: int
    oldest_ledger_close_time: str
    tx_hash: str | None = None
    ledger: int | None = None
    created_at: str | None = None
    result_xdr: str | None = None
    events: EventsBody | None = None


class InclusionFeeBody(msgspec.Struct):
    """One distribution of `getFeeStats`; the fees are texts."""

    max: str
    p99: str


class FeeStatsBody(msgspec.Struct, rename="camel"):
    """`getFeeStats`."""

    soroban_inclusion_fee: InclusionFeeBody
    latest_ledger: int


class EntryBody(msgspec.Struct, rename="camel"):
    """One entry of `getLedgerEntries`."""

    key: str
    xdr: str
    live_until_ledger_seq: int | None = None
    last_modified_ledger_seq: int | None = None


class EntriesBody(msgspec.Struct, rename="camel"):
    """`getLedgerEntries`; a node without any entry may answer null for the list."""

    latest_ledger: int
    entries: list[EntryBody] | None = None


class HealthBody(msgspec.Struct, rename="camel"):
    """`getHealth`; the close times are there since stellar-rpc 27.1."""

    status: str
    latest_ledger: int
    oldest_ledger: int
    latest_ledger_close_time: str | None = None
    oldest_ledger_close_time: str | None = None
    ledger_retention_window: int | None = None


class TransactionEvents(msgspec.Struct):
    """One transaction of `getTransactions`: only whether its events are there."""

    events: EventsBody | None = None


class EventsSeenBody(msgspec.Struct):
    """`getTransactions`, read only for whether it has events."""

    transactions: list[TransactionEvents]

    @property
    def first_has_events(self) -> bool | None:
        """Whether the first transaction has its events; None where none is listed."""
        return self.transactions[0].events is not None if self.transactions else None


class ListedTransaction(msgspec.Struct, rename="camel"):
    """One transaction of `getTransactions`, its envelope and meta left unread."""

    status: Literal["SUCCESS", "FAILED"]
    tx_hash: str
    ledger: int
    created_at: int
    fee_bump: bool = False
    result_xdr: str | None = None
    events: EventsBody | None = None


class TransactionsBody(msgspec.Struct, rename="camel"):
    """`getTransactions`."""

    transactions: list[ListedTransaction]
    latest_ledger: int
    latest_ledger_close_timestamp: int
    oldest_ledger: int
    oldest_ledger_close_timestamp: int
    cursor: str = ""


def read_simulation_response(body: Mapping[str, object]) -> RawSimulation:
    """Read the simulation; a failure of the node itself is malformed."""
    error = body.get("error")
    is_failure = isinstance(error, str) and (
        classify_simulation_error(error) is SimulationErrorKind.NODE_FAILURE
    )
    if is_failure:
        raise MalformedResponse("failed to simulate")
    return RawSimulation(body)


def read_send_response(body: SendBody) -> SendResponse:
    """Read the response to an envelope; an unreadable result of `ERROR` leaves the code out."""
    result: TransactionResult | None = None
    if body.status is SendStatus.ERROR and body.error_result_xdr is not None:
        result = read_transaction_result(body.error_result_xdr)
    code = result.effective_code if result else None
    wants_fee = result is not None and code == "txINSUFFICIENT_FEE" and result.fee_charged > 0
    return SendResponse(
        status=body.status,
        hash=body.hash,
        latest_ledger=body.latest_ledger,
        result_code=code,
        required_fee=Stroops(result.fee_charged) if result and wants_fee else None,
    )


def read_transaction(body: TransactionBody, tx_hash: str) -> TransactionFound | TransactionNotFound:
    """Read the transaction `tx_hash`, or its absence; another transaction's result is malformed."""
    if body.status == "NOT_FOUND":
        return _absence(body)
    if body.result_xdr is None or body.ledger is None or body.tx_hash is None:
        raise MalformedResponse
    result = read_transaction_result(body.result_xdr)
    if result is None or tx_hash not in (body.tx_hash, result.inner_hash):
        raise MalformedResponse
    closed_at = read_moment(body.created_at)
    return _found(body.tx_hash, body.status, body.ledger, closed_at, result, body.events)


def read_health_of_absence(body: TransactionBody, retention_ledgers: int | None) -> NodeHealth:
    """Read the node's range of ledgers and their close times from a look-up that found nothing."""
    if body.status != "NOT_FOUND":
        raise MalformedResponse
    absence = _absence(body)
    return NodeHealth(
        latest_ledger=absence.latest_ledger,
        latest_close_at=absence.latest_close_at,
        oldest_ledger=absence.oldest_ledger,
        oldest_close_at=absence.oldest_close_at,
        retention_ledgers=retention_ledgers,
    )


def read_transactions(body: TransactionsBody, wanted: frozenset[str]) -> TransactionsPage:
    """Read the listed transactions whose hash, or inner hash, is in `wanted`."""
    found = []
    for listed in body.transactions:
        if listed.tx_hash not in wanted and not listed.fee_bump:
            continue
        if listed.result_xdr is None:
            raise MalformedResponse
        result = read_transaction_result(listed.result_xdr)
        if result is None:
            if listed.tx_hash in wanted:
                raise MalformedResponse
        elif listed.tx_hash in wanted or result.inner_hash in wanted:
            closed_at = read_moment(str(listed.created_at))
            found.append(
                _found(
                    listed.tx_hash, listed.status, listed.ledger, closed_at, result, listed.events
                )
            )
    return TransactionsPage(
        found=tuple(found),
        listed=len(body.transactions),
        cursor=body.cursor,
        last_ledger=body.transactions[-1].ledger if body.transactions else None,
        absence=TransactionNotFound(
            latest_ledger=body.latest_ledger,
            latest_close_at=read_moment(str(body.latest_ledger_close_timestamp)),
            oldest_ledger=body.oldest_ledger,
            oldest_close_at=read_moment(str(body.oldest_ledger_close_timestamp)),
        ),
    )


def _absence(body: TransactionBody) -> TransactionNotFound:
    return TransactionNotFound(
        latest_ledger=body.latest_ledger,
        latest_close_at=read_moment(body.latest_ledger_close_time),
        oldest_ledger=body.oldest_ledger,
        oldest_close_at=read_moment(body.oldest_ledger_close_time),
    )


def _found(
    tx_hash: str,
    status_text: str,
    ledger: int,
    closed_at: datetime,
    result: TransactionResult,
    events: EventsBody | None,
) -> TransactionFound:
    status = LedgerStatus(status_text)
    if result.is_success != (status is LedgerStatus.SUCCESS):
        raise MalformedResponse
    return TransactionFound(
        hash=tx_hash,
        status=status,
        ledger=ledger,
        closed_at=closed_at,
        result_code=result.effective_code,
        operation_code=result.effective_operation_code,
        fee_charged=Stroops(result.fee_charged),
        contract_events=_contract_events(events, status),
        inner_hash=result.inner_hash,
    )


def _contract_events(body: EventsBody | None, status: LedgerStatus) -> tuple[tuple[str, ...], ...]:
    if body is None:
        if status is LedgerStatus.SUCCESS:  # without its events the transfer cannot be shown
            raise MalformedResponse
        return ()
    return tuple(tuple(operation) for operation in body.contract_events or ())


def read_fee_stats(body: FeeStatsBody) -> FeeStats:
    """Read the inclusion fees of contract calls."""
    fees = body.soroban_inclusion_fee
    return FeeStats(_whole(fees.p99), _whole(fees.max), body.latest_ledger)


def read_ledger_entries(body: EntriesBody, keys: frozenset[bytes]) -> LedgerEntries:
    """Read the entries found; one with a key that is not in `keys` is malformed."""
    entries = tuple(
        LedgerEntry(
            _decoded(entry.key),
            _decoded(entry.xdr),
            entry.live_until_ledger_seq,
            entry.last_modified_ledger_seq,
        )
        for entry in body.entries or ()
    )
    if not {entry.key for entry in entries} <= keys:
        raise MalformedResponse
    return LedgerEntries(entries=entries, latest_ledger=body.latest_ledger)


def read_account_state(found: LedgerEntries, account: Address) -> AccountState | None:
    """Read the account of the one entry requested; None where there is no entry."""
    if not found.entries:
        return None
    state = read_account(found.entries[0].data, account, as_of_ledger=found.latest_ledger)
    if state is None:
        raise MalformedResponse
    return state


def read_health(body: HealthBody) -> NodeHealth | HealthBody:
    """Read the range of ledgers the node keeps; the body itself where it has no close times."""
    if body.status != _HEALTHY or not 0 < body.latest_ledger < 2**32:
        raise MalformedResponse
    if body.latest_ledger_close_time is None or body.oldest_ledger_close_time is None:
        return body
    return NodeHealth(
        latest_ledger=body.latest_ledger,
        latest_close_at=read_moment(body.latest_ledger_close_time),
        oldest_ledger=body.oldest_ledger,
        oldest_close_at=read_moment(body.oldest_ledger_close_time),
        retention_ledgers=body.ledger_retention_window,
    )


def _whole(text: str | None) -> int:
    if text is None or not _DIGITS.match(text):
        raise MalformedResponse
    return int(text)


def read_moment(text: str | None) -> datetime:
    """Read a close time, Unix seconds as text."""
    seconds = _whole(text)
    if seconds > _LAST_SECOND:
        raise MalformedResponse
    return datetime.fromtimestamp(seconds, UTC)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedResponse from None
