"""The key that signs cursors, in PostgreSQL: one for all replicas."""

import secrets

from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection


async def read_cursor_key(db: Connection) -> Secret[bytes]:
    """The key, made now if there was none."""
    kept = await db.fetchval("SELECT secret FROM cursor_keys")
    if kept is None:
        await db.execute(
            "INSERT INTO cursor_keys (secret) VALUES ($1) ON CONFLICT DO NOTHING",
            secrets.token_bytes(32),
        )
        kept = await db.fetchval("SELECT secret FROM cursor_keys")
    return Secret(bytes(kept))
