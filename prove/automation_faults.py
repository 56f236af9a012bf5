"""What goes wrong in a case: at one call of whichever replica, and with the first envelope."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from stellar_sdk import Keypair

from farebox.local.faults import LocalFault
from prove.ask_node import land_operation, read_newest
from prove.automation_case import Fate, FaultKind, RunCase
from prove.environment import Environment, Replica
from prove.interceptor import (
    Boundary,
    ConnectionCut,
    CrashPoint,
    CrashTiming,
    ServerError,
    lose_answer,
)
from prove.run_envelopes import RunEnvelope
from prove.run_interceptor import SEND, run_interceptor_of

T = TypeVar("T")
_DOWN_S: Final = 2.0
_LATE_S: Final = 3.0  # longer than a call to a node may take
_TAKEN_WITHIN_S: Final = 5.0
_HELD_S: Final = 1.0  # until a call of a dead process arrives
_LOOK_S: Final = 0.1
_TIMINGS: Final = {
    FaultKind.KILLED_BEFORE: CrashTiming.BEFORE,
    FaultKind.KILLED_AFTER: CrashTiming.AFTER,
    FaultKind.KILLED_LATE: CrashTiming.LATE,
}
_LOOKS: Final = ("getTransaction", "getTransactions")


class RunFault:
    """The fault of one case; `hit` is set once it happens."""

    def __init__(self, environment: Environment, case: RunCase) -> None:
        self._environment, self._case = environment, case
        self._replicas: Sequence[Replica] = ()
        self.hit = asyncio.Event()
        timing = _TIMINGS.get(case.fault)
        self.crash_point = (
            None if timing is None else CrashPoint(case.boundary, timing, environment.kill)
        )

    def install(self, replicas: Sequence[Replica]) -> None:
        """Let these replicas meet the fault."""
        self._replicas = replicas
        for replica in replicas:
            replica.interceptor.crash_point = self.crash_point
            replica.interceptor.call_fault = self

    async def __call__(self, boundary: Boundary, deliver: Callable[[], Awaitable[T]]) -> T:
        """See `CallFault`."""
        is_here = boundary == self._case.boundary and not self.hit.is_set()
        if not is_here or self.crash_point is not None:
            return await deliver()
        self.hit.set()
        if self._case.fault in (FaultKind.CUT_BEFORE, FaultKind.CUT_AFTER, FaultKind.ERROR):
            return await self._break(deliver)
        if self._case.fault is FaultKind.TWICE:
            await deliver()
        else:
            await self._delay()
        return await deliver()

    async def _break(self, deliver: Callable[[], Awaitable[T]]) -> T:
        if self._case.fault is FaultKind.ERROR:
            raise ServerError("XX000")
        if self._case.fault is FaultKind.CUT_AFTER:
            await lose_answer(deliver)
        raise ConnectionCut

    async def _delay(self) -> None:
        """Let happen what happens before the call arrives."""
        match self._case.fault:
            case FaultKind.LATE:
                await asyncio.sleep(_LATE_S)
            case FaultKind.DOWN:
                # in a task of its own: this call's connection breaks too
                self._environment.later.append(asyncio.create_task(self._take_down()))
                raise ConnectionCut
            case FaultKind.STALLED:
                await self._lose_lease()
            case FaultKind.TRY_AGAIN:
                await self._environment.devnet.fault(
                    {"kind": "try_again_later"}, methods=(SEND,), count=3
                )
            case FaultKind.NOT_FOUND:
                await self._environment.devnet.fault(
                    {"kind": "ingestion_delay", "ledgers": 3}, methods=_LOOKS, count=10
                )
            case _:
                raise LookupError(self._case.fault)

    async def _take_down(self) -> None:
        """Lose the call's side for a while, for every replica."""
        side = self._case.boundary.label.partition(" ")[0]
        interceptors = [run_interceptor_of(each) for each in self._environment.running]
        for each in interceptors:
            each.down = frozenset({side})
        if side == "sql":
            for replica in self._environment.running:
                replica.sql.break_connections()
        await asyncio.sleep(_DOWN_S)
        for each in interceptors:
            each.down = frozenset()

    async def _lose_lease(self) -> None:
        """Let the leases pass while the call is held, until another replica has taken a run."""
        before = await self._epochs()
        await pass_leases(self._environment)
        let_all_claim(self._environment)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TAKEN_WITHIN_S):
                while True:
                    await asyncio.sleep(_LOOK_S)
                    if await self._epochs() != before:
                        break
                await asyncio.sleep(_HELD_S)

    async def _epochs(self) -> list[tuple[object, ...]]:
        rows = await self._environment.query(
            "SELECT id, lease_epoch FROM automation_runs ORDER BY id"
        )
        return [tuple(row) for row in rows]

    async def wait_until_hit(
        self, ended: Callable[[], Awaitable[bool]], *, within_s: float
    ) -> bool:
        """Wait for the fault; False when the plans ended, or the time, before it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not self._has_happened():
                    if await ended():
                        return self._has_happened()
                    await asyncio.sleep(_LOOK_S)
        if self.crash_point is not None and self.crash_point.is_spent:
            await self.crash_point.crashed.wait()  # the connection may break before the end
        return self._has_happened()

    def _has_happened(self) -> bool:
        if self.crash_point is not None:
            return self.crash_point.crashed.is_set()
        return self.hit.is_set()

    def spend(self) -> None:
        """Let no later call meet the fault."""
        self.hit.set()
        if self.crash_point is not None:
            self.crash_point.is_spent = True

    async def deliver_held_call(self) -> None:
        """Let the held call of a dead process arrive."""
        if self.crash_point is not None and self.crash_point.timing is CrashTiming.LATE:
            await asyncio.sleep(_HELD_S)
            await self.crash_point.deliver_held_call()


async def pass_leases(environment: Environment) -> None:
    """Let every lease pass, as a minute without a heartbeat does; a held call's rows are left."""
    await environment.query(
        """
        UPDATE automation_leases SET until = clock_timestamp() - interval '1 s'
        WHERE run_id IN (SELECT run_id FROM automation_leases FOR UPDATE SKIP LOCKED)
        """
    )


