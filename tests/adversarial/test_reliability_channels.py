"""Cases 1.6 and 6: bids that are too low, source accounts in trouble, and a service that stops."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any, Final

from stellar_sdk import Asset, TransactionEnvelope

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node
from support.payments import Json
from support.pooled import Pool, channel_pool
from support.processes import ServeProcess
from support.promises import case
from support.stage import Stage, own_relayer, service

SEND: Final = "sendTransaction"
PATIENT: Final = {"FAREBOX_CHANNEL_WAIT_S": "30", "FAREBOX_SETTLE_DEADLINE_S": "40"}


async def bodies(stage: Stage, count: int) -> list[Json]:
    return [(await stage.draft()).request() for _ in range(count)]


async def settle_all(stage: Stage, pool: Pool, requests: list[Json]) -> list[Json]:
    async with service(pool.environment | PATIENT) as client:
        using = Stage(client, stage.networks, pool.environment)
        return await asyncio.gather(*(using.settle(body) for body in requests))


async def set_sequence(stage: Stage, pool: Pool, index: int, sequence: int) -> None:
    await stage.query(
        "UPDATE channels SET used_sequence = $2 WHERE address = $1",
        pool.channels[index].address,
        sequence,
    )


async def until_sent(stage: Stage, count: int) -> None:
    """Return once the node was handed that many envelopes."""
    for _ in range(400):
        if stage.node().counts()[SEND] >= count:
            return
        await asyncio.sleep(0.05)
    raise TimeoutError("nothing is sent")


async def until_confirmed(stage: Stage, count: int, within_s: float) -> None:
    """Return once that many rows are confirmed and none is anything else."""
    async with asyncio.timeout(within_s):
        while True:
            states = Counter(
                row["state"] for row in await stage.query("SELECT state FROM settlements")
            )
            if states == Counter({"confirmed": count}):
                return
            await asyncio.sleep(0.1)


@case("PV-107")
async def test_an_envelope_that_died_gives_way_to_a_higher_bid_within_the_same_call(
    stage: Stage,
) -> None:
    brief = {"FAREBOX_TRANSACTION_LIFE_S": "12", "FAREBOX_SETTLE_DEADLINE_S": "30"}
    bids: list[int] = []

    async def drop_first(call: node.Call, forward: node.Forward) -> Any:
        text = call.params["transaction"]
        envelope = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase)
        bids.append(envelope.transaction.fee)
        if len(bids) > 1:
            return await forward()
        told = {"status": "PENDING", "hash": envelope.hash_hex(), "latestLedger": 1}
        return {"jsonrpc": "2.0", "result": told}

    async with service(stage.environment | await own_relayer(stage) | brief) as client:
        using = Stage(client, stage.networks, stage.environment)
        draft = await using.draft()
        stage.node().on(SEND, drop_first)
        outcome = await using.settle(draft.request())
    assert outcome["success"] is True, outcome
    low, high = bids
    assert low < high <= 500_000
    (row,) = await stage.query("SELECT state, tx_hash FROM settlements")
    assert (row["state"], row["tx_hash"].hex()) == ("confirmed", outcome["transaction"])


@case("RL-027")
async def test_a_channel_with_a_lost_number_is_resynchronised_while_the_other_goes_on(
    stage: Stage,
) -> None:
    async with channel_pool(stage, 2) as pool:
        await set_sequence(stage, pool, 0, 2**40)
        outcomes = await settle_all(stage, pool, await bodies(stage, 6))
        used = {row["source"] for row in await stage.query("SELECT source FROM settlements")}
    assert [each["success"] for each in outcomes] == [True] * 6, outcomes
    assert used == {channel.address for channel in pool.channels}


@case("RL-028")
async def test_eighty_settles_at_once_on_four_channels_are_all_paid_with_one_envelope_each(
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
async def test_who_finds_no_channel_in_time_is_told_that_nothing_was_sent(stage: Stage) -> None:
    impatient = {"FAREBOX_CHANNEL_WAIT_S": "0.5", "FAREBOX_SETTLE_DEADLINE_S": "2"}
    requests = await bodies(stage, 3)
    async with channel_pool(stage, 1) as pool, service(pool.environment | impatient) as client:
        node.lose_sight(stage.node())
        answers = await asyncio.gather(*(client.post("/settle", body) for body in requests))
        stage.node().reset()
        told = Counter((each.status, each.json()["errorReason"]) for each in answers)
        assert told == {(200, Reason.SETTLEMENT_PENDING): 1, (503, Reason.SERVICE_UNAVAILABLE): 2}
        away = [each for each in answers if each.status == 503]
        assert all(each.headers["retry-after"] for each in away)
        assert {each.json()["transaction"] for each in away} == {""}
        assert await stage.rows() == 1, "their claims are released"
        await until_confirmed(stage, 1, within_s=10)


@case("RL-029")
async def test_a_channel_that_another_process_uses_too_is_recovered(stage: Stage) -> None:
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


@case("RL-038")
async def test_the_same_payment_at_two_replicas_is_claimed_by_one(stage: Stage) -> None:
    body = (await stage.draft()).request()
    async with channel_pool(stage, 4) as pool, AsyncExitStack() as both:
        clients = [await both.enter_async_context(service(pool.environment)) for _ in "12"]
        answers = await asyncio.gather(*(each.post("/settle", body) for each in clients * 5))
    told = [each.json() for each in answers]
    assert sum(each["success"] for each in told) == 1
    assert len({each["transaction"] for each in told}) == 1
    # the other replica may send the same bytes once more while nobody knows that a node has them
    calls = [call for call in stage.node().calls if call.method == SEND]
    assert len({call.params["transaction"] for call in calls}) == 1


@case("RL-041")
async def test_a_service_told_to_stop_answers_everybody_and_the_other_goes_on(
    stage: Stage,
) -> None:
    async with channel_pool(stage, 6) as pool, AsyncExitStack() as both:
        settings = pool.environment | PATIENT
        one, other = [await both.enter_async_context(ServeProcess(settings)) for _ in "12"]
        requests = await bodies(stage, 48)
        asked = [asyncio.create_task(one.settle(body)) for body in requests[:24]]
        asked += [asyncio.create_task(other.settle(body)) for body in requests[24:]]
        await until_sent(stage, 8)
        assert not all(each.done() for each in asked), "it is stopped under load"
        assert await one.stop() == 0
        assert all(each.done() for each in asked[:24]), "nobody is left without an answer"
        outcomes = await asyncio.gather(*asked)
        assert [each["success"] for each in outcomes] == [True] * 48, outcomes
        await until_confirmed(stage, 48, within_s=5)
        assert (await other.settle((await stage.draft()).request()))["success"] is True
    assert len({each["transaction"] for each in outcomes}) == 48


@case("RL-041")
async def test_what_is_pending_when_the_grace_ends_is_said_to_be_and_handed_over(
    stage: Stage,
) -> None:
    async with channel_pool(stage, 4) as pool, AsyncExitStack() as both:
        settings = pool.environment | PATIENT | {"FAREBOX_STOP_GRACE_S": "1"}
        one, other = [await both.enter_async_context(ServeProcess(settings)) for _ in "12"]
        requests = await bodies(stage, 6)
        node.lose_sight(stage.node())
        asked = [asyncio.create_task(one.settle(body)) for body in requests]
        await until_sent(stage, 4)
        assert await one.stop() == 0
        outcomes = await asyncio.gather(*asked)
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
