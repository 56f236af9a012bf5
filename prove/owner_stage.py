"""The environment of owners' cases: replicas that sell runs, a steady network, and moved time."""

import asyncio
import contextlib
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from stellar_sdk import scval

from farebox.automation.runs.run_state import FINAL_RUN_STATES, RunState
from farebox.kernel.secret import Secret
from farebox.local.devnet import Scene
from farebox.local.faults import LocalFault
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.soroban_rpc import SorobanRpc
from prove.ask_node import ask_node, read_newest
from prove.automation_world import AutomationWorld, OwnerScenery, chain_of
from prove.broken_build import Build, End
from prove.environment import Environment, Replica
from prove.world import NETWORK
from testing.automation_chain import AutomationChain
from testing.contracts import call
from testing.plan_service import PRICE

AHEAD: Final = "PROVE_AHEAD"  # names a file: the seconds that the service's time is ahead
# ledgers close fast, and no payment may expire
LONG_RUN_OFFER: Final = End(
    "automation/credits/run_offer.py",
    "MAX_TIMEOUT_S: Final = 120",
    "\n\nMAX_TIMEOUT_S = 3600\n",
)
_AHEAD_CLOCK: Final = f"""

def _now_ahead(self, own=DatabaseClock.now):
    import os
    import pathlib
    name = os.environ.get("{AHEAD}")
    return own(self) + timedelta(seconds=float(pathlib.Path(name).read_text()) if name else 0)


DatabaseClock.now = _now_ahead
"""
# the database's time, by which rows are judged, goes with that of the network
TIMED: Final = Build(
    (
        End("storage/database_clock.py", "class DatabaseClock:", _AHEAD_CLOCK),
        LONG_RUN_OFFER,
    )
)
UNITS_PER_XLM: Final = 10_000_000  # a base unit for a stroop
_SUFFIX: Final = NETWORK.name
_PACE_S: Final = 0.5  # of ledgers
_OBSERVED: Final = 20  # ledgers, from which a service knows the cadence
_UNSTEADY: Final = 0.1
_POLL_S: Final = 0.6  # more than the service waits between two looks at the newest ledger
_LOOK_S: Final = 0.15
_QUIET_S: Final = 20.0
_FRESH_S: Final = 600  # the price of the oracle is set again after a longer leap
_WAITING: Final = (RunState.SCHEDULED, RunState.DEFERRED, RunState.RETRY_WAIT)
_NAMES: Final = ("a", "b")


@dataclass(frozen=True, slots=True)
class StageSettings:
    """How many replicas there are, and what the operator risks in a day, in stroops."""

    replicas: int = 1
    budget_owner: int = 0
    budget_total: int = 0


@dataclass(slots=True)
class OwnerStage:
    """A case's network, replicas and time."""

    world: AutomationWorld
    environment: Environment
    chain: AutomationChain
    node: SorobanRpc
    settings: StageSettings
    replicas: list[Replica] = field(default_factory=list)
    ahead_s: int = 0
    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    rng: random.Random = field(default_factory=random.Random)
    spoiling: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while a run is spoilt
    closed_at: list[float] = field(default_factory=list)  # of each ledger, the loop's clock

    @property
    def scene(self) -> Scene:
        """The accounts and tokens of the network."""
        return self.environment.world.prepared.scene

    @property
    def scenery(self) -> OwnerScenery:
        """What was put on the network for owners."""
        return self.world.scenery.owners

    @property
    def is_steady(self) -> bool:
        """Whether ledgers closed at the pace of the case, within a tenth over any twenty of them.

        Plans are sold, signed and judged at the cadence that the service has observed.
        """
        spans = (b - a for a, b in zip(self.closed_at, self.closed_at[_OBSERVED:], strict=False))
        return all(abs(span / (_OBSERVED * _PACE_S) - 1) <= _UNSTEADY for span in spans)

    @property
    def days(self) -> int:
        """The UTC days of the case so far, each of which has a budget."""
        return (self.now().date() - self.began_at.date()).days + 1

    def now(self) -> datetime:
        """The time of the service and of the network."""
        return datetime.now(UTC) + timedelta(seconds=self.ahead_s)

    def minute(self) -> datetime:
        """The last full minute: plans that start there are due together."""
        return self.now().replace(second=0, microsecond=0)

    async def leap(self, seconds: float) -> None:
        """Let so much time pass, for the network and then for the service."""
        whole = math.ceil(seconds)
        await self.environment.devnet.jump(whole)
        await asyncio.sleep(_POLL_S)
        self.ahead_s += whole
        self._tell_time()
        if whole > _FRESH_S:
            await self._set_prices()

    async def leap_until(self, moment: datetime) -> None:
        """Let time pass until the moment; none where it has passed."""
        left_s = (moment - self.now()).total_seconds()
        if left_s > 0:
            await self.leap(left_s)

    @property
    def _ahead_file(self) -> Path:
        return self.environment.folder / "ahead"

    def _tell_time(self) -> None:
        """Write how far the service's time is ahead; it reads the file at any moment."""
        written = self._ahead_file.with_suffix(".new")
        written.write_text(str(self.ahead_s))
        written.replace(self._ahead_file)

    async def _set_prices(self) -> None:
        exchange = self.scenery.exchange
        if exchange is None:
            return
        _, closed_at = await read_newest(self.environment)
        for token in (self.scene.asset, self.scene.native):
            named = scval.to_vec([scval.to_symbol("Stellar"), scval.to_address(token)])
            args = (named, scval.to_int128(PRICE), scval.to_uint64(closed_at))
            await self.chain.land(call(exchange.oracle, "set", args))

    async def start(self) -> None:
        """Start the replicas on a network whose ledgers close at the pace of the case."""
        await self._slow_down()
        self._tell_time()
        own = {AHEAD: str(self._ahead_file)}
        names = _NAMES[: self.settings.replicas]
        started = (self.environment.start(name, own) for name in names)
        self.replicas = list(await asyncio.gather(*started))

    async def _slow_down(self) -> None:
        """Let the history of the network have the pace that the service will see."""
        health = await ask_node(self.environment, "getHealth")
        ledgers = int(health["latestLedger"]) - int(health["oldestLedger"])
        times = (int(health[f"{each}LedgerCloseTime"]) for each in ("latest", "oldest"))
        newest, oldest = times
        self.ahead_s = max(0, math.ceil(ledgers * _PACE_S) - (newest - oldest))
        await self.environment.devnet.jump(self.ahead_s)

    async def wait_until_quiet(self, *, within_s: float) -> bool:
        """Wait until no run is due or under way, and nothing is being installed or closed."""
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            rows = await self.environment.query(
                """
                SELECT count(*) AS n FROM automation_runs
                WHERE NOT state = ANY ($1) AND NOT (state = ANY ($2) AND due_at > $3)
                UNION ALL SELECT count(*) FROM automation_sponsored
                WHERE outcome IN ('taken', 'prepared')
                """,
                [each.value for each in FINAL_RUN_STATES],
                [each.value for each in _WAITING],
                self.now(),
            )
            if not any(row["n"] for row in rows):
                return True
            await asyncio.sleep(_LOOK_S)
        return False

    async def end(self) -> None:
        """Let what is under way end: only what is on the ledger is judged."""
        await self.wait_until_quiet(within_s=_QUIET_S)
        await self.environment.devnet.close(2)


