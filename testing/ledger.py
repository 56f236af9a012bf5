"""Reads transactions and balances over RPC, decoded by the public SDK."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import aiohttp
from stellar_sdk import Asset, Keypair, xdr

from testing.contracts import trust_in
from testing.machine import RunFailed


@dataclass(frozen=True, slots=True)
class Ledger:
    """A client of one network's RPC node, independent of the service."""

    session: aiohttp.ClientSession
    url: str

    @classmethod
    async def open(cls, url: str, authority: Path | None) -> Self:
        """Open a client that trusts `authority` alone; close it with `close`."""
        connector = aiohttp.TCPConnector(ssl=trust_in(authority))
        return cls(aiohttp.ClientSession(connector=connector), url)

    async def close(self) -> None:
        """Close the connections."""
        await self.session.close()

    async def transaction_status(self, transaction: str) -> str:
        """Read the status of a transaction: SUCCESS, FAILED or NOT_FOUND."""
        return str((await self._call("getTransaction", {"hash": transaction}))["status"])

    async def balance(self, holder: str, *, code: str, issuer: str) -> int:
        """Read the balance of a classic asset, base units."""
        key = xdr.LedgerKey(
            xdr.LedgerEntryType.TRUSTLINE,
            trust_line=xdr.LedgerKeyTrustLine(
                Keypair.from_public_key(holder).xdr_account_id(),
                Asset(code, issuer).to_trust_line_asset_xdr_object(),
            ),
        )
        found = await self._call("getLedgerEntries", {"keys": [key.to_xdr()]})
        entries = found["entries"]
        if not isinstance(entries, list) or not entries:
            raise RunFailed(f"{holder} has no trustline")
        entry = xdr.LedgerEntryData.from_xdr(entries[0]["xdr"])
        if entry.trust_line is None:
            raise RunFailed(f"{holder}'s entry is no trustline")
        return int(entry.trust_line.balance.int64)

    async def _call(self, method: str, params: dict[str, object]) -> dict[str, object]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with self.session.post(self.url, json=body) as answer:
            response = await answer.json()
        if "result" not in response:
            raise RunFailed(f"{method} failed: {response.get('error')}")
        result: dict[str, object] = response["result"]
        return result
