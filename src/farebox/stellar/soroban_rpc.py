"""The calls of a Stellar RPC node: each is declared here once, and any client can make it."""

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

import msgspec

from farebox.kernel.addresses import Address
from farebox.stellar.account_entry import account_key
from farebox.stellar.rpc import (
    MAX_KEYS_A_CALL,
    AccountState,
    FeeStats,
    LandedEnvelope,
    LatestLedger,
    LedgerEntries,
    NodeHealth,
    NodeNetwork,
    NodeVersion,
    NoEnvelope,
    RawSimulation,
    SendResponse,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
    TransfersFound,
    TransferWindow,
)
from farebox.stellar.rpc_responses import (
    EntriesBody,
    EventsSeenBody,
    FeeStatsBody,
    HealthBody,
    JsonRpcResponse,
    SendBody,
    TransactionBody,
    TransactionsBody,
    read_account_state,
    read_fee_stats,
    read_health,
    read_health_of_absence,
    read_ledger_entries,
    read_send_response,
    read_simulation_response,
    read_transaction,
    read_transactions,
)
from farebox.stellar.transfer_search import (
    EnvelopeBody,
    EventsFoundBody,
    read_envelope_response,
    read_transfers,
    transfer_search,
)

A = TypeVar("A")
B = TypeVar("B")
_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_NO_TRANSACTION: Final = "0" * 64  # no transaction has this hash

_ENTRIES: Final = msgspec.json.Decoder(JsonRpcResponse[EntriesBody])
_ENVELOPE: Final = msgspec.json.Decoder(JsonRpcResponse[EnvelopeBody])
_EVENTS_FOUND: Final = msgspec.json.Decoder(JsonRpcResponse[EventsFoundBody])
_EVENTS_SEEN: Final = msgspec.json.Decoder(JsonRpcResponse[EventsSeenBody])
_FEE_STATS: Final = msgspec.json.Decoder(JsonRpcResponse[FeeStatsBody])
_HEALTH: Final = msgspec.json.Decoder(JsonRpcResponse[HealthBody])
_NETWORK: Final = msgspec.json.Decoder(JsonRpcResponse[NodeNetwork])
_SEND: Final = msgspec.json.Decoder(JsonRpcResponse[SendBody])
_SIMULATION: Final = msgspec.json.Decoder(JsonRpcResponse[Mapping[str, object]])
_TRANSACTION: Final = msgspec.json.Decoder(JsonRpcResponse[TransactionBody])
_TRANSACTIONS: Final = msgspec.json.Decoder(JsonRpcResponse[TransactionsBody])
_VERSION: Final = msgspec.json.Decoder(JsonRpcResponse[NodeVersion])


def _no_ledger(answer: object) -> None:
    """The response does not name the ledger it is as of."""
    del answer


def _no_close_time(answer: object) -> None:
    """The response does not name the close time of the newest ledger."""
    del answer


def _proves_nothing(code: int, message: str) -> bool:
    del code, message
    return False


@dataclass(frozen=True, slots=True)
class RpcCall(Generic[B, A]):
    """One call of a JSON-RPC method; every client sends it once at most to each node.

    `read` turns the decoded result into a value and raises `MalformedResponse`; `ledger_of` is that
    value's newest ledger of the node, and `closed_at_of` the close time of the newest ledger
    that it names, None without one. A stale response is used where no node has
    a newer one, unless `accepts_stale` is False. A simulation has connections of its own.
    `proves_unsent` decides by the code and message of a JSON-RPC error that nothing was submitted.
    """

    method: str
    decoder: msgspec.json.Decoder[JsonRpcResponse[B]]
    read: Callable[[B], A]
    ledger_of: Callable[[A], int | None] = _no_ledger
    closed_at_of: Callable[[A], datetime | None] = _no_close_time
    params: Mapping[str, object] | None = None
    max_bytes: int = 64 * _KIB  # of the response: what a sound node sends, with room to spare
    accepts_stale: bool = True
    is_simulation: bool = False
    proves_unsent: Callable[[int, str], bool] = _proves_nothing