def settings_of(world: AutomationWorld, settings: StageSettings) -> dict[str, str]:
    """Return the settings of a service that sells runs at cost, without limits of changes."""
    scene = world.world.prepared.scene
    return {
        **world.scenery.owners.settings,
        "FAREBOX_CHALLENGES_PER_MINUTE": "0",
        "FAREBOX_CHANGES_PER_MINUTE": "0",
        f"FAREBOX_AUTOMATION_BUDGET_OWNER_STROOPS_{_SUFFIX}": str(settings.budget_owner),
        f"FAREBOX_AUTOMATION_BUDGET_TOTAL_STROOPS_{_SUFFIX}": str(settings.budget_total),
        f"FAREBOX_REVENUE_ACCOUNT_{_SUFFIX}": scene.payees[0].address,
        f"FAREBOX_RUN_ASSET_{_SUFFIX}": scene.asset,
        f"FAREBOX_RUN_PRICE_{_SUFFIX}": "1",
        # what the proof's own transactions bid does not raise the prices of runs
        f"FAREBOX_MAX_INCLUSION_FEE_STROOPS_{_SUFFIX}": "1000",
        f"FAREBOX_RUN_UNITS_PER_XLM_{_SUFFIX}": str(UNITS_PER_XLM),
    }


@asynccontextmanager
async def open_owner_stage(
    world: AutomationWorld,
    settings: StageSettings,
    more: Mapping[str, str] | None = None,
    start: Callable[[OwnerStage], Awaitable[None]] = OwnerStage.start,
) -> AsyncIterator[OwnerStage]:
    """Open an environment of its own with replicas that sell runs at cost; remove it at the end.

    `more` are further settings of the service.
    """
    async with world.environment(settings_of(world, settings) | dict(more or {})) as environment:
        environment.ledger_closer.pause()
        url = Secret(environment.devnet.rpc_url)
        async with HttpSorobanRpc(NETWORK, url, timeout_s=20) as node:
            chain = chain_of(environment.devnet, world.world.prepared.scene)
            stage = OwnerStage(world, environment, chain, node, settings)
            closing = asyncio.create_task(close_ledgers(environment, stage.closed_at))
            environment.waiting.append(closing)
            await start(stage)
            yield stage


async def close_ledgers(environment: Environment, closed_at: list[float]) -> None:
    """Close ledgers at the pace of a case until cancelled, and record when.

    A machine that is late makes up for it at once: plans are sold and signed at the cadence that
    the service has seen.
    """
    began, closed = time.monotonic(), 0
    while True:
        with contextlib.suppress(LocalFault):  # the devnet is on its way out
            await environment.devnet.close()
        closed += 1
        closed_at.append(time.monotonic())
        await asyncio.sleep(max(0.0, began + closed * _PACE_S - time.monotonic()))
