"""The operator's own transactions on one network: sent once, and looked up on the ledger."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from farebox.facilitator.channels.plan import ChannelsRefused
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.account_entry import account_key
from farebox.stellar.rpc import LatestLedger, LedgerStatus, SorobanRpc, TransactionFound
from farebox.stellar.splice import SignedTransaction
from farebox.submission.deliver import BAD_SEQUENCE
from farebox.submission.fate import Dead, Fate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import Submitter

_PROOF_S: Final = 30.0  # how long past its time bound an envelope is watched
_SHOWN_WITHIN_S: Final = 10.0  # until a node behind one address shows what another one told
_LOOK_AGAIN_S: Final = 0.5
_MAX_OPERATIONS: Final = 100


class OutcomeUnknown(Exception):
    """A transaction was sent and may still land; the same command, repeated, looks first."""

    def __init__(self, tx_hash: str) -> None:
        super().__init__(tx_hash)
        self.tx_hash = tx_hash


@dataclass(frozen=True, slots=True)
class Terms:
    """What a transaction of the operator's may take."""

    bid: int  # stroops an operation
    life_s: int  # of an envelope past the last close


class OperatorLedger:
    """Sends for the operator, and shows what is on the ledger."""

    def __init__(
        self, network: Network, rpc: SorobanRpc, submitter: Submitter, clock: Clock, terms: Terms
    ) -> None:
        self._network, self._rpc, self._submitter = network, rpc, submitter
        self._clock, self._terms = clock, terms
        self._on_its_way: dict[str, None] = {}

    @property
    def on_its_way(self) -> str | None:
        """The hash of a transaction whose fate is not known yet."""
        return next(iter(self._on_its_way), None)

    async def check_node(self) -> None:
        """The node follows this network and is not behind.

        Raises:
            ChannelsRefused: it follows another one.
            RpcUnavailable: it does not answer, or is behind.
        """
        if (await self._rpc.network()).passphrase != self._network.passphrase:
            raise ChannelsRefused(
                f"The node follows another network than {self._network.label}: "
                f"correct FAREBOX_RPC_URL_{self._network.label.upper()}."
            )
        await self._rpc.health()

    async def used_sequence(self, account: Address) -> int | None:
        """The last sequence number the account used; None when it does not exist."""
        return await self._rpc.account_sequence(account)

    async def now(self) -> LatestLedger:
        """The newest ledger."""
        return await self._rpc.latest_ledger()

    def max_time(self, now: LatestLedger) -> int:
        """The time bound of an envelope made now, Unix seconds."""
        return int(now.close_at.timestamp()) + self._terms.life_s

    async def land(
        self, signed: SignedTransaction, source: Address, sequence: int, now: LatestLedger
    ) -> Fate:
        """Send it and wait until its fate is proven, or could have been for long enough."""
        sent = SentEnvelope(
            tx_hash=bytes.fromhex(signed.hash),
            inner_hash=bytes.fromhex(signed.inner_hash) if signed.inner_hash else None,
            envelope=Secret(base64.b64decode(signed.envelope_base64.reveal())),
            source=source,
            source_sequence=sequence,
            max_time=now.close_at + timedelta(seconds=self._terms.life_s),
            fee_limit=Stroops(self._terms.bid * _MAX_OPERATIONS),
            sent_after_ledger=now.sequence,
        )

        async def on_taken() -> None:
            return None

        until = self._clock.monotonic() + self._terms.life_s + _PROOF_S
        self._on_its_way[signed.hash] = None
        fate = await self._submitter.submit(sent, until=until, on_taken=on_taken)
        if isinstance(fate, TransactionFound | NotSent | Refused | Dead):
            self.resolved(signed.hash)
        return fate

    def resolved(self, tx_hash: str) -> None:
        """The ledger showed what became of a transaction."""
        self._on_its_way.pop(tx_hash, None)

    def judge(self, fate: Fate, tx_hash: str, *, is_last: bool, doing: str) -> None:
        """Return when another transaction may be made: this one cannot land any more."""
        match fate:
            case NotSent() | Refused(is_for_now=True):
                raise Outage(
                    self._network.value,
                    f"The node of {self._network.label} did not take the transaction; "
                    "nothing was sent.",
                )
            case TransactionFound(result_code=code):
                raise ChannelsRefused(
                    f"The network did not {doing} ({code}, transaction {tx_hash}): the relayer "
                    "must hold its fees and 1 XLM of reserve for each account it makes."
                )
            case Refused(result_code=code) if code != BAD_SEQUENCE or is_last:
                raise ChannelsRefused(f"The network did not {doing} ({code}); nothing was sent.")
            case Dead() if is_last:
                raise ChannelsRefused(f"The network did not {doing} in time; nothing landed.")
            case Refused() | Dead():
                return
            case _:
                raise OutcomeUnknown(tx_hash)

    async def shows(self, accounts: frozenset[Address], *, exist: bool, tx_hash: str) -> bool:
        """The ledger itself shows what a transaction that succeeded has done."""
        until = self._clock.monotonic() + _SHOWN_WITHIN_S
        while await self.existing(list(accounts)) != (accounts if exist else frozenset()):
            if self._clock.monotonic() > until:
                raise OutcomeUnknown(tx_hash)
            await self._clock.sleep(_LOOK_AGAIN_S)
        return True

    async def existing(self, accounts: Sequence[Address]) -> frozenset[Address]:
        """Which of `accounts` are on the ledger."""
        by_key = {account_key(each): each for each in accounts}
        found = await self._rpc.ledger_entries(list(by_key))
        return frozenset(by_key[entry.key] for entry in found.entries if entry.key in by_key)


def succeeded(fate: Fate) -> bool:
    """Whether it is on the ledger and took effect."""
    return isinstance(fate, TransactionFound) and fate.status is LedgerStatus.SUCCESS
