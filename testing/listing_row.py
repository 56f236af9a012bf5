"""Insert listings of resources for which nobody needs to pay first."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

_LISTED: Final = datetime(2026, 11, 1, 12, tzinfo=UTC)
_SELLER: Final = "GDQP2KPQGKIHYJGXNUIYOMHARUARCA7DJT5FO2FFOOKY3B2WSQHG4W37"


async def list_resource(
    db: Connection, key: str, url: str, method: str | None, schema: dict[str, Any]
) -> None:
    """List a resource, as a settled payment would have; without a method a tool."""
    shape = {"type": "http", "method": method} if method else {"type": "mcp", "toolName": "t"}
    block = {"info": {"input": shape}, "schema": schema}
    await db.execute(
        """
        INSERT INTO listings (network, resource_key, type, url, tool_name, method, pay_to, bound_at,
            tags, extensions, extension_keys, listed_at, updated_at, settled_in_ledger)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '{}', $9, '{bazaar}', $8, $8, 9)
        """,
        Network.TESTNET.value,
        key,
        shape["type"],
        url,
        shape.get("toolName"),
        method,
        _SELLER,
        _LISTED,
        msgspec.json.encode({"bazaar": block}),
    )
