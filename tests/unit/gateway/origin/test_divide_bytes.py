"""The bytes of a document, divided between the shares of owners."""

from collections.abc import Iterator

import pytest

from farebox.gateway.origin.divide_bytes import Entry, divide_bytes
from farebox.kernel.slots import Share


@pytest.mark.parametrize(
    ("sizes", "limit", "shares"),
    [
        ({"a": 9, "b": 9, "c": 9}, 9, {"a": 3, "b": 3, "c": 3}),
        ({"a": 1, "b": 9, "c": 9}, 9, {"a": 1, "b": 4, "c": 4}),
        ({"a": 99, "b": 2, "c": 3}, 20, {"a": 15, "b": 2, "c": 3}),
        ({"a": 99, "new b": 99}, 20, {"a": 10, "new b": 10}),
        ({"a": 99, "new b": 99, "new c": 99}, 20, {"a": 10, "new b": 5, "new c": 5}),
        ({"a": 99, "new b": 99, "new c": 2}, 20, {"a": 10, "new b": 8, "new c": 2}),
        ({"new b": 99, "new c": 99}, 20, {"new b": 10, "new c": 10}),
        ({"a": 2, "b": 2}, 4, {"a": 2, "b": 2}),
        ({"a": 1}, 0, {}),
        ({}, 9, {}),
    ],
)
def test_bytes_are_divided_equally_and_what_small_shares_leave_goes_to_larger_ones(
    sizes: dict[str, int], limit: int, shares: dict[str, int]
) -> None:
    queues = [
        (Share(name, name.startswith("new")), entries(name, number, size))
        for number, (name, size) in enumerate(sizes.items())
    ]
    taken, is_truncated = divide_bytes(queues, limit_bytes=limit)
    assert {name: list(taken).count(name) for name in dict.fromkeys(taken)} == shares
    assert taken == sorted(taken, key=list(sizes).index)
    assert is_truncated is (sum(sizes.values()) > limit)


def entries(name: str, number: int, size: int) -> Iterator[Entry[str]]:
    """Entries of one byte each."""
    return (Entry((number, index), 1, name) for index in range(size))
