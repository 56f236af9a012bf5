"""The scripts of games: how a plan is brought into a state, and who acts on it at the same time."""

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.automation.plans.wire import OnLegError
from farebox.automation.schedules.missed_runs import MissedRuns
from prove.plan_chain import RunFate
from prove.plan_moves import Move

NUMBERS: Final = 900_000  # above those of the other cases of the proof
GAMES: Final = 60  # of a seed
_MOST_STOP: Final = 32  # points of most moves
_MOST_DEATH: Final = 32
_LEGS: Final = 3
_RECORDED: Final = (14, 15)  # the points at which an envelope was recorded, and not sent


class Opening(StrEnum):
    """The state of the plan when several processes act on it."""

    FRESH = "its first run is due"
    BEGUN = "a run has begun"
    DIED = "a process has died"
    DIED_PAUSED = "a process has died, and the plan is paused"
    PAUSED = "it is paused"
    RETRIED = "an envelope has died while it was paused"
    FAILED = "runs have failed"
    REPEATED = "failed runs are repeated"
    UNPAID = "it is not paid"
    BUDGET = "the budget is used up"
    UNKNOWN = "the outcome of a run is not known"


class GameEnd(StrEnum):
    """What the owner of a paused plan does at the end of a game."""

    RESUME = "resume"
    CANCEL = "cancel"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Step:
    """A move by one process: what becomes of its runs, and where it stops or dies."""

    move: Move
    fates: tuple[RunFate, ...] = (RunFate.LANDS,)
    stops: tuple[int, ...] = ()
    dies_at: int = 0
    stumbles_at: int = 0
    behind_s: int = 0
    run_index: int = 0

    def __str__(self) -> str:
        told = [str(self.move)]
        if self.move in (Move.RUN, Move.RECOVER, Move.LATE):
            told.append(" then ".join(self.fates))
        told += [f"stops at {each}" for each in self.stops]
        if self.dies_at:
            told.append(f"dies at {self.dies_at}")
        if self.stumbles_at:
            told.append(f"is too slow at {self.stumbles_at}")
        if self.behind_s:
            told.append(f"{self.behind_s} s behind")
        if self.move is Move.REPEAT:
            told.append(f"run {self.run_index}")
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class Game:
    """A script: the plan, what happens before, who acts at the same time, and how it ends."""

    seed: int
    number: int
    opening: Opening
    legs: int
    on_leg_error: OnLegError
    runs: int
    missed: MissedRuns
    is_once: bool
    before: tuple[Step, ...]
    together: tuple[Step, ...]
    end: GameEnd
    is_due: bool  # when they begin, the next run is

    @property
    def has_neighbour(self) -> bool:
        """Whether a plan of another owner uses the same budget."""
        return self.opening is Opening.BUDGET

    def __str__(self) -> str:
        times = "once" if self.is_once else "each minute"
        plan = f"{self.runs} runs {times} of {self.legs} legs, {self.on_leg_error}, {self.missed}"
        before = "; ".join(map(str, self.before)) or "nothing"
        together = " | ".join(map(str, self.together))
        return (
            f"SEED={self.seed} CASE={self.number} ({self.opening}): {plan}; before: {before};"
            f" together{' when due' if self.is_due else ''}: {together}; end: {self.end}"
        )


