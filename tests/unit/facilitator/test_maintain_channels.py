"""The creation of channels: how often a batch is sent that does not land."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from nacl.signing import SigningKey

from farebox.facilitator.channels.channel import Channel, ChannelsRefused
from farebox.facilitator.channels.maintain_channels import ChannelMaintenance
from farebox.facilitator.channels.operator_ledger import OperatorLedger
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import (
    AccountState,
    LatestLedger,
    LedgerEntries,
    SendResponse,
    SendStatus,
    TransactionNotFound,
)
from farebox.stellar.signers import SigningAccount
from farebox.submission.fate import Dead, SentEnvelope
from farebox.submission.submit import Submitter
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock

NET = Network.TESTNET


class DeadEnds(FakeRpc):
    """A node that takes every envelope and lands none, and the watch that proves it."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def account(self, address: Address) -> AccountState | None:
        return AccountState(6, Stroops(1), 100)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        return LedgerEntries((), 100)

    async def latest_ledger(self) -> LatestLedger:
        return LatestLedger(100, START)

    async def get_transaction(self, tx_hash: str) -> TransactionNotFound:
        return TransactionNotFound(111, START + timedelta(minutes=1), 1, START)

    async def send(self, envelope: str) -> SendResponse:
        self.sent.append(envelope)
        return SendResponse(SendStatus.PENDING, "ab" * 32, 100)

    async def fate(self, sent: SentEnvelope, *, until: float) -> Dead:
        return Dead(110)


class NoChannels:
    """The table of a network that has none yet."""

    async def list_channels(self, *_: object, **__: object) -> list[Channel]:
        return []


async def test_batch_that_never_lands_is_sent_five_times_and_then_refused() -> None:
    rpc, clock, table = DeadEnds(), ManualClock(), NoChannels()
    submitter = Submitter(rpc, rpc, clock, poll_s=1, deliver_s=10)
    ledger = OperatorLedger(NET, rpc, submitter, clock, inclusion_fee=100, life_s=30)
    key = SigningKey(bytes([1]) * 32)
    relayer = SigningAccount(account_address(bytes(key.verify_key)), Secret(key))
    database: Any = SimpleNamespace(connection=nullcontext)
    maintenance = ChannelMaintenance(
        NET,
        relayer,
        ledger,
        database,
        clock,
        report=lambda _: None,
        table=table,  # type: ignore[arg-type]
    )
    with pytest.raises(ChannelsRefused, match="in time; nothing landed"):
        await maintenance.create(2)
    assert len(rpc.sent) == 5
