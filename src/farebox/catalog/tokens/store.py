"""Tokens in PostgreSQL."""

from collections.abc import Mapping
from datetime import datetime

from farebox.catalog.tokens.token import Token, TokenKind
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row


async def find_outdated(
    db: Connection, network: Network, *, checked_before: datetime, limit: int
) -> list[Address]:
    """Find listed tokens that were not looked up since `checked_before`, new ones first.

    The recursive query jumps from one distinct token to the next, however many listings have each.
    """
    rows = await db.fetch(
        """
        WITH RECURSIVE listed (asset) AS (
            (SELECT asset FROM listing_terms ORDER BY asset LIMIT 1)
            UNION ALL
            SELECT (SELECT asset FROM listing_terms WHERE asset > listed.asset
                    ORDER BY asset LIMIT 1)
            FROM listed WHERE listed.asset IS NOT NULL
        )
        SELECT listed.asset
        FROM listed
        LEFT JOIN tokens ON tokens.asset = listed.asset
        WHERE listed.asset IS NOT NULL
          AND (tokens.checked_at IS NULL OR tokens.checked_at < $2)
          AND $1 = coalesce(tokens.network, (
              SELECT listings.network FROM listing_terms JOIN listings ON id = listing_id
              WHERE listing_terms.asset = listed.asset LIMIT 1))
        ORDER BY tokens.checked_at NULLS FIRST, listed.asset
        LIMIT $3
        """,
        network,
        checked_before,
        limit,
    )
    return [Address(row["asset"]) for row in rows]


async def upsert_tokens(
    db: Connection, network: Network, tokens: Mapping[Address, Token], *, at: datetime
) -> None:
    """Store the tokens, unless a later lookup is stored."""
    items = sorted(tokens.items())
    await db.execute(
        """
        INSERT INTO tokens (network, asset, kind, code, issuer, wasm_hash, owner, checked_at)
        SELECT $1, item.*, $8
        FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[]) AS item
        ON CONFLICT (asset, network) DO UPDATE
        SET kind = excluded.kind, code = excluded.code, issuer = excluded.issuer,
            wasm_hash = excluded.wasm_hash, owner = excluded.owner,
            checked_at = excluded.checked_at
        WHERE tokens.checked_at < excluded.checked_at
        """,
        network,
        [asset for asset, _ in items],
        [token.kind for _, token in items],
        [token.code for _, token in items],
        [token.issuer for _, token in items],
        [token.wasm_hash for _, token in items],
        [token.owner for _, token in items],
        at,
    )


def read_token(row: Row) -> Token | None:
    """Read the token from the columns of `tokens`; None where it was not looked up."""
    if row["kind"] is None:
        return None
    return Token(
        kind=TokenKind(row["kind"]),
        code=row["code"],
        issuer=row["issuer"] and Address(row["issuer"]),
        wasm_hash=row["wasm_hash"],
        owner=row["owner"] and Address(row["owner"]),
    )
