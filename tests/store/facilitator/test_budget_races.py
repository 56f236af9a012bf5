"""Sponsor budgets under concurrent callers of two processes and over broken connections."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, cast

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import BudgetRefusal, Budgets, BudgetScope
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Claim, Recording
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import SentEnvelope
from support.budgets import (
    CHARGED,
    CONFIRMED,
    DEAD,
    FAILED,
    FEE,
    TODAY,
    UNPROVEN,
    envelope,
    read_counters,
)
from support.claims import NET, claim
from support.manual_clock import START, ManualClock


async def test_concurrent_processes_never_exceed_a_budget_and_release_all_of_it(
    database: Database, other_pool: Database
) -> None:
    """Ten journals on two pools record concurrently against the same counters."""
    room, count = 37, 100
    budgets = Budgets(total=Stroops(1000 * room * FEE), payer=Stroops(room * FEE + FEE - 1))
    journals = [
        SettlementJournal(pool, ManualClock(), {NET: budgets})
        for pool in (database, other_pool)
        for _ in range(5)
    ]
    claims = [claim(n) for n in range(count)]
    for journal in journals:  # every pool has its connections
        await asyncio.gather(*map(journal.claim, claims))
    recorded = await asyncio.gather(
        *(journals[n % 10].record_sending(claims[n], envelope(n)) for n in range(count))
    )
    written = [n for n, each in enumerate(recorded) if each is Recording.WRITTEN]
    assert len(written) == room
    assert set(recorded) == {Recording.WRITTEN, BudgetRefusal(BudgetScope.PAYER)}
    assert (await read_counters(database))["payer"] == room * FEE
    ended = await asyncio.gather(
        *(
            journals[n % 10].record_final(envelope(n).tx_hash, DEAD)
            for n in written
            for _ in range(2)
        ),
        *(journals[-n % 10].record_final(envelope(n).tx_hash, DEAD) for n in written),
    )
    assert ended.count(True) == room
    assert await read_counters(database) == {}


# the control: a build that reserves nothing for losses
_RESERVES_NO_LOSS: Final = """
    CREATE FUNCTION forget_risk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.fee_lost := 0;
        RETURN NEW;
    END $$;
    CREATE TRIGGER forget_risk BEFORE UPDATE ON settlements
        FOR EACH ROW WHEN (NEW.state = 'sending') EXECUTE FUNCTION forget_risk();
