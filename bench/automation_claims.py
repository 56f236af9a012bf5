"""How fast due runs are claimed, beside procrastinate on the same server, in one process."""

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Final

import procrastinate

from bench.automation_rows import fill_jobs, fill_plans, reset_jobs, reset_plans
from bench.cores import Cores
from bench.measure import quantile
from farebox.automation.execution.scheduler import BATCH, LEASE
from farebox.automation.runs import claim_store
from farebox.kernel.networks import Network
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Connection
from testing.database import connected, create_database
from testing.machine import RunFailed, say

FEW: Final = 1_000  # stored plans, all of them due
MANY: Final = 100_000
DUE: Final = 1_000
_WARM: Final = 1  # rounds that are not counted


@dataclass(slots=True)
class ClaimTimes:
    """The times of the claims of each round, in milliseconds, and what each round reached."""

    rounds_ms: list[list[float]] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)

    def add(self, times_s: Sequence[float], claimed: int) -> None:
        """Add the claims of one round."""
        self.rounds_ms.append([each * 1000 for each in times_s])
        self.per_s.append(claimed / sum(times_s))

    def quantile_ms(self, share: float) -> float:
        """The median over the rounds of a quantile of the times of a claim."""
        return round(median(quantile(each, share) for each in self.rounds_ms), 2)

    def figures(self) -> dict[str, object]:
        """The figures of this side."""
        return {
            "per_s": round(median(self.per_s)),
            "claims": sum(len(each) for each in self.rounds_ms),
            "p50_ms": self.quantile_ms(0.5),
            "p95_ms": self.quantile_ms(0.95),
            "max_ms": self.quantile_ms(1.0),
        }


@dataclass(frozen=True, slots=True)
class ClaimResults:
    """The claims of each side; `few` with a hundredth of the plans."""

    few: ClaimTimes
    many: ClaimTimes
    theirs: ClaimTimes

    @property
    def ratio(self) -> float:
        """The median of our rate over the peer's, round by round."""
        pairs = zip(self.many.per_s, self.theirs.per_s, strict=True)
        return round(median(mine / other for mine, other in pairs), 2)

    @property
    def growth(self) -> float:
        """The median claim with all plans over that with a hundredth of them."""
        return round(self.many.quantile_ms(0.5) / self.few.quantile_ms(0.5), 2)


async def measure_claims(
    postgres: EmbeddedPostgres, cores: Cores, *, rounds: int, plans: int = MANY
) -> ClaimResults:
    """Claim every due run, and fetch every due job of the peer, in rounds that take turns."""
    now = datetime.now(UTC)
    async with AsyncExitStack() as stack:
        say(f"storing {plans:,} plans and as many jobs")
        few = await _open_ours(stack, postgres, "claims_few", FEW, now)
        many = await _open_ours(stack, postgres, "claims_many", plans, now)
        app, jobs, worker = await _open_theirs(stack, postgres, plans, now)
        results = ClaimResults(ClaimTimes(), ClaimTimes(), ClaimTimes())
        for number in range(_WARM + rounds):
            say(f"claims: round {number + 1} of {_WARM + rounds}")
            with cores.on_service():
                rows = [await _claim_ours(few, now), await _claim_ours(many, now)]
                rows.append(await _fetch_theirs(app, worker))
            if number >= _WARM:
                for times, measured in zip(
                    (results.few, results.many, results.theirs), rows, strict=True
                ):
                    times.add(measured, DUE)
            await reset_plans(few)
            await reset_plans(many)
            await reset_jobs(jobs)
    return results


async def _open_ours(
    stack: AsyncExitStack, postgres: EmbeddedPostgres, name: str, plans: int, now: datetime
) -> Connection:
    url = await create_database(postgres.url, name)
    await migrate(url, packaged_migrations())
    db = await stack.enter_async_context(connected(url))
    # due runs are of different owners, whatever the number of plans
    await fill_plans(db, plans, due=DUE, now=now, per_owner=max(1, plans // DUE // 10))
    return db


async def _open_theirs(
    stack: AsyncExitStack, postgres: EmbeddedPostgres, jobs: int, now: datetime
) -> tuple[procrastinate.App, Connection, int]:
    url = await create_database(postgres.url, "claims_theirs")
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url.reveal()))
    await app.open_async()
    stack.push_async_callback(app.close_async)
    await app.schema_manager.apply_schema_async()
    db = await stack.enter_async_context(connected(url))
    await fill_jobs(db, jobs, due=DUE, now=now)
    return app, db, await app.job_manager.register_worker()


async def _claim_ours(db: Connection, now: datetime) -> Sequence[float]:
    """Claim as a scheduler with room for a whole batch does, until nothing is due."""
    times, claimed = [], 0
    while claimed < DUE:
        began = time.perf_counter()
        runs = await claim_store.claim_due(
            db, Network.TESTNET, count=BATCH, holder="bench", now=now, until=now + LEASE
        )
        times.append(time.perf_counter() - began)
        if not runs:
            raise RunFailed(f"{claimed} of {DUE} runs were claimed")
        claimed += len(runs)
    return times


async def _fetch_theirs(app: procrastinate.App, worker: int) -> Sequence[float]:
    """Fetch as a worker of the peer does: one job at a time."""
    times: list[float] = []
    while len(times) < DUE:
        began = time.perf_counter()
        job = await app.job_manager.fetch_job(None, worker)
        times.append(time.perf_counter() - began)
        if job is None:
            raise RunFailed(f"{len(times)} of {DUE} jobs were fetched")
    return times
