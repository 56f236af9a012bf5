"""What the validators may change while the service runs."""

import asyncio
import base64
from collections.abc import Callable
from typing import Final

import pytest
from stellar_sdk import TransactionEnvelope, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node
from support.payments import Json
from support.stage import Stage, own_relayer, service, until_ready

TIMING_KEY: Final = bytes.fromhex("0000000800000010")  # the setting of the target close time
_LOOKS: Final = 60


@pytest.mark.parametrize("protocol", [29, 30, 31])
async def test_another_protocol_while_running_changes_nothing(stage: Stage, protocol: int) -> None:
    def other(told: Json) -> None:
        told["protocolVersion"] = protocol

    stage.node().on("getLatestLedger", node.result(other))
    await asyncio.sleep(0.3)  # the clock has asked a few times meanwhile
    await until_ready(stage.client)
    await stage.settled((await stage.draft()).request())


async def test_resources_refused_make_the_settings_be_read_again_and_the_new_ones_count(
    stage: Stage, log_text: Callable[[], str]
) -> None:
    devnet = stage.networks[Network.TESTNET].devnet
    environment = stage.environment | await own_relayer(stage)
    async with node.ScriptedNode(devnet.rpc_url) as own:  # so that nobody else sees the change
        environment |= {"FAREBOX_RPC_URL_TESTNET": own.url}
        async with service(environment) as client:
            other = Stage(client, stage.networks, environment)
            await asyncio.sleep(0.5)  # the first reading is done
            before = log_text().count("network_state.settings")
            own.on("getLedgerEntries", node.result(_slower))
            await asyncio.sleep(1.5)
            assert log_text().count("network_state.settings") == before, "not due yet"
            own.on("sendTransaction", _invalid)
            outcome = await other.settle((await other.draft()).request())
            assert outcome["errorReason"] == Reason.SUBMISSION_FAILED
            for _ in range(_LOOKS):
                if log_text().count("network_state.settings") > before:
                    break
                await asyncio.sleep(0.05)
            assert log_text().count("network_state.settings") > before
            own.reset()
            await other.settled((await other.draft()).request())


def _slower(told: Json) -> None:
    """The network aims at seven seconds from now on."""
    for entry in told["entries"]:
        if base64.b64decode(entry["key"]) == TIMING_KEY:
            raw = base64.b64decode(entry["xdr"])
            changed = raw[:8] + (7_000).to_bytes(4) + raw[12:]
            entry["xdr"] = base64.b64encode(changed).decode()


async def _invalid(call: node.Call, forward: node.Forward) -> Json:
    del forward
    text = call.params["transaction"]
    tx_hash = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).hash_hex()
    kind = xdr.TransactionResultCode.txSOROBAN_INVALID
    result = xdr.TransactionResult(
        xdr.Int64(0), xdr.TransactionResultResult(kind), xdr.TransactionResultExt(0)
    )
    answer = {"status": "ERROR", "hash": tx_hash, "latestLedger": 10**9}
    return {"jsonrpc": "2.0", "result": answer | {"errorResultXdr": result.to_xdr()}}
