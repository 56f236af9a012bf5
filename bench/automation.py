"""BENCH=automation: claims beside procrastinate, runs a ledger, lateness, and settlement beside it.

One process on one core, with 100,000 stored plans; runs are read from the rows, payments off the
ledger.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Final

from bench.automation_claims import MANY, ClaimResults, measure_claims
from bench.automation_setup import CHANNELS, AutomationSetup, open_automation_setup
from bench.cores import Cores, divide_cores
from bench.settle_drive import Load, sustained
from bench.settle_run import Run
from bench.settle_setup import CADENCE_S, open_settle_setup
from farebox.local.postgres import EmbeddedPostgres
from testing.machine import RunFailed, say, scratch_folder, subfolder, wait_until
from testing.report import limited, numbers_of, run_and_report, timed

_WORKING: Final = 60  # plans that are always due
_RUNS: Final = 500  # of each of them: more than the bench takes
_SETTLING: Final = 60  # channels and callers of settlement
_LEAD_S: Final = 5.0
_APART: Final = timedelta(milliseconds=700)  # not a multiple of the time between two claims
_LANDED_S: Final = 60.0
_LOOK_S: Final = 0.25
_CLAIM_RATIO: Final = 2.0
_CLAIM_P95_MS: Final = 10.0
_GROWTH: Final = 2.0
_PER_LEDGER: Final = 18.0
_LATE_P95_MS: Final = 2_000
_MEMORY_MB: Final = 150.0
_SETTLE_RATIO: Final = 0.95
_AT_MOST_S: Final = 1_200.0


@dataclass(frozen=True, slots=True)
class Size:
    """The rounds of claims, the ledgers of warm-up and window, and the plans due one by one."""

    rounds: int
    warm: int
    ledgers: int
    spaced: int


FULL: Final = Size(rounds=5, warm=2, ledgers=8, spaced=60)
QUICK: Final = Size(rounds=1, warm=1, ledgers=3, spaced=15)


@dataclass(slots=True)
class Measurements:
    """What the service has done; runs by ledger of a window."""

    runs: list[int] = field(default_factory=list)
    runs_beside: list[int] = field(default_factory=list)
    alone: Run | None = None
    beside: Run | None = None
    late_ms: list[float] = field(default_factory=list)
    runs_failed: int = 0
    memory_mb: float = 0.0


@timed
@limited(_AT_MOST_S)
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the thresholds hold, and the figures."""
    size, cores = QUICK if quick else FULL, divide_cores()
    with scratch_folder("farebox-bench-") as scratch:
        with EmbeddedPostgres(subfolder(scratch, "claims")) as postgres:
            claims = await measure_claims(postgres, cores, rounds=size.rounds)
        measured = await _measure_service(scratch, cores, size)
    figures = figures_of(claims, measured)
    figures["one_core_each"] = cores.service is not None
    return holds(figures), figures


async def _measure_service(scratch: Path, cores: Cores, size: Size) -> Measurements:
    """Measure one process: runs alone, settlement alone and beside runs, and plans one by one."""
    measured = Measurements()
    async with (
        open_settle_setup(scratch, cores, payers=_SETTLING) as settle,
        open_automation_setup(settle, plans=MANY) as setup,
    ):
        await settle.create_channels(_SETTLING)
        async with setup.service("farebox") as side:
            loads = [Load(side, _SETTLING)]
            measured.late_ms = await _measure_lateness(setup, size.spaced)
            alone = await sustained(settle, loads, warm=size.warm, ledgers=size.ledgers)
            working = await setup.start_working_plans(_WORKING, runs=_RUNS)
            measured.runs = await _count_runs(setup, size)
            beside = await sustained(settle, loads, warm=size.warm, ledgers=size.ledgers)
            measured.alone, measured.beside = alone[0], beside[0]
            measured.runs_beside = await runs_by_ledger(setup, beside[0].ledgers)
            await setup.end_plans(working)
            measured.runs_failed = await setup.count_failed()
            measured.memory_mb = side.peak_mb()
    return measured


