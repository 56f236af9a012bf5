"""The bench of nodes: its figures from the bytes counted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from bench.nodes import NodeTraffic, figures_of, holds
from bench.settle_ledger import Landed
from bench.settle_load import Answer
from bench.settle_payments import Payment
from bench.settle_run import Run

_LEDGERS = range(10, 12)


def _run(*, settled: int, read: Mapping[str, int]) -> Run:
    """A run of two ledgers with so many settlements each."""
    identities = [(b"payer", number) for number in range(2 * settled)]
    landed = [
        Landed(identity, _LEDGERS[number % 2], "ab", is_success=True, code="", envelope=b"")
        for number, identity in enumerate(identities)
    ]
    return Run(
        side="farebox",
        payments=[Payment(identity, b"") for identity in identities],
        answers=[Answer(number, 0.0, 1.0, 200, success=True) for number in range(len(identities))],
        landed=landed,
        ledgers=_LEDGERS,
        window=(0.0, 10.0),
        calls=Counter({"sendTransaction": len(identities)}),
        sends=Counter(),
        bad_sequences=(),
        cpu_share=None,
        bytes=Counter(read),
    )


def _read(idle: int) -> NodeTraffic:
    runs = {
        1: _run(settled=1, read={"sendTransaction": 1_000, "getTransaction": 5_000}),
        200: _run(settled=200, read={"getTransactions": 4_000_000}),
    }
    return NodeTraffic(idle_s=30.0, idle={"getHealth": idle}, runs=runs)


def test_figures_count_bytes_per_settlement_and_per_idle_minute() -> None:
    figures = figures_of(_read(idle=50_000), _read(idle=40_000_000))
    assert figures["idle_kb_per_minute"] == 100.0
    assert figures["kb_per_settlement_1"] == 3.0
    assert figures["kb_per_settlement_200"] == 10.0
    assert figures["rpc_per_settle_1"] == 1.0
    assert figures["idle_kb_per_minute_82b18cf"] == 80_000.0
    assert figures["kb_per_settlement_200_82b18cf"] == 10.0


def test_bench_does_not_hold_when_an_idle_service_reads_too_much() -> None:
    assert holds(_read(idle=100_000))
    assert not holds(_read(idle=100_100))


def test_bench_does_not_hold_with_a_failed_settlement() -> None:
    sound = _read(idle=0)
    run = sound.runs[1]
    failed = replace(run, answers=[_refused(each) for each in run.answers])
    assert not holds(replace(sound, runs={**sound.runs, 1: failed}))


def _refused(answer: Answer) -> Answer:
    """The same answer, but no success."""
    return Answer(answer.index, answer.sent_at, answer.answered_at, 200, success=False)
