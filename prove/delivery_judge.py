"""Judges a hostile case: who paid, who got a response, and what everybody was advised to do."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prove.delivery_payments import ShopPayment
from prove.delivery_shop import Ask, Shop
from prove.delivery_verdict import DeliveryFinding, DeliveryViolation
from prove.outcome import findings_of
from prove.payment_check import LedgerPayment, read_ledger

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
