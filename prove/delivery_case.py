"""Run one case: buy at the gateway while something fails, recover, and judge the payment."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

import asyncpg
import msgspec

from farebox.gateway.wrapper import Upstream, WrapperLimits, WrapperSettings, WrapperTerm
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.local.certificates import Authority
from farebox.local.gateway_settings import gateway_settings
from prove.boundaries import number_of
from prove.delivery_shop import GatewayBuyer
from prove.delivery_upstream import NAME, ScriptedUpstream, UpstreamFault
from prove.delivery_verdict import DeliveryViolation, Evidence, judge_delivery
from prove.environment import AMOUNT, Environment, Replica, open_environment
from prove.interceptor import Boundary, ConnectionCut, CrashPoint, CrashTiming
from prove.outcome import Outcome
from prove.payment_check import group_by_payment, read_ledger
from prove.world import NETWORK, World

T = TypeVar("T")
SLUG: Final = "proof"
WRAPPER_ID: Final = "wrp_proof"
_NAMES: Final = ("a", "b")
_PREPARING: Final = (
    "sql prepare",
    "sql SELECT current_setting('jit')",
    "sql WITH RECURSIVE typeinfo",
)
_REACHED_WITHIN_S: Final = 10.0
_SETTLED_WITHIN_S: Final = 60.0
_LOOK_S: Final = 0.2


class DeliveryFault(StrEnum):
    """What happens at a call of a replica to its database or its node."""

    KILL_BEFORE = "the replica is killed before it"
    KILL_AFTER = "the replica is killed after it"
    LOST = "its answer is lost"


@dataclass(frozen=True, slots=True)
class DeliveryCase:
    """A fault and its conditions; `seed` and `number` identify it for a replay."""

    seed: int
    number: int
    boundary: Boundary | None = None
    call_fault: DeliveryFault = DeliveryFault.KILL_BEFORE
    upstream: tuple[UpstreamFault, ...] = ()
    method: str = "GET"
    replicas: int = 1
    is_at_both: bool = False
    is_long: bool = False  # the response is passed on in parts and not stored
    leaves: bool = False  # the buyer does not repeat its request

    def __str__(self) -> str:
        faults = [str(each) for each in self.upstream if each is not UpstreamFault.NONE]
        if self.boundary is not None:
            faults.append(f"{self.call_fault}: {self.boundary}")
        conditions = [self.method, f"{self.replicas} replicas"]
        conditions += ["at both at once"] * self.is_at_both
        conditions += ["a long response"] * self.is_long + ["the buyer leaves"] * self.leaves
        return f"SEED={self.seed} CASE={self.number}: {faults}; {', '.join(conditions)}"


DeliveryOutcome = Outcome[object, DeliveryViolation]  # of a case of any kind


class LostAnswer:
    """Cuts the connection of one call once it was delivered."""

    def __init__(self, at: Boundary) -> None:
        self._at = at
        self.is_reached = False

    async def __call__(self, boundary: Boundary, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the call; lose the answer of the one.

        Raises:
            ConnectionCut: it is the one.
        """
        answer = await deliver()
        if self.is_reached or boundary != self._at:
            return answer
        self.is_reached = True
        raise ConnectionCut


def sweep(boundaries: Sequence[Boundary]) -> list[DeliveryCase]:
    """Plan every call with every fault, and every fault of the upstream: the cases of seed 1."""
    calls = [
        DeliveryCase(1, number_of(boundary, fault), boundary, fault)
        for boundary in boundaries
        for fault in DeliveryFault
    ]
    upstreams = [
        DeliveryCase(
            1, number_of(fault, method, is_long, leaves), call_fault=DeliveryFault.LOST,
            upstream=(fault,), method=method, is_long=is_long, leaves=leaves,
        )
        for fault in UpstreamFault
        for method in ("GET", "POST")
        for is_long in (False, True)
        for leaves in (False, True)
    ]  # fmt: skip
    return calls + upstreams


def draw_cases(boundaries: Sequence[Boundary], seed: int) -> list[DeliveryCase]:
    """Plan every call once with random conditions, but for those that only prepare another one."""
    return [
        _draw_case(boundary, seed)
        for boundary in boundaries
        if not boundary.label.startswith(_PREPARING)
    ]


def _draw_case(boundary: Boundary, seed: int) -> DeliveryCase:
    rng = random.Random(f"delivery {seed} {boundary}")
    replicas = rng.choice((1, 2))
    return DeliveryCase(
        seed,
        number_of(boundary),
        boundary,
        rng.choice(list(DeliveryFault)),
        tuple(rng.choice(list(UpstreamFault)) for _ in range(rng.choice((0, 0, 1, 2)))),
        rng.choice(("GET", "POST")),
        replicas=replicas,
        is_at_both=replicas > 1 and rng.random() < 0.5,
        is_long=rng.random() < 0.3,
        leaves=rng.random() < 0.2,
    )


@asynccontextmanager
async def open_gateway(
    world: World,
    authority: Authority,
    upstream: ScriptedUpstream,
    *,
    limits: WrapperLimits,
    price: BaseUnits = AMOUNT,
) -> AsyncIterator[Environment]:
    """Open an environment whose database has one enabled wrapper for the upstream."""
    async with upstream.serving(authority.server(NAME)):
        settings = {
            "FAREBOX_PUBLIC_URL": "https://pay.example.com",
            **gateway_settings(authority, NAME, upstream.port),
        }
        async with open_environment(world, settings) as environment:
            upstream.kill = environment.kill_first
            await insert_wrapper(environment, limits, price)
            yield environment


