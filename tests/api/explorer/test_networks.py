"""`GET /v1/networks`: every network, served or not, available or not."""

import asyncio
from datetime import UTC, datetime
from typing import Final

import pytest

from farebox.kernel.networks import Network
from support.asgi import AsgiClient
from support.payments import Json
from support.promises import case
from support.stage import Stage, own_relayer, service
from testing.waiting import until

PATH: Final = "/v1/networks"
USDC: Final = {
    Network.TESTNET: (
        "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5",
        "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    ),
    Network.PUBNET: (
        "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
        "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75",
    ),
}


async def read(client: AsgiClient) -> dict[Network, Json]:
    """Read the networks, which is a 200."""
    answer = await client.get(PATH)
    assert answer.status == 200, answer.body
    listed = answer.json()["networks"]
    assert [each["network"] for each in listed] == [each.value for each in Network]
    return {Network(each["network"]): each for each in listed}


@pytest.mark.parametrize("network", list(Network))
async def test_served_network_has_its_ledger_protocol_fees_and_usdc(
    stage: Stage, network: Network
) -> None:
    body = (await read(stage.client))[network]
    own = stage.ledger(network)
    facts = await own.call("getNetwork")
    ledger, fees = body.pop("ledger"), body.pop("fees")
    fees.pop("meanPayment", None)  # of another test's payments
    issuer, contract = USDC[network]
    assert body == {
        "network": network.value,
        "passphrase": facts["passphrase"],
        "isServed": True,
        "available": True,
        "protocolVersion": facts["protocolVersion"],
        "usdc": {"code": "USDC", "issuer": issuer, "contract": contract},
    }
    assert 0 <= await own.latest() - ledger["sequence"] <= 20
    closed_at = datetime.fromisoformat(ledger["closedAt"])
    assert abs((datetime.now(UTC) - closed_at).total_seconds()) < 60
    assert ledger["secondsPerLedger"] > 0
    assert set(fees) == {"inclusionP99", "inclusionMax"}
    assert int(fees["inclusionMax"]) >= int(fees["inclusionP99"]) >= 0


async def test_mean_payment_is_known_once_one_was_settled(stage: Stage) -> None:
    draft = await stage.draft()
    await stage.assert_settles(draft.request())
    (row,) = await stage.query("SELECT fee_charged FROM settlements")

    async def is_known() -> bool:
        body = await read(stage.client)
        testnet, pubnet = (body[each]["fees"].get("meanPayment") for each in Network)
        return bool(testnet == str(row["fee_charged"]) and pubnet is None)

    await until(is_known)


async def test_network_that_is_not_served_is_listed(testnet_only: Stage) -> None:
    body = (await read(testnet_only.client))[Network.PUBNET]
    assert body.pop("usdc")["code"] == "USDC"
    assert body == {
        "network": Network.PUBNET.value,
        "passphrase": Network.PUBNET.passphrase,
        "isServed": False,
        "available": False,
        "reason": "not_served",
    }


async def test_network_whose_node_is_away_is_listed_with_a_reason(stage: Stage) -> None:
    away = stage.environment | await own_relayer(stage)
    away |= {"FAREBOX_RPC_URL_PUBNET": "http://127.0.0.1:9"}
    async with service(away, is_ready=False) as client:

        async def is_read() -> bool:
            testnet, pubnet = (await read(client)).values()
            return testnet["available"] and pubnet.get("reason") == "rpc_unavailable"

        await until(is_read)
        body = (await read(client))[Network.PUBNET]
    assert (body["isServed"], body["available"]) == (True, False)
    assert not {"ledger", "fees", "protocolVersion"} & set(body)


@case("WA-027")
async def test_networks_are_listed_while_the_database_is_away(stage: Stage) -> None:
    async with stage.locked("settlements"):
        body = await asyncio.wait_for(read(stage.client), 1)
    assert all(each["available"] for each in body.values())


async def test_pages_of_other_origins_may_read_the_networks(stage: Stage) -> None:
    answer = await stage.client.get(PATH)
    assert answer.headers["access-control-allow-origin"] == "*"
