"""A scope as SQL: the same words in every statement that looks at `search_documents`.

A statement names the table `d`, keeps `$1` to `$7` for `scope_arguments` and writes `IN_SCOPE` into
its WHERE. Deaths and births long before the walk began are known by their time, not by their
transaction: transaction numbers start anew when a database is restored elsewhere.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, LiteralString, TypeAlias

from farebox.search.scope import Scope

SETTLED: Final = timedelta(minutes=10)  # longer than any writing transaction may last
# what every transaction of a search begins with: each statement has one plan, by its index
ONE_PLAN: Final[Mapping[LiteralString, LiteralString]] = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
}

ScopeArguments: TypeAlias = tuple[
    str | None, str | None, str | None, str | None, str | None, str | None, datetime
]

IN_VIEW: Final[LiteralString] = """
    CASE WHEN $6::text IS NULL THEN d.died IS NULL AND $7::timestamptz IS NOT NULL
    ELSE (d.born_at < $7::timestamptz OR pg_visible_in_snapshot(d.born, $6::text::pg_snapshot))
         AND (d.died IS NULL
              OR (d.died_at >= $7::timestamptz
                  AND NOT pg_visible_in_snapshot(d.died, $6::text::pg_snapshot)))
    END
"""
# scalar subqueries: one probe of a key a row, which no planner turns into a pass over the table
_OF_RECIPIENT: Final[LiteralString] = """
    AND ($3::text IS NULL OR $3 = (SELECT l.pay_to FROM listings l WHERE l.id = d.listing_id))
"""
# where the recipient's listings were chosen before
IN_SCOPE_OF_RECIPIENT: Final[LiteralString] = (
    IN_VIEW
    + """
    AND ($1::text IS NULL OR d.network = $1)
    AND ($2::text IS NULL OR d.type = $2)
    AND ($4::text IS NULL OR $4 IN (
        SELECT t.scheme FROM listing_terms t WHERE t.listing_id = d.listing_id))
    AND ($5::text IS NULL OR $5 = ANY (
        (SELECT l.extension_keys FROM listings l WHERE l.id = d.listing_id)::text[]))
"""
)
IN_SCOPE: Final[LiteralString] = IN_SCOPE_OF_RECIPIENT + _OF_RECIPIENT


def scope_arguments(scope: Scope) -> ScopeArguments:
    """What `$1` to `$7` of `IN_SCOPE` stand for."""
    filters = scope.filters
    return (
        filters.network,
        filters.type,
        filters.pay_to,
        filters.scheme,
        filters.extension,
        scope.view.snapshot,
        scope.view.at - SETTLED,
    )
