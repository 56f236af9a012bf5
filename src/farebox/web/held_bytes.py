"""Bytes of incomplete requests in memory, counted by client."""

from collections import Counter
from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

H = TypeVar("H", bound=Hashable)
_AFTER_SHEDDING: Final = 0.75  # of the maximum: the next search for victims is far away


class HeldBytes(Generic[H]):
    """The bytes that each holder (a request, a connection) keeps for its client.

    Above `max_bytes` the oldest holder of the client that holds the most is ended, and so on, until
    a quarter of the room is free. `end` returns whether a holder could be ended; one that could not
    is passed over.
    """

    def __init__(self, max_bytes: int, end: Callable[[H], bool]) -> None:
        self._max_bytes, self._end = max_bytes, end
        self._clients: dict[H, Hashable] = {}
        self._holders: dict[Hashable, dict[H, int]] = {}  # of a client, the oldest first
        self._by_client: Counter[Hashable] = Counter()
        self._total = 0

    def __bool__(self) -> bool:
        return bool(self._clients)

    def add(self, holder: H, count: int, client: Hashable) -> None:
        """Count `count` more bytes of a holder; `client` is the same one each time."""
        client = self._clients.setdefault(holder, client)
        sizes = self._holders.setdefault(client, {})
        sizes[holder] = sizes.get(holder, 0) + count
        self._by_client[client] += count
        self._total += count
        if self._total > self._max_bytes:
            self._shed()

    def replace(self, holder: H, count: int, client: Hashable) -> None:
        """Count `count` bytes of a holder in place of those it had; it keeps its age."""
        if count:
            client = self._clients.get(holder, client)
            held = self._holders.get(client, {}).get(holder, 0)
            self.add(holder, count - held, client)
        else:
            self.release(holder)

    def release(self, holder: H) -> None:
        """Stop counting a holder; one that is not counted is ignored."""
        client = self._clients.pop(holder, None)
        if client is None:
            return
        sizes = self._holders[client]
        count = sizes.pop(holder)
        self._total -= count
        self._by_client[client] -= count
        if not sizes:
            del self._holders[client], self._by_client[client]

    def _shed(self) -> None:
        largest_first = [
            (-self._by_client[client], number, client, iter(list(holders)))
            for number, (client, holders) in enumerate(self._holders.items())
        ]
        heapify(largest_first)
        while largest_first and self._total > self._max_bytes * _AFTER_SHEDDING:
            _, number, client, oldest_first = heappop(largest_first)
            ended = next((each for each in oldest_first if self._end(each)), None)
            if ended is None:
                continue
            self.release(ended)
            if client in self._holders:
                entry = (-self._by_client[client], number, client, oldest_first)
                heappush(largest_first, entry)
