"""Every reason has its sentence, and no code is promised that no test has seen."""

from farebox.catalog.discovery.drop_reason import REGISTRY, Dropped, DropReason
from support.promises import named_members


def test_each_reason_has_one_sentence() -> None:
    assert REGISTRY.keys() == set(DropReason)
    assert all(s.endswith(".") and s.isascii() and len(s) < 200 for s in REGISTRY.values())


def test_each_reason_is_produced_by_a_test() -> None:
    named = named_members("DropReason")
    assert [reason.name for reason in DropReason if reason.name not in named] == []


def test_a_detail_adds_to_the_sentence_and_never_breaks_it() -> None:
    plain = Dropped(DropReason.SCHEMA_INVALID)
    assert plain.sentence == REGISTRY[DropReason.SCHEMA_INVALID]
    assert Dropped(DropReason.SCHEMA_INVALID, "at\r\nx").sentence.endswith(" (at??x)")
    assert Dropped(DropReason.SCHEMA_INVALID, "x" * 999).sentence.endswith("x...)")
