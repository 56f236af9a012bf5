"""Judges payments at the gateway: by ledger, rows, upstream and the answers to everybody."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import asyncpg

from prove.delivery_payments import ShopPayment
from prove.delivery_shop import Ask, BuyerAnswer, Shop
from prove.delivery_upstream import Reached
from prove.outcome import Finding, findings_of
from prove.payment_check import LedgerPayment, landed_of, read_ledger

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


Identity = tuple[str, int]
_SETTLED: frozenset[str] = frozenset(("paid", "delivered", "owed", "refunded"))


@dataclass(frozen=True, slots=True)
class ShopEvidence:
    """Everything that is known at the end of a hostile case."""

    shop: Shop
    landed: Mapping[Identity, LedgerPayment]  # the success of each authorization
    rows: Mapping[Identity, Mapping[str, Any]]  # of the gateway's payments
    in_progress: int

    @property
    def payments(self) -> dict[Identity, list[ShopPayment]]:
        """The payments that were presented, by identity."""
        found: defaultdict[Identity, list[ShopPayment]] = defaultdict(list)
        for ask in self.shop.asks:
            found[ask.payment.identity].append(ask.payment)
        return found

    def has_paid(self, payment: ShopPayment) -> bool:
        """Whether exactly this transfer landed, for the first time after it was presented here."""
        landed = self.landed.get(payment.identity)
        if landed is None or payment.identity in self.shop.early_landings:
            return False
        is_same = (landed.payer, landed.amount, landed.pay_to) == payment.buys
        return is_same and landed.pay_to == self.shop.payments.seller


async def read_evidence(shop: Shop) -> ShopEvidence:
    """Read ledger, rows and counters, without any proxy."""
    environment = shop.environment
    landed = {
        (each.payer, each.nonce): each for each in await read_ledger(environment) if each.is_success
    }
    rows = await environment.query(
        "SELECT payer, nonce, state, attempts, attempt_until, tx_hash FROM gateway_payments"
        " WHERE slug = $1",
        shop.slug,
    )
    (counted,) = await environment.query(
        "SELECT coalesce(sum(in_progress), 0)::integer AS n FROM wrapper_counters"
    )
    by_identity = {(row["payer"], row["nonce"]): dict(row) for row in rows}
    return ShopEvidence(shop, landed, by_identity, counted["n"])


def judge_shop(evidence: ShopEvidence) -> list[DeliveryFinding]:
    """Find every violation of a hostile case."""
    kinds: dict[DeliveryViolation, Iterable[str]] = {
        DeliveryViolation.GOODS_UNPAID: _find_unpaid(evidence),
        DeliveryViolation.OVERDELIVERED: _find_overdelivered(evidence),
        DeliveryViolation.RECEIPTS_MISSING: _find_without_receipt(evidence),
        DeliveryViolation.UNRESOLVED: [*_find_held_up(evidence), *_find_unresolved(evidence)],
        DeliveryViolation.TO_NOBODY: _find_delivered_to_nobody(evidence),
        DeliveryViolation.TO_OTHERS: _find_delivered_to_others(evidence),
        DeliveryViolation.WRONG_ADVICE: _find_wrong_advice(evidence),
        DeliveryViolation.HONEST_REFUSED: _find_honest_refused(evidence),
    }
    return findings_of(kinds)


def _find_unpaid(evidence: ShopEvidence) -> Iterator[str]:
    for ask in evidence.shop.asks:
        if ask.has_goods and not evidence.has_paid(ask.payment):
            yield f"{ask} got a response, and its transfer did not land after it was presented"
    paid = sum(
        any(evidence.has_paid(each) for each in presented)
        for presented in evidence.payments.values()
    )
    if evidence.shop.upstream.reached and not paid:
        yield "the upstream was called, and nothing was paid"


def _find_overdelivered(evidence: ShopEvidence) -> Iterator[str]:
    goods: defaultdict[Identity, set[int]] = defaultdict(set)
    for ask in evidence.shop.asks:
        if ask.has_goods and not ask.has_left:
            goods[ask.payment.identity] |= ask.answer.goods
    for identity, numbers in goods.items():
        if len(numbers) > 1:
            yield f"{identity} got the responses {sorted(numbers)}"


def _find_without_receipt(evidence: ShopEvidence) -> Iterator[str]:
    for ask in evidence.shop.asks:
        is_due = ask.has_goods or ask.answer.status in (502, 504)
        if ask.has_left or not is_due:
            continue
        landed = evidence.landed.get(ask.payment.identity)
        if not ask.answer.is_paid or ask.answer.receipt is None:
            yield f"{ask} has no receipt"
        elif landed is None or ask.answer.receipt["transaction"] != landed.tx_hash:
            yield f"{ask} names {ask.answer.receipt['transaction']}, and {landed} landed"


def _find_held_up(evidence: ShopEvidence) -> Iterator[str]:
    if evidence.shop.is_held_up:
        yield "payments that cannot be decided hold up the one of a dead process"
    if evidence.shop.released:
        yield f"{evidence.shop.released} payments were released, which nobody could decide"


def _find_unresolved(evidence: ShopEvidence) -> Iterator[str]:
    if evidence.in_progress:
        yield f"{evidence.in_progress} requests are counted as in progress"
    for identity, row in evidence.rows.items():
        if row["attempt_until"] is not None or row["state"] == "reserved":
            yield f"{identity} is {row['state']}, and nothing ends it"
        if row["state"] in _SETTLED and identity not in evidence.landed:
            yield f"{identity} is {row['state']}, and nothing landed"
    for identity, presented in evidence.payments.items():
        if any(evidence.has_paid(each) for each in presented):
            state = evidence.rows.get(identity, {}).get("state", "gone")
            if state not in _SETTLED:
                yield f"{identity} landed, and is {state}"


def _find_delivered_to_nobody(evidence: ShopEvidence) -> Iterator[str]:
    got = {ask.payment.identity for ask in evidence.shop.asks if ask.has_goods}
    for identity, row in evidence.rows.items():
        if row["state"] == "delivered" and identity not in got:
            yield f"{identity} is delivered, and nobody has a response"


def _find_delivered_to_others(evidence: ShopEvidence) -> Iterator[str]:
    if evidence.shop.stolen:
        yield f"strangers got {evidence.shop.stolen} successes of /settle"
    for ask in evidence.shop.asks:
        if ask.has_goods and ask.actor != ask.payment.owner:
            yield f"{ask} got the response of {ask.payment.owner}"


def _find_wrong_advice(evidence: ShopEvidence) -> Iterator[str]:
    for ask in evidence.shop.asks:
        is_owner = ask.actor == ask.payment.owner
        if is_owner and ask.answer.has_offer and evidence.has_paid(ask.payment):
            yield f"{ask} was offered a second payment, and the first one landed"


def _find_honest_refused(evidence: ShopEvidence) -> Iterator[str]:
    for payment, target in evidence.shop.honest:
        if evidence.shop.may_fail and not evidence.has_paid(payment):
            continue
        own = [ask for ask in evidence.shop.asks if _is_own(ask, payment, target)]
        if not any(ask.has_goods and not ask.has_left for ask in own):
            last = own[-1] if own else None
            yield f"{payment.identity} at {target} got no response: {last}"


def _is_own(ask: Ask, payment: ShopPayment, target: str) -> bool:
    is_same = ask.payment.header == payment.header
    return is_same and ask.target == target and ask.actor == payment.owner
