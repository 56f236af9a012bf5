"""Run one case: settle while a statement of the settlement fails, and judge the result."""

import asyncio
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prove.accounting import audit_balances, read_balances
from prove.boundaries import all_of, number_of
from prove.caller import NodesCaller
from prove.database_faults import ERRORS, DatabaseFault, FaultyDatabase, StatementFault
from prove.environment import Environment, Replica, open_environment
from prove.interceptor import Boundary
from prove.outcome import Outcome
from prove.payment_check import (
    SettlementViolation,
    group_by_payment,
    read_ledger,
    read_row,
    wait_until_final,
)
from prove.seller_verdict import judge_at_database
from prove.world import World

STUCK_MS: Final = 5_000
NEVER_MS: Final = 60_000
_WITHIN_S: Final = NEVER_MS / 1000
_REACHED_WITHIN_S: Final = 10.0
_NAMES: Final = ("a", "b")
_AT_ONCE: Final = 3  # payments of a case with several
SETTINGS: Final = {  # the default waits: the proof measures what they add to an outage
    "FAREBOX_SETTLE_DEADLINE_S": "50",
    "FAREBOX_CHANNEL_WAIT_S": "10",
    "FAREBOX_RPC_TIMEOUT_S": "10",
    "FAREBOX_TRANSACTION_LIFE_S": "45",
    "FAREBOX_RATE_PER_ADDRESS": "100000",  # so that requests are counted
}
Boundaries = Mapping[bool, Sequence[Boundary]]  # with an Idempotency-Key, and without


@dataclass(frozen=True, slots=True)
class DatabaseCase:
    """One fault and its conditions; `seed` and `number` identify it for a replay."""

    seed: int
    number: int
    boundary: Boundary
    fault: DatabaseFault
    is_named: bool = False  # the request has an Idempotency-Key
    replicas: int = 1
    is_at_both: bool = False  # both replicas get the body at once
    payments: int = 1

    def __str__(self) -> str:
        topology = "one replica" if self.replicas == 1 else "two replicas"
        topology += " at once" if self.is_at_both else ""
        named = ", named" if self.is_named else ""
        return (
            f"SEED={self.seed} CASE={self.number}: {self.fault} at {self.boundary}; {topology}, "
            f"payments: {self.payments}{named}"
        )


@dataclass(frozen=True, kw_only=True)
class DatabaseOutcome(Outcome[DatabaseCase, SettlementViolation]):
    """The result of a case; `stuck_ms` is how long a payment waited after the fault."""

    stuck_ms: int

    @property
    def is_stuck(self) -> bool:
        """Whether a payment waited too long after the database recovered."""
        return self.stuck_ms > STUCK_MS

    @property
    def is_failed(self) -> bool:
        """Whether there is a finding, or a payment was stuck."""
        return bool(self.findings) or self.is_stuck

    def __str__(self) -> str:
        return (
            f"{self.case} -> answered {self.stuck_ms} ms after it, answers {self.answers}: "
            f"{self.why}"
        )


def cases_of(boundaries: Boundaries, seed: int) -> list[DatabaseCase]:
    """Plan the cases of a seed: all combinations for the first one, random ones for the others."""
    return sweep(boundaries) if seed == 1 else draw_cases(boundaries, seed)


def sweep(boundaries: Boundaries) -> list[DatabaseCase]:
    """Plan every statement with every kind of fault: the cases of seed 1.

    Requests have an idempotency key only for statements that need one.
    """
    plain = boundaries[False]
    statements = [(each, False) for each in plain]
    statements += [(each, True) for each in boundaries[True] if each not in plain]
    return [
        DatabaseCase(1, number_of(boundary, kind), boundary, DatabaseFault(kind), is_named=is_named)
        for kind in StatementFault
        for boundary, is_named in statements
    ]


def draw_cases(boundaries: Boundaries, seed: int) -> list[DatabaseCase]:
    """Plan every statement once with random conditions."""
    return [_draw_case(boundaries, each, seed) for each in all_of(boundaries)]


