"""The labelled set is what it claims to be."""

from collections import Counter

import pytest

from eval.labelled import BEST, DATA, FOREIGN, Half, Kind, Labelled, read_labelled
from eval.listing_text import discovery_of
from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.kernel.addresses import account_address

PAY_TO = account_address(bytes(32))


@pytest.fixture(scope="module", params=[DATA, FOREIGN], ids=["set", "foreign"])
def labelled(request: pytest.FixtureRequest) -> Labelled:
    return read_labelled(request.param)


def test_ids_are_unique_and_every_label_is_of_a_listing(labelled: Labelled) -> None:
    listings = [each.id for each in labelled.listings]
    queries = [each.id for each in labelled.queries]
    assert [key for key, n in Counter(listings + queries).items() if n > 1] == []
    texts = [each.text.casefold() for each in labelled.queries]
    assert [text for text, n in Counter(texts).items() if n > 1] == []
    named = {key for each in labelled.queries for key in each.grades}
    assert named - set(listings) == set()


def test_grades_are_grades_and_only_queries_in_vain_have_none(labelled: Labelled) -> None:
    for query in labelled.queries:
        assert bool(query.grades) is (query.kind is not Kind.NONE), query.id
        assert set(query.grades.values()) <= set(range(1, BEST + 1)), query.id


def test_every_listing_is_one_the_catalog_takes(labelled: Labelled) -> None:
    keys = set()
    for listing in labelled.listings:
        found = parse_discovery(discovery_of(listing), pay_to=PAY_TO)
        assert isinstance(found, DiscoveredResource), (listing.id, found)
        assert found.resource.tool_name == listing.tool
        keys.add((listing.network, found.resource.key))
    assert len(keys) == len(labelled.listings)


def test_the_set_is_large_enough_in_both_halves() -> None:
    labelled = read_labelled()
    assert len(labelled.listings) >= 300
    for half in Half:
        kinds = Counter(each.kind for each in labelled.queries if each.half is half)
        assert sum(kinds.values()) - kinds[Kind.OBLIQUE] >= 150
        assert kinds[Kind.NONE] >= 20
        assert min(kinds[kind] for kind in Kind) >= 3, kinds
