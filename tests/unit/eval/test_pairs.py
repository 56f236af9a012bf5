"""Pairs to learn from: what was judged is of listings that are there, and sides are kept apart."""

from collections import defaultdict
from collections.abc import Iterable

from eval.examples import as_asked, read_examples
from eval.labelled import DATA, FOREIGN, read_labelled
from eval.pairs import Judged, as_handed, pairs_of, read_judged
from farebox.search.plain import plain_text
from farebox.search.vocabulary.common_words import GLUE, REQUEST

EXAMPLES = read_examples()
JUDGED = read_judged()


def test_no_query_of_a_labelled_set_was_judged() -> None:
    labelled = [read_labelled(folder) for folder in (DATA, FOREIGN)]
    asked = {as_asked(query.text) for each in labelled for query in each.queries}
    assert asked & {as_asked(each.request) for each in JUDGED} == set()


def test_every_judgement_is_of_a_listing_that_is_there() -> None:
    urls = {example.url for example in EXAMPLES}
    assert len(urls) == len(EXAMPLES), "a URL names one listing"
    assert len(JUDGED) > 10_000
    for each in JUDGED:
        assert each.answers.keys() <= urls
        assert set(each.answers.values()) <= {0, 1, 2}


def test_what_is_kept_aside_is_new_on_both_sides() -> None:
    pairs = pairs_of(EXAMPLES, JUDGED)
    assert 300 < len(pairs.aside) < len(pairs.learned) / 20
    for side in ("request", "listing"):
        learned = {getattr(pair, side) for pair in pairs.learned}
        assert learned.isdisjoint(getattr(pair, side) for pair in pairs.aside)


def test_grades_become_targets_and_what_is_written_with_a_listing_stands() -> None:
    first, second = EXAMPLES[1], EXAMPLES[2]
    said = [
        Judged("Find me something else", {first.url: 2, second.url: 1}),
        Judged(first.fits[0], {first.url: 0, second.url: 0}),
    ]
    pairs = pairs_of(EXAMPLES[:3], said).learned
    found = {(pair.request, pair.listing): pair.target for pair in pairs}
    assert found["something else", 1] == 1.0
    assert found["something else", 2] == 0.6
    assert found[as_handed(first.fits[0]), 1] == 1.0
    assert found[as_handed(first.fits[0]), 2] == 0.0


def words(text: str) -> frozenset[str]:
    """The words that say something, without their endings."""
    plain = (word for word in plain_text(text).split() if word not in GLUE | REQUEST)
    return frozenset(word[:6] for word in plain if len(word) > 1)


def nearly(texts: Iterable[str], labelled: Iterable[str]) -> list[str]:
    """The texts that share half of the words with a labelled one, of all that either has."""
    known: dict[str, list[frozenset[str]]] = defaultdict(list)
    for own in map(words, labelled):
        for word in own:
            known[word].append(own)
    found = []
    for text in texts:
        own = words(text)
        others = (other for word in own for other in known.get(word, ()))
        if any(2 * len(own & other) >= len(own | other) for other in others):
            found.append(text)
    return found


def test_nothing_is_learned_from_that_is_nearly_of_a_labelled_set() -> None:
    labelled = [read_labelled(folder) for folder in (DATA, FOREIGN)]
    written = {x for each in EXAMPLES for x in (*each.fits, *each.near)}
    asked = written | {each.request for each in JUDGED}
    assert nearly(asked, {query.text for each in labelled for query in each.queries}) == []
    said = {one.description or "" for each in labelled for one in each.listings}
    long = {text for text in said if len(words(text)) > 1}
    assert nearly((one.description for one in EXAMPLES), long) == []


def test_a_text_in_nearly_the_same_words_is_noticed() -> None:
    assert nearly(["pay the water bills", "water quality"], ["pay my water bill"]) == [
        "pay the water bills"
    ]
