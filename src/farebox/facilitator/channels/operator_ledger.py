"""The operator's own transactions on one network: sent once, and looked up on the ledger."""

import base64
from collections.abc import Collection
from datetime import timedelta
from typing import Final, Protocol

from farebox.facilitator.channels.channel import ChannelsRefused
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.account_entry import account_key
from farebox.stellar.rpc import BAD_SEQUENCE, LedgerStatus, TransactionFound
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transactions import SignedTransaction
from farebox.submission.fate import Dead, Fate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import Submitter

_PROOF_S: Final = 30.0  # how long past its time bound an envelope is watched
_VISIBLE_WITHIN_S: Final = 10.0  # nodes behind one address may be some ledgers apart
_POLL_S: Final = 0.5
_MAX_OPERATIONS: Final = 100


class OutcomeUnknown(Exception):
    """A transaction was sent and may still land; the same command, repeated, looks it up first."""

    def __init__(self, tx_hash: str) -> None:
        super().__init__(tx_hash)
        self.tx_hash = tx_hash


class MakeTransaction(Protocol):
    """Builds and signs a transaction.

    `inclusion_fee` is in stroops an operation, `max_time` in Unix seconds.
    """

    def __call__(
        self, *, sequence: int, inclusion_fee: int, max_time: int
    ) -> SignedTransaction: ...


class OperatorLedger:
    """Sends the operator's transactions and reads accounts from the ledger.

    `inclusion_fee` is in stroops an operation; `life_s` how long past the last close an envelope
    may land.
    """

    def __init__(
        self,
        network: Network,
        rpc: SorobanRpc,
        submitter: Submitter,
        clock: Clock,
        *,
        inclusion_fee: int,
        life_s: int,
    ) -> None:
        self._network, self._rpc, self._submitter = network, rpc, submitter
        self._clock, self._inclusion_fee, self._life_s = clock, inclusion_fee, life_s
        self._unresolved: dict[str, None] = {}

    @property
    def unresolved(self) -> str | None:
        """The hash of a transaction that may still land."""
        return next(iter(self._unresolved), None)

    async def check_node(self) -> None:
        """Check that the node follows this network and is not behind.

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

    async def attempt(
        self,
        source: Address,
        make: MakeTransaction,
        *,
        purpose: str,
        is_last: bool,
        accounts: Collection[Address] = (),
        exist: bool = True,
    ) -> bool | None:
        """Send one transaction of `source` and wait for its fate; whether it took effect.

        False: it cannot land any more, and another may be made. None: there is no such source
        account. `accounts` are those that it creates or, with `exist` false, removes; `purpose`
        is a verb phrase for a refusal.

        Raises:
            ChannelsRefused: the network did not take it, for a reason that stays or, with
                `is_last`, for any reason.
            OutcomeUnknown: it may still land.
            Outage: nothing was sent.
        """
        used = await self._rpc.account_sequence(source)
        if used is None:
            return None
        now = await self._rpc.latest_ledger()
        max_time = now.close_at + timedelta(seconds=self._life_s)
        bound = int(now.close_at.timestamp()) + self._life_s
        signed = make(sequence=used + 1, inclusion_fee=self._inclusion_fee, max_time=bound)
        sent = SentEnvelope(
            tx_hash=bytes.fromhex(signed.hash),
            inner_hash=bytes.fromhex(signed.inner_hash) if signed.inner_hash else None,
            envelope=Secret(base64.b64decode(signed.envelope_base64.reveal())),
            source=source,
            source_sequence=used + 1,
            max_time=max_time,
            fee_limit=Stroops(self._inclusion_fee * _MAX_OPERATIONS),
            sent_after_ledger=now.sequence,
        )
        fate = await self._submit(sent, signed.hash)
        if isinstance(fate, TransactionFound) and fate.status is LedgerStatus.SUCCESS:
            await self._wait_until_visible(frozenset(accounts), exist=exist, tx_hash=signed.hash)
            return True
        if bool(await self.find_existing(accounts)) is exist:  # the effect is there all the same
            self._unresolved.pop(signed.hash, None)
        else:
            self._judge(fate, signed.hash, is_last=is_last, purpose=purpose)
        return False

    async def find_existing(self, accounts: Collection[Address]) -> frozenset[Address]:
        """The accounts among these that are on the ledger."""
        if not accounts:
            return frozenset()
        by_key = {account_key(each): each for each in accounts}
        found = await self._rpc.ledger_entries(list(by_key))
        return frozenset(by_key[entry.key] for entry in found.entries if entry.key in by_key)

    async def _submit(self, sent: SentEnvelope, tx_hash: str) -> Fate:
        """Send an envelope and wait for its fate, `_PROOF_S` past its time bound at most."""

        async def on_taken() -> None:
            return None

        until = self._clock.monotonic() + self._life_s + _PROOF_S
        self._unresolved[tx_hash] = None
        fate = await self._submitter.submit(sent, until=until, on_taken=on_taken)
        if isinstance(fate, TransactionFound | NotSent | Refused | Dead):
            self._unresolved.pop(tx_hash, None)
        return fate

    def _judge(self, fate: Fate, tx_hash: str, *, is_last: bool, purpose: str) -> None:
        """Return where the transaction cannot land any more, so that another may be made."""
        match fate:
            case NotSent():
                raise Outage(
                    self._network.value,
                    f"The node of {self._network.label} did not take the transaction; "
                    "nothing was sent.",
                )
            case TransactionFound(result_code=code):
                raise ChannelsRefused(
                    f"The network did not {purpose} ({code}, transaction {tx_hash}): the account "
                    "that pays must hold its fees and 1 XLM of reserve for each account it makes."
                )
            case Refused(result_code=code) if code != BAD_SEQUENCE or is_last:
                raise ChannelsRefused(f"The network did not {purpose} ({code}); nothing was sent.")
            case Dead() if is_last:
                raise ChannelsRefused(f"The network did not {purpose} in time; nothing landed.")
            case Refused() | Dead():
                return
            case _:
                raise OutcomeUnknown(tx_hash)

    async def _wait_until_visible(
        self, accounts: frozenset[Address], *, exist: bool, tx_hash: str
    ) -> None:
        """Wait until the node shows the effect of a transaction that succeeded."""
        until = self._clock.monotonic() + _VISIBLE_WITHIN_S
        while await self.find_existing(accounts) != (accounts if exist else frozenset()):
            if self._clock.monotonic() > until:
                raise OutcomeUnknown(tx_hash)
            await self._clock.sleep(_POLL_S)
