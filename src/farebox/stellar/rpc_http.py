"""A Stellar RPC node over HTTP: one kept-alive session, each request written once at most."""

import base64
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.account_entry import account_key, read_account
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
    RpcUnavailable,
    SendAnswer,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
    TransfersFound,
    TransferWindow,
)
from farebox.stellar.rpc_answers import (
    EntriesBody,
    EventsSeenBody,
    FeeStatsBody,
    Garbled,
    HealthBody,
    NetworkBody,
    Reply,
    SendBody,
    TransactionBody,
    TransactionsBody,
    VersionBody,
    fee_stats_answer,
    health_answer,
    ledger_entries_answer,
    send_answer,
    transaction_answer,
    transactions_answer,
)
from farebox.stellar.rpc_session import RpcSession
from farebox.stellar.send_refusals import rpc_error_proves_unsent
from farebox.stellar.simulation_error import SimulationErrorKind, classify_simulation_error
from farebox.stellar.transfer_search import (
    EnvelopeBody,
    EventsFoundBody,
    envelope_answer,
    events_answer,
    transfer_search,
)

T = TypeVar("T")
A = TypeVar("A")
_REQUEST_ID: Final = 1  # one request a connection at a time: it needs no numbering

_SIMULATION: Final = msgspec.json.Decoder(Reply[Mapping[str, object]])
_SEND: Final = msgspec.json.Decoder(Reply[SendBody])
_TRANSACTION: Final = msgspec.json.Decoder(Reply[TransactionBody])
_FEE_STATS: Final = msgspec.json.Decoder(Reply[FeeStatsBody])
_ENTRIES: Final = msgspec.json.Decoder(Reply[EntriesBody])
_NETWORK: Final = msgspec.json.Decoder(Reply[NetworkBody])
_VERSION: Final = msgspec.json.Decoder(Reply[VersionBody])
_HEALTH: Final = msgspec.json.Decoder(Reply[HealthBody])
_EVENTS_SEEN: Final = msgspec.json.Decoder(Reply[EventsSeenBody])
_EVENTS_FOUND: Final = msgspec.json.Decoder(Reply[EventsFoundBody])
_ENVELOPE: Final = msgspec.json.Decoder(Reply[EnvelopeBody])
_TRANSACTIONS: Final = msgspec.json.Decoder(Reply[TransactionsBody])
_ENCODE: Final = msgspec.json.Encoder().encode

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_SEND_METHOD: Final = "sendTransaction"
_NO_TRANSACTION: Final = "0" * 64  # the hash of none
# The most a sound node answers, with room to spare. Where a page grows with the ledger, its reader
# asks for smaller ones after an answer that was too large.
_MAX_ANSWER_BYTES: Final = {
    "getEvents": _MIB,
    "getFeeStats": 64 * _KIB,
    "getHealth": 64 * _KIB,
    "getLedgerEntries": 16 * _MIB,  # 200 entries of 64 KiB
    "getNetwork": 64 * _KIB,
    "getTransaction": 4 * _MIB,
    "getTransactions": 8 * _MIB,
    "getVersionInfo": 64 * _KIB,
    _SEND_METHOD: _MIB,  # diagnostic events of a refusal
    "simulateTransaction": 4 * _MIB,
}


