"""Find who used a payment's authorization when it was not us, and prove it.

An event only says that such a transfer happened. The proof is the envelope itself: its hash is
computed here, and one of its authorization entries bears the payer's address and nonce.

Every answer speaks for the ledger it names. An answer as of an earlier ledger than the last one
that matters says nothing of what it lacks.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from farebox.facilitator.identity import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.stellar.rpc import (
    LandedEnvelope,
    LedgerEntries,
    NodeHealth,
    NoEnvelope,
    RpcUnavailable,
    TransfersFound,
    TransferWindow,
)
from farebox.stellar.transfer_envelope import LandedCall, read_landed_call
from farebox.stellar.transfer_search import nonce_key

_CANDIDATES: Final = 20  # transfers between the same two in so few ledgers: far more than there are
_LOOK_S: Final = 5.0
_ABOUT_THE_REQUEST: Final = frozenset({-32600, -32602})  # JSON-RPC: ledgers it does not have
_TURN_S: Final = 10.0  # waiting for others' looks: a caller still has to be answered in time


class Node(Protocol):
    """The calls a look-up makes."""

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries: ...

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound: ...

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope: ...

    async def health(self) -> NodeHealth: ...


class Operators(Protocol):
    """The operator's accounts, read without a call."""

    @property
    def addresses(self) -> frozenset[Address]: ...


@dataclass(frozen=True, slots=True)
class Authorization:
    """What was authorized, by whom to whom."""

    identity: PaymentIdentity
    asset: Address
    pay_to: Address


@dataclass(frozen=True, slots=True)
class ForeignLanding:
    """A transaction that is none of our record used the authorization and moved the payment.

    `is_ours`: an account of the operator's sent it or paid for it, and the record was lost.
    """

    tx_hash: bytes
    ledger: int  # in this one, or shortly before it
    call: LandedCall
    envelope: bytes
    is_ours: bool


class LookUpFailed(Exception):
    """Nothing is known; `is_forgotten`: the node's history no longer reaches back so far.

    `was_asked`: the node was given its time; without it others' looks took too long.
    """

    def __init__(self, *, is_forgotten: bool = False, was_asked: bool = True) -> None:
        super().__init__("forgotten" if is_forgotten else "no answer")
        self.is_forgotten, self.was_asked = is_forgotten, was_asked


class ForeignLandings:
    """Looks on one network, one payment at a time and each within a few seconds."""

    def __init__(
        self,
        node: Node,
        operators: Operators,
        *,
        look_s: float = _LOOK_S,
        turn_s: float = _TURN_S,
    ) -> None:
        self._node, self._operators = node, operators
        self._look_s, self._turn_s = look_s, turn_s
        self._turn = asyncio.Lock()

    async def of_used_nonce(
        self, authorization: Authorization, *, as_of_ledger: int
    ) -> ForeignLanding | None:
        """Who used an authorization that has not expired, up to `as_of_ledger` at the least.

        None when nobody did, or none is proven.

        Raises:
            LookUpFailed: nothing is known.
        """
        return await self._look(partial(self._by_nonce, authorization, as_of_ledger))

    async def between(
        self, authorization: Authorization, *, first_ledger: int, last_ledger: int
    ) -> ForeignLanding | None:
        """Who used an authorization in one of these ledgers; None when none is proven.

        Raises:
            LookUpFailed: nothing is known.
        """
        return await self._look(partial(self._in_ledgers, authorization, first_ledger, last_ledger))

    async def _look(
        self, work: Callable[[], Awaitable[ForeignLanding | None]]
    ) -> ForeignLanding | None:
        try:
            async with asyncio.timeout(self._turn_s):
                await self._turn.acquire()
        except TimeoutError as late:
            raise LookUpFailed(was_asked=False) from late
        try:
            async with asyncio.timeout(self._look_s):
                return await work()
        except (RpcUnavailable, TimeoutError) as outage:
            raise LookUpFailed from outage
        finally:
            self._turn.release()

    async def _by_nonce(
        self, authorization: Authorization, as_of_ledger: int
    ) -> ForeignLanding | None:
        identity = authorization.identity
        found = await self._node.ledger_entries([nonce_key(identity.payer, identity.nonce)])
        if not found.entries:
            if found.latest_ledger < as_of_ledger:
                raise LookUpFailed
            return None
        ledger = found.entries[0].modified_in_ledger
        if ledger is None:
            raise LookUpFailed
        return await self._in_ledgers(authorization, ledger, ledger)

    async def _in_ledgers(
        self, authorization: Authorization, first: int, last: int
    ) -> ForeignLanding | None:
        identity = authorization.identity
        window = TransferWindow(
            authorization.asset, identity.payer, authorization.pay_to, first, last
        )
        transfers = await self._transfers(window)
        for text in transfers.hashes:
            landed = await self._node.landed_envelope(text)
            if isinstance(landed, NoEnvelope):
                if landed.is_unknown:  # this node has not got as far as the one before
                    raise LookUpFailed
                continue
            call = read_landed_call(landed.xdr)
            if call is not None and _used(call, identity, text):
                is_ours = bool({call.source, call.fee_source} & self._operators.addresses)
                return ForeignLanding(bytes.fromhex(text), last, call, landed.xdr, is_ours=is_ours)
        if transfers.latest_ledger < last:
            raise LookUpFailed
        return None

    async def _transfers(self, window: TransferWindow) -> TransfersFound:
        try:
            return await self._node.transfers(window, limit=_CANDIDATES)
        except RpcUnavailable as refusal:
            if refusal.code not in _ABOUT_THE_REQUEST:
                raise
            raise LookUpFailed(is_forgotten=await self._has_forgotten(window)) from refusal

    async def _has_forgotten(self, window: TransferWindow) -> bool:
        """Whether the history begins after the window does; a node that is behind catches up."""
        health = await self._node.health()
        return health.latest_ledger >= window.last_ledger and (
            health.oldest_ledger > window.first_ledger
        )


def _used(call: LandedCall, identity: PaymentIdentity, tx_hash: str) -> bool:
    """Whether this transaction, and no other envelope shown in its place, used the nonce."""
    if call.hash(identity.network.id).hex() != tx_hash:
        return False
    return any(
        (entry.address, entry.nonce) == (identity.payer, identity.nonce) for entry in call.entries
    )