class SorobanRpc(ABC):
    """One Stellar network, through one node or several.

    Every call has the client's deadline, and raises `RpcUnavailable` when there is no response of
    the expected form. Use a client as an async context manager, or call `close`.
    """

    _dated_health: NodeHealth | None = (
        None  # the last one with close times, of a node that gives none
    )

    @abstractmethod
    async def call(self, call: RpcCall[Any, A]) -> A:
        """Make one call."""

    @abstractmethod
    async def close(self) -> None:
        """Close every connection; a later call fails as certainly not sent."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def simulate(self, envelope: str) -> RawSimulation:
        """Simulate the base64 `envelope`; signed authorizations are enforced.

        A failure of the node itself counts as no response.
        """
        return await self.call(_simulation_call(envelope, "enforce"))

    async def simulate_recording(self, envelope: str) -> RawSimulation:
        """Simulate the base64 `envelope`, which has no authorizations, and record what it needs."""
        return await self.call(_simulation_call(envelope, "record"))

    async def simulate_to_send(self, envelope: str) -> RawSimulation:
        """Simulate an `envelope` that is to be sent; a client of several nodes may use several."""
        return await self.simulate(envelope)

    async def send(self, envelope: str) -> SendResponse:
        """Hand the signed base64 `envelope` to the network."""
        return await self.call(
            RpcCall(
                "sendTransaction",
                _SEND,
                read_send_response,
                lambda answer: answer.latest_ledger,
                params={"transaction": envelope},
                max_bytes=_MIB,  # diagnostic events of a refusal
                proves_unsent=rpc_error_proves_unsent,
            )
        )

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        """Look for a transaction by its outer or inner hash, 64 lower-case hex digits."""
        return await self.call(
            RpcCall(
                "getTransaction",
                _TRANSACTION,
                lambda body: read_transaction(body, tx_hash),
                _ledger_of_absence,
                _close_of_absence,
                params={"hash": tx_hash},
                max_bytes=4 * _MIB,
            )
        )

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        """The envelope of a transaction that succeeded."""
        return await self.call(
            RpcCall(
                "getTransaction",
                _ENVELOPE,
                read_envelope_response,
                closed_at_of=_close_of_envelope,
                params={"hash": tx_hash},
                max_bytes=4 * _MIB,
            )
        )

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        """A page of the transactions from `from_ledger` on, or after `cursor` where one is given.

        The size of a page depends on the ledgers: after a response that was too large the caller
        requests fewer transactions.
        """
        return await self.call(
            RpcCall(
                "getTransactions",
                _TRANSACTIONS,
                lambda body: read_transactions(body, wanted),
                lambda page: page.absence.latest_ledger,
                lambda page: page.absence.latest_close_at,
                params=_page(from_ledger, cursor, limit),
                max_bytes=8 * _MIB,
            )
        )

    async def gives_events(self, *, from_ledger: int) -> bool | None:
        """Whether the node gives the events of transactions; None when it lists no transaction."""
        return await self.call(
            RpcCall(
                "getTransactions",
                _EVENTS_SEEN,
                lambda body: body.first_has_events,
                params=_page(from_ledger, "", 1),
                max_bytes=8 * _MIB,
            )
        )

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        """The first `limit` transactions with an event of such a transfer."""
        return await self.call(
            RpcCall(
                "getEvents",
                _EVENTS_FOUND,
                read_transfers,
                lambda found: found.latest_ledger,
                params=transfer_search(window, limit=limit),
                max_bytes=_MIB,
            )
        )

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries under `keys` (XDR of ledger keys, 200 at most)."""
        return await self.call(
            _entries_call(keys, lambda found: found, lambda found: found.latest_ledger)
        )

    async def account(self, address: Address) -> AccountState | None:
        """The account as of the node's newest ledger; None when it does not exist."""
        return await self.call(
            _entries_call(
                [account_key(address)],
                lambda found: read_account_state(found, address),
                lambda state: None if state is None else state.as_of_ledger,
            )
        )

    async def account_sequence(self, address: Address) -> int | None:
        """The last sequence number the account used; None when it does not exist."""
        state = await self.account(address)
        return None if state is None else state.sequence

    async def health(self) -> NodeHealth:
        """The range of ledgers the node keeps; a node that is behind refuses this call.

        Before release 27.1 the response has no close times. A look-up that finds nothing has them,
        so each newer ledger costs one more small call there.
        """
        health = await self.call(
            RpcCall(
                "getHealth",
                _HEALTH,
                read_health,
                lambda health: health.latest_ledger,
                lambda health: health.latest_close_at if isinstance(health, NodeHealth) else None,
            )
        )
        if isinstance(health, NodeHealth):
            return health
        dated = self._dated_health
        if dated is None or dated.latest_ledger != health.latest_ledger:
            dated = await self.call(
                RpcCall(
                    "getTransaction",
                    _TRANSACTION,
                    lambda body: read_health_of_absence(body, health.ledger_retention_window),
                    lambda health: health.latest_ledger,
                    lambda health: health.latest_close_at,
                    params={"hash": _NO_TRANSACTION},
                )
            )
            self._dated_health = dated
        return dated

    async def latest_ledger(self) -> LatestLedger:
        """The newest ledger the node has applied; a node that is behind refuses this call.

        `getLatestLedger` is not called: its response has the whole ledger, megabytes on pubnet.
        """
        health = await self.health()
        return LatestLedger(health.latest_ledger, health.latest_close_at)

    async def fee_stats(self) -> FeeStats:
        """The inclusion fees contract calls paid lately."""
        return await self.call(
            RpcCall("getFeeStats", _FEE_STATS, read_fee_stats, lambda stats: stats.latest_ledger)
        )

    async def network(self) -> NodeNetwork:
        """The network the node says it follows."""
        return await self.call(RpcCall("getNetwork", _NETWORK, lambda body: body))

    async def version(self) -> NodeVersion:
        """The node's software."""
        return await self.call(RpcCall("getVersionInfo", _VERSION, lambda body: body))


