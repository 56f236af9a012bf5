"""Challenges and sessions in a real database: single use, expiry and limits."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import pytest

from farebox.accounts import challenge_store, session_store
from farebox.accounts.account_web_auth import CHALLENGE_LIFE as LIFE
from farebox.accounts.challenge_store import OpenChallenge
from farebox.accounts.credential_store import find_key, find_session
from farebox.accounts.session import NewSession
from farebox.accounts.sessions import Sessions
from farebox.accounts.sign_in import (
    MAX_ATTEMPTS,
    MAX_OPEN_PER_CLIENT,
    NetworkWebAuth,
    SignIn,
    SignInAttempt,
    SignInSetup,
)
from farebox.accounts.token import digest_of
from farebox.accounts.web_auth_scheme import (
    ChallengeNotOpen,
    DocumentKind,
    IssuedChallenge,
    ReturnedChallenge,
    SignatureRefused,
)
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.errors import TooManyRequests
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import Conflict
from farebox.storage.pool import Database
from support.manual_clock import ManualClock
from support.promises import case, promise
from testing.waiting import WITHIN_S

NET = Network.TESTNET
SERVER = account_address(bytes([9]) * 32)
ANN, BOB = (account_address(bytes([n]) * 32) for n in (1, 2))


class _Login:
    """Challenges that are their own signatures, where `signs`."""

    def __init__(self) -> None:
        self.signs, self.is_on_ledger = True, False
        self.made = self.requests = 0
        self.meanwhile: Callable[[], Awaitable[None]] = partial(asyncio.sleep, 0)
        self._numbers = count(1)

    async def issue(self, address: Address) -> IssuedChallenge:
        self.made += 1
        document = f"{address} {next(self._numbers)}"
        ends_at = datetime.now(UTC) + LIFE
        return IssuedChallenge(address, document, digest_of(document.encode()), ends_at)

    def read(self, document: str) -> ReturnedChallenge:
        return ReturnedChallenge(
            Address(document.split(" ", maxsplit=1)[0]), digest_of(document.encode()), self._prove
        )

    async def _prove(self) -> bool:
        self.requests += 1
        await self.meanwhile()
        if not self.signs:
            raise SignatureRefused
        return self.is_on_ledger


@pytest.fixture
def login() -> _Login:
    return _Login()


@pytest.fixture
def replicas(database: Database, other_pool: Database, login: _Login) -> tuple[SignIn, SignIn]:
    """Two processes with a pool each."""
    return _sign_in(database, login), _sign_in(other_pool, login)


class _Quota:
    """Seconds to wait for each client."""

    def __init__(self, waits: Mapping[str, int]) -> None:
        self._waits = waits

    async def acquire(self, client: str) -> int | None:
        return self._waits.get(client)


def _sign_in(
    database: Database,
    login: _Login,
    *,
    waits: Mapping[str, int] = {},
    clock: ManualClock | None = None,
) -> SignIn:
    setup = SignInSetup("farebox.test", SERVER, {NET: NetworkWebAuth(login)})
    clock = clock or ManualClock()
    return SignIn(database, setup, _Quota(waits), is_ours=lambda _: False, clock=clock)


async def _challenge(sign_in: SignIn, address: Address = ANN, client: str = "192.0.2.1") -> str:
    made = await sign_in.challenge(SignInAttempt(NET.value, address, client))
    return made.issued.document


async def _finish(sign_in: SignIn, document: str, claimed: str | None = None) -> NewSession:
    return await sign_in.finish(
        NET.value, DocumentKind.TRANSACTION, document, claimed=claimed, request_id="r"
    )


async def _count(database: Database, table: str) -> int:
    async with database.connection() as db:
        return int(await db.fetchval(f"SELECT count(*) FROM {table}"))


async def _passes(database: Database, table: str, passed: timedelta) -> None:
    """Make the rows of the table older by `passed`."""
    moments = "issued_at = issued_at - $1::interval," if table == "challenges" else ""
    async with database.connection() as db:
        await db.execute(
            f"UPDATE {table} SET {moments} expires_at = expires_at - $1::interval",
            passed,
        )


@promise("challenge:single-use")
async def test_fifty_concurrent_sign_ins_on_two_replicas_create_one_session(
    database: Database, replicas: tuple[SignIn, SignIn], login: _Login
) -> None:
    document = await _challenge(replicas[0])
    tries = [_finish(replicas[n % 2], document) for n in range(50)]
    ended = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(each, NewSession) for each in ended) == 1
    assert sum(isinstance(each, ChallengeNotOpen) for each in ended) == 49
    assert login.requests > 1, "they were concurrent"
    assert await _count(database, "sessions") == 1
    assert await _count(database, "audit_trail") == 1
    with pytest.raises(ChallengeNotOpen):
        await _finish(replicas[1], document)


@promise("challenge:five-minutes", "challenge:expires")
async def test_a_challenge_expires_after_five_minutes_of_database_time(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    early, late = await _challenge(sign_in), await _challenge(sign_in)
    await _passes(database, "challenges", timedelta(minutes=4, seconds=58))
    assert isinstance(await _finish(sign_in, early), NewSession)
    await _passes(database, "challenges", timedelta(seconds=3))
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, late)


async def test_sign_in_fails_when_the_challenge_expires_during_the_ledger_lookup(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in)
    login.meanwhile = lambda: _passes(database, "challenges", LIFE)
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, document)
    assert await _count(database, "sessions") == 0


async def test_an_account_seen_on_the_ledger_once_stays_established(
    database: Database, login: _Login
) -> None:
    sign_in, seen = _sign_in(database, login), []
    for is_on_ledger in (False, True, False):
        login.is_on_ledger = is_on_ledger
        session = await _finish(sign_in, await _challenge(sign_in))
        async with database.connection() as db:
            await db.execute(
                "INSERT INTO api_keys (id, owner, name, prefix, digest, grants)"
                " VALUES ($2, $1, 'k', 'p', $3, '{}')",
                session.user.id,
                session.id,
                session.id.encode(),
            )
            of_session = await find_session(db, digest_of(session.token.reveal().encode()))
            of_key = await find_key(db, session.id.encode())
        assert of_session is not None
        assert of_key is not None
        seen.append((of_session.caller.is_established, of_key.caller.is_established))
    assert seen == [(False, False), (True, True), (True, True)]


@promise("session:24-hours")
async def test_a_session_expires_after_twenty_four_hours(database: Database, login: _Login) -> None:
    sign_in = _sign_in(database, login)
    created = await _finish(sign_in, await _challenge(sign_in))
    left = created.expires_at - datetime.now(UTC)
    assert timedelta(hours=23, minutes=59) < left <= timedelta(hours=24, seconds=1)
    digest = digest_of(created.token.reveal().encode())
    for passed, is_valid in (
        (timedelta(hours=23, minutes=59), True),
        (timedelta(minutes=1, seconds=1), False),
    ):
        await _passes(database, "sessions", passed)
        async with database.connection() as db:
            found = await find_session(db, digest)
            assert (found is not None) is is_valid
            assert (await session_store.find_expiry(db, created.id) is not None) is is_valid


async def test_a_challenge_stays_open_when_the_session_cannot_be_stored(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in)
    async with database.connection() as db:
        await db.execute("ALTER TABLE audit_trail ADD CONSTRAINT none CHECK (owner = '')")
    try:
        with pytest.raises(Conflict):
            await _finish(sign_in, document)
    finally:
        async with database.connection() as db:
            await db.execute("ALTER TABLE audit_trail DROP CONSTRAINT none")
    assert await _count(database, "sessions") == await _count(database, "users") == 0
    assert isinstance(await _finish(sign_in, document), NewSession)


async def test_sign_in_rejects_a_challenge_issued_to_another_account(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in, ANN)
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, document, claimed=BOB)
    assert (await _finish(sign_in, document, claimed=ANN)).user.address == ANN


async def test_challenge_creates_nothing_when_the_client_is_over_its_quota(
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
async def test_challenges_of_other_clients_close_none_of_an_accounts_challenges(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    first = await _challenge(sign_in)
    others = [await _challenge(sign_in, client=f"192.0.2.{n}") for n in range(120)]
    last = await _challenge(sign_in)
    for document in (first, others[0], others[-1], last):
        assert isinstance(await _finish(sign_in, document), NewSession)


@case("AU-016")
async def test_challenge_is_refused_at_the_clients_limit_of_open_challenges(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    kept = [await _challenge(sign_in) for _ in range(MAX_OPEN_PER_CLIENT)]
    await _passes(database, "challenges", timedelta(minutes=4))
    with pytest.raises(TooManyRequests) as refused:
        await _challenge(sign_in, BOB)
    assert 50 <= refused.value.retry_after_s <= 60
    assert await _count(database, "challenges") == MAX_OPEN_PER_CLIENT
    await _challenge(sign_in, BOB, client="192.0.2.2")
    assert isinstance(await _finish(sign_in, kept[0]), NewSession)
    await _challenge(sign_in, BOB)
    with pytest.raises(TooManyRequests):
        await _challenge(sign_in, BOB)
    await _passes(database, "challenges", timedelta(minutes=1))
    await _challenge(sign_in, BOB)


@case("AU-016")
async def test_challenge_is_refused_at_the_total_limit_of_open_challenges(
    database: Database, login: _Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farebox.accounts.sign_in.MAX_OPEN", 10)
    clock = ManualClock()
    sign_in = _sign_in(database, login, clock=clock)
    kept = [await _challenge(sign_in, client=f"192.0.2.{n}") for n in range(10)]
    with pytest.raises(TooManyRequests) as refused:
        await _challenge(sign_in, client="198.51.100.1")
    assert refused.value.retry_after_s == 30
    for each in kept:
        assert isinstance(await _finish(sign_in, each), NewSession)
    clock.turn(1)
    await _challenge(sign_in, client="198.51.100.1")


async def test_a_challenge_is_closed_after_its_maximum_of_attempts(
    database: Database, login: _Login
) -> None:
    sign_in = _sign_in(database, login)
    document = await _challenge(sign_in)
    login.signs = False
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(SignatureRefused):
            await _finish(sign_in, document)
    login.signs = True
    with pytest.raises(ChallengeNotOpen):
        await _finish(sign_in, document)
    assert login.requests == MAX_ATTEMPTS


@case("AU-016")
async def test_delete_expired_deletes_expired_challenges_and_sessions(
    database: Database, login: _Login, clock: ManualClock
) -> None:
    sign_in, sessions = _sign_in(database, login), Sessions(database, clock)
    await _finish(sign_in, await _challenge(sign_in))
    await _challenge(sign_in)
    assert await sessions.delete_expired() == 0
    await _passes(database, "challenges", LIFE)
    await _passes(database, "sessions", timedelta(hours=25, seconds=1))
    kept = await _challenge(sign_in)
    assert await sessions.delete_expired() == 3
    assert (await _count(database, "challenges"), await _count(database, "sessions")) == (1, 0)
    await _finish(sign_in, kept)


async def test_sign_in_revokes_the_oldest_sessions_over_the_limit_and_audits_them(
    database: Database, login: _Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farebox.accounts.sign_in.MAX_LIVE", 3)
    sign_in = _sign_in(database, login)
    created = [(await _finish(sign_in, await _challenge(sign_in))).id for _ in range(5)]
    async with database.connection() as db:
        live = [each for each in created if await session_store.find_expiry(db, each) is not None]
        events = await db.fetch("SELECT subject FROM audit_trail WHERE action = 'session.revoked'")
    assert live == created[-3:]
    assert {row["subject"] for row in events} == set(created[:2])


async def test_challenges_for_a_locked_account_do_not_block_other_accounts(
    database: Database, postgres_url: Secret[str], login: _Login
) -> None:
    """Anybody may name any account: waiting for its row must not use up the connections."""
    async with Database(postgres_url, connections=2) as pool:
        sign_in = _sign_in(pool, login)
        async with database.transaction() as db:
            kept = OpenChallenge(b"held", NET, ANN, datetime.now(UTC) + LIFE)
            await challenge_store.put_challenge(db, kept, "192.0.2.1", most=100)
            crowd = [asyncio.create_task(_challenge(sign_in, ANN)) for _ in range(8)]
            await asyncio.wait_for(_challenge(sign_in, BOB), WITHIN_S)
            await asyncio.wait_for(asyncio.gather(*crowd), WITHIN_S)
