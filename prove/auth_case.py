"""Run one case: concurrent requests to two replicas for credentials that may be issued once."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from prove.auth_caller import (
    KEYS,
    SIGNING_SECRET,
    ApiClient,
    HeldKey,
    Holder,
    TimedResponse,
    owner_of,
)
from prove.environment import Environment, Replica, open_environment
from prove.world import World

T = TypeVar("T")
_VERIFIES: Final = 50
_CHANGES: Final = 24
ROUNDS: Final = 4  # of every kind but signing in
_WATCHERS: Final = 2  # tasks for each replica
_WAVES: Final = 3  # of concurrent changes
_REVOKED: Final = 0.1  # share of the changes
_SPREAD_S: Final = 0.02  # over which concurrent requests are sent
_SLOWEST_S: Final = 0.01  # the longest delay of a statement
_AFTERWARDS_S: Final = 0.15  # the watchers continue for
_SETTINGS: Final = {
    "FAREBOX_AUTH_SIGNING_SECRET": SIGNING_SECRET,
    "FAREBOX_CHALLENGES_PER_MINUTE": "0",
    "FAREBOX_RPC_TIMEOUT_S": "20",
}
_REFUSED: Final = frozenset({"challenge_not_open", "key_revoked", "too_many_requests"})
_UNAVAILABLE: Final = "service_unavailable"  # no database connection was free in time


class AuthKind(StrEnum):
    """The concurrent requests of a case; the values seed the random numbers."""

    SIGN_IN = "one challenge is sent back fifty times"
    ROTATE = "one key is rotated many times"
    MIXED = "a key and those it becomes are rotated and revoked"
    REVOKE = "keys and sessions end while they are used"


@dataclass(frozen=True, slots=True)
class AuthCase:
    """One kind of request, under one seed."""

    seed: int
    kind: AuthKind

    def __str__(self) -> str:
        return f"SEED={self.seed} {self.kind.name}"


@dataclass(slots=True)
class AuthOutcome:
    """The outcome of a case."""

    case: AuthCase
    requests: int = 0
    sessions: int = 0  # issued for one challenge
    keys: int = 0  # issued in place of others
    extra_sessions: int = 0
    extra_keys: int = 0
    late_accepts: int = 0
    used: int = 0  # requests accepted with the watched credentials
    unavailable: int = 0  # requests refused because the machine was busy
    unexpected: list[str] = field(default_factory=list)

    @property
    def is_failed(self) -> bool:
        """Whether a violation occurred."""
        return bool(self.extra_sessions or self.extra_keys or self.late_accepts or self.unexpected)

    def __str__(self) -> str:
        return (
            f"{self.case}: {self.extra_sessions} sessions and {self.extra_keys} keys too many,"
            f" {self.late_accepts} accepted too late;"
            f" unexpected responses: {', '.join(self.unexpected) or 'none'}"
        )


class SlowStatements:
    """Delays every statement for a random time."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def __call__(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the call after the delay."""
        await asyncio.sleep(self._rng.random() * _SLOWEST_S)
        return await deliver()


@dataclass(eq=False, slots=True)
class _Race:
    environment: Environment
    replicas: Sequence[Replica]
    api: ApiClient
    rng: random.Random
    outcome: AuthOutcome
    rounds: int

    def url(self) -> str:
        """The URL of a random replica."""
        return self.rng.choice(self.replicas).url

    async def at_once(self, ask: Callable[[str], Awaitable[T]], times: int) -> list[T]:
        """Send `times` concurrent requests to both replicas; return all responses."""

        async def send(turn: int) -> T:
            await asyncio.sleep(self.rng.random() * _SPREAD_S)
            return await ask(self.replicas[turn % len(self.replicas)].url)

        return await asyncio.gather(*map(send, range(times)))

    def judge(self, responses: Sequence[TimedResponse], *allowed: int) -> None:
        """Record every response that has another status and no known error code."""
        self.outcome.unavailable += sum(each.code == _UNAVAILABLE for each in responses)
        self.outcome.unexpected += [
            str(each)
            for each in responses
            if each.status not in allowed and each.code not in (*_REFUSED, _UNAVAILABLE)
        ]


async def run_case(
    world: World, seed: int, kinds: Sequence[AuthKind] = tuple(AuthKind), *, rounds: int = ROUNDS
) -> list[AuthOutcome]:
    """Run these kinds one after the other on two replicas."""
    async with open_environment(world, _SETTINGS) as environment:
        replicas = await asyncio.gather(environment.start("a"), environment.start("b"))
        return [
            await _run_kind(environment, replicas, AuthCase(seed, kind), rounds) for kind in kinds
        ]


async def _run_kind(
    environment: Environment, replicas: Sequence[Replica], case: AuthCase, rounds: int
) -> AuthOutcome:
    rng = random.Random(f"{case.seed} {case.kind}")
    for replica in replicas:
        replica.interceptor.catalog_fault = SlowStatements(rng)
    outcome, api = AuthOutcome(case), ApiClient(environment.web)
    await _RACES[case.kind](_Race(environment, replicas, api, rng, outcome, rounds))
    outcome.requests = api.requests
    return outcome


async def _sign_in(race: _Race) -> None:
    wallet = Keypair.random()
    signed = await race.api.signed_challenge(race.url(), wallet)

    async def verify(url: str) -> TimedResponse:
        return await race.api.ask(url, "POST", "/v1/auth/verify", value=signed)

    responses = await race.at_once(verify, _VERIFIES)
    race.judge(responses, 200)
    issued = [Secret(str(each.body["token"])) for each in responses if each.status == 200]
    statement = "SELECT count(*) AS n FROM sessions WHERE user_id = $1"
    rows = await race.environment.query(statement, owner_of(wallet))
    race.outcome.sessions = len(issued)
    race.outcome.extra_sessions = max(0, max(len(issued), rows[0]["n"]) - 1)
    if await _count_accepted(race, issued) < 1:
        race.outcome.unexpected.append("no session is accepted")