def _simulation_call(envelope: str, mode: str) -> RpcCall[Any, RawSimulation]:
    return RpcCall(
        "simulateTransaction",
        _SIMULATION,
        read_simulation_response,
        lambda answer: answer.latest_ledger,
        params={"transaction": envelope, "authMode": mode},
        max_bytes=4 * _MIB,
        is_simulation=True,
    )


def _entries_call(
    keys: Sequence[bytes],
    read: Callable[[LedgerEntries], A],
    ledger_of: Callable[[A], int | None],
) -> RpcCall[EntriesBody, A]:
    if len(keys) > MAX_KEYS_A_CALL:
        raise ValueError("more ledger keys than a node takes in one call")
    unique = dict.fromkeys(keys)  # stellar-core refuses a key that stands there twice
    return RpcCall(
        "getLedgerEntries",
        _ENTRIES,
        lambda body: read(read_ledger_entries(body, frozenset(unique))),
        ledger_of,
        params={"keys": [base64.b64encode(key).decode() for key in unique]},
        max_bytes=16 * _MIB,  # 200 entries of 64 KiB
        accepts_stale=False,
    )


def _page(from_ledger: int, cursor: str, limit: int) -> dict[str, object]:
    """The parameters of `getTransactions`; a cursor takes the place of the first ledger."""
    if cursor:
        return {"pagination": {"limit": limit, "cursor": cursor}}
    return {"startLedger": from_ledger, "pagination": {"limit": limit}}


def _ledger_of_absence(answer: TransactionFound | TransactionNotFound) -> int | None:
    return answer.latest_ledger if isinstance(answer, TransactionNotFound) else None


def _close_of_absence(answer: TransactionFound | TransactionNotFound) -> datetime | None:
    return answer.latest_close_at if isinstance(answer, TransactionNotFound) else None


def _close_of_envelope(answer: LandedEnvelope | NoEnvelope) -> datetime | None:
    return answer.closed_at if isinstance(answer, LandedEnvelope) else None


_INVALID_REQUEST: Final = -32600  # the JSON-RPC layer refuses the request
_NO_SUCH_METHOD: Final = -32601
_INVALID_PARAMS: Final = -32602  # the envelope cannot be read
_UNREADABLE: Final = -32700
_BEFORE_CORE: Final = frozenset({_INVALID_REQUEST, _NO_SUCH_METHOD, _INVALID_PARAMS, _UNREADABLE})
_INTERNAL: Final = -32603
_FILTERED: Final = "invalid status from stellar-core"  # core filtered the transaction
_QUEUE_FULL: Final = re.compile(
    r"rpc queue for \w+ surpassed queue limit of \d+ requests", re.ASCII
)


def rpc_error_proves_unsent(code: int, message: str) -> bool:
    """Whether a JSON-RPC error of `sendTransaction` proves that nothing was submitted.

    The known ones are responses of stellar-rpc before the transaction reaches stellar-core. Any
    other may come after it: an internal error ("could not submit transaction to stellar-core" is a
    timeout of two seconds), a processing limit, a panic, and every HTTP status but 200, because a
    gateway sends those (429 and 503 included) wherever the request is.
    """
    if code in _BEFORE_CORE or _QUEUE_FULL.match(message):
        return True
    return code == _INTERNAL and message == _FILTERED