async def insert_wrapper(
    environment: Environment, limits: WrapperLimits, price: BaseUnits = AMOUNT
) -> None:
    """Insert the enabled wrapper of a case."""
    scene = environment.world.prepared.scene
    term = WrapperTerm(NETWORK, Address(scene.asset), price, Address(scene.payees[0].address))
    settings = WrapperSettings(
        name="Proof", upstream=Upstream(f"https://{NAME}/base"), terms=(term,), limits=limits
    )
    await environment.query("INSERT INTO wrapper_slugs (slug, owner) VALUES ($1, 'user_p')", SLUG)
    await environment.query(
        "INSERT INTO wrappers (id, owner, slug, settings, is_established, is_enabled)"
        " VALUES ($1, 'user_p', $2, $3::text::jsonb, true, true)",
        WRAPPER_ID,
        SLUG,
        msgspec.json.encode(settings).decode(),
    )


async def run_case(world: World, authority: Authority, case: DeliveryCase) -> DeliveryOutcome:
    """Run one case."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    upstream = ScriptedUpstream(list(case.upstream), is_long=case.is_long)
    limits = WrapperLimits(timeout_s=2)
    async with open_gateway(world, authority, upstream, limits=limits) as environment:
        replicas = [await environment.start(name) for name in _NAMES[: case.replicas]]
        reached = _set_fault(environment, case, replicas)
        buyer = GatewayBuyer(environment, await environment.payment(), SLUG, case.method)
        at = replicas if case.is_at_both else replicas[:1]
        await asyncio.gather(*(buyer.ask(each) for each in at))
        await environment.ledger_closer.speed_up()
        environment.waiting.append(asyncio.create_task(keep_serving(environment)))
        until = loop.time() + _SETTLED_WITHIN_S
        if not case.leaves and not any(each.is_final for each in buyer.answers):
            await buyer.repeat_until_final(until=until)
        row, in_progress = await _wait_until_settled(environment, buyer, until=until)
        own = group_by_payment(await read_ledger(environment))
        evidence = Evidence(
            own[buyer.payment.payer, buyer.payment.nonce],
            row,
            in_progress,
            buyer.answers,
            upstream.reached,
            case.method,
            must_deliver=not case.leaves and case.method == "GET",
        )
        return DeliveryOutcome(
            case=case,
            is_reached=reached(),
            state="gone" if row is None else row["state"],
            findings=judge_delivery(evidence),
            answers=[str(each) for each in buyer.answers],
            took_s=loop.time() - began,
        )


async def keep_serving(environment: Environment) -> None:
    """Start another replica whenever all are dead."""
    number = 0
    while True:
        if not environment.running:
            number += 1
            await environment.start(f"again-{number}")
        await asyncio.sleep(_LOOK_S)


def _set_fault(
    environment: Environment, case: DeliveryCase, replicas: Sequence[Replica]
) -> Callable[[], bool]:
    """Arm the fault of the case; return whether it was reached, at the end."""
    for replica in replicas:
        replica.interceptor.start_counting()
    if case.boundary is None:
        return lambda: True
    if case.call_fault is DeliveryFault.LOST:
        lost = LostAnswer(case.boundary)
        for replica in replicas:
            replica.interceptor.call_fault = lost
        return lambda: lost.is_reached
    is_before = case.call_fault is DeliveryFault.KILL_BEFORE
    timing = CrashTiming.BEFORE if is_before else CrashTiming.AFTER
    crash = CrashPoint(case.boundary, timing, environment.kill)
    for replica in replicas:
        replica.interceptor.crash_point = crash
    return lambda: crash.is_spent


async def _wait_until_settled(
    environment: Environment, buyer: GatewayBuyer, *, until: float
) -> tuple[asyncpg.Record | None, int]:
    """Wait until nothing of the payment is under way; return its row and the counter."""
    while True:
        rows = await environment.query(
            "SELECT state, attempts, attempt_until, may_repeat FROM gateway_payments"
            " WHERE payer = $1 AND nonce = $2",
            buyer.payment.payer,
            buyer.payment.nonce,
        )
        counters = await environment.query("SELECT in_progress FROM wrapper_counters")
        settlements = await environment.query(
            "SELECT state FROM settlements WHERE finished_at IS NULL"
        )
        in_progress = sum(each["in_progress"] for each in counters)
        row = rows[0] if rows else None
        is_open = row is not None and (row["state"] == "reserved" or row["attempt_until"])
        if not is_open and not in_progress and not settlements:
            return row, in_progress
        if asyncio.get_running_loop().time() > until:
            return row, in_progress
        await asyncio.sleep(_LOOK_S)


async def record_purchase(world: World, authority: Authority) -> list[Boundary]:
    """Buy once without faults; return the calls in order."""
    upstream, limits = ScriptedUpstream(), WrapperLimits()
    async with open_gateway(world, authority, upstream, limits=limits) as environment:
        replica = await environment.start("a")
        replica.interceptor.start_counting()
        buyer = GatewayBuyer(environment, await environment.payment(), SLUG, "GET")
        answer = await buyer.ask(replica)
        if answer.status != 200:
            raise AssertionError(f"a purchase without faults was answered {answer}")
        await replica.interceptor.wait_until_quiet(0.1)
        return list(replica.interceptor.calls)
