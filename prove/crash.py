"""Play one case: settle, kill at the boundary, let things go on, and see what came of it."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any, Final

from farebox.kernel.secret import Secret
from farebox.local.faults import LocalFault
from prove.arena import Arena, Replica, SignedPayment, opened_arena
from prove.caller import Caller
from prove.case import Asking, Case, Crew
from prove.gate import Boundary, Side, Strike
from prove.ledgers import Landing
from prove.truth import (
    Answer,
    Fault,
    Found,
    grouped,
    is_answer_cut,
    judge,
    read_ledger,
    read_row,
    settled_down,
)
from prove.world import World

UNRESOLVED_AFTER_S: Final = 120.0
_REACHED_WITHIN_S: Final = 8.0
_IDLE_S: Final = 6.0  # longer than any loop rests that a settlement may meet
_LOOK_S: Final = 0.05
_LATER_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to."""

    case: Case
    is_reached: bool
    found: list[Found]
    answer_cut: int
    answers: list[str] = field(default_factory=list)
    state: str = "free"
    took_s: float = 0.0

    def __str__(self) -> str:
        why = "; ".join(f"{found.fault}: {found.why}" for found in self.found)
        return f"{self.case} -> {self.state}, answers {self.answers}: {why or 'as it should be'}"


async def record(world: World, crew: Crew) -> list[Boundary]:
    """The calls of one undisturbed settlement, in the order they were made."""
    async with opened_arena(world) as arena:
        replicas = await _crew(arena, crew)
        caller = Caller(arena, await arena.payment())
        for replica in replicas:
            replica.gate.open()
        await asyncio.gather(*(caller.ask(replica) for replica in replicas))
        for replica in replicas:  # what is done after the answer belongs to it as well
            await replica.gate.quiet(0.1)
        if sum(answer.is_success for answer in caller.answers) != 1:
            raise LocalFault(f"an undisturbed settlement was answered {caller.answers}")
        return [boundary for replica in replicas for boundary in replica.gate.crossed]


async def record_idle(world: World) -> frozenset[str]:
    """What a replica asks by itself, while nobody wants anything of it."""
    async with opened_arena(world) as arena:
        replica = await arena.start("a")
        replica.gate.open()
        await asyncio.sleep(_IDLE_S)
        return frozenset(boundary.label for boundary in replica.gate.crossed)


async def _crew(arena: Arena, crew: Crew) -> list[Replica]:
    """The replicas that get the body at the beginning."""
    if crew is Crew.ONE:
        return [await arena.start("a")]
    both = list(await asyncio.gather(arena.start("a"), arena.start("b")))
    return both if crew is Crew.TWO_AT_ONCE else both[:1]


async def play(world: World, case: Case) -> Outcome:
    """The outcome of one case."""
    began = asyncio.get_running_loop().time()
    async with opened_arena(world) as arena:
        first = await _crew(arena, case.crew)
        payment = await arena.payment()
        strike = Strike(case.boundary, case.side, arena.kill)
        dice = random.Random(f"{case.seed} {case.number}")
        for replica in first:
            replica.gate.strike = strike
            replica.gate.pause = lambda: dice.random() * case.jitter_ms / 1000
            replica.gate.open()
        if case.fault is not None:
            await arena.devnet.fault(case.fault.effect, **case.fault.rule)
        caller = Caller(arena, payment)
        asked = [asyncio.create_task(caller.ask(replica)) for replica in first]
        is_reached = await _until_struck(strike, asked)
        strike.is_spent = True
        await _aftermath(arena, case, strike)
        until = asyncio.get_running_loop().time() + UNRESOLVED_AFTER_S
        await asyncio.gather(*asked)
        if case.asking is Asking.REPEATS and not caller.is_answered:
            await caller.insist(until=until)
        await asyncio.gather(*arena.later)
        is_down = await settled_down(arena, payment, until=until)
        await arena.devnet.clear_faults()
        return await _outcome(arena, case, payment, caller, is_reached, is_down, began)


