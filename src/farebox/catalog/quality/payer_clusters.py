"""Count the independent payers of a listing from the graph of payments that funded them.

A funding source is an account that is not funded through this service: its money came from outside.
So is a cycle of accounts that fund each other and that no other account funds. Every other payer
pays with money that came from funding sources, and counts only if a source of its own can be
assigned to it: the count is a maximum bipartite matching of payers and sources. So a hundred
accounts funded by one account are one payer, a cycle of a hundred is one, and a seller who buys
something does not cluster its customers. Money that came from the recipient, or through it, does
not count.

docs/decisions/0021 says what this detects and what it does not.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

MAX_SOURCES: Final = 32  # kept for one account: more hardly change the matching
_NONE: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True)
class FundingGraph:
    """The funders of accounts, traced back from the payers of one listing."""

    paid_by: Mapping[str, Collection[str]]  # the funders of accounts funded through this service
    untraced: Collection[str] = ()  # funded accounts whose funders were not read


@dataclass(frozen=True, slots=True)
class PayerCount:
    """Independent payers and their settlements."""

    payers: int
    settlements: int


def count_independent_payers(
    settlements: Mapping[str, int], funding: FundingGraph, *, recipient: str
) -> PayerCount:
    """Count the independent ones of these payers, and their settlements with the recipient.

    An untraced account is never taken for a source, so the count is rather too low.
    """
    components = _components(funding.paid_by)
    component_of = {
        account: number for number, component in enumerate(components) for account in component
    }
    for payer in settlements:
        if payer not in component_of:
            component_of[payer] = len(components)
            components.append((payer,))
    sources = _funding_sources(components, component_of, funding, recipient)
    paying: dict[int, list[str]] = {}
    for payer in sorted(settlements):
        paying.setdefault(component_of[payer], []).append(payer)
    matched = _match({number: sorted(sources[number]) for number in paying if sources[number]})
    return PayerCount(
        payers=len(matched),
        settlements=sum(settlements[payer] for number in matched for payer in paying[number]),
    )


def _funding_sources(
    components: list[tuple[str, ...]],
    component_of: Mapping[str, int],
    funding: FundingGraph,
    recipient: str,
) -> list[frozenset[int]]:
    """For each component the components that are its funding sources, at most `MAX_SOURCES`.

    `components` is in topological order: funders come before those they fund.
    """
    untraced = set(funding.untraced)
    sources: list[frozenset[int]] = []
    for number, component in enumerate(components):
        funders = {
            component_of[by] for account in component for by in funding.paid_by.get(account, ())
        }
        outside = funders - {number}
        if recipient in component:
            sources.append(_NONE)
        elif outside or untraced.intersection(component):
            inherited = frozenset().union(*(sources[funder] for funder in outside))
            sources.append(frozenset(sorted(inherited)[:MAX_SOURCES]))
        else:
            sources.append(frozenset((number,)))
    return sources


def _components(paid_by: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """The strongly connected components in topological order, by Kosaraju's algorithm."""
    pays: dict[str, list[str]] = {}
    for account, funders in paid_by.items():
        for funder in funders:
            pays.setdefault(funder, []).append(account)
    accounts = sorted(paid_by.keys() | pays.keys())
    seen: set[str] = set()
    return [
        tuple(_reachable(account, paid_by, seen))
        for account in reversed(_postorder(accounts, pays))
        if account not in seen
    ]


def _postorder(accounts: Iterable[str], edges: Mapping[str, Collection[str]]) -> list[str]:
    """All accounts in the postorder of a depth-first search."""
    seen: set[str] = set()
    finished: list[str] = []
    for start in accounts:
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(edges.get(start, ())))]
        while path:
            account, neighbours = path[-1]
            following = next((each for each in neighbours if each not in seen), None)
            if following is None:
                finished.append(account)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(edges.get(following, ()))))
    return finished


def _reachable(start: str, edges: Mapping[str, Collection[str]], seen: set[str]) -> list[str]:
    """The accounts reachable from `start` that are not in `seen`, to which they are added."""
    seen.add(start)
    reached, waiting = [], [start]
    while waiting:
        account = waiting.pop()
        reached.append(account)
        for neighbour in edges.get(account, ()):
            if neighbour not in seen:
                seen.add(neighbour)
                waiting.append(neighbour)
    return reached


def _match(sources: Mapping[int, list[int]]) -> list[int]:
    """The payers of a maximum bipartite matching of payers and sources, by augmenting paths."""
    payer_of: dict[int, int] = {}
    source_of: dict[int, int] = {}
    for payer in sorted(sources, key=lambda each: (len(sources[each]), each)):
        reached_from: dict[int, int] = {}
        source = _find_free_source(payer, sources, payer_of, reached_from)
        while source is not None:
            taker = reached_from[source]
            previous = source_of.get(taker)
            payer_of[source], source_of[taker] = taker, source
            source = previous if taker != payer else None
    return sorted(source_of)


def _find_free_source(
    payer: int,
    sources: Mapping[int, list[int]],
    payer_of: Mapping[int, int],
    reached_from: dict[int, int],
) -> int | None:
    """Find an unmatched source at the end of an augmenting path, breadth first.

    `reached_from` gets the payer from which the search reached each source.
    """
    waiting = deque([payer])
    while waiting:
        current = waiting.popleft()
        for source in sources[current]:
            if source not in reached_from:
                reached_from[source] = current
                if source not in payer_of:
                    return source
                waiting.append(payer_of[source])
    return None
