"""Challenges and sessions in a real database: once, in time, and no more than so many."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import pytest

from farebox.accounts import challenge_store, session_store
from farebox.accounts.challenge import LIFE
from farebox.accounts.credential_store import find_session
from farebox.accounts.login import ChallengeNotOpen, Issued, Proof, Shown, SignatureRefused
from farebox.accounts.session import NewSession
from farebox.accounts.sessions import Sessions
from farebox.accounts.sign_in import (
    MOST_OPEN,
    MOST_TRIES,
    Asked,
    NetworkLogins,
    SignIn,
    SignInSetup,
)
from farebox.accounts.token import digest_of
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.errors import TooManyRequests
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import Conflict
from farebox.storage.pool import Database
from support.manual_clock import ManualClock
from support.promises import case, promise

NET = Network.TESTNET
SERVER = account_address(bytes([9]) * 32)
ANN, BOB = (account_address(bytes([n]) * 32) for n in (1, 2))


class _Login:
    """Challenges that are their own signatures, where `signs`."""

    def __init__(self) -> None:
        self.signs = True
        self.made = self.asked = 0
        self.meanwhile: Callable[[], Awaitable[None]] = partial(asyncio.sleep, 0)
        self._numbers = count(1)

    async def issue(self, address: Address) -> Issued:
        self.made += 1
        document = f"{address} {next(self._numbers)}"
        ends_at = datetime.now(UTC) + LIFE
        return Issued(address, document, digest_of(document.encode()), ends_at)

    def read(self, document: str) -> Shown:
        return Shown(
            Address(document.split(" ", maxsplit=1)[0]), digest_of(document.encode()), self._prove
        )

    async def _prove(self) -> None:
        self.asked += 1
        await self.meanwhile()
        if not self.signs:
            raise SignatureRefused


@pytest.fixture
def login() -> _Login:
    return _Login()


@pytest.fixture
def replicas(database: Database, other_pool: Database, login: _Login) -> tuple[SignIn, SignIn]:
    """Two processes with a pool each."""
    return _sign_in(database, login), _sign_in(other_pool, login)


class _Turns:
    """Who has to wait how long."""

    def __init__(self, waits: Mapping[str, int]) -> None:
        self._waits = waits

    async def take(self, who: str) -> int | None:
        return self._waits.get(who)


def _sign_in(database: Database, login: _Login, *, waits: Mapping[str, int] = {}) -> SignIn:
    setup = SignInSetup("farebox.test", SERVER, {NET: NetworkLogins(login)})
    return SignIn(database, setup, _Turns(waits), is_ours=lambda _: False)


async def _challenge(sign_in: SignIn, address: Address = ANN, client: str = "192.0.2.1") -> str:
    made = await sign_in.challenge(Asked(NET.value, address, client))
    return made.issued.document


async def _finish(sign_in: SignIn, document: str, claimed: str | None = None) -> NewSession:
    return await sign_in.finish(
        NET.value, Proof.TRANSACTION, document, claimed=claimed, request_id="r"
    )


async def _count(database: Database, table: str) -> int:
    async with database.connection() as db:
        return int(await db.fetchval(f"SELECT count(*) FROM {table}"))


async def _passes(database: Database, table: str, passed: timedelta) -> None:
    """What is in the table is older by so much."""
    moments = "issued_at = issued_at - $1::interval," if table == "challenges" else ""
    async with database.connection() as db:
        await db.execute(
            f"UPDATE {table} SET {moments} expires_at = expires_at - $1::interval",
            passed,
        )


@promise("challenge:single-use")
async def test_fifty_requests_to_two_replicas_give_one_session(
    database: Database, replicas: tuple[SignIn, SignIn], login: _Login
) -> None:
    document = await _challenge(replicas[0])
    tries = [_finish(replicas[n % 2], document) for n in range(50)]
    ended = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(each, NewSession) for each in ended) == 1
    assert sum(isinstance(each, ChallengeNotOpen) for each in ended) == 49
    assert login.asked > 1, "they came at once"
    assert await _count(database, "sessions") == 1
    assert await _count(database, "audit_trail") == 1
    with pytest.raises(ChallengeNotOpen):
        await _finish(replicas[1], document)


@promise("challenge:five-minutes", "challenge:expires")
async def test_a_challenge_is_good_for_five_minutes_by_the_databases_clock(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    early, late = await _challenge(sign_in), await _challenge(sign_in)
    await _passes(database, "challenges", timedelta(minutes=4, seconds=58))
    assert isinstance(await _finish(sign_in, early), NewSession)
    await _passes(database, "challenges", timedelta(seconds=3))
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, late)


async def test_a_challenge_that_ends_while_the_network_is_asked_gives_no_session(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in)
    login.meanwhile = lambda: _passes(database, "challenges", LIFE)
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, document)
    assert await _count(database, "sessions") == 0


@promise("session:24-hours")
async def test_a_session_lives_twenty_four_hours(database: Database, login: _Login) -> None:
    sign_in = _sign_in(database, login)
    begun = await _finish(sign_in, await _challenge(sign_in))
    left = begun.expires_at - datetime.now(UTC)
    assert timedelta(hours=23, minutes=59) < left <= timedelta(hours=24, seconds=1)
    digest = digest_of(begun.token.reveal().encode())
    for passed, is_valid in (
        (timedelta(hours=23, minutes=59), True),
        (timedelta(minutes=1, seconds=1), False),
    ):
        await _passes(database, "sessions", passed)
        async with database.connection() as db:
            found = await find_session(db, digest)
            assert (found is not None) is is_valid
            assert (await session_store.find_end(db, begun.id) is not None) is is_valid


async def test_a_session_that_cannot_be_kept_leaves_its_challenge_open(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in)
    async with database.connection() as db:
        await db.execute("ALTER TABLE audit_trail ADD CONSTRAINT nobody CHECK (owner = '')")
    try:
        with pytest.raises(Conflict):
            await _finish(sign_in, document)
    finally:
        async with database.connection() as db:
            await db.execute("ALTER TABLE audit_trail DROP CONSTRAINT nobody")
    assert await _count(database, "sessions") == await _count(database, "users") == 0
    assert isinstance(await _finish(sign_in, document), NewSession)


async def test_a_challenge_is_its_accounts_alone(database: Database, login: _Login) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in, ANN)
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, document, claimed=BOB)
    assert (await _finish(sign_in, document, claimed=ANN)).user.address == ANN


async def test_nothing_is_made_for_who_has_had_a_turn_too_many(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login, waits={"192.0.2.1": 7})
    with pytest.raises(TooManyRequests) as refused:
        await _challenge(sign_in)
    assert refused.value.retry_after_s == 7
    assert (login.made, await _count(database, "challenges")) == (0, 0)
    await _challenge(sign_in, client="192.0.2.2")
    assert login.made == 1


@case("AU-016")
async def test_an_account_has_so_many_open_challenges_and_a_stranger_cannot_lock_it_out(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    first = await _challenge(sign_in)
    others = [await _challenge(sign_in, client=f"192.0.2.{n}") for n in range(MOST_OPEN)]
    bobs = await _challenge(sign_in, BOB)
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, first)
    await _finish(sign_in, others[0])
    await _finish(sign_in, others[-1])
    await _finish(sign_in, bobs)


async def test_a_challenge_asks_the_network_so_often_and_no_more(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in)
    login.signs = False
    for _ in range(MOST_TRIES):
        with pytest.raises(SignatureRefused):
            await _finish(sign_in, document)
    login.signs = True
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, document)
    assert login.asked == MOST_TRIES


@case("AU-016")
async def test_what_is_over_is_forgotten(
    database: Database, login: _Login, clock: ManualClock
) -> None:
    sign_in, sessions = _sign_in(database, login), Sessions(database, clock)
    await _finish(sign_in, await _challenge(sign_in))
    await _challenge(sign_in)
    assert await sessions.sweep() == 0
    await _passes(database, "challenges", LIFE)
    await _passes(database, "sessions", timedelta(hours=25, seconds=1))
    kept = await _challenge(sign_in)
    assert await sessions.sweep() == 3
    assert (await _count(database, "challenges"), await _count(database, "sessions")) == (1, 0)
    await _finish(sign_in, kept)


async def test_a_wallet_has_so_many_sessions_and_the_trail_tells_which_ended(
    database: Database, login: _Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farebox.accounts.sign_in.MOST_LIVE", 3)
    sign_in = _sign_in(database, login)
    begun = [(await _finish(sign_in, await _challenge(sign_in))).id for _ in range(5)]
    async with database.connection() as db:
        live = [each for each in begun if await session_store.find_end(db, each) is not None]
        deeds = await db.fetch("SELECT subject FROM audit_trail WHERE action = 'session.revoked'")
    assert live == begun[-3:]
    assert {row["subject"] for row in deeds} == set(begun[:2])


async def test_a_crowd_that_asks_for_one_account_keeps_nobody_else_waiting(
    database: Database, postgres_url: Secret[str], login: _Login
) -> None:
    """A stranger may name any account: its turn must not hold the connections of all others."""
    async with Database(postgres_url, connections=2) as pool:
        sign_in = _sign_in(pool, login)
        async with database.transaction() as db:
            await challenge_store.close_oldest(db, NET, ANN, most=MOST_OPEN)
            crowd = [asyncio.create_task(_challenge(sign_in, ANN)) for _ in range(8)]
            await asyncio.wait_for(_challenge(sign_in, BOB), 2)
            await asyncio.wait_for(asyncio.gather(*crowd), 2)
