"""The count of independent payers: payers funded from one origin are one cluster."""

import itertools
from random import Random

import pytest

from farebox.catalog.quality.payer_clusters import (
    FundingGraph,
    PayerCount,
    count_independent_payers,
)
from support.promises import case

S = "seller"


def count(edges: str, *, recipient: str = S, unfollowed: str = "") -> PayerCount:
    """Edges as `a>b c>seller`; each payer of the recipient has paid it ten times."""
    pairs = [tuple(edge.split(">")) for edge in edges.split()]
    paid_by: dict[str, set[str]] = {}
    for payer, paid in pairs:
        paid_by.setdefault(paid, set()).add(payer)
    settlements = {payer: 10 for payer, paid in pairs if paid == recipient}
    return count_independent_payers(
        settlements, FundingGraph(paid_by, unfollowed.split()), recipient=recipient
    )


def ring(n: int) -> str:
    return " ".join(f"p{i}>p{(i + 1) % n}" for i in range(n))


def all_pay(n: int, *, recipient: str = S) -> str:
    return " ".join(f"p{i}>{recipient}" for i in range(n))


@pytest.mark.parametrize(
    ("edges", "payers"),
    [
        ("a>seller", 1),
        ("a>seller b>seller c>seller", 3),
        ("seller>seller", 0),  # pays himself
        ("seller>seller a>seller", 1),
        ("seller>a a>seller", 0),  # paid the payer
        ("seller>a a>b b>seller", 0),  # by way of another
        ("seller>a a>b b>c c>seller b>seller", 0),
        ("a>b b>seller", 1),  # a chain has one origin
        ("a>b b>c a>seller b>seller c>seller", 1),
        ("boss>a boss>b boss>c a>seller b>seller c>seller", 1),  # one funds many
        ("boss>a boss>b boss>seller a>seller b>seller", 1),  # and pays too
        ("x>a y>b a>seller b>seller", 2),  # each has his own
        ("x>a y>a x>b y>b x>c y>c a>seller b>seller c>seller", 2),  # two origins, mixed
        ("a>b b>a a>seller b>seller", 1),  # a circle of two
        ("x>a a>b b>a a>seller b>seller", 1),  # fed from outside
        ("x>a y>b a>b b>a a>seller b>seller", 1),  # a circle counts once however it is fed
        ("a>a a>seller", 1),  # a payment to oneself is ignored
        # a seller who buys makes no cluster of his customers, neither for himself nor for others
        ("a>seller b>seller c>seller seller>shop", 3),
        ("a>shop b>shop c>shop shop>x a>seller b>seller c>seller", 3),
        ("a>shop b>shop shop>seller", 1),
        ("a>shop b>shop shop>seller a>seller b>seller", 2),  # their money is counted already
        ("a>shop b>shop c>shop shop>seller a>seller b>seller", 3),
        ("seller>a x>a a>seller", 0),  # goes round through the recipient
        ("seller>a x>a a>b b>seller", 0),
        ("x>y a>seller", 1),  # others' business
    ],
)
def test_payers_count_by_the_independent_origins_of_their_money(edges: str, payers: int) -> None:
    assert count(edges).payers == payers


@case("CT-042")
@pytest.mark.parametrize("n", [2, 3, 100, 1_500])
def test_circle_of_payers_counts_as_one(n: int) -> None:
    assert count(f"{ring(n)} {all_pay(n)}").payers == 1
    assert count(f"{ring(n)} {all_pay(n)} honest>seller").payers == 2


@case("CT-042")
def test_payers_that_all_pay_each_other_count_as_one() -> None:
    mesh = " ".join(f"p{i}>p{j}" for i, j in itertools.permutations(range(30), 2))
    assert count(f"{mesh} {all_pay(30)}").payers == 1


@case("CT-042")
def test_payers_funded_by_the_seller_do_not_count() -> None:
    funded = " ".join(f"seller>p{i}" for i in range(100))
    assert count(f"{funded} {all_pay(100)}") == PayerCount(0, 0)
    assert count(f"{funded} {all_pay(100)} honest>seller") == PayerCount(1, 10)


@case("CT-042")
def test_payers_in_layers_count_as_their_funders() -> None:
    layers = " ".join(f"boss{i % 3}>m{i} m{i}>p{i} m{(i + 1) % 1000}>p{i}" for i in range(1000))
    assert count(f"{layers} {all_pay(1000)}").payers == 3


def test_independent_payers_count_each_when_some_are_sellers() -> None:
    sells = " ".join(f"q{i}>p{i}" for i in range(50))
    assert count(f"{sells} {all_pay(80)}") == PayerCount(80, 800)


def test_settlements_count_only_of_payers_that_count() -> None:
    assert count("seller>a a>seller b>seller x>b") == PayerCount(1, 10)
    assert count(f"{ring(3)} {all_pay(3)}") == PayerCount(1, 30)


def test_unfollowed_funding_is_no_origin() -> None:
    assert count("a>b b>seller", unfollowed="a").payers == 0
    assert count("b>seller", unfollowed="b").payers == 0
    assert count("a>b x>b b>seller", unfollowed="a").payers == 1


def test_payer_count_does_not_depend_on_the_order_of_payments() -> None:
    random = Random(7)
    names = [f"n{i}" for i in range(12)] + [S]
    for _ in range(200):
        edges = [
            f"{random.choice(names)}>{random.choice(names)}" for _ in range(random.randrange(30))
        ]
        expected = count(" ".join(edges))
        random.shuffle(edges)
        assert count(" ".join(edges)) == expected


def test_payer_count_never_exceeds_the_origins_of_money() -> None:
    """The count is bounded by the accounts whose money came from outside, and closed circles."""
    random = Random(11)
    names = [f"n{i}" for i in range(10)] + [S]
    for _ in range(300):
        pairs = {(random.choice(names), random.choice(names)) for _ in range(random.randrange(25))}
        paid = {to for by, to in pairs if by != to}
        outside = {by for by, _ in pairs} - paid
        counted = count(" ".join(f"{by}>{to}" for by, to in pairs))
        payers = {by for by, to in pairs if to == S}
        assert counted.payers <= len(payers)
        assert counted.payers >= len(payers & outside - {S})
        circles = len(names) - len(outside)
        assert counted.payers <= len(outside) + circles // 2
