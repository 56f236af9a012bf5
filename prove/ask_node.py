"""Asks the node of an environment, without a proxy."""

from collections.abc import AsyncIterator
from typing import Any, Final

from prove.environment import Environment

_PAGE: Final = 200


async def ask_node(environment: Environment, method: str, params: object = None) -> dict[str, Any]:
    """Ask the network's node; return the result."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    async with environment.web.post(environment.devnet.rpc_url, json=call) as answer:
        result: dict[str, Any] = (await answer.json())["result"]
    return result


async def read_newest(environment: Environment) -> tuple[int, int]:
    """Read the newest ledger and its close time (Unix seconds)."""
    newest = await ask_node(environment, "getLatestLedger")
    return int(newest["sequence"]), int(newest["closeTime"])


async def read_transactions(environment: Environment) -> AsyncIterator[dict[str, Any]]:
    """Read every transaction that was included in a ledger since the case began."""
    params: dict[str, Any] = {
        "startLedger": environment.world.prepared.latest + 1,
        "pagination": {"limit": _PAGE},
    }
    while True:
        page = await ask_node(environment, "getTransactions", params)
        for each in page["transactions"]:
            yield each
        if len(page["transactions"]) < _PAGE:
            return
        params = {"pagination": {"limit": _PAGE, "cursor": page["cursor"]}}
