"""Compares a payment on the ledger, in the journal and in the answers."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import asyncpg
from stellar_sdk import Address, scval, xdr

from farebox.x402.reasons import REGISTRY, Reason, Retry
from prove.ask_node import read_transactions
from prove.environment import Environment, SignedPayment
from prove.outcome import Finding, findings_of

_LOOK_S: Final = 0.1
FINAL_STATES: Final = ("confirmed", "failed", "dead", "unproven")


class SettlementViolation(StrEnum):
    """A wrong treatment of a payment."""

    DOUBLED = "doubled"
    LOST = "lost"
    UNRESOLVED = "unresolved"
    REFUSED = "false_refusals"
    FAILED = "false_failures"
    FORFEITED = "forfeited"
    RETRY_AFTER = "retry_after_missing"
    UNEXPLAINED = "unexplained"


PaymentFinding = Finding[SettlementViolation]
# those that the comparison itself finds
COMPARED: Final = (
    SettlementViolation.DOUBLED,
    SettlementViolation.LOST,
    SettlementViolation.UNRESOLVED,
)


@dataclass(frozen=True, slots=True)
class LedgerPayment:
    """A transaction on the ledger that carries a payment's authorization."""

    tx_hash: str
    is_success: bool
    payer: str
    nonce: int
    pay_to: str = ""
    amount: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a settle request; `status` is 0 when the connection broke before it."""

    status: int
    body: dict[str, Any]
    retry_after: str | None = None

    @property
    def is_success(self) -> bool:
        """Whether it reports that the payment is settled."""
        return self.body.get("success") is True

    @property
    def tx_hash(self) -> str:
        """The transaction it names; empty when none."""
        return str(self.body.get("transaction", ""))

    @property
    def reason(self) -> str:
        """The reason code of a failure."""
        return str(self.body.get("errorReason", ""))

    @property
    def is_final(self) -> bool:
        """Whether the caller need not repeat its request."""
        return self.is_success or (self.status == 200 and _retry(self.reason) is Retry.NEVER)

    @property
    def says_nothing_sent(self) -> bool:
        """Whether it promises that nothing can land unless the request is repeated."""
        return self.status != 0 and not self.is_success and _retry(self.reason) is Retry.LATER

    def __str__(self) -> str:
        if self.status == 0:
            return "cut off"
        return "success" if self.is_success else f"{self.status} {self.reason or self.body}"


def _retry(reason: str) -> Retry | None:
    return REGISTRY[Reason(reason)].retry if reason in set(Reason) else None


@dataclass(frozen=True, slots=True)
class Row:
    """The row of a payment in the journal."""

    state: str
    tx_hash: str
    inner_hash: str
    envelope: bytes | None
    answered_at: datetime | None
    reason: str | None


async def read_row(environment: Environment, payment: SignedPayment) -> Row | None:
    """Read the payment's row; None when its identity is free."""
    rows = await environment.query(
        "SELECT state, tx_hash, inner_hash, envelope, answered_at, reason FROM settlements"
        " WHERE payer = $1 AND nonce = $2",
        payment.payer,
        payment.nonce,
    )
    return _row(rows[0]) if rows else None


async def wait_until_final(
    environment: Environment, payment: SignedPayment, *, until: float
) -> bool:
    """Wait until the payment is final or free; False after `until` (of the loop's clock)."""
    while True:
        row = await read_row(environment, payment)
        if row is None or row.state in FINAL_STATES:
            return True
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(_LOOK_S)


def _row(record: asyncpg.Record) -> Row:
    return Row(
        state=record["state"],
        tx_hash=(record["tx_hash"] or b"").hex(),
        inner_hash=(record["inner_hash"] or b"").hex(),
        envelope=record["envelope"],
        answered_at=record["answered_at"],
        reason=record["reason"],
    )


async def read_ledger(environment: Environment) -> list[LedgerPayment]:
    """Read every payment that was included in a ledger since the case began."""
    return [
        payment
        async for transaction in read_transactions(environment)
        for payment in _payments_of(transaction)
    ]


