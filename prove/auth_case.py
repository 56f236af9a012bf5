"""Play one case: two replicas are asked at once for what may be given out only once."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from prove.arena import Arena, Replica, opened_arena
from prove.auth_caller import KEYS, Asker, HeldKey, Holder, Told, owner_of
from prove.world import World

T = TypeVar("T")
_VERIFIES: Final = 50
_CHANGES: Final = 24
ROUNDS: Final = 4  # of everything but signing in
_WATCHERS: Final = 2  # of each, on each replica
_WAVES: Final = 3  # in which they come
_REVOKED: Final = 0.1  # of the changes
_SPREAD_S: Final = 0.02  # over which requests that are made at once go out
_SLOWEST_S: Final = 0.01  # a statement's way to the database
_AFTERWARDS_S: Final = 0.15  # so long the watchers go on
_SIGNING_SECRET: Final = Keypair.from_raw_ed25519_seed(b"farebox proofs sign in like this").secret
_SETTINGS: Final = {
    "FAREBOX_AUTH_SIGNING_SECRET": _SIGNING_SECRET,
    "FAREBOX_CHALLENGES_PER_MINUTE": "0",
    "FAREBOX_RPC_TIMEOUT_S": "20",
}
_REFUSED: Final = frozenset({"challenge_not_open", "key_revoked", "too_many_requests"})
_AWAY: Final = "service_unavailable"  # no connection was to be had in time


class Kind(StrEnum):
    """What is asked for at once."""

    SIGN_IN = "one challenge is sent back fifty times"
    ROTATE = "one key is rotated many times"
    MIXED = "a key and those it becomes are rotated and revoked"
    REVOKE = "keys and sessions end while they are used"


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to ask for, under the dice of a seed."""

    seed: int
    kind: Kind

    def __str__(self) -> str:
        return f"SEED={self.seed} {self.kind.name}"


@dataclass(slots=True)
class Outcome:
    """What a case came to."""

    case: Case
    requests: int = 0
    sessions: int = 0  # given out for one challenge
    keys: int = 0  # given out in place of others
    extra_sessions: int = 0
    extra_keys: int = 0
    late_accepts: int = 0
    used: int = 0  # requests let in by what was watched
    unavailable: int = 0  # requests that found no room on a busy machine
    odd: list[str] = field(default_factory=list)

    @property
    def is_broken(self) -> bool:
        """Whether something happened that must not."""
        return bool(self.extra_sessions or self.extra_keys or self.late_accepts or self.odd)

    def __str__(self) -> str:
        return (
            f"{self.case}: {self.extra_sessions} sessions and {self.extra_keys} keys too many,"
            f" {self.late_accepts} let in too late; {', '.join(self.odd) or 'as it should be'}"
        )


class Slow:
    """A network on which every statement takes as long as the dice say."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    async def __call__(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """The answer, later."""
        await asyncio.sleep(self._dice.random() * _SLOWEST_S)
        return await deliver()


@dataclass(eq=False, slots=True)
class _Play:
    arena: Arena
    replicas: Sequence[Replica]
    asker: Asker
    dice: random.Random
    outcome: Outcome
    rounds: int

    def url(self) -> str:
        """Either replica's."""
        return self.dice.choice(self.replicas).url

    async def at_once(self, ask: Callable[[str], Awaitable[T]], times: int) -> list[T]:
        """What both replicas say to so many requests."""

        async def one(turn: int) -> T:
            await asyncio.sleep(self.dice.random() * _SPREAD_S)
            return await ask(self.replicas[turn % len(self.replicas)].url)

        return await asyncio.gather(*map(one, range(times)))

    def judge(self, told: Sequence[Told], *allowed: int) -> None:
        """Every answer is one of these, or a refusal that says why."""
        self.outcome.unavailable += sum(each.code == _AWAY for each in told)
        self.outcome.odd += [
            str(each)
            for each in told
            if each.status not in allowed and each.code not in (*_REFUSED, _AWAY)
        ]


async def play(
    world: World, seed: int, kinds: Sequence[Kind] = tuple(Kind), *, rounds: int = ROUNDS
) -> list[Outcome]:
    """The outcomes of these kinds, one after the other on two replicas."""
    async with opened_arena(world, _SETTINGS) as arena:
        replicas = await asyncio.gather(arena.start("a"), arena.start("b"))
        return [await _played(arena, replicas, Case(seed, kind), rounds) for kind in kinds]


async def _played(arena: Arena, replicas: Sequence[Replica], case: Case, rounds: int) -> Outcome:
    dice = random.Random(f"{case.seed} {case.kind}")
    for replica in replicas:
        replica.gate.mishap = Slow(dice)
    outcome, asker = Outcome(case), Asker(arena.web)
    await _PLAYS[case.kind](_Play(arena, replicas, asker, dice, outcome, rounds))
    outcome.requests = asker.requests
    return outcome


async def _sign_in(play: _Play) -> None:
    wallet = Keypair.random()
    signed = await play.asker.signed_challenge(play.url(), wallet)

    async def verify(url: str) -> Told:
        return await play.asker.ask(url, "POST", "/v1/auth/verify", value=signed)

    told = await play.at_once(verify, _VERIFIES)
    play.judge(told, 200)
    given = [Secret(str(each.body["token"])) for each in told if each.status == 200]
    statement = "SELECT count(*) AS n FROM sessions WHERE user_id = $1"
    rows = await play.arena.query(statement, owner_of(wallet))
    play.outcome.sessions = len(given)
    play.outcome.extra_sessions = max(0, max(len(given), rows[0]["n"]) - 1)
    if await _taken(play, given) < 1:
        play.outcome.odd.append("no session lets its holder in")