async def _until_struck(strike: Strike, asked: list[asyncio.Task[Answer]]) -> bool:
    """Whether the boundary was reached; not when everybody was answered without it."""
    answered = asyncio.gather(*asked)
    struck = asyncio.ensure_future(strike.struck.wait())
    try:
        ends: set[asyncio.Future[Any]] = {struck, answered}
        await asyncio.wait(ends, timeout=_REACHED_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
        if strike.is_spent:  # the answer may break off before the replica is quite dead
            await struck
    finally:
        struck.cancel()
    return strike.struck.is_set()


async def _aftermath(arena: Arena, case: Case, strike: Strike) -> None:
    """The network goes on, and a replica is there again, in the order the case wants."""
    if case.landing is Landing.NEVER:
        arena.hand.wait()
    if case.side is Side.BEFORE and case.landing is Landing.LANDS and _is_sending(case):
        await strike.deliver_held()  # the bytes were on their way already
    if case.is_landing_first:
        await _network_goes_on(arena, case)
    if not arena.alive:
        await _restart(arena, case)
    if not case.is_landing_first:
        arena_goes_on = asyncio.create_task(_later(arena, case))
        arena.later.append(arena_goes_on)
    if case.side is Side.LATE:
        await strike.deliver_held()


async def _restart(arena: Arena, case: Case) -> None:
    """A replica in the place of the dead one; where the dice say so it dies as well, once."""
    replica = await arena.start("c")
    if case.second_kill:
        strike = Strike(case.second_kill, Side.AFTER, arena.kill)
        replica.gate.strike = strike
        replica.gate.open()
        arena.waiting.append(asyncio.create_task(_replace_again(arena, strike)))


async def _replace_again(arena: Arena, strike: Strike) -> None:
    await strike.struck.wait()
    await arena.start("d")


def _is_sending(case: Case) -> bool:
    return case.boundary.label == "rpc sendTransaction"


async def _later(arena: Arena, case: Case) -> None:
    await asyncio.sleep(_LATER_S)
    await _network_goes_on(arena, case)


async def _network_goes_on(arena: Arena, case: Case) -> None:
    await (arena.hand.hasten() if case.landing is Landing.LANDS else arena.hand.starve())


async def _outcome(
    arena: Arena,
    case: Case,
    payment: SignedPayment,
    caller: Caller,
    is_reached: bool,
    is_down: bool,
    began: float,
) -> Outcome:
    """What the ledger, the journal and the answers say, after a last try to have more happen."""
    if case.asking is Asking.REPEATS and is_down:
        await _once_more(arena, caller)
    await arena.hand.relent()
    row = await read_row(arena, payment)
    found = []
    if row is not None and row.state == "dead" and row.envelope is not None:
        found += await _resurrected(arena, row.envelope)
    own = grouped(await read_ledger(arena))[payment.payer, payment.nonce]
    found += judge(own, row, caller.answers, is_settled_down=is_down)
    return Outcome(
        case,
        is_reached,
        found,
        answer_cut=int(is_answer_cut(row, caller.answers)),
        answers=[str(answer) for answer in caller.answers],
        state=row.state if row is not None else "free",
        took_s=asyncio.get_running_loop().time() - began,
    )


async def _once_more(arena: Arena, caller: Caller) -> None:
    """The body again after the last word: it must not change."""
    for replica in arena.running:
        if replica.gate.strike is not None:
            replica.gate.strike.is_spent = True
    while True:
        if arena.alive:
            await caller.ask(arena.alive[0])
            return
        await asyncio.sleep(_LOOK_S)


async def _resurrected(arena: Arena, envelope: bytes) -> list[Found]:
    """What is called dead is handed to the network once more: it must not be able to land."""
    try:
        await arena.devnet.land(Secret(envelope))
    except LocalFault:
        return []
    return [Found(Fault.LOST, "the journal says dead, and the envelope can still land")]
