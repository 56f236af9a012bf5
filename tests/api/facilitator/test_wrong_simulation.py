"""A node whose simulation approves a payment that the ledger refuses."""

import asyncio
from collections.abc import Callable
from typing import Final

from stellar_sdk import Keypair

from farebox.kernel.networks import Network
from farebox.stellar.rpc_nodes import AGREEMENTS
from farebox.x402.reasons import Reason
from support import node_proxy
from support.payments import Draft
from support.promises import promise
from support.stage import Stage, key_of, own_relayer, service

SIMULATE: Final = "simulateTransaction"
SEND: Final = "sendTransaction"


async def _spent(stage: Stage) -> Draft:
    """A payment whose payer held enough when it was verified, and holds nothing now."""
    key = key_of(await stage.another_payer())
    draft = (await stage.draft()).but(payer=key.public_key, signers=(key,))
    assert (await stage.verify(draft.request()))["isValid"] is True
    await _empty(stage, key, draft)
    return draft


async def _empty(stage: Stage, key: Keypair, draft: Draft) -> None:
    held = await stage.ledger().balance(draft.asset, key.public_key)
    await stage.ledger().give(key, draft.asset, draft.pay_to, held)


@promise("settle:verifies-again")
async def test_wrong_simulation_costs_one_failed_envelope(
    stage: Stage, log_text: Callable[[], str]
) -> None:
    """Control: the first payment, which is sent on the word of the same node alone."""
    upstream = stage.networks[Network.TESTNET].devnet.rpc_url
    async with node_proxy.NodeProxy(upstream) as wrong, node_proxy.NodeProxy(upstream) as sound:
        environment = stage.environment | await own_relayer(stage)
        environment |= {
            "FAREBOX_RPC_URL_TESTNET": wrong.url,
            "FAREBOX_FALLBACK_RPC_URL_TESTNET": sound.url,
        }
        async with service(environment) as client:
            other = Stage(client, stage.networks, environment)
            wrong.on(SIMULATE, node_proxy.Approving())
            first, second = [await _spent(other) for _ in range(2)]
            _clear(wrong, sound)
            outcome = await other.settle(first.request())
            assert outcome["errorReason"] == Reason.TRANSACTION_FAILED
            assert (wrong.counts()[SEND], sound.counts()[SIMULATE]) == (1, 0)
            alarms = [line for line in log_text().splitlines() if "simulation_contradicted" in line]
            assert len(alarms) == 1
            assert '"node": "primary"' in alarms[0] or '"node":"primary"' in alarms[0]
            assert node_proxy.PLANTED_KEY not in alarms[0]
            _clear(wrong, sound)
            outcome = await other.settle(second.request())
            assert (outcome["errorReason"], outcome["transaction"]) == (
                Reason.INSUFFICIENT_FUNDS,
                "",
            )
            assert (wrong.counts()[SEND], sound.counts()[SIMULATE]) == (0, 1)
            await other.assert_settles((await other.draft()).request())
            assert sound.counts()[SIMULATE] == 2
            wrong.reset()
            await asyncio.gather(*(other.settle(second.request()) for _ in range(AGREEMENTS)))
            _clear(wrong, sound)
            await other.assert_settles((await other.draft()).request())
            assert sound.counts()[SIMULATE] == 0, "they agreed for long enough"


def _clear(*nodes: node_proxy.NodeProxy) -> None:
    for each in nodes:
        each.calls.clear()