async def _rotate(play: _Play) -> None:
    for turn in range(play.rounds):
        holder = await play.asker.sign_in(play.url())
        key = await play.asker.key(play.url(), holder, f"robot {turn}")

        async def rotate(url: str, key: HeldKey = key, holder: Holder = holder) -> Told:
            shown = play.dice.choice((holder.session, key.token))
            return await play.asker.ask(url, "POST", f"{KEYS}/{key.id}/rotate", token=shown)

        told = await play.at_once(rotate, _CHANGES)
        # to a key that was replaced in the meantime nobody owes a reason
        play.judge([each for each in told if each.code != "unauthenticated"], 201)
        if not _made(told):
            play.outcome.odd.append("no rotation took place")
        await _count_keys(play, holder, [key, *_made(told)])


async def _mixed(play: _Play) -> None:
    for turn in range(play.rounds):
        holder = await play.asker.sign_in(play.url())
        keys = [await play.asker.key(play.url(), holder, f"robot {turn}")]
        told: list[Told] = []

        async def change(
            url: str,
            keys: list[HeldKey] = keys,
            holder: Holder = holder,
            told: list[Told] = told,
        ) -> None:
            key = play.dice.choice(keys[-2:])
            verb = "revoke" if play.dice.random() < _REVOKED else "rotate"
            path = f"{KEYS}/{key.id}/{verb}"
            told.append(await play.asker.ask(url, "POST", path, token=holder.session))
            keys.extend(_made(told[-1:]))

        for _ in range(_WAVES):
            await play.at_once(change, _CHANGES // _WAVES)
        play.judge(told, 200, 201)
        # whatever is revoked takes the last one of the line along; the others were replaced at once
        was_revoked = any(each.status == 200 for each in told)
        await _count_keys(play, holder, keys, most=0 if was_revoked else 1)


def _made(told: Sequence[Told]) -> list[HeldKey]:
    return [
        HeldKey(each.body["id"], Secret(each.body["key"])) for each in told if each.status == 201
    ]


async def _count_keys(
    play: _Play, holder: Holder, keys: Sequence[HeldKey], *, most: int = 1
) -> None:
    play.outcome.keys += len(keys) - 1
    statement = "SELECT count(*) AS n FROM api_keys WHERE owner = $1 AND revoked_at IS NULL"
    rows = await play.arena.query(statement, holder.owner)
    live = max(await _taken(play, [key.token for key in keys]), rows[0]["n"])
    play.outcome.extra_keys += max(0, live - most)


async def _taken(play: _Play, tokens: Sequence[Secret[str]]) -> int:
    """How many of these let their holder in, on the replica where it is the most."""
    most = 0
    for replica in play.replicas:
        found = await asyncio.gather(*(play.asker.is_taken(replica.url, each) for each in tokens))
        play.judge([told for _, told in found], 200, 401, 403)
        most = max(most, sum(is_taken for is_taken, _ in found))
    return most


async def _revoke(play: _Play) -> None:
    holder = await play.asker.sign_in(play.url())
    for turn in range(play.rounds):
        await _end_watched(play, holder, turn)


async def _end_watched(play: _Play, holder: Holder, turn: int) -> None:
    """A key that is in use is revoked or rotated, or a session signed out."""
    if turn == 0:
        watched = (await play.asker.sign_in(play.url())).session
        method, path, shown = "POST", "/v1/auth/logout", watched
    else:
        key = await play.asker.key(play.url(), holder, f"robot {turn}")
        watched, shown = key.token, holder.session
        method, path = play.dice.choice(
            (
                ("DELETE", f"{KEYS}/{key.id}"),
                ("POST", f"{KEYS}/{key.id}/revoke"),
                ("POST", f"{KEYS}/{key.id}/rotate"),
            )
        )
    is_over = asyncio.Event()
    watching = [
        asyncio.create_task(_watch(play, replica.url, watched, is_over))
        for replica in play.replicas
        for _ in range(_WATCHERS)
    ]
    await asyncio.sleep(play.dice.random() * 0.1)
    ended = await play.asker.ask(play.url(), method, path, token=shown)
    play.judge([ended], 200, 201)
    # the very next request, on each replica
    for replica in play.replicas:
        is_taken, _ = await play.asker.is_taken(replica.url, watched)
        play.outcome.late_accepts += is_taken
    await asyncio.sleep(_AFTERWARDS_S)
    is_over.set()
    for let_in in await asyncio.gather(*watching):
        play.outcome.used += len(let_in)
        play.outcome.late_accepts += sum(each.sent_at > ended.told_at for each in let_in)


async def _watch(play: _Play, url: str, token: Secret[str], is_over: asyncio.Event) -> list[Told]:
    """Every request that was let in until it is over."""
    let_in = []
    while not is_over.is_set():
        is_taken, told = await play.asker.is_taken(url, token)
        play.judge([told], 200, 401, 403)
        if is_taken:
            let_in.append(told)
    return let_in


_PLAYS: Final = {
    Kind.SIGN_IN: _sign_in,
    Kind.ROTATE: _rotate,
    Kind.MIXED: _mixed,
    Kind.REVOKE: _revoke,
}
