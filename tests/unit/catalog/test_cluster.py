"""Who counts as a payer of his own, and who is somebody else's puppet."""

import itertools
from random import Random

import pytest

from farebox.catalog.quality.cluster import Counted, Funding, count_independent
from support.promises import case

S = "seller"


def count(edges: str, *, recipient: str = S, unfollowed: str = "") -> Counted:
    """Edges as `a>b c>seller`; each payer of the recipient has paid it ten times."""
    pairs = [tuple(edge.split(">")) for edge in edges.split()]
    paid_by: dict[str, set[str]] = {}
    for payer, paid in pairs:
        paid_by.setdefault(paid, set()).add(payer)
    settlements = {payer: 10 for payer, paid in pairs if paid == recipient}
    return count_independent(settlements, Funding(paid_by, unfollowed.split()), recipient=recipient)


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
        ("a>a a>seller", 1),  # paying himself made him nobody's
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
def test_a_payer_counts_as_far_as_its_money_has_an_origin_of_its_own(
    edges: str, payers: int
) -> None:
    assert count(edges).payers == payers


@case("CT-042")
@pytest.mark.parametrize("n", [2, 3, 100, 1_500])
def test_a_circle_of_any_size_that_pays_a_seller_is_one_payer(n: int) -> None:
    assert count(f"{ring(n)} {all_pay(n)}").payers == 1
    assert count(f"{ring(n)} {all_pay(n)} honest>seller").payers == 2


@case("CT-042")
def test_everybody_paying_everybody_is_one_payer() -> None:
    mesh = " ".join(f"p{i}>p{j}" for i, j in itertools.permutations(range(30), 2))
    assert count(f"{mesh} {all_pay(30)}").payers == 1


@case("CT-042")
def test_a_hundred_accounts_that_the_seller_has_paid_count_nothing() -> None:
    funded = " ".join(f"seller>p{i}" for i in range(100))
    assert count(f"{funded} {all_pay(100)}") == Counted(0, 0)
    assert count(f"{funded} {all_pay(100)} honest>seller") == Counted(1, 10)


@case("CT-042")
def test_a_thousand_payers_in_layers_count_no_more_than_those_who_fund_them() -> None:
    layers = " ".join(f"boss{i % 3}>m{i} m{i}>p{i} m{(i + 1) % 1000}>p{i}" for i in range(1000))
    assert count(f"{layers} {all_pay(1000)}").payers == 3


def test_honest_payers_count_each_also_where_some_of_them_sell_to_others() -> None:
    sells = " ".join(f"q{i}>p{i}" for i in range(50))
    assert count(f"{sells} {all_pay(80)}") == Counted(80, 800)


def test_only_settlements_of_payers_that_count_are_counted() -> None:
    assert count("seller>a a>seller b>seller x>b") == Counted(1, 10)
    assert count(f"{ring(3)} {all_pay(3)}") == Counted(1, 30)


def test_what_was_not_followed_back_is_no_origin() -> None:
    assert count("a>b b>seller", unfollowed="a").payers == 0
    assert count("b>seller", unfollowed="b").payers == 0
    assert count("a>b x>b b>seller", unfollowed="a").payers == 1


def test_no_order_of_the_same_facts_changes_the_count() -> None:
    random = Random(7)
    names = [f"n{i}" for i in range(12)] + [S]
    for _ in range(200):
        edges = [
            f"{random.choice(names)}>{random.choice(names)}" for _ in range(random.randrange(30))
        ]
        expected = count(" ".join(edges))
        random.shuffle(edges)
        assert count(" ".join(edges)) == expected


def test_a_further_payment_between_others_never_raises_the_count_past_the_origins() -> None:
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
