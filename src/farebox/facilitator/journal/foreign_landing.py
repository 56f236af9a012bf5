"""Find and prove another party's transaction that used a payment's authorization.

An event shows only that such a transfer happened. The proof is the envelope itself: its hash is
computed here, and one of its authorization entries has the payer's address and nonce and authorizes
exactly the payment's transfer. A payer may sign two transfers with one nonce: only one can land.

A response is valid as of the ledger it names. One as of an earlier ledger than the last that
matters proves no absence.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Protocol

from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.rpc import (
    NoEnvelope,
    RpcUnavailable,
    TransfersFound,
    TransferWindow,
)
from farebox.stellar.signers import OperatorAddresses
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transfer_envelope import LandedCall
from farebox.stellar.transfer_search import LEDGERS_MISSING, nonce_key, read_use, transfer_call
from farebox.x402.payment import Payment

_MAX_CANDIDATES: Final = 20  # far more transfers than two accounts make in so few ledgers
_SEARCH_S: Final = 5.0
_QUEUE_S: Final = 10.0  # behind other searches: a caller still has to be answered in time


@dataclass(frozen=True, slots=True)
class SpentAuthorization:
    """A payment's authorization: its identity, and the transfer that it authorizes."""

    identity: PaymentIdentity
    asset: Address
    pay_to: Address
    amount: BaseUnits

    @property
    def root_call(self) -> bytes:
        """The InvokeContractArgs (XDR) of the transfer."""
        return transfer_call(self.asset, self.identity.payer, self.pay_to, self.amount)


@dataclass(frozen=True, slots=True)
class ForeignLanding:
    """A transaction without a record here that used the authorization and moved the payment.

    `is_ours`: an account of the operator's sent it or paid for it, and the record was lost.
    """

    tx_hash: bytes
    ledger: int  # in this one, or shortly before it
    landed_at: datetime  # the close time of its ledger
    call: LandedCall
    envelope: bytes
    is_ours: bool


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A payment as its repeated request has it, and the operator's transaction of it."""

    payment: Payment
    identity: PaymentIdentity
    expires_at_ledger: int
    landing: ForeignLanding


class LandingSearchFailed(Exception):
    """Nobody knows who used the authorization.

    `is_beyond_history`: the node's history no longer reaches back so far. `was_tried`: the node
    was called; without it other searches took too long.
    """

    def __init__(self, *, is_beyond_history: bool = False, was_tried: bool = True) -> None:
        super().__init__("beyond the history" if is_beyond_history else "no response")
        self.is_beyond_history, self.was_tried = is_beyond_history, was_tried


class LandingSearch(Protocol):
    """Searches the ledger for the use of an authorization."""

    async def find_by_nonce(
        self, spent: SpentAuthorization, *, as_of_ledger: int
    ) -> ForeignLanding | None:
        """The use of an authorization that has not expired, up to `as_of_ledger` at least.

        None when it was not used, or no use is proven.

        Raises:
            LandingSearchFailed: nothing is known.
        """
        ...

    async def find_in_ledgers(
        self, spent: SpentAuthorization, *, first: int, last: int
    ) -> ForeignLanding | None:
        """The use of an authorization in the ledgers `first` to `last`; None: none is proven.

        Raises:
            LandingSearchFailed: nothing is known.
        """
        ...


class ForeignLandingSearch:
    """Searches on one network, one payment at a time and each within a few seconds."""

    def __init__(
        self,
        node: SorobanRpc,
        operators: OperatorAddresses,
        *,
        search_s: float = _SEARCH_S,
        queue_s: float = _QUEUE_S,
    ) -> None:
        self._node, self._operators = node, operators
        self._search_s, self._queue_s = search_s, queue_s
        self._lock = asyncio.Lock()

    async def find_by_nonce(
        self, spent: SpentAuthorization, *, as_of_ledger: int
    ) -> ForeignLanding | None:
        """See `LandingSearch.find_by_nonce`."""
        return await self._search(partial(self._search_nonce, spent, as_of_ledger))

    async def find_in_ledgers(
        self, spent: SpentAuthorization, *, first: int, last: int
    ) -> ForeignLanding | None:
        """See `LandingSearch.find_in_ledgers`."""
        return await self._search(partial(self._search_ledgers, spent, first, last))

    async def _search(
        self, work: Callable[[], Awaitable[ForeignLanding | None]]
    ) -> ForeignLanding | None:
        try:
            async with asyncio.timeout(self._queue_s):
                await self._lock.acquire()
        except TimeoutError as late:
            raise LandingSearchFailed(was_tried=False) from late
        try:
            async with asyncio.timeout(self._search_s):
                return await work()
        except (RpcUnavailable, TimeoutError) as outage:
            raise LandingSearchFailed from outage
        finally:
            self._lock.release()

    async def _search_nonce(
        self, spent: SpentAuthorization, as_of_ledger: int
    ) -> ForeignLanding | None:
        identity = spent.identity
        found = await self._node.ledger_entries([nonce_key(identity.payer, identity.nonce)])
        if not found.entries:
            if found.latest_ledger < as_of_ledger:
                raise LandingSearchFailed
            return None
        ledger = found.entries[0].modified_in_ledger
        if ledger is None:
            raise LandingSearchFailed
        return await self._search_ledgers(spent, ledger, ledger)

    async def _search_ledgers(
        self, spent: SpentAuthorization, first: int, last: int
    ) -> ForeignLanding | None:
        identity = spent.identity
        window = TransferWindow(spent.asset, identity.payer, spent.pay_to, first, last)
        transfers = await self._find_transfers(window)
        for tx_hash in transfers.hashes:
            landed = await self._node.landed_envelope(tx_hash)
            if isinstance(landed, NoEnvelope):
                if landed.is_unknown:  # this node is behind the one before
                    raise LandingSearchFailed
                continue
            call = read_use(
                landed.xdr,
                tx_hash,
                network=identity.network,
                payer=identity.payer,
                nonce=identity.nonce,
                root_call=spent.root_call,
            )
            if call is not None:
                is_ours = bool({call.source, call.fee_source} & self._operators.addresses)
                return ForeignLanding(
                    call.hash(identity.network.id),
                    last,
                    landed.closed_at,
                    call,
                    landed.xdr,
                    is_ours=is_ours,
                )
        if transfers.latest_ledger < last:
            raise LandingSearchFailed
        return None

    async def _find_transfers(self, window: TransferWindow) -> TransfersFound:
        try:
            return await self._node.transfers(window, limit=_MAX_CANDIDATES)
        except RpcUnavailable as refusal:
            if refusal.code not in LEDGERS_MISSING:
                raise
            raise LandingSearchFailed(
                is_beyond_history=await self._is_beyond_history(window)
            ) from refusal

    async def _is_beyond_history(self, window: TransferWindow) -> bool:
        """Whether the node's history begins after the window; a node that is behind catches up."""
        health = await self._node.health()
        return health.latest_ledger >= window.last_ledger and (
            health.oldest_ledger > window.first_ledger
        )
