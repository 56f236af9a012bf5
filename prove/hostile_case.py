"""Run one case: callers verify and settle while hostile clients and metadata arrive."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from prove.caller import Caller
from prove.environment import Environment, Replica, open_environment
from prove.hostile_clients import AttackPlan, AttackReport, count_open_connections
from prove.hostile_health import FAILED
from prove.hostile_kinds import Hostility
from prove.hostile_metadata import metadata
from prove.loop_lag import SETTING, longest_ms
from prove.process_metrics import sample_process
from prove.world import World
from testing.machine import ROOT, RunFailed

_SETTINGS: Final = {
    # the service's defaults; those of the environment are for faults of the network
    "FAREBOX_SETTLE_DEADLINE_S": "50",
    "FAREBOX_CHANNEL_WAIT_S": "10",
    "FAREBOX_RPC_TIMEOUT_S": "10",
    "FAREBOX_RATE_PER_ADDRESS": "600",
    # each validation of metadata comes from another address
    "FAREBOX_TRUSTED_PROXIES": "127.0.0.1",
}
_TIGHT: Final = {"FAREBOX_CONNECTIONS": "1000"}  # fewer than the hostile clients open
_CALLERS: Final = 3
_PAUSE_S: Final = 0.8  # of a caller between payments, to stay within the rate limit
_LOOK_S: Final = 0.05
_COUNT_S: Final = 0.5
_CLOSED_S: Final = 1.0  # after the clients saw the end of every connection
_WARM_S: Final = 2.0
_PATIENCE_S: Final = 45.0
_SETTLES: Final = 6  # with hostile metadata
_ENDED_S: Final = 60.0
_CUT_S: Final = 1.0  # for callers of a service that was killed
_TIMEOUT: Final = aiohttp.ClientTimeout(total=60)


@dataclass(frozen=True, slots=True)
class HostileCase:
    """The size of an attack: connections, seconds, and validations of metadata."""

    seed: int
    connections: int
    seconds: float
    judged: int
    kinds: tuple[Hostility, ...] = tuple(Hostility)
    stops_at_mb: float | None = None  # of growth, at which a control is stopped

    @property
    def is_tight(self) -> bool:
        """Whether the service allows fewer connections than the attack opens."""
        return self.seed % 2 == 0 and self.stops_at_mb is None


@dataclass(slots=True)
class HostileOutcome:
    """The result of a case."""

    case: HostileCase
    honest: int = 0
    honest_failed: list[str] = field(default_factory=list)
    # without the time that the machine ran other processes
    health_ms: list[float] = field(default_factory=list)
    health_raw_ms: list[float] = field(default_factory=list)
    health_failed: int = 0
    memory_mb: float = 0.0
    memory_growth_mb: float = 0.0
    attack_stall_ms: float = 0.0
    loop_stall_ms: float = 0.0
    judged: int = 0
    open_after_s: float = 0.0  # from the last connection opened until the service held none
    left_open: int = 0  # connections that the service holds at the end
    report: AttackReport = field(default_factory=lambda: AttackReport(0, 0.0, {}, {}))

    @property
    def health_p95_ms(self) -> float:
        """The 95th percentile of health checks, without time taken by other processes."""
        return _p95(self.health_ms)

    @property
    def health_p95_raw_ms(self) -> float:
        """The 95th percentile of health checks as the client measured it."""
        return _p95(self.health_raw_ms)

    def __str__(self) -> str:
        return (
            f"SEED={self.case.seed}{' (tight)' if self.case.is_tight else ''}: "
            f"{self.report.opened} connections, {self.report.statuses}, closed after "
            f"{self.open_after_s} s, left {self.left_open}; {self.honest} honest, failed "
            f"{self.honest_failed[:3]}; memory {self.memory_mb:.0f} MB + "
            f"{self.memory_growth_mb:.0f} MB; health p95 {self.health_p95_ms} "
            f"({self.health_p95_raw_ms}) ms, failed "
            f"{self.health_failed}; stalls {self.attack_stall_ms} and {self.loop_stall_ms} ms; "
            f"{self.judged} judged"
        )


def _p95(times: Sequence[float]) -> float:
    ordered = sorted(times) or [0.0]
    return round(ordered[int(len(ordered) * 0.95)], 1)


async def run_case(world: World, case: HostileCase) -> HostileOutcome:
    """Run one case."""
    async with open_environment(
        world, _SETTINGS | (_TIGHT if case.is_tight else {})
    ) as environment:
        lag = environment.folder / "lag"
        replica = await environment.start("a", {SETTING: str(lag)})
        run = _HostileRun(environment, replica, HostileOutcome(case))
        async with run.honest():
            await asyncio.sleep(_WARM_S)
            # a control does not survive the attack
            for part in (run.judge, run.attack)[:: 1 if case.stops_at_mb else -1]:
                await part(lag)
        return run.outcome


@dataclass(slots=True)
class _ConnectionWatch:
    """Counts the hostile connections that the service holds."""

    held: int = 0
    last_at: float = 0.0  # of the last count above 0

    async def watch(self, port: int) -> None:
        """Count until cancelled."""
        while True:
            self.held = count_open_connections(port)
            if self.held:
                self.last_at = time.monotonic()
            await asyncio.sleep(_COUNT_S)


@dataclass(eq=False, slots=True)
class _HostileRun:
    environment: Environment
    replica: Replica
    outcome: HostileOutcome
    turn: int = 0

    @asynccontextmanager
    async def honest(self) -> AsyncIterator[None]:
        """Run honest callers and a health check inside this context."""
        is_over = asyncio.Event()
        tasks = [asyncio.create_task(self._pay(is_over)) for _ in range(_CALLERS)]
        tasks.append(asyncio.create_task(self._watch_health(is_over)))
        try:
            yield
        finally:
            is_over.set()
            patience_s = _ENDED_S if self.replica.is_alive else _CUT_S
            ended, late = await asyncio.wait(tasks, timeout=patience_s)
            for each in late:
                each.cancel()
            for each in ended:
                each.result()

    async def _pay(self, is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            self.turn += 1
            payment = await self.environment.payment(self.turn)
            caller = Caller(self.environment, payment)
            verified = await self._verify(payment.body)
            if not self.replica.is_alive:
                return
            if verified != "valid":
                self.outcome.honest_failed.append(f"verify: {verified}")
            settled = await caller.ask(self.replica)
            if not settled.is_success:
                self.outcome.honest_failed.append(f"settle: {settled}")
            self.outcome.honest += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(is_over.wait(), _PAUSE_S)

    async def _verify(self, body: bytes) -> str:
        headers = {"content-type": "application/json"}
        url = f"{self.replica.url}/verify"
        try:
            async with self.environment.web.post(
                url, data=body, headers=headers, timeout=_TIMEOUT
            ) as response:
                text = await response.text()
                return "valid" if '"isValid":true' in text else f"{response.status} {text[:200]}"
        except (aiohttp.ClientError, TimeoutError) as error:
            return repr(error)

    async def _watch_health(self, is_over: asyncio.Event) -> None:
        port = urlsplit(self.replica.url).port
        health_client = await _start_module(
            "prove.hostile_health", str(port), str(self.replica.process_id)
        )
        try:
            await is_over.wait()
            output, _ = await health_client.communicate(b"")  # its input ends
        finally:
            if health_client.returncode is None:
                health_client.kill()
                await health_client.wait()
        for took_ms, net_ms in (map(float, line.split()) for line in output.splitlines()):
            if took_ms == FAILED:
                self.outcome.health_failed += self.replica.is_alive
            else:
                self.outcome.health_raw_ms.append(took_ms)
                self.outcome.health_ms.append(net_ms)

    async def attack(self, lag: Path) -> None:
        """Run the hostile clients until all have ended."""
        since = time.monotonic()
        await self._attack()
        until = time.monotonic()
        self.outcome.attack_stall_ms = longest_ms(lag, since=since, until=until)

    async def _attack(self) -> None:
        case, outcome = self.outcome.case, self.outcome
        plan = AttackPlan(
            urlsplit(self.replica.url).port or 0,
            case.connections,
            list(case.kinds),
            case.seed,
            case.seconds,
            _PATIENCE_S,
        )
        outcome.memory_mb = self._resident_mb()
        attackers = await _start_module("prove.hostile_clients")
        watch = _ConnectionWatch()
        watching = [
            asyncio.create_task(self._watch_memory(attackers)),
            asyncio.create_task(watch.watch(plan.port)),
        ]
        try:
            output, _ = await attackers.communicate(msgspec.json.encode(plan))
        finally:
            for each in watching:
                each.cancel()
            if attackers.returncode is None:
                attackers.kill()
                await attackers.wait()
        if output:
            outcome.report = msgspec.json.decode(output, type=AttackReport)
            if not watch.last_at:
                raise RunFailed("the service held no connection of the hostile clients")
            took_s = watch.last_at - outcome.report.last_opened_at
            outcome.open_after_s = round(max(took_s, 0.0), 1)
            await asyncio.sleep(_CLOSED_S)  # the watch may have counted before the last ones ended
            outcome.left_open = count_open_connections(plan.port)
        elif case.stops_at_mb is None:
            raise RunFailed("the hostile clients ended early")

    async def _watch_memory(self, attackers: asyncio.subprocess.Process) -> None:
        outcome, case = self.outcome, self.outcome.case
        while True:
            grown = self._resident_mb() - outcome.memory_mb
            outcome.memory_growth_mb = max(outcome.memory_growth_mb, round(grown, 1))
            if case.stops_at_mb is not None and grown > case.stops_at_mb:
                attackers.kill()
                await self.replica.kill()
                return
            await asyncio.sleep(_LOOK_S)

    def _resident_mb(self) -> float:
        return sample_process(self.replica.process_id, at_s=0, settled=0).rss / 1e6

    async def judge(self, lag: Path) -> None:
        """Send hostile metadata to /v1/discovery/validate, and settle payments with it."""
        since = time.monotonic()
        await self._judge()
        until = time.monotonic()
        self.outcome.loop_stall_ms = longest_ms(lag, since=since, until=until)

    async def _judge(self) -> None:
        seed = self.outcome.case.seed
        for turn in range(self.outcome.case.judged):
            hostile_metadata = metadata(seed, turn)
            headers = {"X-Forwarded-For": f"10.0.{seed % 250}.{turn % 250}"}
            async with self.environment.web.post(
                f"{self.replica.url}/v1/discovery/validate",
                data=json.dumps(hostile_metadata),
                headers=headers,
                timeout=_TIMEOUT,
            ) as response:
                await response.read()
                self.outcome.judged += response.status == 200
                if response.status not in (200, 400, 413):
                    self.outcome.honest_failed.append(f"validate: {response.status}")
        await asyncio.gather(*map(self._settle, range(min(_SETTLES, self.outcome.case.judged))))

    async def _settle(self, turn: int) -> None:
        hostile_metadata = metadata(self.outcome.case.seed, turn)
        payment = await self.environment.payment(turn, extra=hostile_metadata)
        settled = await Caller(self.environment, payment).ask(self.replica)
        if not settled.is_success:
            self.outcome.honest_failed.append(f"settle with metadata: {settled}")


async def _start_module(module: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
