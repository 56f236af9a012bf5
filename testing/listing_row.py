"""Insert listings of resources for which nobody needs to pay first."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

Json = dict[str, Any]
_LISTED: Final = datetime(2026, 11, 1, 12, tzinfo=UTC)
_SELLER: Final = "GDQP2KPQGKIHYJGXNUIYOMHARUARCA7DJT5FO2FFOOKY3B2WSQHG4W37"


async def insert_resource(
    db: Connection,
    url: str,
    *,
    key: str = "",
    method: str | None = "GET",
    tool: str | None = None,
    bazaar: Json | None = None,
    pay_to: str = _SELLER,
) -> None:
    """List a resource, as a settled payment would have: an HTTP one, or a tool of this name."""
    block = bazaar or {"info": {"input": {"type": "http", "method": method}}, "schema": {}}
    await db.execute(
        """
        INSERT INTO listings (network, resource_key, type, url, tool_name, method, pay_to, bound_at,
            tags, extensions, extension_keys, listed_at, updated_at, settled_in_ledger)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '{}', $9, '{bazaar}', $8, $8, 9)
        """,
        Network.TESTNET.value,
        key or url,
        "mcp" if tool else "http",
        url,
        tool,
        None if tool else method,
        pay_to,
        _LISTED,
        msgspec.json.encode({"bazaar": block}),
    )


async def list_resource(
    db: Connection, key: str, url: str, method: str | None, schema: Json
) -> None:
    """List a resource of a schema; without a method a tool."""
    tool = None if method else "t"
    shape = {"type": "http", "method": method} if method else {"type": "mcp", "toolName": tool}
    block = {"info": {"input": shape}, "schema": schema}
    await insert_resource(db, url, key=key, method=method, tool=tool, bazaar=block)