_POINTS: Final = {  # of a move, about
    Move.PAUSE: 16,
    Move.RESUME: 23,
    Move.CANCEL: 16,
    Move.STOP_ALL: 16,
    Move.RELEASE: 3,
    Move.END_SEARCH: 16,
    Move.PAY: 20,
    Move.REPEAT: 10,
    Move.UPKEEP: 8,
    Move.OVERDUE: 12,
}
_USUAL: Final = {
    Move.RUN: 8,
    Move.LATE: 4,
    Move.RECOVER: 1,
    Move.PAUSE: 4,
    Move.RESUME: 4,
    Move.CANCEL: 4,
    Move.STOP_ALL: 3,
    Move.RELEASE: 1,
    Move.END_SEARCH: 1,
    Move.PAY: 3,
    Move.REPEAT: 3,
    Move.UPKEEP: 2,
    Move.OVERDUE: 1,
}
# the moves that an opening is made for: one of them is played, mostly
_FIRST: Final = {
    Opening.FRESH: (Move.RUN,),
    Opening.BEGUN: (Move.RUN, Move.PAUSE, Move.CANCEL),
    Opening.DIED: (Move.LATE, Move.STOP_ALL, Move.CANCEL),
    Opening.DIED_PAUSED: (Move.LATE, Move.RESUME),
    Opening.PAUSED: (Move.RESUME,),
    Opening.RETRIED: (Move.RUN, Move.RESUME),
    Opening.FAILED: (Move.REPEAT, Move.RUN),
    Opening.REPEATED: (Move.RUN, Move.REPEAT),
    Opening.UNPAID: (Move.OVERDUE, Move.PAY),
    Opening.BUDGET: (Move.RUN,),
    Opening.UNKNOWN: (Move.END_SEARCH, Move.RESUME),
}
_SECOND: Final = {
    Opening.BEGUN: (Move.CANCEL, Move.RUN, Move.PAUSE),
    Opening.DIED: (Move.CANCEL, Move.LATE),
    Opening.FRESH: (Move.LATE, Move.PAUSE, Move.CANCEL),
    Opening.FAILED: (Move.RUN, Move.REPEAT),
    Opening.RETRIED: (Move.RESUME, Move.RUN),
    Opening.UNPAID: (Move.PAY, Move.CANCEL),
    Opening.BUDGET: (Move.RECOVER,),
    Opening.DIED_PAUSED: (Move.RESUME, Move.LATE),
}
_TURNED: Final = (Opening.FRESH, Opening.BEGUN)  # where a plan is paused and resumed meanwhile
# the points between which what matters in an opening happens
_STOPS: Final = {
    (Opening.UNPAID, Move.OVERDUE): (1, 3),
    (Opening.BUDGET, Move.RUN): (12, 20),
    (Opening.RETRIED, Move.RUN): (2, 9),
    (Opening.BEGUN, Move.CANCEL): (1, 8),
}
# the points at which a scheduler has no transaction open
_BETWEEN: Final = {Move.RUN: (1, 4, 5, 6, 14, 15, 16), Move.LATE: (2, 3, 6, 7, 8, 16, 17, 18)}
_EARLY: Final = 5  # points: what a move reads before its locks
_SEVERAL: Final = (Opening.UNPAID, Opening.FAILED)  # a single run would be over
_IN_TIME: Final = (Opening.BUDGET, Opening.FAILED)  # whose runs may still land much later
# what is not known stays reserved: no run would fit until the next day
_NEVER: Final = {(Opening.BUDGET, Move.END_SEARCH)}
_SENT: Final = (
    RunFate.LANDS,
    RunFate.LANDS,
    RunFate.LANDS,
    RunFate.FAILS,
    RunFate.DEAD,
    RunFate.FOUND,
    RunFate.KEPT,
    RunFate.KEPT_DEAD,
    RunFate.UNPROVEN,
)
_ANY: Final = (
    *_SENT,
    RunFate.REFUSED,
    RunFate.REFUSED,
    RunFate.LATER,
    RunFate.DEAR,
    RunFate.UPGRADED,
)
_TIGHT: Final = (RunFate.LANDS, RunFate.DEAD, RunFate.LATER)  # none loses a fee


def draw_games(seed: int, *, opening: Opening | None = None, count: int = GAMES) -> list[Game]:
    """Draw the games of a seed, all of one opening where it is given."""
    openings = [opening] if opening is not None else list(Opening)
    return [
        _draw_game(seed, NUMBERS + number, openings[number % len(openings)])
        for number in range(count)
    ]


def _draw_game(seed: int, number: int, opening: Opening) -> Game:
    rng = random.Random(f"game {seed} {number} {opening}")
    legs, is_once = rng.choice((1, _LEGS, _LEGS)), rng.random() < 0.4
    is_once = is_once and opening not in _SEVERAL
    missed = rng.choice((MissedRuns.SKIP, MissedRuns.CATCH_UP_ALL, MissedRuns.CATCH_UP_ONE))
    return Game(
        seed=seed,
        number=number,
        opening=opening,
        legs=legs,
        on_leg_error=rng.choice((OnLegError.STOP, OnLegError.CONTINUE, OnLegError.CONTINUE)),
        runs=1 if is_once else rng.randint(1, 3),
        missed=MissedRuns.CATCH_UP_ALL if opening in _IN_TIME else missed,
        is_once=is_once,
        before=tuple(_draw_before(rng, opening, legs)),
        together=tuple(_draw_together(rng, opening)),
        end=rng.choice((GameEnd.RESUME, GameEnd.RESUME, GameEnd.CANCEL, GameEnd.WAIT)),
        is_due=opening is Opening.RETRIED or rng.random() < 0.75,
    )


