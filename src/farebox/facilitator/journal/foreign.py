"""Find who used a payment's authorization when it was not us, and prove it.

An event only says that such a transfer happened. The proof is the envelope itself: its hash is
computed here, and one of its authorization entries bears the payer's address and nonce.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from farebox.facilitator.identity import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable, TransferWindow
from farebox.stellar.transfer_envelope import LandedCall, read_landed_call
from farebox.stellar.transfer_search import nonce_key

_CANDIDATES: Final = 20  # transfers between the same two in so few ledgers: far more than there are
_LOOK_S: Final = 5.0
_TURN_S: Final = 10.0  # waiting for others' looks: a caller still has to be answered in time


class Node(Protocol):
    """The calls a look-up makes."""

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries: ...

    async def transfers(self, window: TransferWindow, *, limit: int) -> tuple[str, ...]: ...

    async def landed_envelope(self, tx_hash: str) -> bytes | None: ...


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
    """Nothing is known; `is_refused`: the node said so itself, and will not know more later.

    `was_asked`: the node was given its time; without it others' looks took too long.
    """

    def __init__(self, *, is_refused: bool, was_asked: bool = True) -> None:
        super().__init__("refused" if is_refused else "no answer")
        self.is_refused, self.was_asked = is_refused, was_asked


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

    async def of_used_nonce(self, authorization: Authorization) -> ForeignLanding | None:
        """Who used an authorization that has not expired; None when nobody did or none is proven.

        Raises:
            LookUpFailed: nothing is known.
        """
        return await self._look(partial(self._by_nonce, authorization))

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
            raise LookUpFailed(is_refused=False, was_asked=False) from late
        try:
            async with asyncio.timeout(self._look_s):
                return await work()
        except RpcUnavailable as outage:
            raise LookUpFailed(is_refused=outage.code is not None) from outage
        except TimeoutError as late:
            raise LookUpFailed(is_refused=False) from late
        finally:
            self._turn.release()

    async def _by_nonce(self, authorization: Authorization) -> ForeignLanding | None:
        identity = authorization.identity
        found = await self._node.ledger_entries([nonce_key(identity.payer, identity.nonce)])
        ledger = found.entries[0].modified_in_ledger if found.entries else None
        return None if ledger is None else await self._in_ledgers(authorization, ledger, ledger)

    async def _in_ledgers(
        self, authorization: Authorization, first: int, last: int
    ) -> ForeignLanding | None:
        identity = authorization.identity
        window = TransferWindow(
            authorization.asset, identity.payer, authorization.pay_to, first, last
        )
        for text in await self._node.transfers(window, limit=_CANDIDATES):
            envelope = await self._node.landed_envelope(text)
            call = None if envelope is None else read_landed_call(envelope)
            if envelope is not None and call is not None and _used(call, identity, text):
                is_ours = bool({call.source, call.fee_source} & self._operators.addresses)
                return ForeignLanding(bytes.fromhex(text), last, call, envelope, is_ours=is_ours)
        return None


def _used(call: LandedCall, identity: PaymentIdentity, tx_hash: str) -> bool:
    """Whether this transaction, and no other envelope shown in its place, used the nonce."""
    if call.hash(identity.network.id).hex() != tx_hash:
        return False
    return any(
        (entry.address, entry.nonce) == (identity.payer, identity.nonce) for entry in call.entries
    )
