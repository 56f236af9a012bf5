"""`farebox channels` against a network that enforces reserves."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import CreateAccount, Keypair, xdr

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.account_entry import account_key
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.signers import read_signers
from support import node_proxy
from support.command import Ran, run_farebox, start_farebox
from support.stage import Stage, own_relayer, service
from testing.waiting import until

COUNT = 20


@pytest.fixture
async def alone(stage: Stage) -> AsyncIterator[Stage]:
    """A stage whose testnet relayer is new and has no channels."""
    yield Stage(stage.client, stage.networks, stage.environment | await own_relayer(stage))
    await stage.query("DELETE FROM settlements")
    await stage.query("DELETE FROM channels")


async def channels(stage: Stage, *arguments: str) -> Ran:
    """The command has ended; the nodes it asks live in this process."""
    command = ("channels", arguments[0], "--network", "testnet", *arguments[1:])
    return await asyncio.to_thread(run_farebox, *command, settings=stage.environment)


async def listed(stage: Stage) -> list[list[str]]:
    ran = await channels(stage, "list")
    assert ran.code == 0, ran.err
    return [line.split() for line in ran.out.splitlines()]


async def reserves_sponsored(stage: Stage) -> int:
    """How many base reserves the relayer carries for others."""
    secret = Secret(stage.environment["FAREBOX_RELAYER_SECRET_TESTNET"])
    key = account_key(read_signers(secret, None).relayer.address)
    async with HttpSorobanRpc(Network.TESTNET, Secret(stage.ledger().rpc_url)) as rpc:
        (entry,) = (await rpc.ledger_entries([key])).entries
    account = xdr.LedgerEntryData.from_xdr_bytes(entry.data).account
    assert account is not None
    if account.ext.v1 is None or account.ext.v1.ext.v2 is None:
        return 0
    return account.ext.v1.ext.v2.num_sponsoring.uint32


def sent(stage: Stage) -> int:
    return stage.node().counts()["sendTransaction"]


async def test_channels_are_created_used_drained_and_retired(alone: Stage) -> None:
    made = await channels(alone, "create", "--count", str(COUNT))
    assert (made.code, made.err.count("creating")) == (0, 2), made.err
    assert made.out.startswith(f"{COUNT} channels are active on testnet: {COUNT} made")
    assert sent(alone) == 2
    rows = await listed(alone)
    assert [row[1:] for row in rows] == [["active", "free"]] * COUNT
    output = (await channels(alone, "list")).err
    assert f"{COUNT} channels are active; a ledger has room for 219 settlements" in output
    addresses = [row[0] for row in rows]
    assert await reserves_sponsored(alone) == 2 * COUNT
    assert [await alone.ledger().native_balance(each) for each in addresses[:2]] == [0, 0]

    async with service(alone.environment) as client:
        using = Stage(client, alone.networks, alone.environment)
        drafts = [await using.draft(timeout_s=900) for _ in range(COUNT)]
        outcomes = await asyncio.gather(*(using.settle(each.request()) for each in drafts))
    assert [each["success"] for each in outcomes] == [True] * COUNT, outcomes
    used = {row["source"] for row in await alone.query("SELECT source FROM settlements")}
    assert used == set(addresses)

    assert (await channels(alone, "retire")).out == "", "nothing is drained yet"
    drained = await channels(alone, "drain", addresses[0])
    assert (drained.code, drained.out.split()) == (0, [addresses[0]])
    assert (await channels(alone, "drain", "--all")).out.split() == addresses[1:]
    retired = await channels(alone, "retire")
    assert (retired.code, set(retired.out.split())) == (0, set(addresses)), retired.err
    assert [row[1] for row in await listed(alone)] == ["retired"] * COUNT
    assert await reserves_sponsored(alone) == 0

    again = await channels(alone, "create", "--count", "1")
    assert again.code == 0
    assert (await listed(alone))[-1][0] not in addresses


async def test_channels_create_adopts_accounts_of_interrupted_run(alone: Stage) -> None:
    assert (await channels(alone, "create", "--count", "3")).code == 0
    before = await listed(alone)
    await alone.query("DELETE FROM channels WHERE derivation_index <> 1")
    alone.node().reset()
    again = await channels(alone, "create", "--count", "3")
    assert (again.code, sent(alone)) == (0, 0), again.err
    assert again.out.endswith("0 made now, 2 adopted\n")
    assert await listed(alone) == before
    assert await reserves_sponsored(alone) == 6


async def test_channels_create_creates_nothing_twice_when_response_is_lost(alone: Stage) -> None:
    times = 0

    async def lose_first(call: node_proxy.Call, forward: node_proxy.Forward) -> Any:
        nonlocal times
        times += 1
        return await (node_proxy.lost_answer()(call, forward) if times == 1 else forward())

    alone.node().on("sendTransaction", lose_first)
    made = await channels(alone, "create", "--count", "2")
    assert made.code == 0, made.err
    bodies = {str(each.params) for each in alone.node().calls if each.method == "sendTransaction"}
    assert len(bodies) == 1
    assert await reserves_sponsored(alone) == 4


async def test_channels_create_reports_unknown_outcome_when_interrupted(
    alone: Stage, tmp_path: Path
) -> None:
    """SIGTERM ends it by way of SIGINT, which a shell has a background job ignore."""
    node_proxy.hide_transactions(alone.node())
    errors = tmp_path / "err"
    command = ("channels", "create", "--network", "testnet", "--count", "2")
    with start_farebox(
        *command, settings=alone.environment, errors=errors, is_background=True
    ) as process:
        await until(lambda: sent(alone))
        await until(lambda: reserves_sponsored(alone))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 20) == 3
    assert "may still take effect" in errors.read_text().splitlines()[-1]
    assert await alone.query("SELECT FROM channels") == []
    alone.node().reset()
    again = await channels(alone, "create", "--count", "2")
    assert (again.code, sent(alone)) == (0, 0), again.err
    assert await reserves_sponsored(alone) == 4


async def test_concurrent_channels_create_creates_each_account_once(alone: Stage) -> None:
    both = await asyncio.gather(*(channels(alone, "create", "--count", "4") for _ in range(2)))
    assert [ran.code for ran in both] == [0, 0], [ran.err for ran in both]
    assert [row[1] for row in await listed(alone)] == ["active"] * 4
    assert await reserves_sponsored(alone) == 8


async def test_channels_create_refuses_when_relayer_cannot_pay_reserves(alone: Stage) -> None:
    rich, poor = await alone.ledger().account(), Keypair.random()
    gift = CreateAccount(poor.public_key, "3")
    await alone.ledger().submit(rich, lambda builder: builder.append_operation(gift))
    secret = {"FAREBOX_RELAYER_SECRET_TESTNET": poor.secret}
    stage = Stage(alone.client, alone.networks, alone.environment | secret)
    refused = await channels(stage, "create", "--count", "5")
    assert refused.code == 2
    assert "1 XLM of reserve for each account" in refused.err.splitlines()[-1]
    assert (await listed(stage), await reserves_sponsored(stage)) == ([], 0)
    assert (await channels(stage, "create", "--count", "1")).code == 0


async def test_channels_retire_waits_for_payments_and_records_merge_of_interrupted_run(
    alone: Stage,
) -> None:
    assert (await channels(alone, "create", "--count", "1")).code == 0
    assert (await channels(alone, "drain", "--all")).code == 0
    await alone.query("UPDATE channels SET leased_until = now() + interval '1 minute'")
    waiting = await channels(alone, "retire")
    assert (waiting.code, waiting.out) == (0, "")
    assert "still have a payment" in waiting.err
    assert [row[1:] for row in await listed(alone)] == [["draining", "busy"]]
    assert await reserves_sponsored(alone) == 2
    await alone.query("UPDATE channels SET leased_until = NULL")
    assert (await channels(alone, "retire")).code == 0
    assert await reserves_sponsored(alone) == 0
    await alone.query("UPDATE channels SET state = 'draining'")
    alone.node().reset()
    retired = await channels(alone, "retire")
    assert (retired.code, sent(alone)) == (0, 0)
    assert [row[1] for row in await listed(alone)] == ["retired"]


async def test_channels_command_prints_one_sentence_on_refusal(alone: Stage) -> None:
    stranger = Keypair.random()
    refused = await channels(alone, "drain", stranger.public_key)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert stranger.public_key in refused.err
    poor = {"FAREBOX_RELAYER_SECRET_TESTNET": stranger.secret}
    missing = Stage(alone.client, alone.networks, alone.environment | poor)
    ran = await channels(missing, "create", "--count", "1")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "does not exist" in ran.err
    nothing_named = await channels(alone, "drain")
    assert nothing_named.code == 2
