"""Cases 1.6 and 6: low inclusion fees, faults of channel accounts and shutdown."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest
from stellar_sdk import Asset, TransactionEnvelope

from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, start_devnet
from farebox.x402.reasons import Reason
from support import node_proxy
from support.channel_pool import ChannelPool, channel_pool
from support.payments import Json
from support.promises import case, promise
from support.serve_process import ServeProcess
from support.stage import Stage, environment_for, network_stage, service
from testing.waiting import until

SEND: Final = "sendTransaction"
_LIFE_LEDGERS: Final = 600  # two minutes: on a busy machine the last of eighty waits for long
PATIENT: Final = {"FAREBOX_CHANNEL_WAIT_S": "45", "FAREBOX_SETTLE_DEADLINE_S": "55"}


async def bodies(stage: Stage, count: int) -> list[Json]:
    expires_at_ledger = await stage.ledger().latest() + _LIFE_LEDGERS
    drafts = [await stage.draft(expires_at_ledger=expires_at_ledger) for _ in range(count)]
    return [draft.request() for draft in drafts]


async def settle_all(stage: Stage, pool: ChannelPool, requests: list[Json]) -> list[Json]:
    async with service(pool.environment | PATIENT) as client:
        using = Stage(client, stage.networks, pool.environment)
        return await asyncio.gather(*(using.settle(body) for body in requests))


async def set_sequence(stage: Stage, pool: ChannelPool, index: int, sequence: int) -> None:
    await stage.query(
        "UPDATE channels SET used_sequence = $2 WHERE address = $1",
        pool.channels[index].address,
        sequence,
    )


async def until_sent(stage: Stage, count: int) -> None:
    """Return once the node was handed that many envelopes."""
    await until(lambda: stage.node().counts()[SEND] >= count)


async def until_confirmed(stage: Stage, count: int, within_s: float) -> None:
    """Return once that many rows are confirmed and none is anything else."""

    async def are_confirmed() -> bool:
        states = [row["state"] for row in await stage.query("SELECT state FROM settlements")]
        return states == ["confirmed"] * count

    await until(are_confirmed, within_s)


@pytest.fixture
async def own_network(module_database: str) -> AsyncIterator[Stage]:
    """A service on a devnet of its own, whose clock a test may turn."""
    options = DevnetOptions(passphrase=Network.TESTNET.passphrase, close_ms=200)
    async with (
        await start_devnet(options) as devnet,
        network_stage(Network.TESTNET, devnet) as opened,
    ):
        networks = {Network.TESTNET: opened}
        environment = environment_for(networks, module_database, FAREBOX_SETTLE_DEADLINE_S="30")
        async with service(environment) as client:
            yield Stage(client, networks, environment)


@case("PV-107")
async def test_dead_envelope_is_replaced_with_higher_fee_in_the_same_call(
    own_network: Stage,
) -> None:
    devnet, bids = own_network.networks[Network.TESTNET].devnet, list[int]()

    async def drop_first(call: node_proxy.Call, forward: node_proxy.Forward) -> Any:
        text = call.params["transaction"]
        envelope = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase)
        bids.append(envelope.transaction.fee)
        if len(bids) > 1:
            return await forward()
        await devnet.jump(60, ledgers=30)  # past its time bound
        result = {"status": "PENDING", "hash": envelope.hash_hex(), "latestLedger": 1}
        return {"jsonrpc": "2.0", "result": result}

    draft = await own_network.draft()
    own_network.node().on(SEND, drop_first)
    outcome = await own_network.settle(draft.request())
    assert outcome["success"] is True, outcome
    low, high = bids
    assert low < high <= 500_000
    (row,) = await own_network.query("SELECT state, tx_hash FROM settlements")
    assert (row["state"], row["tx_hash"].hex()) == ("confirmed", outcome["transaction"])


@case("RL-027")
async def test_channel_with_wrong_sequence_is_resynchronised_while_other_settles(
    stage: Stage,
) -> None:
    async with channel_pool(stage, 2) as pool:
        await set_sequence(stage, pool, 0, 2**40)
        outcomes = await settle_all(stage, pool, await bodies(stage, 6))
        used = {row["source"] for row in await stage.query("SELECT source FROM settlements")}
    assert [each["success"] for each in outcomes] == [True] * 6, outcomes
    assert used == {channel.address for channel in pool.channels}


@case("RL-028")
async def test_eighty_concurrent_settles_on_four_channels_send_one_envelope_each(
    stage: Stage,
) -> None:
    requests = await bodies(stage, 80)
    async with channel_pool(stage, 4) as pool:
        outcomes = await settle_all(stage, pool, requests)
    assert [each["success"] for each in outcomes] == [True] * 80, outcomes
    counts = stage.node().counts()
    assert counts[SEND] == 80, "nothing was refused, nothing sent twice"
    assert counts["getLedgerEntries"] < 20, "numbers are known from one envelope to the next"


@case("RL-028")
async def test_settle_reports_nothing_sent_when_no_channel_is_free(stage: Stage) -> None:
    impatient = {"FAREBOX_CHANNEL_WAIT_S": "0.5", "FAREBOX_SETTLE_DEADLINE_S": "2"}
    requests = await bodies(stage, 3)
    async with channel_pool(stage, 1) as pool, service(pool.environment | impatient) as client:
        node_proxy.hide_transactions(stage.node())
        answers = await asyncio.gather(*(client.post("/settle", body) for body in requests))
        stage.node().reset()
        counts = Counter((each.status, each.json()["errorReason"]) for each in answers)
        assert counts == {(200, Reason.SETTLEMENT_PENDING): 1, (503, Reason.SERVICE_UNAVAILABLE): 2}
        away = [each for each in answers if each.status == 503]
        assert all(each.headers["retry-after"] for each in away)
        assert {each.json()["transaction"] for each in away} == {""}
        assert await stage.rows() == 1, "their claims are released"
        await until_confirmed(stage, 1, within_s=10)


@case("RL-029")
async def test_channel_used_by_another_process_is_recovered(stage: Stage) -> None:
    async with channel_pool(stage, 1) as pool:
        first = await settle_all(stage, pool, await bodies(stage, 1))
        (row,) = await stage.query("SELECT used_sequence FROM channels")
        assert row["used_sequence"] is not None
        key = pool.key(0)
        await stage.ledger().submit(
            key, lambda b: b.append_payment_op(key.public_key, Asset.native(), "1")
        )
        then = await settle_all(stage, pool, await bodies(stage, 2))
        (now,) = await stage.query("SELECT used_sequence FROM channels")
    assert [each["success"] for each in first + then] == [True] * 3, then
    assert now["used_sequence"] == row["used_sequence"] + 3


@case("PV-141", "RL-038")
@promise("error:never-a-double-charge")
async def test_concurrent_payment_on_two_replicas_is_claimed_by_one(stage: Stage) -> None:
    draft = await stage.draft()
    body, before = draft.request(), await stage.ledger().balance(draft.asset, draft.pay_to)
    async with channel_pool(stage, 4) as pool, AsyncExitStack() as both:
        clients = [await both.enter_async_context(service(pool.environment)) for _ in "12"]
        answers = await asyncio.gather(*(each.post("/settle", body) for each in clients * 5))
    outcomes = [each.json() for each in answers]
    assert sum(each["success"] for each in outcomes) == 1
    assert len({each["transaction"] for each in outcomes}) == 1
    # the other replica may send the same bytes once more until a node is known to have them
    calls = [call for call in stage.node().calls if call.method == SEND]
    assert len({call.params["transaction"] for call in calls}) == 1
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@case("RL-041")
async def test_graceful_shutdown_answers_all_requests_and_other_replica_settles(
    stage: Stage,
) -> None:
    async with channel_pool(stage, 6) as pool, AsyncExitStack() as both:
        settings = pool.environment | PATIENT
        one = await both.enter_async_context(ServeProcess(settings))
        client = await both.enter_async_context(service(settings))
        other = Stage(client, stage.networks, settings)
        requests = await bodies(stage, 48)
        tasks = [asyncio.create_task(one.settle(body)) for body in requests[:24]]
        tasks += [asyncio.create_task(other.settle(body)) for body in requests[24:]]
        await until_sent(stage, 8)
        assert not all(each.done() for each in tasks), "it is stopped under load"
        assert await one.stop() == 0
        assert all(each.done() for each in tasks[:24]), "every request is answered"
        outcomes = await asyncio.gather(*tasks)
        assert [each["success"] for each in outcomes] == [True] * 48, outcomes
        await until_confirmed(stage, 48, within_s=5)
        assert (await other.settle((await stage.draft()).request()))["success"] is True
    assert len({each["transaction"] for each in outcomes}) == 48


@case("RL-041")
async def test_shutdown_answers_pending_and_hands_over_when_grace_ends(
    stage: Stage,
) -> None:
    async with channel_pool(stage, 4) as pool, AsyncExitStack() as both:
        settings = pool.environment | PATIENT | {"FAREBOX_STOP_GRACE_S": "1"}
        one = await both.enter_async_context(ServeProcess(settings))
        client = await both.enter_async_context(service(settings))
        other = Stage(client, stage.networks, settings)
        requests = await bodies(stage, 6)
        node_proxy.hide_transactions(stage.node())
        tasks = [asyncio.create_task(one.settle(body)) for body in requests]
        await until_sent(stage, 4)
        assert await one.stop() == 0
        outcomes = await asyncio.gather(*tasks)
        reasons = Counter(each["errorReason"] for each in outcomes)
        assert reasons == {Reason.SETTLEMENT_PENDING: 4, Reason.SERVICE_UNAVAILABLE: 2}
        hashes = {each["transaction"] for each in outcomes}
        assert len(hashes) == 5, "four hashes, and none where nothing was sent"
        stage.node().reset()
        await until_confirmed(stage, 4, within_s=15)  # long before its caller would have left
        free = await stage.query("SELECT count(*) AS n FROM channels WHERE leased_until IS NULL")
        assert free[0]["n"] == 4
        again = await asyncio.gather(*(other.settle(body) for body in requests))
        assert [each["success"] for each in again] == [True] * 6, again
