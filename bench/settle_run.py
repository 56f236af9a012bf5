"""The measurements of one facilitator's payments by ledger, relay and callers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean

from bench.measure import quantile
from bench.settle_ledger import Landed, per_ledger
from bench.settle_load import Answer
from bench.settle_payments import Payment
from bench.settle_relay import BadSequence
from bench.settle_setup import CADENCE_S, MeasuredFacilitator


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """The RPC calls and CPU of one facilitator in a window."""

    calls: Counter[str]
    cpu_share: float | None
    bytes: Counter[str] = field(default_factory=Counter)  # of the answers, by method


@dataclass(frozen=True, slots=True)
class Window:
    """The ledgers that are measured, and when they closed (monotonic)."""

    ledgers: range
    began: float
    ended: float
    sides: list[WindowUsage]


@dataclass(frozen=True, slots=True)
class Run:
    """The payments of one facilitator; the window is the measured ledgers."""

    side: str
    payments: Sequence[Payment]
    answers: Sequence[Answer]
    landed: Sequence[Landed]  # of these payments, whole run
    ledgers: range  # of the window
    window: tuple[float, float]  # monotonic
    calls: Counter[str]  # RPC, in the window
    sends: Counter[str]  # answers of sendTransaction, whole run
    bad_sequences: Sequence[BadSequence]
    cpu_share: float | None  # of one core, in the window
    bytes: Counter[str] = field(default_factory=Counter)  # of the node's answers, in the window

    @property
    def series(self) -> list[int]:
        """Settlements in each ledger of the window."""
        return per_ledger(self.landed, self.ledgers)

    @property
    def whole_series(self) -> list[int]:
        """Settlements in each ledger from the first to the last one that had any."""
        ledgers = [each.ledger for each in self.landed if each.is_success]
        return per_ledger(self.landed, range(min(ledgers, default=0), max(ledgers, default=-1) + 1))

    @property
    def sequence_errors(self) -> int:
        """Refusals of transactions for their sequence number.

        An envelope that is resent after it landed is refused as well, although its number was
        right: `resent_after_landing` counts it instead.
        """
        return len(self.bad_sequences) - self.resent_after_landing

    @property
    def resent_after_landing(self) -> int:
        """Envelopes that were resent after they had landed."""
        ledgers = {each.tx_hash: each.ledger for each in self.landed}
        return sum(
            each.tx_hash in ledgers and ledgers[each.tx_hash] <= each.latest_ledger
            for each in self.bad_sequences
        )

    @property
    def per_ledger(self) -> float:
        """Settlements a ledger, mean of the window."""
        return round(mean(self.series), 2) if self.series else 0.0

    @property
    def failed(self) -> int:
        """The answers without success, and successes without exactly one landing."""
        return len(self.answers) - len(self.paid)

    @property
    def paid(self) -> list[Answer]:
        """The answers of success that the ledger confirms."""
        landings = Counter(each.identity for each in self.landed if each.is_success)
        return [
            each
            for each in self.answers
            if each.success and landings[self.payments[each.index].identity] == 1
        ]

    def latency_s(self, share: float) -> float:
        """Return a quantile of the latency of answers within the window."""
        began, ended = self.window
        times = [
            each.answered_at - each.sent_at
            for each in self.answers
            if began <= each.answered_at <= ended
        ]
        return round(quantile(times, share), 3)

    def after_close_s(self, share: float) -> float:
        """Return a quantile of the time from a ledger's close to the answers, within the window."""
        began, ended = self.window
        times = [
            (each.answered_at - began) % CADENCE_S
            for each in self.answers
            if began <= each.answered_at <= ended
        ]
        return round(quantile(times, share), 3)

    @property
    def rpc_per_settle(self) -> float:
        """RPC calls of every kind for each settlement of the window."""
        settled = sum(self.series)
        return round(self.calls.total() / settled, 3) if settled else 0.0

    @property
    def kb_per_settle(self) -> float:
        """Thousand bytes read from the node for each settlement of the window."""
        settled = sum(self.series)
        return round(self.bytes.total() / 1000 / settled, 1) if settled else 0.0

    def figures(self) -> dict[str, object]:
        """Return the figures, rounded for a reader."""
        reasons = Counter(
            each.reason or str(each.status) for each in self.answers if not each.success
        )
        return {
            "per_ledger": self.per_ledger,
            "per_ledger_min": min(self.series, default=0),
            "ledgers": self.series,
            "answers": len(self.answers),
            "failed": self.failed,
            "reasons": dict(reasons.most_common(5)),
            "failed_on_ledger": Counter(e.code for e in self.landed if not e.is_success),
            "p50_s": self.latency_s(0.5),
            "p95_s": self.latency_s(0.95),
            "after_close_p50_s": self.after_close_s(0.5),
            "after_close_p95_s": self.after_close_s(0.95),
            "rpc_per_settle": self.rpc_per_settle,
            "rpc_calls": dict(self.calls),
            "send_answers": dict(self.sends),
            "resent_after_landing": self.resent_after_landing,
            "cpu_share": self.cpu_share,
        }


def build_run(
    side: MeasuredFacilitator,
    payments: Sequence[Payment],
    answers: Sequence[Answer],
    landed: Sequence[Landed],
    window: Window,
    usage: WindowUsage,
) -> Run:
    """Build the run of one facilitator from the measurements of all."""
    identities = frozenset(each.identity for each in payments)
    return Run(
        side=side.name,
        payments=payments,
        answers=answers,
        landed=[each for each in landed if each.identity in identities],
        ledgers=window.ledgers,
        window=(window.began, window.ended),
        calls=usage.calls,
        sends=side.relay.sends.copy(),
        bad_sequences=tuple(side.relay.bad_sequences),
        cpu_share=usage.cpu_share,
        bytes=usage.bytes,
    )
