"""The responses of a Stellar RPC node as values, and the outage in place of a response."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network

MAX_KEYS_A_CALL: Final = 200  # the most ledger keys a node answers in one call


class RpcUnavailable(Outage):
    """The node gave no usable answer.

    `certainly_not_sent` is True only when the request never left this process. In every other
    case the node may have acted on it, whatever its response. `code` is the JSON-RPC error code
    when the node itself refused, `retry_after_s` the pause it asked for (status 429 or 503). The
    message never contains the node's address or its own words. `node_was_called` is False where a
    limit of this process kept the request back, so that nothing follows about the node.
    """

    def __init__(
        self,
        network: Network,
        message: str,
        *,
        certainly_not_sent: bool,
        code: int | None = None,
        retry_after_s: float | None = None,
        node_was_called: bool = True,
    ) -> None:
        super().__init__(network.value, message)
        self.network = network
        self.certainly_not_sent = certainly_not_sent
        self.code = code
        self.retry_after_s = retry_after_s
        self.node_was_called = node_was_called


class SendStatus(StrEnum):
    """The status of a transaction handed to the node (`sendTransaction`)."""

    PENDING = "PENDING"  # queued
    DUPLICATE = "DUPLICATE"  # already queued
    TRY_AGAIN_LATER = "TRY_AGAIN_LATER"  # not queued, for one of five causes, none of them given
    ERROR = "ERROR"  # not queued: see the result code


class LedgerStatus(StrEnum):
    """The status of a transaction on the ledger."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class RawSimulation:
    """The result member of a simulation, as decoded JSON.

    `nodes` are the roles of the nodes that agree on it, where more than one may be called.
    """

    result: Mapping[str, object]
    nodes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def latest_ledger(self) -> int | None:
        """The node's newest ledger; None where it does not say."""
        latest = self.result.get("latestLedger")
        return latest if type(latest) is int else None


BAD_SEQUENCE: Final = "txBAD_SEQ"
FEE_TOO_LOW: Final = "txINSUFFICIENT_FEE"
RESOURCES_REFUSED: Final = "txSOROBAN_INVALID"
# With these codes a node's core has judged the envelope invalid, and keeps it nowhere. Any other is
# no proof: `txFAILED` and `txINTERNAL_ERROR`, and one that this version does not know.
_INVALID: Final = frozenset(
    {
        BAD_SEQUENCE,
        FEE_TOO_LOW,
        RESOURCES_REFUSED,
        "txBAD_AUTH",
        "txBAD_AUTH_EXTRA",
        "txBAD_MIN_SEQ_AGE_OR_GAP",
        "txBAD_SPONSORSHIP",
        "txFROZEN_KEY_ACCESSED",
        "txINSUFFICIENT_BALANCE",
        "txMALFORMED",
        "txMISSING_OPERATION",
        "txNOT_SUPPORTED",
        "txNO_ACCOUNT",
        "txTOO_EARLY",
        "txTOO_LATE",
    }
)


@dataclass(frozen=True, slots=True)
class SendResponse:
    """The node's response to an envelope.

    `result_code` is set for `ERROR` alone; of a fee bump whose inner transaction was refused
    it is the inner one's code. None there means the node gave no readable reason, so that nothing
    is proven. `required_fee` is the whole fee the node would have admitted (`txINSUFFICIENT_FEE`
    only). `may_be_sent` is True when another node may have taken the same envelope just before,
    so that this answer alone proves nothing.
    """

    status: SendStatus
    hash: str  # as the node computed it; the record is the hash computed here
    latest_ledger: int
    result_code: str | None = None
    required_fee: Stroops | None = None
    may_be_sent: bool = False

    @property
    def is_invalid(self) -> bool:
        """Whether the node has judged the envelope invalid: after any other answer it may have it.

        TRY_AGAIN_LATER is no proof either: some nodes keep what they say they did not queue.
        """
        return self.status is SendStatus.ERROR and self.result_code in _INVALID