"""


async def pay_concurrently(pools: Sequence[Database], budgets: Budgets, count: int) -> int:
    """Pay `count` times concurrently as one payer; return the number of payments sent.

    Every payment sent fails on the ledger.
    """
    journals = [
        SettlementJournal(pools[n % len(pools)], ManualClock(), {NET: budgets})
        for n in range(count)
    ]
    claims = [claim(n) for n in range(count)]
    await asyncio.gather(*(each.claim(claims[n]) for n, each in enumerate(journals)))
    recorded = await asyncio.gather(
        *(each.record_sending(claims[n], envelope(n)) for n, each in enumerate(journals))
    )
    assert set(recorded) <= {Recording.WRITTEN, BudgetRefusal(BudgetScope.PAYER_LOSS)}
    written = [n for n, each in enumerate(recorded) if each is Recording.WRITTEN]
    for n in written:
        assert await journals[n].record_final(envelope(n).tx_hash, FAILED)
    return len(written)


async def test_concurrent_failing_payments_cost_at_most_the_loss_limit(
    database: Database, other_pool: Database
) -> None:
    budgets = Budgets(payer_loss=Stroops(3 * FEE - 1))
    assert await pay_concurrently((database, other_pool), budgets, 20) == 3
    assert (await read_counters(database))["payer_loss"] == 3 * CHARGED <= budgets.payer_loss
    journal = SettlementJournal(database, ManualClock(), {NET: budgets})
    late = claim(99)
    await journal.claim(late)
    assert await journal.record_sending(late, envelope(99)) is Recording.WRITTEN, (
        "the fees were lower"
    )


async def test_concurrent_failing_payments_exceed_the_loss_limit_without_reservations(
    database: Database, other_pool: Database
) -> None:
    budgets = Budgets(payer_loss=Stroops(3 * FEE - 1))
    async with database.connection() as db:
        await db.execute(_RESERVES_NO_LOSS)
        try:
            assert await pay_concurrently((database, other_pool), budgets, 20) == 20
        finally:  # the next test has the same database
            await db.execute("DROP FUNCTION forget_risk CASCADE")


class Traffic:
    """Payments with random steps, each through one of two processes."""

    def __init__(self, journals: list[SettlementJournal]) -> None:
        self._journals, self._draw = journals, random.Random(20_261_121)
        self.refused: set[BudgetScope | None] = set()

    async def pay(self, nonce: int) -> None:
        draw = self._draw
        mine = claim(nonce, payer=draw.randrange(1, 6), network=draw.choice(list(Network)))
        sealed = envelope(nonce, fee=draw.randrange(1, FEE), source=draw.randrange(150))
        journal, other = draw.sample(self._journals, 2)
        await asyncio.sleep(draw.random() / 20)
        await journal.claim(mine)
        recorded = await journal.record_sending(mine, sealed)
        if isinstance(recorded, BudgetRefusal):
            self.refused.add(recorded.scope)
        if recorded is not Recording.WRITTEN:
            await other.release(mine.identity, mine.claim_id)
            return
        again = envelope(1000 + nonce, fee=draw.randrange(1, 2 * FEE), source=150 + nonce)
        if draw.random() < 0.3:
            replaced = await journal.replace(mine, again.in_place_of(sealed))
            sealed = again if replaced is Recording.WRITTEN else sealed
        await asyncio.sleep(draw.random() / 50)
        await self._finish(mine, sealed)

    async def _finish(self, mine: Claim, sealed: SentEnvelope) -> None:
        """Both processes record the outcome concurrently, or neither does."""
        charged = min(CHARGED, sealed.fee_limit)
        ending = self._draw.choice([CONFIRMED, FAILED, DEAD, UNPROVEN, None])
        if self._draw.random() < 0.2:
            steps = [
                each.withdraw(mine.identity, sealed.tx_hash, claim_id=mine.claim_id)
                for each in self._journals
            ]
        elif ending is None:
            steps = [self._journals[0].record_submitted(sealed.tx_hash)]
        else:
            if ending.fee_charged is not None:
                ending = replace(ending, fee_charged=charged)
            steps = [each.record_final(sealed.tx_hash, ending) for each in self._journals]
            steps.append(self._journals[1].record_submitted(sealed.tx_hash))
        await asyncio.gather(*steps)


async def test_counters_match_the_rows_under_random_interleaving_of_two_processes(
    database: Database, other_pool: Database
) -> None:
    budgets = Budgets(total=Stroops(400 * FEE), payer=Stroops(5 * FEE), pay_to=Stroops(20 * FEE))
    traffic = Traffic(
        [
            SettlementJournal(pool, ManualClock(), dict.fromkeys(Network, budgets))
            for pool in (database, other_pool)
        ]
    )
    paying = asyncio.gather(*map(traffic.pay, range(250)))
    fullest: dict[BudgetScope, float] = {}
    while not paying.done():
        async with database.connection() as db:
            assert await budget_store.find_drift(db) == []
            counters = await budget_store.read_largest_counters(db, NET, TODAY, each=1)
        for counter, stroops in counters:
            share = stroops / (budgets.limit(counter.scope) or 10**12)
            fullest[counter.scope] = max(share, fullest.get(counter.scope, 0))
    await paying
    assert max(fullest.values()) <= 1
    assert traffic.refused == {BudgetScope.PAYER, BudgetScope.PAY_TO}, "both edges were reached"
    assert (await read_counters(database))["total"] > 0


async def test_record_sending_is_refused_on_every_process_after_the_kill_switch(
    database: Database, other_pool: Database
) -> None:
    journals = [SettlementJournal(pool, ManualClock()) for pool in (database, other_pool)]
    claims = [claim(n) for n in range(60)]
    await asyncio.gather(*(journals[0].claim(each) for each in claims))
    mine = claims[0]
    await journals[0].record_sending(mine, envelope(0))

    async def stop() -> int:
        async with database.transaction() as db:
            await budget_store.lock_networks(db, [NET])
            assert await budget_store.stop_network(db, NET, at=START)
        async with database.connection() as db:
            rows = await db.fetch("SELECT FROM settlements WHERE state = 'sending'")
            return len(rows)

    sendings = [
        journals[n % 2].record_sending(claims[n], envelope(n)) for n in range(1, len(claims))
    ]
    at_stop, *recorded = await asyncio.gather(stop(), *sendings)
    assert 1 + recorded.count(Recording.WRITTEN) == at_stop, "nothing after the stop had ended"
    assert await journals[1].record_sending(claims[0], envelope(61)) is Recording.CLAIM_LOST
    assert await journals[1].record_sending(claims[0], envelope(0)) is Recording.WRITTEN, (
        "it is already"
    )
    over = await journals[0].replace(mine, envelope(99).in_place_of(envelope(0)))
    assert over == BudgetRefusal(None)
    late = claim(77)
    await journals[1].claim(late)
    assert await journals[1].record_sending(late, envelope(77)) == BudgetRefusal(None)
    async with database.connection() as db:
        assert await budget_store.start_network(db, NET)
    assert await journals[1].record_sending(late, envelope(77)) is Recording.WRITTEN


class Fragile:
    """A connection that now and then breaks before a statement, or before its answer comes."""

    def __init__(self, connection: Connection, draw: random.Random) -> None:
        self._connection, self._draw = connection, draw

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._connection, name)
        if name not in ("execute", "fetch", "fetchrow", "fetchval"):
            return real

        async def called(*arguments: object) -> object:
            fate = self._draw.random()
            if fate < 0.05:
                self._connection.terminate()
            answer = await real(*arguments)
            if fate > 0.95:
                self._connection.terminate()
                raise ConnectionResetError
            return answer

        return called


class BreakingDatabase(Database):
    """A pool of such connections."""

    draw = random.Random(20_261_121)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        async with super().connection() as connection:
            yield cast("Connection", Fragile(connection, self.draw))


async def test_counters_match_the_rows_when_connections_break(
    database: Database, postgres_url: Secret[str]
) -> None:
    written, ended, unknown = set[int](), set[int](), set[int]()
    async with BreakingDatabase(postgres_url) as broken:
        journal = SettlementJournal(broken, ManualClock(), {NET: Budgets(total=Stroops(10**12))})

        async def pay(nonce: int) -> None:
            mine, sealed = claim(nonce), envelope(nonce)
            try:
                await journal.claim(mine)
                if await journal.record_sending(mine, sealed) is Recording.WRITTEN:
                    written.add(nonce)
                if await journal.record_final(sealed.tx_hash, CONFIRMED):
                    ended.add(nonce)
            except DatabaseUnavailable:
                unknown.add(nonce)

        for start in range(0, 400, 4):  # one failure in a row is made good within the call
            await asyncio.gather(*map(pay, range(start, start + 4)))
    assert ended <= written
    assert min(len(ended), len(unknown)) > 20, "both happened"
    await read_counters(database)
    async with database.connection() as db:
        rows = {row["nonce"]: row["state"] for row in await db.fetch("SELECT * FROM settlements")}
    assert all(rows[nonce] in ("sending", "confirmed") for nonce in written)
    assert all(rows[nonce] == "confirmed" for nonce in ended)
