"""Run one case: honest neighbours on two replicas, without attackers and beside them in turn."""

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from farebox.local.certificates import Authority
from farebox.local.gateway_settings import gateway_settings
from prove.automation_world import AutomationWorld
from prove.delivery_payments import PaymentMaker
from prove.delivery_upstream import NAME, ScriptedUpstream
from prove.neighbours_attackers import Attack, Play, prepare
from prove.neighbours_ground import Ground, Origin
from prove.neighbours_honest import PUBLIC_URL, Neighbours, Served, open_sender, sign_in
from prove.owner_case import HonestOwner
from prove.owner_desk import OwnerDesk
from prove.owner_stage import OwnerStage, StageSettings, open_owner_stage
from prove.process_metrics import sample_process
from prove.run_cases import ends_within
from testing.machine import RunFailed

RATIO_MOST: Final = 2.0
MEMORY_MOST_MB: Final = 64.0
_PLAYS: Final = 3
_ROUNDS: Final = 2  # each without attackers, and then with them
_PHASE_S: Final = 4.0
_SPARE_S: Final = 0.3
_CALM_S: Final = 3.0  # after attackers: what they have left in queues ends
_FLOOR_S: Final = 0.25  # a wait that nobody notices: what is below it is compared as it
_RATED: Final = 8  # of a kind and a side: fewer have no 95th percentile
_LONGEST_S: Final = 240.0
_SELLER, _STRANGER = 0, 1  # their numbers among the payers of the scene
_SAMPLE_S: Final = 0.2
_MB: Final = 1e6
SETTINGS: Final = {
    "FAREBOX_PUBLIC_URL": PUBLIC_URL,
    "FAREBOX_CATALOG_LOCAL": "1",
    "FAREBOX_TRUSTED_PROXIES": "127.0.0.1",
    "FAREBOX_RATE_PER_ADDRESS": "",  # the limits of the service as it is installed
    "FAREBOX_RPC_TIMEOUT_S": "20",
    "FAREBOX_SETTLE_DEADLINE_S": "25",
    "FAREBOX_CHANNEL_WAIT_S": "10",
    # few enough that an attacker can reach them on a small machine
    "FAREBOX_GATEWAY_CALLS": "20",
    "FAREBOX_AGENT_CALLS": "24",
    "FAREBOX_RPC_SIMULATIONS_TESTNET": "24",
}


@dataclass(frozen=True, slots=True)
class NeighboursCase:
    """One or two attackers beside the honest; `seed` and `number` identify it for a replay."""

    seed: int
    number: int
    attacks: tuple[Attack, ...]
    origin: Origin
    rounds: int = _ROUNDS

    def __str__(self) -> str:
        attacks = "; ".join(self.attacks)
        return f"SEED={self.seed} CASE={self.number}: {attacks}; {self.origin}"


@dataclass(frozen=True, slots=True)
class NeighboursOutcome:
    """The result of a case."""

    case: NeighboursCase
    refused: list[str]
    ratios: Mapping[str, float]  # by kind of request
    lost: int
    memory_mb: float
    honest: int  # requests
    attacks: int  # requests of attackers
    answers: Mapping[int, int]  # to them, by status
    took_s: float
    plays: int = 1

    @property
    def ratio(self) -> float:
        """The worst ratio of any kind."""
        return max(self.ratios.values(), default=0.0)

    @property
    def is_slow(self) -> bool:
        """Whether the honest waited too long, or the service took too much memory."""
        return self.ratio > RATIO_MOST or self.memory_mb > MEMORY_MOST_MB

    @property
    def is_failed(self) -> bool:
        """Whether an honest neighbour was harmed."""
        return bool(self.refused or self.lost or self.is_slow)

    def __str__(self) -> str:
        ratios = ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in self.ratios.items())
        refused = "; ".join(self.refused[:3])
        return (
            f"{self.case} -> {len(self.refused)} of {self.honest} refused, {self.lost} listings "
            f"lost, ratios ({ratios}), {self.memory_mb:.0f} MB, {self.attacks} requests of "
            f"attackers ({dict(self.answers)}), {self.plays} plays, {self.took_s:.0f} s {refused}"
        )


async def run_case(
    world: AutomationWorld, authority: Authority, case: NeighboursCase, *, plays: int = _PLAYS
) -> NeighboursOutcome:
    """Run a case; one that shows nothing but long waits is played again, as machines are busy.

    Raises:
        RunFailed: it did not end, or a replica has.
    """
    for played in itertools.count(1):
        async with ends_within(case, _LONGEST_S):
            outcome = await _play(world, authority, case)
        is_clear = bool(outcome.refused or outcome.lost) or not outcome.is_slow
        if is_clear or played == plays:
            return replace(outcome, plays=played)
    raise AssertionError


