"""One statement over a pool."""

from farebox.storage.pool import Database


async def ping(database: Database) -> None:
    """Run one statement, which needs a free connection and a server that responds."""
    async with database.connection() as db:
        await db.execute("SELECT 1")