class HttpSorobanRpc:
    """`SorobanRpc` over HTTP or HTTPS.

    Use it as an async context manager, or call `close`. `authority` names a PEM file of a
    private certificate authority that is trusted beside the public ones.
    """

    def __init__(
        self,
        network: Network,
        url: Secret[str],
        *,
        timeout_s: float = 10.0,
        max_connections: int = 32,
        authority: Path | None = None,
    ) -> None:
        self._network = network
        context = None if authority is None else ssl.create_default_context()
        if context is not None:
            context.load_verify_locations(cafile=authority)
        self._session = RpcSession(
            network, url, timeout_s=timeout_s, max_connections=max_connections, tls=context
        )
        self._dated: NodeHealth | None = None  # the last one whose close times were asked for

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Every connection is closed; a later call fails as certainly not sent."""
        await self._session.close()

    async def simulate(self, envelope: str) -> RawSimulation:
        """Run the base64 `envelope` without effect; signed authorizations are enforced.

        A simulation that the node itself failed to make is no answer.
        """
        method = "simulateTransaction"
        raw = await self._post(method, {"transaction": envelope, "authMode": "enforce"})
        result = self._result(_SIMULATION, method, raw)
        if _node_failed(result.get("error")):
            text = f"the node of {self._network} failed to simulate"
            raise RpcUnavailable(self._network, text, certainly_not_sent=False)
        return RawSimulation(result=result, size_bytes=len(raw))

    async def send(self, envelope: str) -> SendAnswer:
        """Hand the signed base64 `envelope` to the network, once."""
        body = await self._call(_SEND, _SEND_METHOD, {"transaction": envelope})
        return self._read(send_answer, body)

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        """Look for a transaction by its outer or inner hash, 64 lower-case hex digits."""
        body = await self._call(_TRANSACTION, "getTransaction", {"hash": tx_hash})
        return self._read(lambda known: transaction_answer(known, tx_hash), body)

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        """A page of what landed from `from_ledger` on, or after `cursor` where one is given."""
        pagination: dict[str, object] = {"limit": limit}
        params: dict[str, object] = {"pagination": pagination}
        if cursor:
            pagination["cursor"] = cursor
        else:
            params["startLedger"] = from_ledger
        body = await self._call(_TRANSACTIONS, "getTransactions", params)
        return self._read(lambda known: transactions_answer(known, wanted), body)

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        """The first `limit` transactions that say they made such a transfer."""
        body = await self._call(_EVENTS_FOUND, "getEvents", transfer_search(window, limit=limit))
        return self._read(events_answer, body)

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        """The envelope of a transaction that succeeded."""
        body = await self._call(_ENVELOPE, "getTransaction", {"hash": tx_hash})
        return self._read(envelope_answer, body)

    async def latest_ledger(self) -> LatestLedger:
        """The newest ledger the node has applied; a node that is behind refuses this call.

        `getLatestLedger` is not asked: it carries the whole ledger, megabytes on pubnet.
        """
        health = await self.health()
        return LatestLedger(health.latest_ledger, health.latest_close_at)

    async def fee_stats(self) -> FeeStats:
        """What contract calls paid lately to be included."""
        return self._read(fee_stats_answer, await self._call(_FEE_STATS, "getFeeStats"))

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries under `keys` (XDR of ledger keys, 200 at most)."""
        if len(keys) > MAX_KEYS_A_CALL:
            raise ValueError("more ledger keys than a node answers in one call")
        # stellar-core refuses a key that is asked for twice
        texts = [base64.b64encode(key).decode() for key in dict.fromkeys(keys)]
        body = await self._call(_ENTRIES, "getLedgerEntries", {"keys": texts})
        return self._read(lambda known: ledger_entries_answer(known, frozenset(keys)), body)

    async def network(self) -> NodeNetwork:
        """The network the node follows, by its own word."""
        body = await self._call(_NETWORK, "getNetwork")
        return NodeNetwork(body.passphrase, body.protocol_version)

    async def version(self) -> NodeVersion:
        """The node's software."""
        body = await self._call(_VERSION, "getVersionInfo")
        return NodeVersion(body.version, body.protocol_version)

    async def health(self) -> NodeHealth:
        """What the node remembers; a node that is behind refuses this call.

        Before release 27.1 the answer has no close times. A look-up that finds nothing has them,
        so each newer ledger costs one more small call there.
        """
        body = await self._call(_HEALTH, "getHealth")
        health = self._read(health_answer, body)
        if health is not None:
            return health
        if self._dated is None or self._dated.latest_ledger != body.latest_ledger:
            self._dated = await self._dated_health(body.ledger_retention_window)
        return self._dated

    async def _dated_health(self, retention_ledgers: int | None) -> NodeHealth:
        """The node's range of ledgers with its close times, from an answer that has both."""
        absence = await self.get_transaction(_NO_TRANSACTION)
        if not isinstance(absence, TransactionNotFound):
            raise self._garbled()
        return NodeHealth(
            latest_ledger=absence.latest_ledger,
            latest_close_at=absence.latest_close_at,
            oldest_ledger=absence.oldest_ledger,
            oldest_close_at=absence.oldest_close_at,
            retention_ledgers=retention_ledgers,
        )

    async def gives_events(self, *, from_ledger: int) -> bool | None:
        """Whether transactions come with their events; None when there is none to look at."""
        params = {"startLedger": from_ledger, "pagination": {"limit": 1}}
        body = await self._call(_EVENTS_SEEN, "getTransactions", params)
        return body.transactions[0].events is not None if body.transactions else None

    async def account(self, address: Address) -> AccountState | None:
        """The account as of the node's newest ledger; None when it does not exist."""
        found = await self.ledger_entries([account_key(address)])
        if not found.entries:
            return None
        entry = found.entries[0]
        state = read_account(entry.data, address, as_of_ledger=found.latest_ledger)
        if state is None:
            raise self._garbled()
        return state

    async def account_sequence(self, address: Address) -> int | None:
        """The last sequence number the account used; None when it does not exist."""
        state = await self.account(address)
        return None if state is None else state.sequence

    async def _call(
        self, decoder: msgspec.json.Decoder[Reply[T]], method: str, params: object = None
    ) -> T:
        return self._result(decoder, method, await self._post(method, params))

    async def _post(self, method: str, params: object) -> bytes:
        limit = _MAX_ANSWER_BYTES[method]
        return await self._session.post(_request(method, params), max_bytes=limit)

    def _result(self, decoder: msgspec.json.Decoder[Reply[T]], method: str, raw: bytes) -> T:
        reply: Reply[T] | None = None
        try:
            reply = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            reply = None  # the error's words quote the answer
        if reply is not None and reply.error is not None:
            code, words = reply.error.code, reply.error.message
            text = f"the node of {self._network} answered with JSON-RPC error {code}"
            is_unsent = method == _SEND_METHOD and rpc_error_proves_unsent(code, words)
            raise RpcUnavailable(self._network, text, certainly_not_sent=is_unsent, code=code)
        if reply is None or reply.result is None or reply.id != _REQUEST_ID:
            raise self._garbled()
        return reply.result

    def _read(self, rule: Callable[[T], A], body: T) -> A:
        try:
            return rule(body)
        except Garbled:
            raise self._garbled() from None

    def _garbled(self) -> RpcUnavailable:
        text = f"the node of {self._network} gave an answer of another form"
        return RpcUnavailable(self._network, text, certainly_not_sent=False)


def _request(method: str, params: object = None) -> bytes:
    request = {"jsonrpc": "2.0", "id": _REQUEST_ID, "method": method}
    return _ENCODE(request if params is None else {**request, "params": params})


def _node_failed(error: object) -> bool:
    if not isinstance(error, str):
        return False
    return classify_simulation_error(error) is SimulationErrorKind.NODE_FAILURE
