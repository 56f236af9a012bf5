"""The sponsor's budgets on a real database: exact for many callers, processes and interleavings."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, cast
from uuid import uuid4

import pytest

from farebox.facilitator import budget_store
from farebox.facilitator.budget import Budgets, Counter, OverBudget, Scope
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal import SettlementJournal
from farebox.facilitator.settlement import Claim, Ending, Recording, SettlementState
from farebox.facilitator.sponsor import Sponsor
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason
from support.manual_clock import START, ManualClock

NET: Final = Network.TESTNET
TODAY: Final = date(2026, 11, 21)
FEE: Final = 30_000
CHARGED: Final = 23_000
CONFIRMED: Final = Ending(SettlementState.CONFIRMED, ledger=9, fee_charged=CHARGED)
FAILED: Final = Ending(
    SettlementState.FAILED, Reason.TRANSACTION_FAILED, ledger=9, fee_charged=CHARGED
)
DEAD: Final = Ending(SettlementState.DEAD, Reason.TRANSACTION_FAILED)
UNPROVEN: Final = Ending(SettlementState.UNPROVEN, Reason.OUTCOME_UNPROVEN)
PAYER_1: Final = account_address(bytes([1]) * 32)
PAY_TO: Final = account_address(bytes([200]) * 32)
ASSET: Final = contract_address(bytes(32))


def claim(nonce: int, *, payer: int = 1, network: Network = NET) -> Claim:
    return Claim(
        identity=PaymentIdentity(network, account_address(bytes([payer]) * 32), nonce),
        claim_id=uuid4(),
        request_digest=bytes(32),
        asset=ASSET,
        amount=BaseUnits(1),
        pay_to=PAY_TO,
        expires_at_ledger=200,
        claimed_at=START,
        max_timeout_s=60,
    )


def envelope(tag: int, *, fee: int = FEE, source: int | None = None) -> SentEnvelope:
    return SentEnvelope(
        tx_hash=tag.to_bytes(32),
        inner_hash=None,
        envelope=Secret(b"signed"),
        source=account_address((10_000 + (tag if source is None else source)).to_bytes(32)),
        source_sequence=7,
        max_time=START + timedelta(seconds=45),
        fee_limit=Stroops(fee),
        sent_after_ledger=100,
    )


class At(ManualClock):
    """A clock that can be set."""

    moment = START

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
async def other_pool(database: Database, postgres_url: Secret[str]) -> AsyncIterator[Database]:
    """The same database as another process has it."""
    async with Database(postgres_url) as pool:
        yield pool


async def stands_at(database: Database, day: date = TODAY) -> dict[str, int]:
    async with database.connection() as db:
        found = await budget_store.largest_counters(db, NET, day, each=1)
        assert await budget_store.find_drift(db) == []
    return {counter.scope.value: stroops for counter, stroops in found}


async def sent(journal: SettlementJournal, nonce: int, **how: int) -> Recording | OverBudget:
    mine = claim(nonce, payer=how.pop("payer", 1))
    await journal.claim(mine)
    recorded = await journal.sending(mine, envelope(nonce, **how))
    if isinstance(recorded, OverBudget):
        assert await journal.release(mine.identity, mine.claim_id)
    return recorded


ALL: Final = ("total", "payer", "pay_to", "other_assets")


async def test_the_highest_fee_is_held_from_sending_on_and_what_was_charged_stays(
    database: Database,
) -> None:
    journal = SettlementJournal(database, ManualClock())
    assert await stands_at(database) == {}
    assert await sent(journal, 1) is Recording.WRITTEN
    assert await stands_at(database) == dict.fromkeys(ALL, FEE)
    await journal.submitted(envelope(1).tx_hash)
    assert await stands_at(database) == dict.fromkeys(ALL, FEE)
    assert await journal.end(envelope(1).tx_hash, CONFIRMED)
    assert not await journal.end(envelope(1).tx_hash, DEAD), "given back once"
    assert await stands_at(database) == dict.fromkeys(ALL, CHARGED)


@pytest.mark.parametrize(
    ("ending", "kept", "lost"),
    [
        (CONFIRMED, CHARGED, 0),
        (replace(CONFIRMED, moved_more=True), CHARGED, CHARGED),
        (FAILED, CHARGED, CHARGED),
        (DEAD, 0, 0),
        (UNPROVEN, FEE, 0),
    ],
)
async def test_each_end_keeps_what_it_cost(
    database: Database, ending: Ending, kept: int, lost: int
) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    ends = await asyncio.gather(*(journal.end(envelope(1).tx_hash, ending) for _ in range(20)))
    assert ends.count(True) == 1
    stands = await stands_at(database)
    assert (stands.get("total", 0), stands.get("payer_loss", 0)) == (kept, lost)


async def test_a_withdrawn_envelope_gives_everything_back_once(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    row = await journal.find(claim(1).identity)
    assert row is not None
    tx_hash = envelope(1).tx_hash
    withdrawn = await asyncio.gather(
        *(journal.withdraw(row.identity, tx_hash, claim_id=row.claim_id) for _ in range(10))
    )
    assert withdrawn.count(True) == 1
    assert await stands_at(database) == {}


async def test_replacing_an_envelope_changes_what_is_held(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock(), {NET: Budgets(payer=Stroops(2 * FEE))})
    mine = claim(1)
    await journal.claim(mine)
    await journal.sending(mine, envelope(1))
    dearer, too_dear = envelope(2, fee=2 * FEE), envelope(3, fee=2 * FEE + 1)
    dead = envelope(1).tx_hash
    assert await journal.replace(mine, dead=dead, sent=too_dear) == OverBudget(Scope.PAYER)
    assert (await stands_at(database))["payer"] == FEE
    assert await journal.replace(mine, dead=dead, sent=dearer) is Recording.WRITTEN
    assert (await stands_at(database))["payer"] == 2 * FEE
    assert await journal.replace(mine, dead=dead, sent=dearer) is Recording.CLAIM_LOST
    cheaper = envelope(4, fee=1)
    assert await journal.replace(mine, dead=dearer.tx_hash, sent=cheaper) is Recording.WRITTEN
    assert (await stands_at(database))["payer"] == 1
    assert await journal.withdraw(mine.identity, cheaper.tx_hash, claim_id=mine.claim_id)
    assert await stands_at(database) == {}


async def test_it_is_given_back_to_the_day_it_was_taken_from(database: Database) -> None:
    clock = At()
    clock.moment = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    budgets = Budgets(payer=Stroops(FEE))
    journal = SettlementJournal(database, clock, {NET: budgets})
    await sent(journal, 1)
    assert await sent(journal, 2) == OverBudget(Scope.PAYER)
    clock.moment += timedelta(seconds=2)
    tomorrow = date(2026, 11, 22)
    assert await sent(journal, 3) is Recording.WRITTEN, "a new day"
    await journal.end(envelope(1).tx_hash, CONFIRMED)
    assert (await stands_at(database))["total"] == CHARGED
    assert (await stands_at(database, tomorrow))["total"] == FEE
    mine = claim(3)
    dearer = envelope(4, fee=FEE + 1)
    clock.moment += timedelta(days=1)
    assert await journal.replace(mine, dead=envelope(3).tx_hash, sent=dearer) == OverBudget(
        Scope.PAYER
    ), "the day the row counts on"


async def test_processes_at_the_edge_never_pass_it_and_all_is_given_back(
    database: Database, other_pool: Database
) -> None:
    """Ten journals on two pools, all at once: that many transactions look at the same counters."""
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
        *(journals[n % 10].sending(claims[n], envelope(n)) for n in range(count))
    )
    written = [n for n, each in enumerate(recorded) if each is Recording.WRITTEN]
    assert len(written) == room
    assert set(recorded) == {Recording.WRITTEN, OverBudget(Scope.PAYER)}
    assert (await stands_at(database))["payer"] == room * FEE
    ended = await asyncio.gather(
        *(journals[n % 10].end(envelope(n).tx_hash, DEAD) for n in written for _ in range(2)),
        *(journals[-n % 10].end(envelope(n).tx_hash, DEAD) for n in written),
    )
    assert ended.count(True) == room
    assert await stands_at(database) == {}


class Traffic:
    """Payments of which each does what is drawn for it, through one process or the other."""

    def __init__(self, journals: list[SettlementJournal]) -> None:
        self._journals, self._draw = journals, random.Random(20_261_121)
        self.refused: set[Scope | None] = set()

    async def pay(self, nonce: int) -> None:
        draw = self._draw
        mine = claim(nonce, payer=draw.randrange(1, 6), network=draw.choice(list(Network)))
        sealed = envelope(nonce, fee=draw.randrange(1, FEE), source=draw.randrange(150))
        journal, other = draw.sample(self._journals, 2)
        await asyncio.sleep(draw.random() / 20)
        await journal.claim(mine)
        recorded = await journal.sending(mine, sealed)
        if isinstance(recorded, OverBudget):
            self.refused.add(recorded.scope)
        if recorded is not Recording.WRITTEN:
            await other.release(mine.identity, mine.claim_id)
            return
        again = envelope(1000 + nonce, fee=draw.randrange(1, 2 * FEE), source=150 + nonce)
        if draw.random() < 0.3:
            replaced = await journal.replace(mine, dead=sealed.tx_hash, sent=again)
            sealed = again if replaced is Recording.WRITTEN else sealed
        await asyncio.sleep(draw.random() / 50)
        await self._finish(mine, sealed)

    async def _finish(self, mine: Claim, sealed: SentEnvelope) -> None:
        """Both processes find out at once, or nobody does."""
        charged = min(CHARGED, sealed.fee_limit)
        ending = self._draw.choice([CONFIRMED, FAILED, DEAD, UNPROVEN, None])
        if self._draw.random() < 0.2:
            steps = [
                each.withdraw(mine.identity, sealed.tx_hash, claim_id=mine.claim_id)
                for each in self._journals
            ]
        elif ending is None:
            steps = [self._journals[0].submitted(sealed.tx_hash)]
        else:
            if ending.fee_charged is not None:
                ending = replace(ending, fee_charged=charged)
            steps = [each.end(sealed.tx_hash, ending) for each in self._journals]
            steps.append(self._journals[1].submitted(sealed.tx_hash))
        await asyncio.gather(*steps)


async def test_any_interleaving_of_two_processes_leaves_counters_and_rows_at_one(
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
    fullest: dict[Scope, float] = {}
    while not paying.done():
        async with database.connection() as db:
            assert await budget_store.find_drift(db) == []
            counters = await budget_store.largest_counters(db, NET, TODAY, each=1)
        for counter, stroops in counters:
            share = stroops / (budgets.limit(counter.scope) or 10**12)
            fullest[counter.scope] = max(share, fullest.get(counter.scope, 0))
    await paying
    assert max(fullest.values()) <= 1
    assert traffic.refused == {Scope.PAYER, Scope.PAY_TO}, "both edges were reached"
    assert (await stands_at(database))["total"] > 0


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


async def test_broken_connections_leave_counters_and_rows_at_one_and_no_answer_wrong(
    database: Database, postgres_url: Secret[str]
) -> None:
    written, ended, unknown = set[int](), set[int](), set[int]()
    async with BreakingDatabase(postgres_url) as broken:
        journal = SettlementJournal(broken, ManualClock(), {NET: Budgets(total=Stroops(10**12))})

        async def pay(nonce: int) -> None:
            mine, sealed = claim(nonce), envelope(nonce)
            try:
                await journal.claim(mine)
                if await journal.sending(mine, sealed) is Recording.WRITTEN:
                    written.add(nonce)
                if await journal.end(sealed.tx_hash, CONFIRMED):
                    ended.add(nonce)
            except DatabaseUnavailable:
                unknown.add(nonce)

        for start in range(0, 200, 4):
            await asyncio.gather(*map(pay, range(start, start + 4)))
    assert ended <= written
    assert min(len(ended), len(unknown)) > 20, "both happened"
    await stands_at(database)
    async with database.connection() as db:
        rows = {row["nonce"]: row["state"] for row in await db.fetch("SELECT * FROM settlements")}
    assert all(rows[nonce] in ("sending", "confirmed") for nonce in written)
    assert all(rows[nonce] == "confirmed" for nonce in ended)


async def test_a_payer_whose_failures_cost_enough_is_stopped_for_the_day(
    database: Database,
) -> None:
    clock = At()
    budgets = Budgets(payer_loss=Stroops(2 * CHARGED))
    journal = SettlementJournal(database, clock, {NET: budgets})
    for nonce in (1, 2):
        assert await sent(journal, nonce) is Recording.WRITTEN
        await journal.end(envelope(nonce).tx_hash, FAILED)
    assert await sent(journal, 3) == OverBudget(Scope.PAYER_LOSS)
    assert await sent(journal, 4, payer=2) is Recording.WRITTEN, "others go on"
    clock.moment += timedelta(days=1)
    assert await sent(journal, 5) is Recording.WRITTEN


async def test_once_stopped_no_process_writes_anything_down(
    database: Database, other_pool: Database
) -> None:
    journals = [SettlementJournal(pool, ManualClock()) for pool in (database, other_pool)]
    claims = [claim(n) for n in range(60)]
    await asyncio.gather(*(journals[0].claim(each) for each in claims))
    mine = claims[0]
    await journals[0].sending(mine, envelope(0))

    async def stop() -> int:
        async with database.transaction() as db:
            await budget_store.lock_networks(db, [NET])
            assert await budget_store.stop_network(db, NET, at=START)
        async with database.connection() as db:
            rows = await db.fetch("SELECT FROM settlements WHERE state = 'sending'")
            return len(rows)

    sendings = [journals[n % 2].sending(claims[n], envelope(n)) for n in range(1, len(claims))]
    at_stop, *recorded = await asyncio.gather(stop(), *sendings)
    assert 1 + recorded.count(Recording.WRITTEN) == at_stop, "nothing after the stop had ended"
    assert await journals[1].sending(claims[0], envelope(0)) is Recording.CLAIM_LOST
    over = await journals[0].replace(mine, dead=envelope(0).tx_hash, sent=envelope(99))
    assert over == OverBudget(None)
    late = claim(77)
    await journals[1].claim(late)
    assert await journals[1].sending(late, envelope(77)) == OverBudget(None)
    async with database.connection() as db:
        assert await budget_store.start_network(db, NET)
    assert await journals[1].sending(late, envelope(77)) is Recording.WRITTEN


async def test_rows_of_an_older_version_end_without_touching_a_counter(
    database: Database,
) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    async with database.transaction() as db:
        await db.execute("UPDATE settlements SET fee_held = 0, budget_on = NULL")
        await db.execute("DELETE FROM sponsor_spend")
    assert await journal.end(envelope(1).tx_hash, FAILED)
    assert await stands_at(database) == {}


async def test_a_counter_that_was_tampered_with_is_found(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    async with database.connection() as db:
        await db.execute("UPDATE sponsor_spend SET stroops = stroops - 1 WHERE scope = 'payer'")
        (drift,) = await budget_store.find_drift(db)
    assert (drift.scope, drift.name) == ("payer", PAYER_1)
    assert (drift.counted, drift.summed) == (FEE - 1, FEE)


async def test_what_the_journal_would_refuse_is_known_early(database: Database) -> None:
    budgets = Budgets(payer=Stroops(FEE + 10), payer_loss=Stroops(CHARGED))
    clock = At()
    journal = SettlementJournal(database, clock, {NET: budgets})
    sponsor = Sponsor(NET, budgets, database, clock, dearest=Stroops(500_000))
    terms = PaymentTerms(NET, ASSET, BaseUnits(1), PAY_TO, 60)
    await sent(journal, 1)
    assert sponsor.refusal(terms, PAYER_1, stroops=11) is None, "not looked yet"
    await sponsor.refresh()
    assert sponsor.refusal(terms, PAYER_1, stroops=10) is None
    assert sponsor.refusal(terms, PAYER_1, stroops=11) is Reason.SPONSOR_BUDGET_EXHAUSTED
    assert sponsor.refusal(terms, PAY_TO, stroops=11) is None, "another payer"
    await journal.end(envelope(1).tx_hash, FAILED)
    await sponsor.refresh()
    assert sponsor.refusal(terms, PAYER_1, stroops=0) is Reason.PAYER_STOPPED
    clock.moment += timedelta(days=1)
    assert sponsor.refusal(terms, PAYER_1, stroops=1) is None
    sponsor.balance_is_low = True
    assert sponsor.refusal(terms, PAYER_1, stroops=0) is Reason.SPONSOR_BALANCE_LOW
    async with database.connection() as db:
        await budget_store.stop_network(db, NET, at=START)
    await sponsor.refresh()
    assert sponsor.refusal(terms, PAYER_1, stroops=0) is Reason.SPONSOR_STOPPED


async def test_a_counter_is_looked_up_by_all_of_its_name(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    wanted = Counter(NET, TODAY, Scope.PAYER, PAYER_1)
    others = [
        replace(wanted, network=Network.PUBNET),
        replace(wanted, day=TODAY + timedelta(days=1)),
        replace(wanted, name=PAY_TO),
    ]
    async with database.connection() as db:
        assert await budget_store.read_counters(db, [wanted, *others]) == {wanted: FEE}