async def _rotate(race: _Race) -> None:
    for turn in range(race.rounds):
        holder = await race.api.sign_in(race.url())
        key = await race.api.key(race.url(), holder, f"robot {turn}")

        async def rotate(url: str, key: HeldKey = key, holder: Holder = holder) -> TimedResponse:
            credential = race.rng.choice((holder.session, key.token))
            return await race.api.ask(url, "POST", f"{KEYS}/{key.id}/rotate", token=credential)

        responses = await race.at_once(rotate, _CHANGES)
        # a key that was replaced in the meantime gets no reason
        race.judge([each for each in responses if each.code != "unauthenticated"], 201)
        if not _issued_keys(responses):
            race.outcome.unexpected.append("no rotation took place")
        await _count_keys(race, holder, [key, *_issued_keys(responses)])


async def _mixed(race: _Race) -> None:
    for turn in range(race.rounds):
        holder = await race.api.sign_in(race.url())
        keys = [await race.api.key(race.url(), holder, f"robot {turn}")]
        responses: list[TimedResponse] = []

        async def change(
            url: str,
            keys: list[HeldKey] = keys,
            holder: Holder = holder,
            responses: list[TimedResponse] = responses,
        ) -> None:
            key = race.rng.choice(keys[-2:])
            verb = "revoke" if race.rng.random() < _REVOKED else "rotate"
            path = f"{KEYS}/{key.id}/{verb}"
            responses.append(await race.api.ask(url, "POST", path, token=holder.session))
            keys.extend(_issued_keys(responses[-1:]))

        for _ in range(_WAVES):
            await race.at_once(change, _CHANGES // _WAVES)
        race.judge(responses, 200, 201)
        # a revocation also ends the newest key; the older ones were replaced
        was_revoked = any(each.status == 200 for each in responses)
        await _count_keys(race, holder, keys, most=0 if was_revoked else 1)


def _issued_keys(responses: Sequence[TimedResponse]) -> list[HeldKey]:
    return [
        HeldKey(each.body["id"], Secret(each.body["key"]))
        for each in responses
        if each.status == 201
    ]


async def _count_keys(
    race: _Race, holder: Holder, keys: Sequence[HeldKey], *, most: int = 1
) -> None:
    race.outcome.keys += len(keys) - 1
    statement = "SELECT count(*) AS n FROM api_keys WHERE owner = $1 AND revoked_at IS NULL"
    rows = await race.environment.query(statement, holder.owner)
    live = max(await _count_accepted(race, [key.token for key in keys]), rows[0]["n"])
    race.outcome.extra_keys += max(0, live - most)


async def _count_accepted(race: _Race, tokens: Sequence[Secret[str]]) -> int:
    """Count the accepted tokens, on the replica that accepts the most."""
    most = 0
    for replica in race.replicas:
        found = await asyncio.gather(*(race.api.is_accepted(replica.url, each) for each in tokens))
        race.judge([response for _, response in found], 200, 401, 403)
        most = max(most, sum(is_accepted for is_accepted, _ in found))
    return most


async def _revoke(race: _Race) -> None:
    holder = await race.api.sign_in(race.url())
    for turn in range(race.rounds):
        await _end_credential_in_use(race, holder, turn)


async def _end_credential_in_use(race: _Race, holder: Holder, turn: int) -> None:
    """Revoke or rotate a key that is in use, or sign a session out."""
    if turn == 0:
        watched = (await race.api.sign_in(race.url())).session
        method, path, credential = "POST", "/v1/auth/logout", watched
    else:
        key = await race.api.key(race.url(), holder, f"robot {turn}")
        watched, credential = key.token, holder.session
        method, path = race.rng.choice(
            (
                ("DELETE", f"{KEYS}/{key.id}"),
                ("POST", f"{KEYS}/{key.id}/revoke"),
                ("POST", f"{KEYS}/{key.id}/rotate"),
            )
        )
    is_over = asyncio.Event()
    watching = [
        asyncio.create_task(_watch(race, replica.url, watched, is_over))
        for replica in race.replicas
        for _ in range(_WATCHERS)
    ]
    await asyncio.sleep(race.rng.random() * 0.1)
    ended = await race.api.ask(race.url(), method, path, token=credential)
    race.judge([ended], 200, 201)
    # the next request on each replica
    for replica in race.replicas:
        is_accepted, _ = await race.api.is_accepted(replica.url, watched)
        race.outcome.late_accepts += is_accepted
    await asyncio.sleep(_AFTERWARDS_S)
    is_over.set()
    for accepted in await asyncio.gather(*watching):
        race.outcome.used += len(accepted)
        race.outcome.late_accepts += sum(each.sent_at > ended.received_at for each in accepted)


async def _watch(
    race: _Race, url: str, token: Secret[str], is_over: asyncio.Event
) -> list[TimedResponse]:
    """Use the token until `is_over`; return every accepted request."""
    accepted = []
    while not is_over.is_set():
        is_accepted, response = await race.api.is_accepted(url, token)
        race.judge([response], 200, 401, 403)
        if is_accepted:
            accepted.append(response)
    return accepted


_RACES: Final = {
    AuthKind.SIGN_IN: _sign_in,
    AuthKind.ROTATE: _rotate,
    AuthKind.MIXED: _mixed,
    AuthKind.REVOKE: _revoke,
}
