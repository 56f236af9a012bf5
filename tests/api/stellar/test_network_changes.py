"""Changes of the protocol and of network settings while the service runs."""

import asyncio
import base64
from collections.abc import Callable
from typing import Final

import pytest
from stellar_sdk import TransactionEnvelope, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.payments import Json
from support.stage import Stage, own_relayer, service
from testing.waiting import until

TIMING_KEY: Final = bytes.fromhex("0000000800000010")  # the setting of the target close time
NETWORK: Final = "getNetwork"  # the start check reads the protocol's version from it


@pytest.mark.parametrize("protocol", [29, 30, 31])
async def test_service_settles_on_a_network_of_each_protocol(
    stage: Stage, protocol: int, log_text: Callable[[], str]
) -> None:
    def other(result: Json) -> None:
        result["protocolVersion"] = protocol

    devnet = stage.networks[Network.TESTNET].devnet
    environment = stage.environment | await own_relayer(stage)
    async with node_proxy.NodeProxy(devnet.rpc_url) as own:
        own.on(NETWORK, node_proxy.result(other))
        environment |= {"FAREBOX_RPC_URL_TESTNET": own.url}
        async with service(environment) as client:
            settled = Stage(client, stage.networks, environment)
            await settled.assert_settles((await settled.draft()).request())
        assert own.counts()[NETWORK], "the version was never read"
    assert ("start_check.untried_protocol" in log_text()) == (protocol == 31)


async def test_refused_resources_reload_network_settings(
    stage: Stage, log_text: Callable[[], str]
) -> None:
    devnet = stage.networks[Network.TESTNET].devnet
    environment = stage.environment | await own_relayer(stage)
    async with node_proxy.NodeProxy(devnet.rpc_url) as own:  # so that no other test sees the change
        environment |= {"FAREBOX_RPC_URL_TESTNET": own.url}
        async with service(environment) as client:
            other = Stage(client, stage.networks, environment)
            await until(lambda: "network_state.settings" in log_text())
            before = log_text().count("network_state.settings")
            own.on("getLedgerEntries", node_proxy.result(_slower))
            await asyncio.sleep(1.5)  # many polls of the clock, in which nothing may be read
            assert log_text().count("network_state.settings") == before, "not due yet"
            own.on("sendTransaction", _invalid)
            outcome = await other.settle((await other.draft()).request())
            assert outcome["errorReason"] == Reason.SUBMISSION_FAILED
            await until(lambda: log_text().count("network_state.settings") > before)
            own.reset()
            await other.assert_settles((await other.draft()).request())


def _slower(result: Json) -> None:
    """The network aims at seven seconds from now on."""
    for entry in result["entries"]:
        if base64.b64decode(entry["key"]) == TIMING_KEY:
            raw = base64.b64decode(entry["xdr"])
            changed = raw[:8] + (7_000).to_bytes(4) + raw[12:]
            entry["xdr"] = base64.b64encode(changed).decode()


async def _invalid(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
    del forward
    text = call.params["transaction"]
    tx_hash = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).hash_hex()
    kind = xdr.TransactionResultCode.txSOROBAN_INVALID
    result = xdr.TransactionResult(
        xdr.Int64(0), xdr.TransactionResultResult(kind), xdr.TransactionResultExt(0)
    )
    answer = {"status": "ERROR", "hash": tx_hash, "latestLedger": 10**9}
    return {"jsonrpc": "2.0", "result": answer | {"errorResultXdr": result.to_xdr()}}
