"""What the ledger says: which payments landed in which ledger, and how full each ledger was."""

import base64
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Self

import aiohttp
import msgspec

from bench.settle_payments import Identity
from e2e.machine import RunFailed
from farebox.stellar.network_settings import LedgerLimits, read_network_settings, setting_keys
from farebox.stellar.transaction_result import read_transaction_result
from farebox.stellar.transfer_envelope import TransferEnvelope, read_transfer_envelope

_PAGE: Final = 200
_FEE_BUMP: Final = (5).to_bytes(4, "big")
_BUMP_BEFORE: Final = 48  # what a fee bump has before the envelope it wraps
_BUMP_AFTER: Final = 80  # and behind it, with one signature


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
    """A transfer that a ledger took in."""

    identity: Identity
    ledger: int
    tx_hash: str
    is_success: bool
    code: str  # of the contract call, or of the transaction
    envelope: bytes


class LedgerReader:
    """Asks the devnet itself, past every relay."""

    def __init__(self, session: aiohttp.ClientSession, rpc_url: str) -> None:
        self._session, self._rpc_url = session, rpc_url

    @classmethod
    @asynccontextmanager
    async def open(cls, rpc_url: str) -> AsyncIterator[Self]:
        """A reader for the length of the block."""
        async with aiohttp.ClientSession() as session:
            yield cls(session, rpc_url)

    async def latest(self) -> int:
        """The newest closed ledger."""
        # getLatestLedger carries the whole ledger
        said = msgspec.json.decode(await self._ask("getHealth", {}))
        return int(said["result"]["latestLedger"])

    async def landed(self, first: int, last: int) -> list[Landed]:
        """Every transfer that landed from ledger `first` to ledger `last`."""
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
        """What the network's own settings give to the contract calls of one ledger."""
        keys = setting_keys()
        wanted = [base64.b64encode(key).decode() for key in keys]
        said = msgspec.json.decode(await self._ask("getLedgerEntries", {"keys": wanted}))
        entries = {
            base64.b64decode(each["key"]): base64.b64decode(each["xdr"])
            for each in said["result"]["entries"]
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
    return result.telling_operation_code or result.telling_code


def inner_envelope(envelope: bytes) -> bytes:
    """The transaction inside a fee bump of one signature; any other envelope as it is."""
    return envelope[_BUMP_BEFORE:-_BUMP_AFTER] if envelope.startswith(_FEE_BUMP) else envelope


def per_ledger(landed: Iterable[Landed], ledgers: range) -> list[int]:
    """Successful payments in each of the ledgers."""
    counted = Counter(each.ledger for each in landed if each.is_success)
    return [counted[ledger] for ledger in ledgers]
