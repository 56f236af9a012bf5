"""Find the listings of a URL."""

from farebox.catalog.browsing.store import get_listings
from farebox.catalog.listing import Listing
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


async def find_listings(db: Connection, key: str) -> list[Listing]:
    """Find the listings with this key, on every network, the newest first."""
    ids = await db.fetch(
        """
        SELECT id FROM listings
        WHERE network = ANY ($1) AND resource_key = $2 AND removed_at IS NULL
        ORDER BY updated_at DESC
        """,
        [each.value for each in Network],
        key,
    )
    return await get_listings(db, [row["id"] for row in ids])


async def has_tool(db: Connection, url: str) -> bool:
    """Whether a tool of an MCP server is listed under this URL."""
    found = await db.fetchval(
        """
        SELECT EXISTS (SELECT FROM listings
                       WHERE type = 'mcp' AND url = $1 AND removed_at IS NULL)
        """,
        url,
    )
    return found is True
