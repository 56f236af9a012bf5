"""Find many envelopes at once, without a call for each where the node's history allows it."""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import RpcUnavailable, TransactionsPage
from farebox.submission.fate import Indeterminate, Seen, SentEnvelope

_FEW: Final = 4  # are asked for one by one
_LEDGERS: Final = 60  # the longest stretch that is listed
_PAGE: Final = 200
_PAGES: Final = 120
_AT_ONCE: Final = 8


class Rpc(Protocol):
    """The call a listing makes."""

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage: ...


class Observer(Protocol):
    """Looks once for what became of one envelope."""

    async def observe(self, sent: SentEnvelope) -> Seen: ...


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


class CatchUp:
    """Looks for many envelopes: in a listing of the ledgers since, or a few at a time.

    A listing only finds: whether a missing envelope is dead is for a look-up of its own to say.
    """

    def __init__(self, rpc: Rpc, observer: Observer, ledgers: Ledgers) -> None:
        self._rpc, self._observer, self._ledgers = rpc, observer, ledgers

    async def observe_all(self, sents: Sequence[SentEnvelope]) -> list[Seen]:
        """What is seen of each, in their order; an outage shows nothing and proves nothing."""
        seen: dict[bytes, Seen] = {}
        is_listed = False
        if len(sents) > _FEW and self._are_recent(sents):
            is_listed = await self._list(sents, seen)
        left = [each for each in sents if each.tx_hash not in seen]
        if is_listed:
            left = [each for each in left if self._may_be_dead(each)]
        gate = asyncio.Semaphore(_AT_ONCE)

        async def look(sent: SentEnvelope) -> Seen:
            async with gate:
                return await self._observer.observe(sent)

        for sent, found in zip(left, await asyncio.gather(*map(look, left)), strict=True):
            seen[sent.tx_hash] = found
        return [seen.get(each.tx_hash, Indeterminate()) for each in sents]

    def _are_recent(self, sents: Sequence[SentEnvelope]) -> bool:
        try:
            now = self._ledgers.now()
        except ClockStale:
            return False
        return now.sequence - min(each.sent_after_ledger for each in sents) <= _LEDGERS

    def _may_be_dead(self, sent: SentEnvelope) -> bool:
        """Whether a ledger closed past the bound, so that another look could end it."""
        try:
            return self._ledgers.now().close_at > sent.max_time
        except ClockStale:
            return False

    async def _list(self, sents: Sequence[SentEnvelope], seen: dict[bytes, Seen]) -> bool:
        """Add to `seen` what the ledgers since the first of them hold; whether all were listed."""
        wanted = {text: each for each in sents for text in each.hashes()}
        first = min(each.sent_after_ledger for each in sents)
        cursor = ""
        try:
            for _ in range(_PAGES):
                page = await self._rpc.transactions(
                    frozenset(wanted), from_ledger=first, cursor=cursor, limit=_PAGE
                )
                for found in page.found:
                    sent = wanted.get(found.hash) or wanted.get(found.inner_hash or "")
                    if sent is not None:
                        seen[sent.tx_hash] = found
                if page.listed < _PAGE:
                    return True
                cursor = page.cursor
        except RpcUnavailable:
            return False
        return False
