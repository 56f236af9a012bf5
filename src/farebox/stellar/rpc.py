"""What Farebox asks of a Stellar RPC node, and the answers as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network

MAX_KEYS_A_CALL: Final = 200  # the most ledger keys a node answers in one call


class RpcUnavailable(Outage):
    """The node gave no usable answer.

    `certainly_not_sent` is True only when the request never left this process. In every other
    case the node may have acted on it, whatever it answered. `code` is the JSON-RPC error code
    when the node itself refused, `retry_after_s` the pause it asked for (status 429 or 503). The
    words never carry the node's address or its own words.
    """

    def __init__(
        self,
        network: Network,
        message: str,
        *,
        certainly_not_sent: bool,
        code: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(network.value, message)
        self.network = network
        self.certainly_not_sent = certainly_not_sent
        self.code = code
        self.retry_after_s = retry_after_s


class SendStatus(StrEnum):
    """What the node did with a transaction."""

    PENDING = "PENDING"  # queued
    DUPLICATE = "DUPLICATE"  # already queued
    TRY_AGAIN_LATER = "TRY_AGAIN_LATER"  # not queued, for one of five reasons it does not tell
    ERROR = "ERROR"  # not queued: see the result code


class LedgerStatus(StrEnum):
    """How a transaction ended on the ledger."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class RawSimulation:
    """The result member of a simulation, as decoded JSON, and the size of the whole answer."""

    result: Mapping[str, object]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SendAnswer:
    """What became of an envelope handed to the node.

    `result_code` is set for `ERROR` alone; of a fee bump that fell over its inner transaction it
    is the inner one's code. None there means the node gave no readable reason, so that nothing
    is proven. `fee_wanted` is the whole fee the node would have admitted (`txINSUFFICIENT_FEE`
    only). `may_be_out` is True when another node may have taken the same envelope just before,
    so that this answer alone proves nothing.
    """

    status: SendStatus
    hash: str  # as the node computed it; the record is the hash computed here
    latest_ledger: int
    result_code: str | None = None
    fee_wanted: Stroops | None = None
    may_be_out: bool = False


@dataclass(frozen=True, slots=True)
class TransactionFound:
    """A transaction that is on the ledger.

    `result_code` is the inner transaction's when the node found a fee bump.
    """

    hash: str  # nodes differ on an inner hash asked for: they repeat it, or tell the outer one
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
    """One page of the transactions of some ledgers, reduced to those that were asked for.

    `listed` counts all of them, `last_ledger` is the ledger of the last one. A full page is
    followed by the one after `cursor`; the cursor of any other page means nothing, because nodes
    differ in it. What `absence` says holds for a hash that no page up to its latest ledger showed.
    """

    found: tuple[TransactionFound, ...]
    listed: int
    cursor: str
    absence: TransactionNotFound
    last_ledger: int | None = None  # None when none is listed


@dataclass(frozen=True, slots=True)
class TransfersFound:
    """The transactions that say they made such a transfer, as of `latest_ledger`."""

    hashes: tuple[str, ...]  # 64 hex digits each, in the ledger's order
    latest_ledger: int


@dataclass(frozen=True, slots=True)
class LandedEnvelope:
    """The envelope (XDR) of a transaction that succeeded."""

    xdr: bytes


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
class InclusionFees:
    """Inclusion fees paid for contract calls in the last ledgers, stroops; zeros when none."""

    minimum: int
    maximum: int
    p50: int
    p70: int
    p90: int
    p95: int
    p99: int
    transactions: int
    ledgers: int


@dataclass(frozen=True, slots=True)
class FeeStats:
    """What contract calls paid to be included, as of `latest_ledger`."""

    soroban: InclusionFees
    latest_ledger: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One ledger entry: its key and its data as XDR bytes."""

    key: bytes
    data: bytes
    live_until_ledger: int | None  # None for an entry that cannot expire
    modified_in_ledger: int | None = None  # the last one that wrote it; None when not told


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


@dataclass(frozen=True, slots=True)
class NodeNetwork:
    """Which network the node says it follows."""

    passphrase: str
    protocol_version: int


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """The node's software and the newest protocol it can apply."""

    version: str
    protocol_version: int


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """What a node that calls itself healthy remembers.

    `retention_ledgers` is how many ledgers it is configured to keep; None when it does not tell.
    """

    latest_ledger: int
    latest_close_at: datetime
    oldest_ledger: int
    oldest_close_at: datetime
    retention_ledgers: int | None = None


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account on the ledger: the last sequence number it used, and its native balance.

    `reserved` is what of the balance pays no fee: reserves, its own and those it sponsors, and
    what its offers sell; nothing where that could not be read.
    """

    sequence: int
    balance: Stroops
    as_of_ledger: int  # the newest ledger the node had applied
    reserved: Stroops = NO_STROOPS

    @property
    def available(self) -> int:
        """What is left for fees, stroops; may be less than nothing."""
        return self.balance - self.reserved


class SorobanRpc(Protocol):
    """One Stellar network, through one node.

    Every call has a deadline, is sent once at most, and raises `RpcUnavailable` when it yields
    no answer of the expected form.
    """

    async def simulate(self, envelope: str) -> RawSimulation:
        """Run the base64 `envelope` without effect; signed authorizations are enforced.

        A simulation that the node itself failed to make is no answer.
        """
        ...

    async def send(self, envelope: str) -> SendAnswer:
        """Hand the signed base64 `envelope` to the network, once."""
        ...

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        """Look for a transaction by its outer or inner hash, 64 lower-case hex digits."""
        ...

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        """A page of what landed from `from_ledger` on, or after `cursor` where one is given."""
        ...

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        """The first `limit` transactions that say they made such a transfer."""
        ...

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        """The envelope of a transaction that succeeded."""
        ...

    async def latest_ledger(self) -> LatestLedger:
        """The newest ledger the node has applied; a node that is behind refuses this call."""
        ...

    async def fee_stats(self) -> FeeStats:
        """What contract calls paid lately to be included."""
        ...

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries under `keys` (XDR of ledger keys, 200 at most)."""
        ...

    async def network(self) -> NodeNetwork:
        """The network the node follows, by its own word."""
        ...

    async def version(self) -> NodeVersion:
        """The node's software."""
        ...

    async def health(self) -> NodeHealth:
        """What the node remembers; a node that is behind refuses this call."""
        ...

    async def gives_events(self, *, from_ledger: int) -> bool | None:
        """Whether transactions come with their events; None when there is none to look at."""
        ...

    async def account(self, address: Address) -> AccountState | None:
        """The account as of the node's newest ledger; None when it does not exist."""
        ...

    async def account_sequence(self, address: Address) -> int | None:
        """The last sequence number the account used; None when it does not exist."""
        ...