def _draw_case(boundaries: Boundaries, boundary: Boundary, seed: int) -> DatabaseCase:
    rng = random.Random(f"database {seed} {boundary}")
    kind = rng.choice(list(StatementFault))
    is_lasting = kind is not StatementFault.DELAYED and rng.random() < 0.6
    fault = DatabaseFault(
        kind,
        sqlstate=rng.choice(ERRORS),
        lasts_s=round(rng.uniform(0.3, 4.0), 1) if is_lasting else 0.0,
        is_silent=kind is StatementFault.LOST and is_lasting and rng.random() < 0.5,
        is_early=kind is not StatementFault.DELAYED or rng.random() < 0.5,
    )
    replicas = rng.choice((1, 2))
    return DatabaseCase(
        seed,
        number_of(boundary, ""),
        boundary,
        fault,
        is_named=rng.choice([each for each in (False, True) if boundary in boundaries[each]]),
        replicas=replicas,
        is_at_both=replicas > 1 and rng.random() < 0.5,
        payments=rng.choice((1, 1, _AT_ONCE)),
    )


async def run_case(
    world: World, case: DatabaseCase, *, within_s: float = _WITHIN_S
) -> DatabaseOutcome:
    """Run one case; every payment must be final `within_s` seconds after the fault."""
    async with open_environment(world, SETTINGS) as environment:
        replicas = [await environment.start(name) for name in _NAMES[: case.replicas]]
        payments = [await environment.payment(turn) for turn in range(case.payments)]
        before = await read_balances(environment)
        faulty = FaultyDatabase(case.boundary, case.fault)
        for replica in replicas:
            replica.interceptor.call_fault = faulty
            replica.interceptor.start_counting()
        callers = [NodesCaller(environment, payment) for payment in payments]
        await _pay(environment, case, callers, replicas, faulty, within_s)
        by_payment = group_by_payment(await read_ledger(environment))
        findings = await audit_balances(environment, before)
        for caller in callers:
            own = by_payment[caller.payment.payer, caller.payment.nonce]
            row = await read_row(environment, caller.payment)
            is_final = await wait_until_final(environment, caller.payment, until=0.0)
            findings += judge_at_database(
                own, row, caller, is_final=is_final, is_replayed=case.is_named
            )
        return DatabaseOutcome(
            case=case,
            is_reached=faulty.is_reached,
            stuck_ms=max(_stuck_ms(caller, faulty) for caller in callers),
            findings=findings,
            answers=[str(answer) for caller in callers for answer in caller.answers],
        )


async def _pay(
    environment: Environment,
    case: DatabaseCase,
    callers: Sequence[NodesCaller],
    replicas: Sequence[Replica],
    faulty: FaultyDatabase,
    within_s: float,
) -> None:
    """Have every caller repeat its request until it is answered, then once at every replica.

    A process that could not deliver a success keeps it for a repeated request; any other answer
    does not change.
    """
    payers = []
    for index, caller in enumerate(callers):
        if case.is_named:
            caller.headers["idempotency-key"] = f"order-{case.seed}-{case.number}-{index}"
        paying = caller.pay(replicas, after_s=0, until=math.inf, at_both=case.is_at_both)
        payers.append(asyncio.create_task(paying))
    await asyncio.wait(payers, timeout=_REACHED_WITHIN_S)
    if not faulty.is_reached:
        faulty.end()
    await faulty.wait_until_recovered()
    until = asyncio.get_running_loop().time() + within_s
    _, unfinished = await asyncio.wait(payers, timeout=within_s)
    for task in unfinished:
        task.cancel()
    for caller in callers:
        if caller.is_answered:
            await wait_until_final(environment, caller.payment, until=until)
            for replica in replicas:
                await caller.ask(replica)


def _stuck_ms(caller: NodesCaller, faulty: FaultyDatabase) -> int:
    if not caller.is_settled:
        return NEVER_MS
    return max(0, round((caller.settled_at - faulty.recovered_at) * 1000))
