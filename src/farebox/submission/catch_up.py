"""Find many envelopes at once, by listing the ledgers where the node's history allows it."""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import structlog

from farebox.stellar.ledger_clock import ClockStale, Ledgers
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.submission.fate import Indeterminate, ObservedFate, SentEnvelope
from farebox.submission.watch import PageSize

_FEW: Final = 4  # are looked up one by one
_LEDGERS: Final = 60  # the longest stretch that is listed
_PAGES: Final = 120
_AT_ONCE: Final = 8

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class EnvelopeObserver(Protocol):
    """Looks once for the fate of one envelope."""

    async def observe(self, sent: SentEnvelope) -> ObservedFate: ...


class CatchUp:
    """Looks for many envelopes: in a listing of the ledgers since, or a few at a time.

    A listing proves no absence: a missing envelope is looked up by its hash.
    """

    def __init__(self, rpc: SorobanRpc, observer: EnvelopeObserver, ledgers: Ledgers) -> None:
        self._rpc, self._observer, self._ledgers = rpc, observer, ledgers
        self._page = PageSize()

    async def observe_all(self, sents: Sequence[SentEnvelope]) -> list[ObservedFate]:
        """The fate of each, in their order; `Indeterminate` after an outage or a fault."""
        seen: dict[bytes, ObservedFate] = {}
        is_listed = False
        if len(sents) > _FEW and self._are_recent(sents):
            is_listed = await self._list(sents, seen)
        left = [each for each in sents if each.tx_hash not in seen]
        if is_listed:
            left = [each for each in left if self._may_be_dead(each)]
        gate = asyncio.Semaphore(_AT_ONCE)

        async def look(sent: SentEnvelope) -> ObservedFate:
            async with gate:
                try:
                    return await self._observer.observe(sent)
                except Exception:  # a fault with one of them holds up no other
                    log.exception("catch_up.look_failed", tx_hash=sent.tx_hash.hex())
                    return Indeterminate()

        for sent, found in zip(left, await asyncio.gather(*map(look, left)), strict=True):
            seen[sent.tx_hash] = found
        return [seen.get(each.tx_hash, Indeterminate()) for each in sents]

    def _are_recent(self, sents: Sequence[SentEnvelope]) -> bool:
        try:
            now = self._ledgers.now()
        except ClockStale:
            return False
        return now.sequence - min(each.made_after_ledger() for each in sents) <= _LEDGERS

    def _may_be_dead(self, sent: SentEnvelope) -> bool:
        """Whether a ledger closed past the bound, so that another look could end it."""
        try:
            return self._ledgers.now().close_at > max(each.max_time for each in sent.every())
        except ClockStale:
            return False

    async def _list(self, sents: Sequence[SentEnvelope], seen: dict[bytes, ObservedFate]) -> bool:
        """Add the envelopes found in the ledgers since to `seen`; whether all were listed."""
        wanted = {text: each for each in sents for text in each.hashes()}
        first = min(each.made_after_ledger() for each in sents)
        cursor = ""
        try:
            for _ in range(_PAGES):
                limit = self._page.limit
                page = await self._rpc.transactions(
                    frozenset(wanted), from_ledger=first, cursor=cursor, limit=limit
                )
                for found in page.found:
                    sent = wanted.get(found.hash) or wanted.get(found.inner_hash or "")
                    if sent is not None and sent.is_decided_by(found):
                        seen[sent.tx_hash] = found
                if page.listed < limit:
                    self._page.succeeded()  # a larger one would fail before the last page
                    return True
                cursor = page.cursor
        except RpcUnavailable as outage:
            self._page.failed(outage)
        return False
