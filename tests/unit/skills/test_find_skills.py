"""Finding skills: words over metadata and actions, and exact filters that may be combined."""

import pytest

from farebox.skills.find_skills import (
    SkillFilter,
    SkillNotFound,
    SkillVersionNotFound,
    find_skill,
    find_version,
    list_skills,
)
from farebox.skills.read_skills import read_skills
from support.skills import SKILLS, changed, file_of, small_spec


def found(**wanted: str) -> list[str]:
    return [each.spec.slug for each in list_skills(SKILLS, SkillFilter(**wanted))]


def test_without_a_filter_every_skill_is_listed_by_its_slug() -> None:
    assert found() == sorted(SKILLS)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"query": "Send USDC"}, ["token-transfer"]),
        ({"query": "receipt"}, ["receipt-verify"]),
        ({"query": "paid_call"}, ["x402-pay"]),
        ({"query": "xyzzy"}, []),
        ({"query": "receipt xyzzy"}, []),
        ({"query": "  "}, []),
        ({"protocol": "SEP-10"}, ["wallet-auth"]),
        ({"protocol": "sep-10"}, []),
        ({"protocol": "SEP"}, []),
        ({"action": "paid_call"}, ["x402-pay"]),
        ({"action": "paid"}, []),
        ({"action": "settle"}, ["token-transfer", "x402-facilitate"]),
        ({"network": "stellar:futurenet"}, []),
        ({"network": "testnet"}, []),
        ({"network": "stellar:pubnet", "action": "settle", "protocol": "x402"},
         ["x402-facilitate"]),
        ({"query": "transfer", "protocol": "x402", "action": "balances"}, []),
    ],
)  # fmt: skip
def test_filters_are_exact_and_all_hold(wanted: dict[str, str], expected: list[str]) -> None:
    first = found(**wanted)
    assert first[: len(expected)] == expected
    assert bool(first) == bool(expected)
    if "query" not in wanted:
        assert first == expected


def test_skill_with_the_word_in_its_name_comes_first() -> None:
    assert found(query="sign in")[0] == "wallet-auth"
    assert found(query="receipt verify")[0] == "receipt-verify"
    assert found(query="contract")[:2] == ["automation-contract-call", "contract-inspect"]


def test_network_that_is_not_enabled_does_not_count() -> None:
    spec = changed(small_spec("receipts"), "networks/1/enabled", value=False)
    skills = read_skills(file_of(spec))
    assert list_skills(skills, SkillFilter(network="stellar:pubnet")) == []
    assert len(list_skills(skills, SkillFilter(network="stellar:testnet"))) == 1


def test_version_is_found_by_its_name_and_the_newest_without_one() -> None:
    skills = read_skills(file_of(small_spec("receipts")) | file_of(small_spec("receipts", "1.1.0")))
    skill = find_skill(skills, "receipts")
    assert find_version(skill, None).spec.version == "1.1.0"
    assert find_version(skill, "1.0.0").spec.version == "1.0.0"
    for other in ("", "1", "1.0", "1.0.00", "latest", "1.1.0 "):
        with pytest.raises(SkillVersionNotFound):
            find_version(skill, other)
    with pytest.raises(SkillNotFound):
        find_skill(skills, "Receipts")
