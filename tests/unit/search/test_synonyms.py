"""The list of words that stand for each other is sound, whatever form they are typed in."""

from collections import Counter

from farebox.search.vocabulary.synonyms import Standin, Synonyms, read_groups, synonym_groups

STEMS = {"images": "imag", "image": "imag", "pictures": "pictur", "picture": "pictur"}


def test_the_list_is_broad_and_every_line_of_it_is_a_group() -> None:
    groups = synonym_groups()
    assert len(groups) >= 250
    assert [each for each in groups if len({*each.entries, *each.offered}) < 2] == []
    assert [group for group in groups if not 40 <= group.percent <= 80] == []


def test_entries_are_plain_words_and_not_too_many() -> None:
    words = Counter(word for group in synonym_groups() for entry in group.entries for word in entry)
    assert [word for word in words if word != word.casefold() or not word.isalnum()] == []
    entries = [entry for group in synonym_groups() for entry in group.entries]
    assert [entry for entry in entries if len(entry) > 4] == []


def test_a_plural_stands_for_what_its_singular_stands_for() -> None:
    synonyms = Synonyms(list(read_groups("0.8: image, picture")), STEMS)
    assert list(synonyms.standins(["pictur"])) == [Standin(0, 1, ("image",), 80)]


def test_several_words_stand_for_one_and_one_for_several() -> None:
    groups = list(read_groups("# remark\n\n0.8: text to speech, tts\n0.5: tts, voice\n"))
    synonyms = Synonyms(groups, {})
    assert list(synonyms.standins(["cheap", "text", "to", "speech", "api"])) == [
        Standin(1, 4, ("tts",), 80)
    ]
    assert set(synonyms.standins(["tts"])) == {
        Standin(0, 1, ("text", "to", "speech"), 80),
        Standin(0, 1, ("voice",), 50),
    }


def test_what_points_elsewhere_is_met_there_and_not_the_other_way_round() -> None:
    synonyms = Synonyms(list(read_groups("0.5: umbrella, rain coat > weather, forecast")), {})
    there = {("weather",), ("forecast",)}
    assert {found.entry for found in synonyms.standins(["umbrella"])} == there
    assert {found.entry for found in synonyms.standins(["rain", "coat"])} == there
    assert list(synonyms.standins(["weather"])) == []


def test_the_better_of_two_groups_counts() -> None:
    synonyms = Synonyms(list(read_groups("0.5: a, b\n0.7: a, b\n0.6: b, a")), {})
    assert list(synonyms.standins(["a"])) == [Standin(0, 1, ("b",), 70)]
