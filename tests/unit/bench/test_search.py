"""The bench of the search: its listings, its queries, its figures and its drawing."""

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bench.search_listings import Generator
from bench.search_plot import Bar, draw_latencies
from bench.search_queries import FilterKind, Kind, draw
from bench.search_samples import Sample, Samples, percentile
from bench.search_words import COUNT, HEAD, PLACES, frequencies
from farebox.kernel.addresses import parse_account


@pytest.fixture(scope="module")
def generator() -> Generator:
    return Generator()


def test_listing_depends_only_on_its_number(generator: Generator) -> None:
    many = list(generator.listings(1, 50))
    assert generator.listing(37) == many[36]
    assert Generator().listing(37) == many[36]
    assert len({each.key for each in many}) == len(many)


def test_vocabulary_is_large_with_frequent_words_first(generator: Generator) -> None:
    assert len(set(generator.words)) == len(generator.words) == COUNT
    assert generator.words[: len(HEAD)] == HEAD
    assert set(PLACES) <= set(generator.words[:2000])
    steps = [0.0, *frequencies(1000)]
    weights = [after - before for before, after in itertools.pairwise(steps)]
    assert weights == sorted(weights, reverse=True)


def test_listings_fit_the_limits_of_the_catalog(generator: Generator) -> None:
    for each in generator.listings(1, 200):
        assert 8 <= len(each.description.split()) <= 46
        assert len(each.service_name) <= 32
        assert 1 <= len(each.tags) <= 5
        assert each.payers
        assert parse_account(each.pay_to)
        assert bool(each.tool_name) == (each.type == "mcp")


def test_draw_gives_the_requested_number_of_queries_of_each_kind(generator: Generator) -> None:
    queries = draw(generator, listings=1000, each=15)
    assert queries == draw(generator, listings=1000, each=15)
    for kind in Kind:
        assert len({query.text for query in queries if query.kind is kind}) == 15
    assert any('"' in query.text for query in queries)
    assert any(" or " in query.text for query in queries)
    assert any(" -" in query.text for query in queries)
    assert all(query.filters(FilterKind.PAY_TO).pay_to for query in queries)


@pytest.mark.parametrize(("share", "expected"), [(0.5, 5.0), (0.95, 10.0), (1.0, 10.0), (0.1, 1.0)])
def test_percentile_is_a_measured_value(share: float, expected: float) -> None:
    assert percentile([float(n) for n in range(1, 11)], share) == expected


def test_percentile_of_nothing_is_none() -> None:
    assert percentile([], 0.5) is None


def test_samples_give_the_worst_class_and_exclude_sentences_from_keywords() -> None:
    samples = Samples(
        Sample("ours", kind, "no filter", 1, ms, 3)
        for kind, ms in [("common", 5.0), ("medium", 9.0), ("sentence", 50.0)]
    )
    assert samples.worst("ours") == (9.0, 9.0)
    assert samples.keywords("ours").figures()["answers"] == 2
    assert samples.of("theirs").p50_ms is None


def test_drawing_has_every_class_and_series(tmp_path: Path) -> None:
    path = tmp_path / "search.svg"
    bars = {kind.value: {"one": Bar(1.5, 4.0), "two": Bar(2.5, 2000.0)} for kind in Kind}
    draw_latencies(path, bars, "Latency <of> classes")
    root = ET.fromstring(path.read_text())
    words = {each.text for each in root.iter() if each.tag.endswith("text")}
    assert {*(kind.value for kind in Kind), "one", "two", "Latency <of> classes"} <= words
    assert sum(each.tag.endswith("rect") for each in root.iter()) == 1 + 2 + 2 * len(Kind)