async def pass_waits(environment: Environment) -> None:
    """Let every wait before another attempt pass."""
    await environment.query(
        """
        UPDATE automation_runs SET due_at = clock_timestamp()
        WHERE id IN (
            SELECT id FROM automation_runs
            WHERE state IN ('retry_wait', 'deferred') AND due_at > clock_timestamp()
            FOR UPDATE SKIP LOCKED)
        """
    )


def let_all_claim(environment: Environment) -> None:
    """Let every replica claim runs from now on."""
    for replica in environment.running:
        run_interceptor_of(replica).may_claim.set()


_LEAPS_S: Final = (5, 15, 40)
_NO_LEDGER_S: Final = 3.0
_STEP_S: Final = 21
_STEP_LEDGERS: Final = 5
_PAST_LEDGERS: Final = 14  # more than an attempt may wait
_ROUNDS: Final = 8


class EnvelopeFate:
    """Acts on the first envelope: `before` and `after` the node has it; `again`: on the second."""

    def __init__(
        self, environment: Environment, fate: Fate, stranger: Keypair, rng: random.Random
    ) -> None:
        self._environment, self._fate, self._stranger = environment, fate, stranger
        self._is_stranger_first = rng.random() < 0.5
        self._leap_s = rng.choice(_LEAPS_S)
        self._kept: RunEnvelope | None = None

    async def before(self, envelope: RunEnvelope) -> None:
        """Let the stranger act, if it is the first."""
        if self._fate is Fate.STRANGER and self._is_stranger_first:
            await self._replay(envelope)
            await self._environment.devnet.close()

    async def after(self, envelope: RunEnvelope) -> None:
        """Let the network do with the envelope what the case says."""
        devnet = self._environment.devnet
        match self._fate:
            case Fate.STRANGER if not self._is_stranger_first:
                await self._replay(envelope)
            case Fate.FOREIGN:
                with contextlib.suppress(LocalFault):  # the node has not taken it
                    await devnet.land_wrapped(envelope.tx_hash)
            case Fate.CLOCK:
                await devnet.jump(self._leap_s)
            case Fate.SLOW:
                self._environment.ledger_closer.pause()
                self._environment.later.append(asyncio.create_task(self._close_later()))
            case Fate.NEVER | Fate.KEPT:
                self._kept = envelope if self._fate is Fate.KEPT else None
                dropping = asyncio.create_task(self._outlive(envelope))
                self._environment.later.append(dropping)
            case _:
                return

    async def again(self, envelope: RunEnvelope) -> None:
        """Let the stranger use what it has kept of the first envelope, before the second one."""
        kept, self._kept = self._kept, None
        if kept is not None and envelope.inner_hash != kept.inner_hash:
            await self._replay(kept)
            await self._environment.devnet.close()

    async def _close_later(self) -> None:
        await asyncio.sleep(_NO_LEDGER_S)
        await self._environment.ledger_closer.resume(slowly=True)

    async def _outlive(self, envelope: RunEnvelope) -> None:
        """Drop what waits until the envelope's bounds have passed."""
        closer, devnet = self._environment.ledger_closer, self._environment.devnet
        began, _ = await read_newest(self._environment)
        await closer.drop_pending()
        for _ in range(_ROUNDS):
            ledger, closed_at = await read_newest(self._environment)
            if closed_at > envelope.max_time and ledger > began + _PAST_LEDGERS:
                break
            await devnet.jump(_STEP_S, ledgers=_STEP_LEDGERS)
        await closer.resume(slowly=True)

    async def _replay(self, envelope: RunEnvelope) -> None:
        """Send the signed entry of the envelope in a transaction of the stranger's."""
        with contextlib.suppress(LocalFault):  # the network refuses it by now
            await land_operation(self._environment, envelope.operation, self._stranger)