async def _play(
    world: AutomationWorld, authority: Authority, case: NeighboursCase
) -> NeighboursOutcome:
    loop = asyncio.get_running_loop()
    began = loop.time()
    upstream = ScriptedUpstream()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(upstream.serving(authority.server(NAME)))
        own = {**gateway_settings(authority, NAME, upstream.port), **SETTINGS}
        del own["FAREBOX_MASTER_KEYS"]  # the plans' secrets are sealed by the scenery's
        stage = await stack.enter_async_context(
            open_owner_stage(world, StageSettings(replicas=2), own, _start_directly)
        )
        played = _PlayedCase(stage, case, random.Random(f"neighbours {case.seed} {case.number}"))
        await played.begin(stack)
        await played.play()
        return await played.judge(loop.time() - began)


async def _start_directly(stage: OwnerStage) -> None:
    """Start two replicas whose time is not moved.

    No call to the database is of interest: the case's own process leaves them alone.
    """
    environment = stage.environment
    direct = {"FAREBOX_DATABASE_URL": environment.server.url_of(environment.database)}
    started = (environment.start(name, direct) for name in ("a", "b"))
    stage.replicas = list(await asyncio.gather(*started))


@dataclass(eq=False, slots=True)
class _PlayedCase:
    """A case that is being played."""

    stage: OwnerStage
    case: NeighboursCase
    rng: random.Random
    grounds: list[Ground] = field(default_factory=list)
    attacking: list[asyncio.Task[None]] = field(default_factory=list)
    honest: Neighbours | None = None
    plays: list[Play] = field(default_factory=list)
    without: list[Served] = field(default_factory=list)
    beside: list[Served] = field(default_factory=list)
    rss: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    memory_mb: float = 0.0

    async def begin(self, stack: AsyncExitStack) -> None:
        """Let the honest neighbours open their business, and the attackers prepare."""
        stage, scene = self.stage, self.stage.scene
        payments = PaymentMaker(stage.environment, self.rng)
        desk = OwnerDesk(stage)
        owner = HonestOwner(stage, await desk.classic(), 2 * self.case.rounds)
        sender = await open_sender(stack, stage.replicas)
        seller = await sign_in(stage, scene.payers[_SELLER])
        known = await sign_in(stage, scene.payers[_STRANGER])
        self.honest = Neighbours(stage, sender, payments, seller, owner)
        await self.honest.begin(desk.take_keeper(), desk.take_keeper())
        for attack in self.case.attacks:
            web = await open_sender(stack, stage.replicas)
            ground = Ground(stage, web, payments, self.case.origin, known, self.rng)
            self.plays.append(await prepare(ground, attack))
            self.grounds.append(ground)

    async def play(self) -> None:
        """Play the rounds."""
        for number in range(self.case.rounds):
            await asyncio.sleep(_CALM_S if number else 0)
            self.without += await self._phase("without")
            self.attacking = [asyncio.create_task(play()) for play in self.plays]
            try:
                self.beside += await self._phase("beside")
            finally:
                await self._stop()

    async def _stop(self) -> None:
        for each in self.attacking:
            each.cancel()
        ended = await asyncio.gather(*self.attacking, return_exceptions=True)
        for fault in ended:
            if isinstance(fault, Exception):
                raise RunFailed(f"an attacker could not attack: {fault!r}") from fault

    async def _phase(self, side: str) -> list[Served]:
        """Let the next run be due, and the honest neighbours be served for a while."""
        honest = self.honest
        if honest is None:
            raise RunFailed("the case has not begun")
        await asyncio.sleep(_SPARE_S)
        await honest.make_due()
        sampling = asyncio.create_task(self._sample(side))
        try:
            return await honest.keep_pace(_PHASE_S)
        finally:
            sampling.cancel()
            await asyncio.gather(sampling, return_exceptions=True)

    async def _sample(self, side: str) -> None:
        while True:
            for replica in self.stage.replicas:
                taken = sample_process(replica.process_id, at_s=0, settled=0)
                self.rss[f"{side} {replica.name}"].append(taken.rss / _MB)
            await asyncio.sleep(_SAMPLE_S)

    async def judge(self, took_s: float) -> NeighboursOutcome:
        """Compare both sides."""
        honest = self.honest
        if honest is None:
            raise RunFailed("the case has not begun")
        growth = [
            max(self.rss[f"beside {each.name}"]) - self.rss[f"without {each.name}"][0]
            for each in self.stage.replicas
        ]
        served = [*self.without, *self.beside]
        alone = (f"alone, {each.refusal}" for each in self.without if each.refusal)
        return NeighboursOutcome(
            self.case,
            [*(each.refusal for each in self.beside if each.refusal), *alone],
            ratios_of(self.without, self.beside),
            await honest.count_lost(),
            max(growth),
            len(served),
            sum(each.sent for each in self.grounds),
            dict(sum((each.answers for each in self.grounds), Counter())),
            took_s,
        )


def ratios_of(without: Sequence[Served], beside: Sequence[Served]) -> dict[str, float]:
    """How much longer the slowest twentieth waits beside attackers, by kind of request."""
    kinds = sorted({each.kind for each in without})
    found = {}
    for kind in kinds:
        before, after = (
            sorted(each.took_s for each in side if each.kind == kind) for side in (without, beside)
        )
        if min(len(before), len(after)) >= _RATED:
            found[kind] = max(_FLOOR_S, _p95(after)) / max(_FLOOR_S, _p95(before))
    return found


def _p95(ordered: Sequence[float]) -> float:
    return ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