async def _measure_lateness(setup: AutomationSetup, plans: int) -> list[float]:
    """Let plans be due one by one; milliseconds from the due time to the recorded envelope."""
    say(f"lateness: {plans} plans, one by one")
    start_at = datetime.now(UTC) + timedelta(seconds=_LEAD_S)
    ids = await setup.start_plans(plans, runs=1, start_at=start_at, apart=_APART)

    async def late_ms() -> list[float] | None:
        rows = await setup.db.fetch(
            """
            SELECT extract(epoch FROM a.prepared_at - r.scheduled_for)::float8 * 1000 AS late_ms
            FROM automation_runs r JOIN automation_attempts a ON a.run_id = r.id AND a.number = 1
            WHERE r.proposal_id = ANY ($1) AND r.state = 'succeeded'
            """,
            ids,
        )
        return sorted(float(row["late_ms"]) for row in rows) if len(rows) == plans else None

    within_s = _LEAD_S + (_APART * plans).total_seconds() + _LANDED_S
    what = f"a run of each of {plans} plans"
    return await wait_until(late_ms, what, within_s=within_s, pause_s=_LOOK_S)


async def _count_runs(setup: AutomationSetup, size: Size) -> list[int]:
    """Count the runs in each ledger of a window, with plans that are always due."""
    for _ in range(size.warm):
        await setup.settle.next_close()
    first, _ = await setup.settle.next_close()
    await asyncio.sleep(CADENCE_S * size.ledgers + _LANDED_S / 10)  # their rows follow the ledgers
    counted = await runs_by_ledger(setup, range(first + 1, first + 1 + size.ledgers))
    say(f"runs by ledger: {counted}")
    return counted


async def runs_by_ledger(setup: AutomationSetup, ledgers: range) -> list[int]:
    """Read the successful runs of each ledger from the rows."""
    rows = await setup.db.fetch(
        """
        SELECT ledger, count(*) AS n FROM automation_runs
        WHERE state = 'succeeded' AND ledger BETWEEN $1 AND $2 GROUP BY ledger
        """,
        ledgers.start,
        ledgers.stop - 1,
    )
    counted = {row["ledger"]: row["n"] for row in rows}
    return [counted.get(ledger, 0) for ledger in ledgers]


def figures_of(claims: ClaimResults, measured: Measurements) -> dict[str, object]:
    """The figures of a run."""
    alone, beside = measured.alone, measured.beside
    if alone is None or beside is None:
        raise RunFailed("settlement was not measured")
    late = measured.late_ms
    return {
        "claims_per_s": claims.many.figures()["per_s"],
        "procrastinate_claims_per_s": claims.theirs.figures()["per_s"],
        "claim_ratio": claims.ratio,
        "claim_ms_p50": claims.many.quantile_ms(0.5),
        "claim_ms_p95": claims.many.quantile_ms(0.95),
        "growth": claims.growth,
        f"runs_per_ledger_{CHANNELS}": round(mean(measured.runs), 2),
        "due_late_ms_p50": round(late[len(late) // 2]),
        "due_late_ms_p95": round(late[min(len(late) - 1, int(len(late) * 0.95))]),
        "memory_mb": measured.memory_mb,
        "settle_ratio": round(beside.per_ledger / alone.per_ledger, 3) if alone.series else 0.0,
        "settle_failed": alone.failed + beside.failed,
        "runs_failed": measured.runs_failed,
        "runs_by_ledger": measured.runs,
        "runs_by_ledger_beside": measured.runs_beside,
        "claims": {
            "1000": claims.few.figures(),
            "100000": claims.many.figures(),
            "procrastinate": claims.theirs.figures(),
        },
        "settle": {
            name: {
                "per_ledger": each.per_ledger,
                "p50_s": each.latency_s(0.5),
                "cpu": each.cpu_share,
            }
            for name, each in (("alone", alone), ("beside", beside))
        },
    }


def holds(figures: dict[str, object]) -> bool:
    """Whether every threshold holds."""
    number = numbers_of(figures)
    return (
        number("claim_ratio") >= _CLAIM_RATIO
        and number("claim_ms_p95") <= _CLAIM_P95_MS
        and number("growth") <= _GROWTH
        and number(f"runs_per_ledger_{CHANNELS}") >= _PER_LEDGER
        and number("due_late_ms_p95") <= _LATE_P95_MS
        and number("memory_mb") <= _MEMORY_MB
        and number("settle_ratio") >= _SETTLE_RATIO
        and number("settle_failed") == 0
        and number("runs_failed") == 0
    )


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
