"""The number of accounts that sign-ins look up at once."""

import asyncio
from collections.abc import Sequence

import pytest
from stellar_sdk import Keypair, TransactionEnvelope

from farebox.accounts.account_web_auth import AccountWebAuth
from farebox.accounts.signed_challenge import ChallengeTerms
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable
from support.fake_rpc import FakeRpc
from support.manual_clock import ManualClock

SERVER, WALLET = Keypair.random(), Keypair.random()
MANY = 20
LONGER_THAN_A_WAIT_S = 2.5


class SlowNode(FakeRpc):
    """Responds once the test sets `may_respond`."""

    def __init__(self) -> None:
        self.calls, self.may_respond = 0, asyncio.Event()

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self.calls += 1
        await self.may_respond.wait()
        return LedgerEntries((), 7)


async def proofs(node: SlowNode) -> list["asyncio.Task[bool]"]:
    """Verify the signed challenges of `MANY` wallets at once."""
    terms = ChallengeTerms(Network.TESTNET, Address(SERVER.public_key), "farebox.test")
    login = AccountWebAuth(terms, Secret(SERVER.secret), node, ManualClock())
    issued = await login.issue(Address(WALLET.public_key))
    envelope = TransactionEnvelope.from_xdr(issued.document, Network.TESTNET.passphrase)
    envelope.sign(WALLET)
    shown = login.read(envelope.to_xdr())
    return [asyncio.ensure_future(shown.verify()) for _ in range(MANY)]


async def test_slow_node_is_called_for_a_few_sign_ins_and_the_others_are_refused() -> None:
    node = SlowNode()
    waiting = await proofs(node)
    refused, under_way = await asyncio.wait(waiting, timeout=LONGER_THAN_A_WAIT_S)
    assert node.calls == len(under_way) < MANY / 2
    for each in refused:
        with pytest.raises(RpcUnavailable) as caught:
            await each
        assert not caught.value.node_was_called
    node.may_respond.set()
    await asyncio.gather(*under_way)


async def test_every_sign_in_is_looked_up_when_the_node_is_quick() -> None:
    node = SlowNode()
    node.may_respond.set()
    were_on_ledger = await asyncio.gather(*await proofs(node))
    assert node.calls == MANY
    assert not any(were_on_ledger), "the account does not exist, and its key has signed"