def _draw_before(rng: random.Random, opening: Opening, legs: int) -> list[Step]:
    lands, refused = Step(Move.RUN), Step(Move.RUN, (RunFate.REFUSED,))
    dies = Step(Move.RUN, dies_at=rng.randint(1, _MOST_DEATH))
    sent = Step(Move.RUN, (RunFate.KEPT_DEAD,), dies_at=rng.randint(*_RECORDED))
    unproven, pause = Step(Move.RUN, (RunFate.UNPROVEN,)), Step(Move.PAUSE)
    dead = Step(Move.LATE, (RunFate.DEAD, RunFate.LANDS))
    lost = Step(Move.LATE, (RunFate.UNPROVEN, RunFate.LANDS))
    first, again = [lands] * rng.randint(0, 2), rng.randint(1, 2)
    steps = {
        Opening.FRESH: [],
        Opening.BEGUN: [lands] * rng.randint(1, max(1, legs - 1)),
        Opening.DIED: [*first, dies],
        Opening.DIED_PAUSED: [*first, dies, pause],
        Opening.PAUSED: [*first, Step(rng.choice((Move.PAUSE, Move.STOP_ALL)))],
        Opening.RETRIED: [*first[: legs // 2], sent, pause, dead],
        Opening.FAILED: [lands, *[refused] * rng.randint(1, 2 * legs)],
        Opening.REPEATED: [
            *first,
            *[refused] * rng.randint(1, legs),
            lands,
            refused,
            *(Step(Move.REPEAT, run_index=each) for each in range(again)),
        ],
        Opening.UNPAID: [],
        Opening.BUDGET: [sent, Step(Move.WAIT)],
        Opening.UNKNOWN: [*first, unproven] if again == 1 else [*first, sent, pause, lost],
    }
    return steps[opening]


def _draw_together(rng: random.Random, opening: Opening) -> list[Step]:
    usual = [each for each in _USUAL if (opening, each) not in _NEVER]
    weights = [_USUAL[each] for each in usual]
    first = rng.choice(_FIRST[opening])
    second = rng.choices(usual, weights)[0]
    if rng.random() < 0.6 and opening in _SECOND:
        second = rng.choice([each for each in _SECOND[opening] if each is not first] or [second])
    moves = [first, second]
    if opening in _TURNED and rng.random() < 0.25:
        moves = [Move.RUN, Move.PAUSE, Move.RESUME]
    elif rng.random() < 0.15:
        moves.append(rng.choices(usual, weights)[0])
    if len(moves) == 2 and rng.random() < 0.4:
        moves.reverse()
    return [_draw_step(rng, move, opening, is_first=not place) for place, move in enumerate(moves)]


def _draw_step(rng: random.Random, move: Move, opening: Opening, *, is_first: bool) -> Step:
    fates = _TIGHT if opening is Opening.BUDGET else _ANY
    stops: tuple[int, ...] = ()
    if is_first or rng.random() < 0.4:
        most = _POINTS.get(move, _MOST_STOP)
        most = min(most, _EARLY) if move in _POINTS and rng.random() < 0.5 else most
        least, most = _STOPS.get((opening, move), (1, most))
        if (opening, move) not in _STOPS and move in _BETWEEN and rng.random() < 0.5:
            return _fill_step(rng, move, fates, (rng.choice(_BETWEEN[move]),))
        stops = tuple(sorted(rng.sample(range(least, most + 1), min(most, rng.choice((1, 1, 2))))))
    return _fill_step(rng, move, fates, stops)


def _fill_step(
    rng: random.Random, move: Move, fates: tuple[RunFate, ...], stops: tuple[int, ...]
) -> Step:
    dies = rng.random() < 0.1
    slow = move is Move.STOP_ALL and rng.random() < 0.2
    return Step(
        move,
        fates=(rng.choice(fates), RunFate.LANDS),
        stops=stops,
        dies_at=rng.randint(1, _MOST_DEATH) if dies else 0,
        stumbles_at=rng.randint(2, 8) if slow else 0,
        behind_s=rng.choice((0, 0, 0, 0, 0, 0, 0, 1)),
        run_index=rng.randint(0, 1),
    )
