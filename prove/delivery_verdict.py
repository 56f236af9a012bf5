"""Judges a payment at the gateway: by the ledger, its row, the upstream and the buyer's answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import asyncpg

from prove.delivery_buyer import BuyerAnswer
from prove.delivery_upstream import Reached
from prove.outcome import Finding, findings_of
from prove.payment_check import LedgerPayment, landed_of

_UNDELIVERED: Final = 500


class DeliveryViolation(StrEnum):
    """A wrong treatment of a payment at the gateway."""

    OVERDELIVERED = "overdelivered"
    SECOND_CHARGES = "second_charges"
    RECEIPTS_MISSING = "receipts_missing"
    UNRESOLVED = "unresolved"
    GOODS_UNPAID = "goods_unpaid"
    TO_NOBODY = "delivered_to_nobody"
    TO_OTHERS = "delivered_to_others"
    WRONG_ADVICE = "wrong_advice"
    HONEST_REFUSED = "honest_refused"
    TOLD_WRONG = "told_wrong"


DeliveryFinding = Finding[DeliveryViolation]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that is known of one payment at the end of a case."""

    own: Sequence[LedgerPayment]  # its transactions on the ledger
    row: asyncpg.Record | None  # of the gateway's payments
    in_progress: int  # of the wrapper's counters
    answers: Sequence[BuyerAnswer]
    reached: Sequence[Reached]
    method: str
    must_deliver: bool  # the buyer repeated, and a healthy upstream may get the request again

    @property
    def landed(self) -> str | None:
        """The transaction that succeeded."""
        return landed_of(self.own)


def judge_delivery(evidence: Evidence) -> list[DeliveryFinding]:
    """Find every violation of one payment."""
    return findings_of(
        {
            DeliveryViolation.OVERDELIVERED: _overdelivered(evidence),
            DeliveryViolation.SECOND_CHARGES: _second_charges(evidence),
            DeliveryViolation.RECEIPTS_MISSING: _receipts_missing(evidence),
            DeliveryViolation.UNRESOLVED: _unresolved(evidence),
            DeliveryViolation.TO_NOBODY: _truncated(evidence),
        }
    )


def _overdelivered(evidence: Evidence) -> list[str]:
    bodies = {each.body for each in evidence.answers if each.status == 200}
    why = [f"{len(bodies)} different responses were delivered"] if len(bodies) > 1 else []
    if evidence.method == "POST":
        unknown = [each for each in evidence.reached[:-1] if each.status != _UNDELIVERED]
        if unknown:
            why.append("a POST of unknown outcome reached the upstream again")
    return why


def _truncated(evidence: Evidence) -> list[str]:
    whole = {each.body for each in evidence.reached if each.status == 200}
    served = {each.body for each in evidence.answers if each.status == 200}
    return [f"{body[:20]!r} was delivered and is truncated" for body in served - whole]


def _second_charges(evidence: Evidence) -> list[str]:
    successes = [each.tx_hash for each in evidence.own if each.is_success]
    why = [f"it was charged by {successes}"] if len(successes) > 1 else []
    offered = [each for each in evidence.answers if each.has_offer]
    if successes and offered:
        why.append(f"it is paid, and the buyer was asked to pay again: {offered[0]}")
    return why


def _receipts_missing(evidence: Evidence) -> list[str]:
    why = [
        f"{each} has no receipt"
        for each in evidence.answers
        if each.status in (200, 502, 504) and not each.is_paid
    ]
    why += [
        f"the receipt names {each.receipt['transaction']}, and {evidence.landed} landed"
        for each in evidence.answers
        if each.is_paid and each.receipt and each.receipt["transaction"] != evidence.landed
    ]
    return why


def _unresolved(evidence: Evidence) -> list[str]:
    row, landed = evidence.row, evidence.landed
    state = "gone" if row is None else row["state"]
    why = []
    if landed and state not in ("paid", "delivered", "owed"):
        why.append(f"{landed} landed and the payment is {state}")
    if not landed and state != "gone":
        why.append(f"nothing landed and the payment is {state}")
    if row is not None and row["attempt_until"] is not None:
        why.append("an attempt does not end")
    if evidence.in_progress:
        why.append(f"{evidence.in_progress} requests are counted as in progress")
    is_served = any(each.status == 200 for each in evidence.answers)
    if landed and evidence.must_deliver and not is_served:
        last = evidence.answers[-1] if evidence.answers else None
        if last is None or last.status != 409:  # delivered, and its response is not stored
            why.append(f"it is paid and nothing was delivered; the last answer was {last}")
    return why