@dataclass(frozen=True, slots=True)
class TransactionFound:
    """A transaction that is on the ledger.

    `result_code` is the inner transaction's when the node found a fee bump.
    """

    hash: str  # for a look-up by inner hash, nodes give either that hash or the outer one
    status: LedgerStatus
    ledger: int
    closed_at: datetime
    result_code: str
    operation_code: str | None  # of a single contract call; None for anything else
    fee_charged: Stroops  # what the fee source paid, refund taken off
    contract_events: tuple[tuple[str, ...], ...]  # base64, one tuple an operation
    inner_hash: str | None = None  # of the transaction inside, when this is a fee bump


@dataclass(frozen=True, slots=True)
class TransactionNotFound:
    """The node does not know the hash, as of the ledgers it remembers."""

    latest_ledger: int
    latest_close_at: datetime
    oldest_ledger: int
    oldest_close_at: datetime


@dataclass(frozen=True, slots=True)
class TransactionsPage:
    """One page of the transactions of some ledgers, reduced to the requested ones.

    `listed` counts all of them, `last_ledger` is the ledger of the last one. A full page is
    followed by the one after `cursor`; the cursor of any other page is not used, because nodes
    differ in it. `absence` applies to a hash that no page up to its latest ledger contains.
    """

    found: tuple[TransactionFound, ...]
    listed: int
    cursor: str
    absence: TransactionNotFound
    last_ledger: int | None = None  # None when none is listed


@dataclass(frozen=True, slots=True)
class TransfersFound:
    """The transactions with an event of such a transfer, as of `latest_ledger`."""

    hashes: tuple[str, ...]  # 64 hex digits each, in the ledger's order
    latest_ledger: int
    events: int = field(default=0, compare=False)  # several may be of one transaction


@dataclass(frozen=True, slots=True)
class LandedEnvelope:
    """The envelope (XDR) of a transaction that succeeded, and the close time of its ledger."""

    xdr: bytes
    closed_at: datetime


@dataclass(frozen=True, slots=True)
class NoEnvelope:
    """The transaction failed, or (`is_unknown`) the node does not know it."""

    is_unknown: bool


@dataclass(frozen=True, slots=True)
class LatestLedger:
    """The newest ledger the node has applied; `close_at` is in whole seconds."""

    sequence: int
    close_at: datetime


@dataclass(frozen=True, slots=True)
class FeeStats:
    """The inclusion fees of recent contract calls in stroops; zeros where there were none."""

    p99: int
    maximum: int
    latest_ledger: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One ledger entry: its key and its data as XDR bytes."""

    key: bytes
    data: bytes
    live_until_ledger: int | None  # None for an entry that cannot expire
    modified_in_ledger: int | None = None  # the last one that wrote it; None when not given


@dataclass(frozen=True, slots=True)
class TransferWindow:
    """Transfers of one token between two parties in some ledgers, both ends included."""

    asset: Address
    sender: Address
    recipient: Address
    first_ledger: int
    last_ledger: int


@dataclass(frozen=True, slots=True)
class LedgerEntries:
    """The entries found, in any order; a key that is absent has none."""

    entries: tuple[LedgerEntry, ...]
    latest_ledger: int


class NodeNetwork(msgspec.Struct, frozen=True, rename="camel"):
    """The network the node follows, by its `getNetwork`."""

    passphrase: str
    protocol_version: int


class NodeVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The node's software and the newest protocol it can apply, by its `getVersionInfo`."""

    version: str
    protocol_version: int


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """The range of ledgers that a healthy node keeps.

    `retention_ledgers` is the number it is configured to keep; None when it does not give it.
    """

    latest_ledger: int
    latest_close_at: datetime
    oldest_ledger: int
    oldest_close_at: datetime
    retention_ledgers: int | None = None


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account on the ledger: the last sequence number it used, and its native balance.

    `reserved` is the part of the balance that cannot pay fees: its own reserves, those it sponsors,
    and the amount its offers sell; 0 where that could not be read.
    """

    sequence: int
    balance: Stroops
    as_of_ledger: int  # the newest ledger the node had applied
    reserved: Stroops = NO_STROOPS

    @property
    def available(self) -> int:
        """The stroops left for fees; may be negative."""
        return self.balance - self.reserved
