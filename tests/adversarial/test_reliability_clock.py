"""Case 6.2: a node that states close times far in the future."""

from datetime import UTC, datetime, timedelta

import pytest
from stellar_sdk import TransactionEnvelope

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.node_proxy import NodeProxy
from support.payments import Json
from support.stage import Stage, own_relayer, service, until_ready
from testing.waiting import until

_HOUR_S = 3_600
_MILLENNIA_S = 3_000 * 365 * 86_400
_TIMES = ("latestLedgerCloseTime", "latestLedgerCloseTimestamp")
_LATEST = timedelta(seconds=120 + 45)  # the tolerance, and an envelope's life


def ahead(node: NodeProxy, seconds: int) -> None:
    """State every newest close time so many seconds later than it is."""

    def change(result: Json) -> None:
        for member in _TIMES:
            if member in result:
                result[member] = type(result[member])(int(result[member]) + seconds)

    for method in ("getHealth", "getTransaction", "getTransactions"):
        node.on(method, node_proxy.result(change))


def bound_of(envelope: str) -> datetime:
    """The time bound of an envelope."""
    read = TransactionEnvelope.from_xdr(envelope, Network.TESTNET.passphrase).transaction
    assert read.preconditions is not None
    assert read.preconditions.time_bounds is not None
    return datetime.fromtimestamp(read.preconditions.time_bounds.max_time, UTC)


@pytest.mark.parametrize("seconds", [_HOUR_S, _MILLENNIA_S])
async def test_payment_lands_under_a_true_bound_when_the_nodes_clock_jumps(
    hasty: Stage, seconds: int
) -> None:
    """The ledgers that are known when it begins to lie are true for half a minute.

    Control: a client without a clock of its own; the bound of its envelope is the node's.
    """
    body = (await hasty.draft()).request()
    ahead(hasty.node(), seconds)
    pending = await hasty.settle(body)
    assert pending["success"] or pending["errorReason"] == Reason.SETTLEMENT_PENDING, pending
    bounds = [bound_of(each) for each in hasty.node().sent_envelopes()]
    assert max(bounds) < datetime.now(UTC) + _LATEST
    hasty.node().reset()
    if not pending["success"]:
        outcome = await hasty.settle(body)
        assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])


@pytest.mark.parametrize("seconds", [_HOUR_S, _MILLENNIA_S])
async def test_nothing_is_signed_while_the_only_node_lies_about_the_time(
    stage: Stage, seconds: int
) -> None:
    """Control: the same service with `FAREBOX_LEDGER_TIME_TOLERANCE_S=0` signs such a bound."""
    body = (await stage.draft()).request()
    async with NodeProxy(stage.networks[Network.TESTNET].devnet.rpc_url) as node:
        ahead(node, seconds)
        settings = stage.environment | await own_relayer(stage)
        settings["FAREBOX_RPC_URL_TESTNET"] = node.url
        settings["FAREBOX_RPC_TIMEOUT_S"] = "2"
        async with service(settings, is_ready=False) as client:
            alone = Stage(client, stage.networks, settings)
            await until(lambda: node.counts()["getHealth"] >= 4)
            verdict, outcome = await alone.verify(body), await alone.settle(body)
            assert verdict["invalidReason"] == Reason.NETWORK_UNAVAILABLE
            assert (outcome["errorReason"], outcome["transaction"]) == (
                Reason.NETWORK_UNAVAILABLE,
                "",
            )
            assert node.sent_envelopes() == []
            node.reset()
            await until_ready(client)
            await alone.assert_settles((await alone.draft()).request())
