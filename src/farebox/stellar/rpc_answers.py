"""The JSON of a node's answers: strict on what is needed, blind to the rest."""

import base64
import binascii
import re
from datetime import UTC, datetime
from typing import Final, Generic, Literal, TypeVar

import msgspec

from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import (
    FeeStats,
    InclusionFees,
    LedgerEntries,
    LedgerEntry,
    LedgerStatus,
    NodeHealth,
    SendAnswer,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
)
from farebox.stellar.transaction_result import TransactionResult, read_transaction_result

T = TypeVar("T")
_DIGITS: Final = re.compile(r"[0-9]{1,18}\Z", re.ASCII)
_LAST_SECOND: Final = 253_402_300_799  # the end of the year 9999
_HEALTHY: Final = "healthy"


class Garbled(Exception):
    """The answer is JSON of the expected members with a value that cannot be."""


class Fault(msgspec.Struct):
    """The node's own refusal; its words are compared with known ones and never kept."""

    code: int
    message: str = ""


class Reply(msgspec.Struct, Generic[T]):
    """A JSON-RPC answer: `result` or `error`."""

    id: int | str | None = None
    result: T | None = None
    error: Fault | None = None


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
    """`getTransaction`; when the status is NOT_FOUND only the ledgers mean anything."""

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


class InclusionFeeBody(msgspec.Struct, rename="camel"):
    """One distribution of `getFeeStats`; the fees are texts."""

    max: str
    min: str
    p50: str
    p70: str
    p90: str
    p95: str
    p99: str
    transaction_count: str
    ledger_count: int


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


class NetworkBody(msgspec.Struct, rename="camel"):
    """`getNetwork`."""

    passphrase: str
    protocol_version: int


class VersionBody(msgspec.Struct, rename="camel"):
    """`getVersionInfo`."""

    version: str
    protocol_version: int


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
    """`getTransactions`, asked for nothing but whether events are given."""

    transactions: list[TransactionEvents]


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


def send_answer(body: SendBody) -> SendAnswer:
    """What became of an envelope; an unreadable result of `ERROR` leaves the code out."""
    result: TransactionResult | None = None
    if body.status is SendStatus.ERROR and body.error_result_xdr is not None:
        result = read_transaction_result(body.error_result_xdr)
    code = result.telling_code if result else None
    wants_fee = result is not None and code == "txINSUFFICIENT_FEE" and result.fee_charged > 0
    return SendAnswer(
        status=body.status,
        hash=body.hash,
        latest_ledger=body.latest_ledger,
        result_code=code,
        fee_wanted=Stroops(result.fee_charged) if result and wants_fee else None,
    )


def transaction_answer(body: TransactionBody, asked: str) -> TransactionFound | TransactionNotFound:
    """What the node knows of the transaction `asked`; another transaction's result is garbled."""
    if body.status == "NOT_FOUND":
        return TransactionNotFound(
            latest_ledger=body.latest_ledger,
            latest_close_at=_moment(body.latest_ledger_close_time),
            oldest_ledger=body.oldest_ledger,
            oldest_close_at=_moment(body.oldest_ledger_close_time),
        )
    if body.result_xdr is None or body.ledger is None:
        raise Garbled
    result = read_transaction_result(body.result_xdr)
    if result is None or body.tx_hash is None or not _is_about(asked, body.tx_hash, result):
        raise Garbled
    status = LedgerStatus(body.status)
    if result.is_success != (status is LedgerStatus.SUCCESS):
        raise Garbled
    return TransactionFound(
        hash=body.tx_hash,
        status=status,
        ledger=body.ledger,
        closed_at=_moment(body.created_at),
        result_code=result.telling_code,
        operation_code=result.telling_operation_code,
        fee_charged=Stroops(result.fee_charged),
        contract_events=_contract_events(body.events, status),
        inner_hash=result.inner.hash.hex() if result.inner else None,
    )


