"""What the operator does not pay for, as a seller and an operator meet it."""

import asyncio

import pytest
from stellar_sdk import Keypair

from farebox.facilitator.budgets import budget_store
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.asgi import AsgiClient
from support.command import Ran, run_farebox
from support.promises import promise
from support.stage import Stage, own_relayer, service, until_ready

_LOOKS = 100
_LOOK_PAUSE_S = 0.1
TESTNET = Network.TESTNET.value


async def sponsor(stage: Stage, verb: str) -> Ran:
    command = ("sponsor", verb, "--network", "testnet")
    ran = await asyncio.to_thread(run_farebox, *command, settings=stage.environment)
    assert ran.code == 0, ran.err
    return ran


async def reasons(client: AsgiClient, network: Network = Network.TESTNET) -> list[str]:
    ready = (await client.get("/health/ready")).json()
    found: list[str] = ready["parts"][network.value].get("reasons", [])
    return found


async def until_reason(client: AsgiClient, reason: str, *, shown: bool = True) -> None:
    for _ in range(_LOOKS):
        if (reason in await reasons(client)) is shown:
            return
        await asyncio.sleep(_LOOK_PAUSE_S)
    raise TimeoutError(await reasons(client))


async def with_settings(stage: Stage, **settings: str) -> dict[str, str]:
    changed = {f"FAREBOX_{name}_TESTNET": value for name, value in settings.items()}
    return stage.environment | await own_relayer(stage) | changed


async def no_drift(stage: Stage) -> None:
    url = Secret(stage.environment["FAREBOX_DATABASE_URL"])
    async with Database(url, connections=1) as database, database.connection() as db:
        assert await budget_store.find_drift(db) == []


@pytest.mark.parametrize(
    "budget", ["BUDGET_TOTAL", "BUDGET_PAYER", "BUDGET_PAY_TO", "BUDGET_ASSET"]
)
async def test_a_payment_dearer_than_a_budget_is_refused_by_both_routes(
    stage: Stage, budget: str
) -> None:
    draft = await stage.draft()
    settings = await with_settings(stage, **{f"{budget}_STROOPS": "20000", "ASSETS": draft.asset})
    async with service(settings) as client:
        small = Stage(client, stage.networks, settings)
        await small.refused(draft.request(), Reason.SPONSOR_BUDGET_EXHAUSTED, payer=draft.payer)
    await no_drift(stage)


async def test_of_payments_at_the_edge_of_a_budget_one_is_sent_and_the_others_leave_no_trace(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    await stage.settled(draft.request())
    (row,) = await stage.query("SELECT fee_limit, fee_charged, fee_held FROM settlements")
    assert row["fee_held"] == row["fee_charged"] < row["fee_limit"]
    room = row["fee_charged"] + row["fee_limit"] + row["fee_limit"] // 2
    settings = await with_settings(stage, BUDGET_PAYER_STROOPS=str(room))
    stage.node().calls.clear()
    async with service(settings) as client:
        edge = Stage(client, stage.networks, settings)
        drafts = [await edge.draft() for _ in range(4)]
        outcomes = await asyncio.gather(*(edge.settle(each.request()) for each in drafts))
    refused = [each for each in outcomes if not each["success"]]
    assert {each["errorReason"] for each in refused} == {Reason.SPONSOR_BUDGET_EXHAUSTED}
    assert {each["transaction"] for each in refused} == {""}
    sent = stage.node().counts()["sendTransaction"]
    assert (len(refused), sent, await stage.rows()) == (3, 1, 2)
    await no_drift(stage)


async def test_an_operator_stops_a_network_and_starts_it_again(stage: Stage) -> None:
    settings = stage.environment | await own_relayer(stage)
    async with service(settings) as client:
        alone = Stage(client, stage.networks, settings)
        await alone.settled((await alone.draft()).request())
        assert (await sponsor(alone, "stop")).out == "testnet is stopped\n"
        refused = await alone.settle((await alone.draft()).request())
        assert refused["errorReason"] == Reason.SPONSOR_STOPPED, "at once, not when it is noticed"
        assert (refused["transaction"], await alone.rows()) == ("", 1)
        await until_reason(client, "sponsor_stopped")
        await until_ready(client)
        draft = await alone.draft()
        await alone.refused(draft.request(), Reason.SPONSOR_STOPPED, payer=draft.payer)
        abroad = await alone.draft(Network.PUBNET)
        await alone.settled(abroad.request())

        assert (await sponsor(alone, "stop")).out == "testnet is stopped already\n"
        told = (await sponsor(alone, "status")).out
        assert told.startswith("testnet is stopped since 20"), told
        rows = {line.split()[0]: line.split()[1:] for line in told.splitlines()[1:]}
        (row,) = await alone.query(
            "SELECT fee_charged FROM settlements WHERE network = $1", TESTNET
        )
        spent = str(row["fee_charged"])
        assert rows["total"] == [spent, "2000000000"]
        assert rows["payer"][0] == rows["pay_to"][0] == rows["other_assets"][0] == spent

        assert (await sponsor(alone, "start")).out == "testnet is paid for\n"
        await until_reason(client, "sponsor_stopped", shown=False)
        await alone.settled((await alone.draft()).request())
    await until_reason(stage.client, "sponsor_stopped", shown=False)  # others go on with that one


@promise("operator:balance-floor")
async def test_a_balance_near_its_floor_is_warned_of_and_still_pays(stage: Stage) -> None:
    settings = await with_settings(stage)
    relayer = Keypair.from_secret(settings["FAREBOX_RELAYER_SECRET_TESTNET"])
    balance = await stage.ledger().native_balance(relayer.public_key)
    settings["FAREBOX_BALANCE_FLOOR_STROOPS_TESTNET"] = str(balance * 2 // 3)
    async with service(settings) as client:
        low = Stage(client, stage.networks, settings)
        await until_reason(client, "account_low")
        await until_ready(client)
        await low.settled((await low.draft()).request())
