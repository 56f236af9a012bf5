"""Sponsor budgets, the kill switch and the balance floor through the whole service."""

import asyncio
from pathlib import Path

import pytest
from stellar_sdk import Keypair

from farebox.facilitator.budgets import budget_store
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.known_tokens import NATIVE, USDC
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.asgi import AsgiClient
from support.command import Ran, run_farebox
from support.promises import promise
from support.stage import Stage, own_relayer, service, until_ready
from support.wallet_sign_in import bearer, new_session
from testing.waiting import until

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
    async def is_met() -> bool:
        return (reason in await reasons(client)) is shown

    await until(is_met)


async def with_settings(stage: Stage, **settings: str) -> dict[str, str]:
    changed = {f"FAREBOX_{name}_TESTNET": value for name, value in settings.items()}
    return stage.environment | await own_relayer(stage) | changed


async def no_drift(stage: Stage) -> None:
    url = Secret(stage.environment["FAREBOX_DATABASE_URL"])
    async with Database(url, connections=1) as database, database.connection() as db:
        assert await budget_store.find_drift(db) == []


@pytest.mark.parametrize(
    ("testnet", "pubnet"), [("BUDGET_TOTAL", "BUDGET_PAYER"), ("BUDGET_PAY_TO", "BUDGET_ASSET")]
)
async def test_payment_above_budget_is_refused_by_both_routes(
    stage: Stage, testnet: str, pubnet: str
) -> None:
    settings = stage.environment | await own_relayer(stage)
    drafts = {network: await stage.draft(network) for network in Network}
    for network, budget in ((Network.TESTNET, testnet), (Network.PUBNET, pubnet)):
        label = network.label.upper()
        settings[f"FAREBOX_{budget}_STROOPS_{label}"] = "20000"
        settings[f"FAREBOX_ASSETS_{label}"] = drafts[network].asset
    async with service(settings) as client:
        small = Stage(client, stage.networks, settings)
        here, abroad = drafts[Network.TESTNET], drafts[Network.PUBNET]
        exhausted = Reason.SPONSOR_BUDGET_EXHAUSTED
        await small.assert_refused(here.request(), exhausted, payer=here.payer)
        await small.assert_refused(abroad.request(), exhausted, payer=abroad.payer)
    await no_drift(stage)


async def test_usdc_uses_total_budget_and_other_assets_share_a_tenth(
    stage: Stage,
) -> None:
    usdc = await stage.draft()
    assert usdc.asset == USDC[Network.TESTNET].contract
    settings = await with_settings(stage, BUDGET_TOTAL_STROOPS="200000")
    async with service(settings) as client:
        small = Stage(client, stage.networks, settings)
        xlm = await small.draft(asset=NATIVE[Network.TESTNET].contract)
        await small.assert_refused(xlm.request(), Reason.SPONSOR_BUDGET_EXHAUSTED, payer=xlm.payer)
        await small.assert_settles(usdc.request())
    await no_drift(stage)


async def test_free_payers_share_one_budget_apart_from_accounts(
    stage: Stage,
) -> None:
    settings = await with_settings(stage, BUDGET_KEY_STROOPS="100000")
    async with service(settings) as client:
        small = Stage(client, stage.networks, settings)

        async def pay(headers: dict[str, str]) -> str:
            body = (await small.draft()).request()
            outcome = (await client.post("/settle", body, headers)).json()
            return "" if outcome["success"] else str(outcome["errorReason"])

        keys = [Keypair.random() for _ in range(10)]
        free = [bearer(await new_session(client, key)) for key in keys]
        reasons = [await pay(headers) for headers in free]
        paid = reasons.count("")
        assert reasons == [""] * paid + [Reason.SPONSOR_BUDGET_EXHAUSTED] * (10 - paid)
        assert 0 < paid < 5
        assert await pay({}) == Reason.SPONSOR_BUDGET_EXHAUSTED, "nor without a credential"
        funded = bearer(await new_session(client, await stage.ledger().account()))
        assert await pay(funded) == ""
        # the control: with a budget of its own the last of the ten goes on
        await stage.query(
            "UPDATE users SET was_on_ledger = true WHERE address = $1", keys[-1].public_key
        )
        assert await pay(free[-1]) == ""
    await no_drift(stage)


async def test_sponsor_status_without_database_creates_none(tmp_path: Path) -> None:
    folder = tmp_path / "nothing"
    settings = {"FAREBOX_DATA_DIR": str(folder)}
    command = ("sponsor", "status", "--network", "testnet")
    ran = await asyncio.to_thread(run_farebox, *command, settings=settings)
    assert (ran.code, ran.out) == (2, "")
    assert f"There is no database in {folder}" in ran.err
    assert not folder.exists()


async def test_concurrent_payments_at_budget_limit_send_one_and_leave_no_row(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    await stage.assert_settles(draft.request())
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


async def test_sponsor_stop_and_start_switch_network_off_and_on(stage: Stage) -> None:
    settings = stage.environment | await own_relayer(stage)
    async with service(settings) as client:
        alone = Stage(client, stage.networks, settings)
        await alone.assert_settles((await alone.draft()).request())
        assert (await sponsor(alone, "stop")).out == "testnet is stopped\n"
        refused = await alone.settle((await alone.draft()).request())
        assert refused["errorReason"] == Reason.SPONSOR_STOPPED, "at once, not when it is noticed"
        assert (refused["transaction"], await alone.rows()) == ("", 1)
        await until_reason(client, "sponsor_stopped")
        await until_ready(client)
        draft = await alone.draft()
        await alone.assert_refused(draft.request(), Reason.SPONSOR_STOPPED, payer=draft.payer)
        abroad = await alone.draft(Network.PUBNET)
        await alone.assert_settles(abroad.request())

        assert (await sponsor(alone, "stop")).out == "testnet is stopped already\n"
        output = (await sponsor(alone, "status")).out
        assert output.startswith("testnet is stopped since 20"), output
        rows = {
            line.split()[0]: line.split()[1:]
            for line in output.splitlines()[1:]
            if not line.startswith("On ")
        }
        (row,) = await alone.query(
            "SELECT fee_charged FROM settlements WHERE network = $1", TESTNET
        )
        spent = str(row["fee_charged"])
        assert rows["total"] == [spent, "2000000000"]
        assert rows["payer"][0] == rows["pay_to"][0] == rows["asset"][0] == spent
        assert rows["key"] == [spent, "500000000", "shared"]
        count, fee = 20_000_000 // int(spent), int(spent)
        assert f"{count:,} payments at {fee:,} stroops, the mean fee of the newest." in output

        assert (await sponsor(alone, "start")).out == "testnet is paid for\n"
        await until_reason(client, "sponsor_stopped", shown=False)
        await alone.assert_settles((await alone.draft()).request())
    await until_reason(stage.client, "sponsor_stopped", shown=False)  # others go on with that one


@promise("operator:balance-floor")
async def test_balance_near_floor_warns_and_still_pays(stage: Stage) -> None:
    settings = await with_settings(stage)
    relayer = Keypair.from_secret(settings["FAREBOX_RELAYER_SECRET_TESTNET"])
    balance = await stage.ledger().native_balance(relayer.public_key)
    settings["FAREBOX_BALANCE_FLOOR_STROOPS_TESTNET"] = str(balance * 2 // 3)
    async with service(settings) as client:
        low = Stage(client, stage.networks, settings)
        await until_reason(client, "account_low")
        await until_ready(client)
        await low.assert_settles((await low.draft()).request())