def _payments_of(transaction: dict[str, Any]) -> list[LedgerPayment]:
    envelope = xdr.TransactionEnvelope.from_xdr(transaction["envelopeXdr"])
    bump = envelope.fee_bump
    inner = envelope.v1 if bump is None else bump.tx.inner_tx.v1
    payments = []
    for operation in inner.tx.operations if inner is not None else []:
        invoked = operation.body.invoke_host_function_op
        for entry in invoked.auth if invoked is not None else []:
            credentials = entry.credentials.address or entry.credentials.address_v2
            if credentials is not None:
                payer = Address.from_xdr_sc_address(credentials.address).address
                is_success = transaction["status"] == "SUCCESS"
                pay_to, amount = _transfer_of(entry)
                payments.append(
                    LedgerPayment(
                        transaction["txHash"],
                        is_success,
                        payer,
                        credentials.nonce.int64,
                        pay_to,
                        amount,
                    )
                )
    return payments


def _transfer_of(entry: xdr.SorobanAuthorizationEntry) -> tuple[str, int]:
    """Read recipient and amount of the transfer that an entry authorizes."""
    call = entry.root_invocation.function.contract_fn
    if call is None or call.function_name.sc_symbol != b"transfer":
        return "", 0
    _, pay_to, amount = call.args
    return scval.from_address(pay_to).address, scval.from_int128(amount)


def group_by_payment(
    payments: Sequence[LedgerPayment],
) -> defaultdict[tuple[str, int], list[LedgerPayment]]:
    """Group payments by payer and nonce."""
    by_payment: defaultdict[tuple[str, int], list[LedgerPayment]] = defaultdict(list)
    for each in payments:
        by_payment[each.payer, each.nonce].append(each)
    return by_payment


def landed_of(own: Sequence[LedgerPayment]) -> str | None:
    """Return the hash of the transaction that succeeded."""
    return next((each.tx_hash for each in own if each.is_success), None)


def is_answer_cut(row: Row | None, answers: Sequence[Answer]) -> bool:
    """Whether the answer that carried the one success did not arrive."""
    was_delivered = any(answer.is_success for answer in answers)
    return row is not None and row.answered_at is not None and not was_delivered


def judge(
    own: Sequence[LedgerPayment],
    row: Row | None,
    answers: Sequence[Answer],
    *,
    is_final: bool,
) -> list[PaymentFinding]:
    """Find every violation of one payment.

    `own` are its transactions on the ledger, `answers` are in order.
    """
    found = {SettlementViolation.DOUBLED: _find_doubled(own, answers)}
    if is_final:
        found[SettlementViolation.LOST] = _find_lost(landed_of(own), row, answers)
    else:
        state = row.state if row is not None else "free"
        found[SettlementViolation.UNRESOLVED] = [f"the row is {state}"]
    return findings_of(found)


def _find_doubled(own: Sequence[LedgerPayment], answers: Sequence[Answer]) -> list[str]:
    why = []
    if len(own) > 1:
        why.append(f"{len(own)} envelopes are on the ledger: {[each.tx_hash for each in own]}")
    successes = sum(answer.is_success for answer in answers)
    if successes > 1:
        why.append(f"{successes} callers got success")
    return why


def _find_lost(landed: str | None, row: Row | None, answers: Sequence[Answer]) -> list[str]:
    why = []
    state = row.state if row is not None else "free"
    if landed and (row is None or state != "confirmed" or landed not in row_hashes(row)):
        why.append(f"{landed} landed and the journal says {state}")
    if not landed and state == "confirmed":
        why.append("the journal says confirmed and nothing landed")
    for answer in answers:
        if answer.is_success and answer.tx_hash != landed:
            why.append(f"success was answered for {answer.tx_hash}, and {landed} landed")
        failed = answer.is_final and not answer.is_success
        if failed and landed and answer.reason != Reason.DUPLICATE_SETTLEMENT:
            why.append(f"{answer.reason} was answered and {landed} landed")
    if landed and answers and answers[-1].says_nothing_sent:
        why.append(f"the last answer was {answers[-1]} and {landed} landed")
    return why


def row_hashes(row: Row) -> tuple[str, str]:
    """Return both hashes of a row."""
    return row.tx_hash, row.inner_hash
