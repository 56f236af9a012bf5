"""The envelopes of runs: as they reach the node, and as the ledger has them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
from stellar_sdk import (
    Address,
    FeeBumpTransactionEnvelope,
    InvokeHostFunction,
    TransactionBuilder,
    TransactionEnvelope,
    xdr,
)

from prove.ask_node import read_newest, read_transactions
from prove.environment import Environment
from prove.world import NETWORK

T = TypeVar("T")
MANDATE_RUN: Final = "run"
NOT_TAKEN: Final = ("ERROR", "TRY_AGAIN_LATER")  # a node that says so has queued nothing


@dataclass(frozen=True, slots=True)
class RunEnvelope:
    """What identifies an envelope and what it may do.

    `nonces` are its authorizations, (address, nonce); that of a mandate's run is the mandate and
    the index, which it uses once.
    """

    tx_hash: str
    inner_hash: str
    fee_source: str
    source: str
    sequence: int
    max_time: int
    contract: str
    function: str
    nonces: tuple[tuple[str, int], ...]
    operation: InvokeHostFunction


@dataclass(frozen=True, slots=True)
class Delivery:
    """An envelope that reached the node, when the ledger was this one, and the node's status.

    `status` is empty when nobody knows what the node did.
    """

    envelope: RunEnvelope
    ledger: int
    closed_at: int
    status: str


@dataclass(frozen=True, slots=True)
class LandedEnvelope:
    """An envelope on the ledger."""

    envelope: RunEnvelope
    ledger: int
    is_success: bool
    fee_charged: int


def read_run_envelope(text: str) -> RunEnvelope | None:
    """Read an envelope of one contract call; None for any other."""
    parsed = TransactionBuilder.from_xdr(text, NETWORK.passphrase)
    inner, fee_source = parsed, None
    if isinstance(parsed, FeeBumpTransactionEnvelope):
        inner = parsed.transaction.inner_transaction_envelope
        fee_source = parsed.transaction.fee_source.account_id
    if not isinstance(inner, TransactionEnvelope):
        return None
    transaction = inner.transaction
    (operation, *more) = transaction.operations
    if more or not isinstance(operation, InvokeHostFunction):
        return None
    call = operation.host_function.invoke_contract
    if call is None:
        return None
    bounds = transaction.preconditions.time_bounds if transaction.preconditions else None
    return RunEnvelope(
        tx_hash=parsed.hash_hex(),
        inner_hash=inner.hash_hex(),
        fee_source=fee_source or transaction.source.account_id,
        source=transaction.source.account_id,
        sequence=transaction.sequence,
        max_time=bounds.max_time if bounds else 0,
        contract=Address.from_xdr_sc_address(call.contract_address).address,
        function=call.function_name.sc_symbol.decode(),
        nonces=tuple(_nonces_of(operation)),
        operation=operation,
    )


def _nonces_of(operation: InvokeHostFunction) -> list[tuple[str, int]]:
    found = _index_of(operation)
    for entry in operation.auth:
        owned = entry.credentials.address or entry.credentials.address_v2
        if owned is not None:
            account = Address.from_xdr_sc_address(owned.address).address
            found.append((account, owned.nonce.int64))
    return found


def _index_of(operation: InvokeHostFunction) -> list[tuple[str, int]]:
    call = operation.host_function.invoke_contract
    if call is None or call.function_name.sc_symbol.decode() != MANDATE_RUN or not call.args:
        return []
    index = call.args[0].u32
    mandate = Address.from_xdr_sc_address(call.contract_address).address
    return [] if index is None else [(mandate, index.uint32)]


async def read_landed(environment: Environment) -> list[LandedEnvelope]:
    """Read every contract call that was included in a ledger since the case began."""
    landed: list[LandedEnvelope] = []
    async for each in read_transactions(environment):
        envelope = read_run_envelope(each["envelopeXdr"])
        if envelope is not None:
            is_success = each["status"] == "SUCCESS"
            landed.append(LandedEnvelope(envelope, each["ledger"], is_success, fee_of(each)))
    return landed


def fee_of(transaction: Mapping[str, Any]) -> int:
    """Return what a transaction on the ledger has cost, in stroops."""
    return int(xdr.TransactionResult.from_xdr(transaction["resultXdr"]).fee_charged.int64)


class EnvelopeWatch:
    """Sees every envelope that reaches the node.

    `before` and `after` are told of the first one that calls the contract `target`, `again` of the
    second one, before the node has it.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.target = ""
        self.deliveries: list[Delivery] = []
        self._hashes: list[str] = []  # of envelopes that call the target
        self.again: Callable[[RunEnvelope], Awaitable[None]] | None = None
        self.before: Callable[[RunEnvelope], Awaitable[None]] | None = None
        self.after: Callable[[RunEnvelope], Awaitable[None]] | None = None

    async def __call__(self, envelope: str, forward: Callable[[], Awaitable[T]]) -> T:
        """See `SendWatch`."""
        sent = read_run_envelope(envelope)
        if sent is None:
            return await forward()
        is_new = sent.contract == self.target and sent.inner_hash not in self._hashes
        if is_new:
            self._hashes.append(sent.inner_hash)
        is_first = is_new and len(self._hashes) == 1
        is_second = is_new and len(self._hashes) == 2
        ledger, closed_at = await read_newest(self._environment)
        if is_first and self.before is not None:
            await self.before(sent)
        if is_second and self.again is not None:
            await self.again(sent)
        status = ""
        try:
            answer = await forward()
            status = _status_of(answer)
        finally:
            self.deliveries.append(Delivery(sent, ledger, closed_at, status))
        if is_first and self.after is not None:
            await self.after(sent)
        return answer


def _status_of(answer: object) -> str:
    """The status that a node gave an envelope; empty for an error, which may have queued it."""
    if not isinstance(answer, tuple) or answer[0] != 200:
        return ""
    body = msgspec.json.decode(answer[1], type=dict[str, Any])
    return str(body.get("result", {}).get("status", ""))
