"""The same listings in tantivy, an embedded search engine, for comparison.

It ranks by BM25 over four boosted fields with English stemming, the same words and filters; it has
no cursors, no freshness and no semantic stage.
"""

import re
import time
from pathlib import Path
from typing import Final

import tantivy

from bench.search_listings import Generator
from bench.search_queries import Kind, Query
from farebox.catalog.listing import ListingFilters

_BOOSTS: Final = {"name": 8.0, "tags": 4.0, "description": 2.0, "parameters": 1.0}
_FILTERED: Final = ("network", "type", "pay_to")
_ENGLISH: Final = "english"
_HEAP_BYTES: Final = 256_000_000


def build(folder: Path, size: int) -> float:
    """Build the index of the first `size` listings in the folder; return the seconds."""
    folder.mkdir()
    schema = tantivy.SchemaBuilder()
    for field in _BOOSTS:
        schema.add_text_field(field, tokenizer_name=_ENGLISH)
    for field in _FILTERED:
        schema.add_text_field(field, tokenizer_name="raw", index_option="basic")
    schema.add_integer_field("id", stored=True, fast=True)
    index = tantivy.Index(schema.build(), path=str(folder))
    index.register_tokenizer(_ENGLISH, _english())
    spent = 0.0  # without the generator's time
    writer = index.writer(_HEAP_BYTES, 1)
    for each in Generator().listings(1, size):
        began = time.perf_counter()
        writer.add_document(
            tantivy.Document(
                id=each.number,
                name=each.service_name,
                tags=[*each.tags, each.tool_name.replace("_", " ")],
                description=each.description,
                parameters=each.parameters,
                network=each.network.value,
                type=each.type.value,
                pay_to=each.pay_to,
            )
        )
        spent += time.perf_counter() - began
    began = time.perf_counter()
    writer.commit()
    writer.wait_merging_threads()
    return round(spent + time.perf_counter() - began, 1)


class Engine:
    """An open index."""

    def __init__(self, folder: Path) -> None:
        self._index = tantivy.Index.open(str(folder))
        self._index.register_tokenizer(_ENGLISH, _english())
        self._index.reload()
        self._searcher = self._index.searcher()

    def find(self, query: Query, filters: ListingFilters, *, limit: int, page: int) -> list[int]:
        """Find the ids of one page, best first; pages are counted from 0."""
        parsed = self._parsed(query)
        filter_values = {
            "network": filters.network,
            "type": filters.type,
            "pay_to": filters.pay_to,
        }
        terms = [
            tantivy.Query.term_query(self._index.schema, field, value)
            for field, value in filter_values.items()
            if value is not None
        ]
        if terms:
            must = [
                (tantivy.Occur.Must, tantivy.Query.const_score_query(each, 0)) for each in terms
            ]
            parsed = tantivy.Query.boolean_query([(tantivy.Occur.Must, parsed), *must])
        found = self._searcher.search(parsed, limit, count=False, offset=limit * page)
        return [int(self._searcher.doc(address)["id"][0]) for _, address in found.hits]

    def _parsed(self, query: Query) -> tantivy.Query:
        """Translate the query to the engine's grammar; a sentence matches any of its words."""
        text = re.sub(r"\bor\b", "OR", query.text)
        return self._index.parse_query(
            text,
            list(_BOOSTS),
            field_boosts=_BOOSTS,
            conjunction_by_default=query.kind is not Kind.SENTENCE,
        )


def _english() -> tantivy.TextAnalyzer:
    """Build an analyzer like PostgreSQL's `english`: stop words removed, stemmed."""
    plain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    plain = plain.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.stopword("english"))
    return plain.filter(tantivy.Filter.stemmer("english")).build()
