"""Every drop reason has its sentence and a test that produces it."""

from farebox.catalog.discovery.drop_reason import REGISTRY, Dropped, DropReason
from support.promises import named_members


def test_drop_reason_has_one_sentence() -> None:
    assert REGISTRY.keys() == set(DropReason)
    assert all(s.endswith(".") and s.isascii() and len(s) < 200 for s in REGISTRY.values())


def test_drop_reason_is_produced_by_a_test() -> None:
    named = named_members("DropReason")
    assert [reason.name for reason in DropReason if reason.name not in named] == []


def test_detail_extends_the_sentence_of_a_drop_reason() -> None:
    plain = Dropped(DropReason.SCHEMA_INVALID)
    assert plain.sentence == REGISTRY[DropReason.SCHEMA_INVALID]
    assert Dropped(DropReason.SCHEMA_INVALID, "at\r\nx").sentence.endswith(" (at??x)")
    assert Dropped(DropReason.SCHEMA_INVALID, "x" * 999).sentence.endswith("x...)")
