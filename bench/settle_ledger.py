"""Reads the landed payments and the limits of ledgers."""

import base64
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Self

import aiohttp
import msgspec

from bench.settle_payments import Identity
from farebox.stellar.network_settings import LedgerLimits, read_network_settings, setting_keys
from farebox.stellar.transaction_result import read_transaction_result
from farebox.stellar.transfer_envelope import TransferEnvelope, read_transfer_envelope
from testing.machine import RunFailed

_PAGE: Final = 200
_FEE_BUMP: Final = (5).to_bytes(4, "big")
_BUMP_BEFORE: Final = 48  # bytes of a fee bump before the wrapped envelope
_BUMP_AFTER: Final = 80  # and after it, with one signature


class _Transaction(msgspec.Struct):
    status: str
    txHash: str  # noqa: N815 - as on the wire
    ledger: int
    envelopeXdr: str  # noqa: N815
    resultXdr: str  # noqa: N815


class _Page(msgspec.Struct):
    transactions: list[_Transaction]
    latestLedger: int  # noqa: N815
    cursor: str


class _PageAnswer(msgspec.Struct):
    result: _Page


@dataclass(frozen=True, slots=True)
class Landed:
    """A transfer that was included in a ledger."""

    identity: Identity
    ledger: int
    tx_hash: str
    is_success: bool
    code: str  # of the contract call, or of the transaction
    envelope: bytes


class LedgerReader:
    """Calls the devnet directly, without a relay."""

    def __init__(self, session: aiohttp.ClientSession, rpc_url: str) -> None:
        self._session, self._rpc_url = session, rpc_url

    @classmethod
    @asynccontextmanager
    async def open(cls, rpc_url: str) -> AsyncIterator[Self]:
        """Open a reader for the length of the block."""
        async with aiohttp.ClientSession() as session:
            yield cls(session, rpc_url)

    async def latest(self) -> int:
        """Read the number of the newest closed ledger."""
        # getLatestLedger carries the whole ledger
        response = msgspec.json.decode(await self._ask("getHealth", {}))
        return int(response["result"]["latestLedger"])

    async def landed(self, first: int, last: int) -> list[Landed]:
        """Read every transfer that landed from ledger `first` to ledger `last`."""
        found: list[Landed] = []
        params: dict[str, object] = {"startLedger": first, "pagination": {"limit": _PAGE}}
        while True:
            raw = await self._ask("getTransactions", params)
            page = msgspec.json.decode(raw, type=_PageAnswer).result
            for each in page.transactions:
                if each.ledger > last:
                    return found
                if (transfer := _transfer(each)) is not None:
                    found.append(transfer)
            if len(page.transactions) < _PAGE:
                return found
            params = {"pagination": {"limit": _PAGE, "cursor": page.cursor}}

    async def limits(self) -> LedgerLimits:
        """Read the limits of one ledger for contract calls from the network's settings."""
        keys = setting_keys()
        wanted = [base64.b64encode(key).decode() for key in keys]
        response = msgspec.json.decode(await self._ask("getLedgerEntries", {"keys": wanted}))
        entries = {
            base64.b64decode(each["key"]): base64.b64decode(each["xdr"])
            for each in response["result"]["entries"]
        }
        settings = read_network_settings(entries)
        if settings is None:
            raise RunFailed("the devnet's network settings cannot be read")
        return settings.ledger

    async def _ask(self, method: str, params: dict[str, object]) -> bytes:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with self._session.post(self._rpc_url, json=body) as answer:
            return await answer.read()


def _transfer(transaction: _Transaction) -> Landed | None:
    envelope = base64.b64decode(transaction.envelopeXdr)
    inner = read_transfer_envelope(inner_envelope(envelope))
    if not isinstance(inner, TransferEnvelope) or not inner.entries:
        return None
    key = base64.b32decode(inner.payer)[1:33]
    return Landed(
        identity=(key, inner.entries[0].nonce),
        ledger=transaction.ledger,
        tx_hash=transaction.txHash,
        is_success=transaction.status == "SUCCESS",
        code=_code(transaction.resultXdr),
        envelope=envelope,
    )


def _code(text: str) -> str:
    result = read_transaction_result(text)
    if result is None:
        return "unreadable"
    return result.effective_operation_code or result.effective_code


def inner_envelope(envelope: bytes) -> bytes:
    """Return the transaction inside a fee bump with one signature, or the envelope itself."""
    return envelope[_BUMP_BEFORE:-_BUMP_AFTER] if envelope.startswith(_FEE_BUMP) else envelope


def per_ledger(landed: Iterable[Landed], ledgers: range) -> list[int]:
    """Count the successful payments in each of the ledgers."""
    counted = Counter(each.ledger for each in landed if each.is_success)
    return [counted[ledger] for ledger in ledgers]
