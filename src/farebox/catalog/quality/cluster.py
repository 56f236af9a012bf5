"""How many independent payers a listing has: how many origins their money has had.

An account that is not funded through this service is an origin: its money came from outside. So
is a circle of accounts that fund each other and are funded by nobody else. Everybody else pays
with money that came from origins, and counts as far as each payer can be given an origin of its
own. So a hundred accounts that one account has funded are one payer, a circle of a hundred is one,
and a seller who buys something makes no cluster of his customers. What came from the recipient
itself, or goes round through it, counts nothing.

See decision 21 for what this can see and what it cannot.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

MAX_ORIGINS: Final = 32  # kept for one account: more make no difference to who can have one
_NOBODY: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Funding:
    """Who was funded by whom, followed back from the payers of one listing."""

    paid_by: Mapping[str, Collection[str]]  # only accounts that are funded through this service
    unfollowed: Collection[str] = ()  # are funded too, by whom was not asked


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts of a listing's use."""

    payers: int
    settlements: int


def count_independent(
    settlements: Mapping[str, int], funding: Funding, *, recipient: str
) -> Counted:
    """What counts of these payers' settlements with the recipient.

    What was not followed back is never taken for an origin: the count is rather too low.
    """
    circles = _circles(funding.paid_by)
    place = {account: number for number, circle in enumerate(circles) for account in circle}
    for payer in settlements:
        if payer not in place:
            place[payer] = len(circles)
            circles.append((payer,))
    origins = _origins(circles, place, funding, recipient)
    paying: dict[int, list[str]] = {}
    for payer in sorted(settlements):
        paying.setdefault(place[payer], []).append(payer)
    wishes = {number: sorted(origins[number]) for number in paying if origins[number]}
    given = _given_one_each(wishes)
    return Counted(
        payers=len(given),
        settlements=sum(settlements[payer] for number in given for payer in paying[number]),
    )


def _origins(
    circles: list[tuple[str, ...]],
    place: Mapping[str, int],
    funding: Funding,
    recipient: str,
) -> list[frozenset[int]]:
    """For each circle the circles its money came from first, at most `MAX_ORIGINS`.

    The circles stand so that whoever funds one stands before it.
    """
    unfollowed = set(funding.unfollowed)
    found: list[frozenset[int]] = []
    for number, circle in enumerate(circles):
        funders = {place[by] for account in circle for by in funding.paid_by.get(account, ())}
        outside = funders - {number}
        if recipient in circle:
            found.append(_NOBODY)
        elif outside or unfollowed.intersection(circle):
            inherited = frozenset().union(*(found[funder] for funder in outside))
            found.append(frozenset(sorted(inherited)[:MAX_ORIGINS]))
        else:
            found.append(frozenset((number,)))
    return found


def _circles(paid_by: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """Accounts that money goes round between, together; funders before whom they fund."""
    pays: dict[str, list[str]] = {}
    for account, funders in paid_by.items():
        for funder in funders:
            pays.setdefault(funder, []).append(account)
    accounts = sorted(paid_by.keys() | pays.keys())
    seen: set[str] = set()
    # Kosaraju: the last to be left when money is followed forwards is first, and what is then
    # reached backwards and not yet placed goes round
    return [
        tuple(_reached(account, paid_by, seen))
        for account in reversed(_left_in_order(accounts, pays))
        if account not in seen
    ]


def _left_in_order(accounts: Iterable[str], steps: Mapping[str, Collection[str]]) -> list[str]:
    """All accounts in the order in which a walk in depth leaves them."""
    seen: set[str] = set()
    left: list[str] = []
    for start in accounts:
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(steps.get(start, ())))]
        while path:
            account, further = path[-1]
            following = next((each for each in further if each not in seen), None)
            if following is None:
                left.append(account)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(steps.get(following, ()))))
    return left


def _reached(start: str, steps: Mapping[str, Collection[str]], seen: set[str]) -> list[str]:
    """What is reached from `start` without what was seen; it is seen now."""
    seen.add(start)
    reached, waiting = [], [start]
    while waiting:
        account = waiting.pop()
        reached.append(account)
        for further in steps.get(account, ()):
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return reached


def _given_one_each(wishes: Mapping[int, list[int]]) -> list[int]:
    """Who gets one of his wishes when as many as can be do, each wish given once."""
    holder: dict[int, int] = {}
    held: dict[int, int] = {}
    for asking in sorted(wishes, key=lambda one: (len(wishes[one]), one)):
        asked_by: dict[int, int] = {}
        free = _free_wish(asking, wishes, holder, asked_by)
        while free is not None:
            taker = asked_by[free]
            before = held.get(taker)
            holder[free], held[taker] = taker, free
            free = before if taker != asking else None
    return sorted(held)


def _free_wish(
    asking: int,
    wishes: Mapping[int, list[int]],
    holder: Mapping[int, int],
    asked_by: dict[int, int],
) -> int | None:
    """A wish nobody holds, at the end of a line of holders who could each take another."""
    waiting = deque([asking])
    while waiting:
        one = waiting.popleft()
        for wish in wishes[one]:
            if wish not in asked_by:
                asked_by[wish] = one
                if wish not in holder:
                    return wish
                waiting.append(holder[wish])
    return None