def transactions_answer(body: TransactionsBody, wanted: frozenset[str]) -> TransactionsPage:
    """Those of the listed transactions whose hash, or inner hash, is one of `wanted`."""
    found = []
    for listed in body.transactions:
        if listed.tx_hash not in wanted and not listed.fee_bump:
            continue
        if listed.result_xdr is None:
            raise Garbled
        result = read_transaction_result(listed.result_xdr)
        if result is None:
            if listed.tx_hash in wanted:
                raise Garbled
            continue
        inner = result.inner.hash.hex() if result.inner else None
        if listed.tx_hash in wanted or inner in wanted:
            found.append(_listed(listed, result))
    return TransactionsPage(
        found=tuple(found),
        listed=len(body.transactions),
        cursor=body.cursor,
        last_ledger=body.transactions[-1].ledger if body.transactions else None,
        absence=TransactionNotFound(
            latest_ledger=body.latest_ledger,
            latest_close_at=_moment(str(body.latest_ledger_close_timestamp)),
            oldest_ledger=body.oldest_ledger,
            oldest_close_at=_moment(str(body.oldest_ledger_close_timestamp)),
        ),
    )


def _listed(listed: ListedTransaction, result: TransactionResult) -> TransactionFound:
    status = LedgerStatus(listed.status)
    if result.is_success != (status is LedgerStatus.SUCCESS):
        raise Garbled
    return TransactionFound(
        hash=listed.tx_hash,
        status=status,
        ledger=listed.ledger,
        closed_at=_moment(str(listed.created_at)),
        result_code=result.telling_code,
        operation_code=result.telling_operation_code,
        fee_charged=Stroops(result.fee_charged),
        contract_events=_contract_events(listed.events, status),
        inner_hash=result.inner.hash.hex() if result.inner else None,
    )


def _is_about(asked: str, answered: str, result: TransactionResult) -> bool:
    """Whether the answer is the transaction asked for, or the fee bump around it."""
    return answered == asked or (result.inner is not None and result.inner.hash.hex() == asked)


def _contract_events(body: EventsBody | None, status: LedgerStatus) -> tuple[tuple[str, ...], ...]:
    if body is None:
        if status is LedgerStatus.SUCCESS:  # "none" and "not told" must not look alike
            raise Garbled
        return ()
    return tuple(tuple(operation) for operation in body.contract_events or ())


def fee_stats_answer(body: FeeStatsBody) -> FeeStats:
    """The fees contract calls paid to be included."""
    fees = body.soroban_inclusion_fee
    return FeeStats(
        soroban=InclusionFees(
            minimum=_whole(fees.min),
            maximum=_whole(fees.max),
            p50=_whole(fees.p50),
            p70=_whole(fees.p70),
            p90=_whole(fees.p90),
            p95=_whole(fees.p95),
            p99=_whole(fees.p99),
            transactions=_whole(fees.transaction_count),
            ledgers=fees.ledger_count,
        ),
        latest_ledger=body.latest_ledger,
    )


def ledger_entries_answer(body: EntriesBody, asked: frozenset[bytes]) -> LedgerEntries:
    """The entries found; one that was not asked for is garbled."""
    entries = tuple(
        LedgerEntry(
            _decoded(entry.key),
            _decoded(entry.xdr),
            entry.live_until_ledger_seq,
            entry.last_modified_ledger_seq,
        )
        for entry in body.entries or ()
    )
    if not {entry.key for entry in entries} <= asked:
        raise Garbled
    return LedgerEntries(entries=entries, latest_ledger=body.latest_ledger)


def health_answer(body: HealthBody) -> NodeHealth | None:
    """What the node remembers; None when it does not tell its close times."""
    if body.status != _HEALTHY or not 0 < body.latest_ledger < 2**32:
        raise Garbled
    if body.latest_ledger_close_time is None or body.oldest_ledger_close_time is None:
        return None
    return NodeHealth(
        latest_ledger=body.latest_ledger,
        latest_close_at=_moment(body.latest_ledger_close_time),
        oldest_ledger=body.oldest_ledger,
        oldest_close_at=_moment(body.oldest_ledger_close_time),
        retention_ledgers=body.ledger_retention_window,
    )


def _whole(text: str | None) -> int:
    if text is None or not _DIGITS.match(text):
        raise Garbled
    return int(text)


def _moment(text: str | None) -> datetime:
    seconds = _whole(text)
    if seconds > _LAST_SECOND:
        raise Garbled
    return datetime.fromtimestamp(seconds, UTC)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Garbled from None
