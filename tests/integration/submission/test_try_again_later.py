"""The causes of TRY_AGAIN_LATER in a real queue, distinguished by the submitter."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from stellar_sdk import TransactionEnvelope

from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from farebox.stellar.rpc import TransactionFound
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.submission.fate import Fate, Indeterminate, SentEnvelope
from farebox.submission.submit import Submitter
from farebox.submission.try_again_later import TryAgainLaterCause
from support.source_account_transfer import transfer
from testing.waiting import until


class Looking:
    """A watch that polls for the transaction."""

    def __init__(self) -> None:
        self.submitter: Submitter | None = None

    async def fate(self, sent: SentEnvelope, *, until: float) -> TransactionFound | Indeterminate:
        assert self.submitter is not None
        fate = await self.submitter.wait(sent, until=until)
        assert isinstance(fate, TransactionFound | Indeterminate)
        return fate


@dataclass
class Queue:
    """A network whose ledgers close by hand, and what sends to it."""

    devnet: Devnet
    rpc: HttpSorobanRpc
    scene: Scene
    submitter: Submitter

    async def envelope(self, ahead: int = 1, *, fee_more: int = 0) -> SentEnvelope:
        """A transfer `ahead` sequence numbers ahead of the ledger; `fee_more` makes another one."""
        source = self.scene.payers[0].address
        used = await self.rpc.account_sequence(source)
        assert used is not None
        draft = transfer(self.scene, sequence=used + ahead, fee=100)
        simulated = (await self.rpc.simulate(draft.to_xdr())).result
        data, fee = str(simulated["transactionData"]), int(str(simulated["minResourceFee"])) + 1_000
        made: TransactionEnvelope = transfer(
            self.scene, sequence=used + ahead, fee=fee + fee_more, data=data
        )
        return SentEnvelope(
            tx_hash=made.hash(),
            inner_hash=None,
            envelope=Secret(base64.b64decode(made.to_xdr())),
            source=source,
            source_sequence=used + ahead,
            max_time=datetime.now(UTC) + timedelta(hours=1),
            fee_limit=Stroops(fee),
            sent_after_ledger=(await self.rpc.latest_ledger()).sequence,
        )

    async def submit(self, sent: SentEnvelope, *, for_s: float = 1.0, again: bool = False) -> Fate:
        """Submit the envelope and wait `for_s` seconds for its fate."""

        async def taken() -> None:
            return None

        until = asyncio.get_running_loop().time() + for_s
        return await self.submitter.submit(
            sent, until=until, on_taken=taken, may_be_sent=again, may_be_replaced=True
        )

    async def sends(self) -> int:
        """The number of envelopes that reached the node."""
        return (await self.devnet.counts()).get("sendTransaction", 0)

    async def has_sent_since(self, before: int) -> bool:
        """Whether more than `before` envelopes have reached the node."""
        return await self.sends() > before


@pytest.fixture
async def queue() -> AsyncIterator[Queue]:
    """An empty queue."""
    options = DevnetOptions(passphrase=Network.TESTNET.passphrase, close_ms=None)
    async with (
        await start_devnet(options) as devnet,
        HttpSorobanRpc(Network.TESTNET, Secret(devnet.rpc_url)) as rpc,
    ):
        watch = Looking()
        submitter = Submitter(rpc, watch, SystemClock(), poll_s=0.05, deliver_s=5)
        watch.submitter = submitter
        yield Queue(devnet, rpc, await devnet.scene(payers=1, payees=1), submitter)


async def test_dropped_envelope_is_not_resubmitted_while_banned(queue: Queue) -> None:
    sent = await queue.envelope()
    assert await queue.submit(sent) == Indeterminate()
    await queue.devnet.close(5, empty=True)
    before = await queue.sends()
    assert await queue.submit(sent, again=True) == Indeterminate()
    assert await queue.sends() == before + 1


async def test_envelope_of_a_busy_source_is_resubmitted_after_a_ledger(queue: Queue) -> None:
    first, second = await queue.envelope(), await queue.envelope(ahead=2)
    assert await queue.submit(first) == Indeterminate()
    refused = await queue.submit(second)
    assert refused == Indeterminate(TryAgainLaterCause.OTHER_SEQUENCE), "it may land all the same"
    before = await queue.sends()
    coming = asyncio.create_task(queue.submit(second, for_s=20))
    await until(lambda: queue.has_sent_since(before))
    await queue.devnet.close()  # the first one lands, and the second one gets in
    while not coming.done():
        await asyncio.sleep(0.1)  # the pace of the ledgers
        await queue.devnet.close()
    fate = await coming
    assert isinstance(fate, TransactionFound)
    assert fate.hash == second.tx_hash.hex()


async def test_sequence_used_by_another_envelope_is_a_bad_sequence(queue: Queue) -> None:
    mine, theirs = await queue.envelope(), await queue.envelope(fee_more=1)
    fault = await queue.devnet.fault({"kind": "try_again_later"})
    before = await queue.sends()
    coming = asyncio.create_task(queue.submit(mine, for_s=5))
    await until(lambda: queue.has_sent_since(before))
    await queue.devnet.land(theirs.envelope)
    await queue.devnet.close()
    assert await coming == Indeterminate(), "no answer shows which of them is on the ledger"
    await queue.devnet.clear_faults(fault)


async def test_full_queue_is_refused_as_queue_full(queue: Queue) -> None:
    sent = await queue.envelope()
    await queue.devnet.fault({"kind": "try_again_later"})
    before = await queue.sends()
    assert await queue.submit(sent) == Indeterminate(TryAgainLaterCause.QUEUE_FULL)
    assert await queue.sends() == before + 1, "the same bytes only after a ledger"
