"""What the model learns from is apart from what it is measured with."""

from eval.examples import as_asked, read_examples
from eval.labelled import DATA, FOREIGN, read_labelled

EXAMPLES = read_examples()
SETS = [read_labelled(DATA), read_labelled(FOREIGN)]


def test_no_query_of_a_labelled_set_is_learned_from() -> None:
    asked = {as_asked(query.text) for labelled in SETS for query in labelled.queries}
    learned = {as_asked(text) for example in EXAMPLES for text in (*example.fits, *example.near)}
    assert asked & learned == set()


def test_no_listing_of_a_labelled_set_is_learned_from() -> None:
    said = {(one.description or "").casefold() for labelled in SETS for one in labelled.listings}
    assert [each.url for each in EXAMPLES if each.description.casefold() in said] == []


def test_every_example_says_what_it_answers_and_what_is_near() -> None:
    assert len(EXAMPLES) > 500
    assert [each.url for each in EXAMPLES if not each.fits or not each.near] == []
    assert [each.url for each in EXAMPLES if not all(each.passages)] == []
