"""Candidates of a query in PostgreSQL, each statement with its own bound on what it reads.

No statement leaves its planner a choice: ordering over an expression keeps it from walking through
the documents in their order.
"""

from collections.abc import Sequence
from typing import Final, LiteralString

from farebox.search.ages import spans_between
from farebox.search.finding.candidate import Candidate
from farebox.search.query.plan import AccessPath, Kind, RecallStage
from farebox.search.scope import Scope
from farebox.search.scope_store import IN_SCOPE, IN_SCOPE_OF_RECIPIENT, SETTLED, scope_arguments
from farebox.search.vocabulary.lexemes import quoted
from farebox.storage.pool import Connection, Row

# what a word weighs in parameters, description, tags and tool name, service name
FIELD_WEIGHTS: Final = (0.25, 0.5, 0.85, 1.0)

# A word's rank is its best field's weight and a little for every further place, by 1.645; a
# phrase's is nearly the weight of its field. $8 are the probes.
_RANKS: Final[LiteralString] = """
    ARRAY(SELECT CASE WHEN probe.is_phrase AND NOT d.tsv @@ probe.query THEN 0
                 ELSE ts_rank('{0.25, 0.5, 0.85, 1.0}', d.tsv, probe.query) END
          FROM probes, unnest(probes.queries, $9::boolean[])
               WITH ORDINALITY AS probe (query, is_phrase, place)
          ORDER BY place) AS ranks
"""
_HEAD: Final[LiteralString] = (
    "WITH probes AS MATERIALIZED (SELECT $8::text[]::tsquery[] AS queries) "
    "SELECT d.id, d.listing_id, d.updated_at, d.payers, d.text_digest, " + _RANKS + " FROM "
)
_COLUMNS: Final[LiteralString] = (
    "SELECT d.id, d.listing_id, d.updated_at, d.payers, d.text_digest, d.tsv"
)
_FRESHEST: Final[LiteralString] = " ORDER BY d.updated_at DESC, d.listing_id LIMIT "

_BY_INDEX: Final[LiteralString] = (
    "("
    + _COLUMNS
    + " FROM search_documents d WHERE d.tsv @@ $10::text::tsquery AND "
    + IN_SCOPE
    + " ORDER BY d.updated_at + interval '0' DESC, d.listing_id LIMIT $11::bigint) AS d"
)
# what is excluded must be nowhere; IS TRUE keeps the second look from becoming a second index
_NAMED: Final[LiteralString] = (
    "d.hi @@ $10::text::tsquery AND (d.tsv @@ $10::text::tsquery) IS TRUE"
)
_BY_NAMES: Final[LiteralString] = (
    "("
    + _COLUMNS
    + " FROM search_documents d WHERE "
    + _NAMED
    + " AND "
    + IN_SCOPE
    + " ORDER BY d.updated_at + interval '0' DESC, d.listing_id LIMIT $11::bigint) AS d"
)
_OWNED: Final[LiteralString] = (
    "(" + _COLUMNS + " FROM (SELECT l.id FROM listings l WHERE l.pay_to = $3 OFFSET 0) AS own"
    " CROSS JOIN LATERAL (SELECT * FROM search_documents d WHERE d.listing_id = own.id AND "
    + IN_SCOPE_OF_RECIPIENT
    + " AND d.tsv @@ $10::text::tsquery OFFSET 0) AS d"
    + _FRESHEST
    + "$11::bigint) AS d"
)
_BY_ID: Final[LiteralString] = (
    "(" + _COLUMNS + " FROM unnest($10::bigint[]) AS wanted (id)"
    " CROSS JOIN LATERAL (SELECT * FROM search_documents d WHERE d.id = wanted.id AND "
    + IN_SCOPE
    + " AND ($11::text = '' OR d.tsv @@ $11::text::tsquery) OFFSET 0) AS d) AS d"
)
_STATEMENTS: Final[dict[tuple[AccessPath, bool], LiteralString]] = {
    (AccessPath.INDEX, False): _HEAD + _BY_INDEX,
    (AccessPath.INDEX, True): _HEAD + _BY_NAMES,
    (AccessPath.OWNED, False): _HEAD + _OWNED,
    (AccessPath.OWNED, True): _HEAD + _OWNED,
}


async def read_snapshot(db: Connection) -> str:
    """The transaction's snapshot, as a cursor carries it."""
    snapshot: str = await db.fetchval("SELECT pg_current_snapshot()::text")
    return snapshot


async def find(
    db: Connection,
    stage: RecallStage,
    scope: Scope,
    queries: Sequence[str],
    are_phrases: Sequence[bool],
) -> list[Candidate]:
    """The freshest documents in the scope that the stage finds, at most `stage.most`."""
    rows = await db.fetch(
        _STATEMENTS[stage.form, stage.kind is Kind.NAMES],
        *scope_arguments(scope),
        list(queries),
        list(are_phrases),
        _reaching(stage, scope),
        stage.most,
    )
    return [_candidate(row) for row in rows]


def _reaching(stage: RecallStage, scope: Scope) -> str:
    """The stage's query, confined to the spans of time it reaches back to."""
    if stage.since is None:
        return stage.query
    spans = spans_between(stage.since, scope.view.at + SETTLED)  # clocks may differ
    return f"({stage.query}) & ({' | '.join(quoted(span) for span in spans)})"


async def look_at(
    db: Connection,
    document_ids: Sequence[int],
    scope: Scope,
    queries: Sequence[str],
    are_phrases: Sequence[bool],
    *,
    must: str,
) -> list[Candidate]:
    """These documents, as far as they are in the scope and meet the tsquery `must`."""
    rows = await db.fetch(
        _HEAD + _BY_ID,
        *scope_arguments(scope),
        list(queries),
        list(are_phrases),
        list(document_ids),
        must,
    )
    return [_candidate(row) for row in rows]


def _candidate(row: Row) -> Candidate:
    document_id, listing_id, updated_at, payers, digest, ranks = row
    return Candidate(document_id, listing_id, updated_at, payers, digest, tuple(ranks))
