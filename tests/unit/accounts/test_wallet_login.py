"""How many accounts a sign-in looks up at once."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from stellar_sdk import Keypair, TransactionEnvelope

from farebox.accounts.signed_challenge import ChallengeTerms
from farebox.accounts.wallet_login import WalletLogin
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable, SorobanRpc
from support.manual_clock import ManualClock

SERVER, WALLET = Keypair.random(), Keypair.random()
MANY = 20
LONGER_THAN_A_TURN_S = 2.5


class SlowNode:
    """Answers a look-up once it is told to."""

    def __init__(self) -> None:
        self.asked, self.goes_on = 0, asyncio.Event()

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self.asked += 1
        await self.goes_on.wait()
        return LedgerEntries((), 7)


async def proofs(node: SlowNode) -> list["asyncio.Task[None]"]:
    """So many wallets that prove at once who they are."""
    terms = ChallengeTerms(Network.TESTNET, Address(SERVER.public_key), "farebox.test")
    rpc = cast("SorobanRpc", node)
    login = WalletLogin(terms, Secret(SERVER.secret), rpc, ManualClock())
    issued = await login.issue(Address(WALLET.public_key))
    envelope = TransactionEnvelope.from_xdr(issued.document, Network.TESTNET.passphrase)
    envelope.sign(WALLET)
    shown = login.read(envelope.to_xdr())
    return [asyncio.ensure_future(shown.prove()) for _ in range(MANY)]


async def test_a_slow_node_keeps_a_few_look_ups_of_sign_ins_and_the_others_are_refused() -> None:
    node = SlowNode()
    waiting = await proofs(node)
    refused, under_way = await asyncio.wait(waiting, timeout=LONGER_THAN_A_TURN_S)
    assert node.asked == len(under_way) < MANY / 2
    for each in refused:
        with pytest.raises(RpcUnavailable) as caught:
            await each
        assert not caught.value.was_asked
    node.goes_on.set()
    await asyncio.gather(*under_way)


async def test_look_ups_that_are_quick_have_their_turn_one_after_the_other() -> None:
    node = SlowNode()
    node.goes_on.set()
    await asyncio.gather(*await proofs(node))
    assert node.asked == MANY
