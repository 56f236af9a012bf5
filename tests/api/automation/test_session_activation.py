"""A mandate from its proposal to its closing, over HTTP, on the contracts of the command."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from stellar_sdk import Keypair, scval
from stellar_sdk.auth import authorize_entry

from farebox.kernel.networks import Network
from support.callers import Wallet
from support.command import run_farebox
from support.plan_service import PlanService, plan_service
from support.promises import promise
from support.stage import Stage, environment_for, key_of, own_relayer
from support.stage_fixtures import Networks
from testing.owner_calls import Entry
from testing.waiting import until

AMOUNT = 1_000


@pytest.fixture
async def service(
    stage_client: object, stage_networks: Networks, stage_database: str
) -> AsyncIterator[PlanService]:
    """A service that knows the contracts which `farebox automation deploy` has deployed."""
    environment = environment_for(stage_networks, stage_database)
    stage = Stage(stage_client, stage_networks, environment)  # type: ignore[arg-type]
    words = ("automation", "deploy", "--network", "testnet")
    made = await asyncio.to_thread(
        run_farebox, *words, settings=environment | await own_relayer(stage)
    )
    assert made.code == 0, made.err
    settings = dict(line.split("=") for line in made.out.splitlines())
    async with plan_service(stage, **settings) as opened:
        yield opened


def body(account: str, keeper: str, asset: str) -> dict[str, Any]:
    start = datetime.now(UTC) + timedelta(seconds=8)  # activated by then
    return {
        "network": "stellar:testnet",
        "account": account,
        "kind": "contract_call",
        "title": "Feed the keeper",
        "authorityMode": "mandate",
        "schedule": {"type": "interval", "everySeconds": 60, "startAt": start.isoformat()},
        "expiresAt": (start + timedelta(days=1)).isoformat(),
        "missedRuns": "catch_up_all",
        "runLimit": 2,
        "spec": {
            "contract": keeper,
            "function": "feed",
            "args": [
                {"type": "address", "value": "$account"},
                {"type": "address", "value": asset},
                {"type": "i128", "value": str(AMOUNT)},
            ],
            "effects": {"maxDebit": [{"token": asset, "amount": str(AMOUNT)}]},
        },
    }


@promise("automation:session-material")
async def test_call_that_takes_a_token_is_proposed_signed_and_run(service: PlanService) -> None:
    """One by entries that are signed ahead, and one by a mandate, which is closed then.

    Most of the wait for their starts is that of both.
    """
    by_entries, by_mandate = [await service.keeper() for _ in range(2)]
    scene = await service.stage.networks[Network.TESTNET].devnet.scene(payers=2, payees=0)
    payers = [key_of(each) for each in scene.payers]
    await activate_entries(service, payers[0], by_entries, scene.asset)
    wallet = await service.wallet(payers[1].public_key)
    plan, mandate = await activate_mandate(service, wallet, payers[1], by_mandate, scene.asset)
    for keeper in (by_entries, by_mandate):
        await until(partial(_has_run, service, keeper), 30)

    cancelled = await service.call(wallet, "POST", f"{plan}/cancel", {})
    assert cancelled.status == 200, cancelled.body
    await until(lambda: _is_closed(service, plan), 30)
    ledger = service.stage.ledger()
    await ledger.invoke(await ledger.account(), mandate, "sweep", scval.to_address(scene.asset))


async def activate_mandate(
    service: PlanService, wallet: Wallet, payer: Keypair, keeper: str, asset: str
) -> tuple[str, str]:
    """Propose a plan by a mandate and activate it; its id, and its mandate's."""
    made = await service.call(wallet, "POST", "", body(payer.public_key, keeper, asset))
    assert made.status == 201, made.body
    proposal, session = made.json()["proposal"], made.json()["session"]
    assert session["mode"] == "mandate"
    assert [each["isAudited"] for each in session["contracts"]] == [False, False]
    assert made.json()["preflight"]["ok"], made.json()["preflight"]
    await service.pay_for(proposal["id"], runs=2)

    (issued,) = session["install"]["entries"]
    entry = authorize_entry(
        Entry.from_xdr(issued["entryXdr"]),
        payer,
        issued["expirationLedger"],
        Network.TESTNET.passphrase,
    )
    path = f"{proposal['id']}/activate"
    answer = await service.call(wallet, "POST", path, {"signedEntriesXdr": [entry.to_xdr()]})
    assert answer.status == 200, answer.body
    assert answer.json()["proposal"]["status"] in ("active", "executing")
    return proposal["id"], session["contracts"][-1]["id"]


async def _has_run(service: PlanService, keeper: str) -> bool:
    return await service.count(keeper) == 1


async def _is_closed(service: PlanService, proposal_id: str) -> bool:
    async with service.database.connection() as db:
        state = await db.fetchval(
            "SELECT state FROM automation_sessions WHERE proposal_id = $1", proposal_id
        )
    return bool(state == "closed_by_service")


async def activate_entries(service: PlanService, payer: Keypair, keeper: str, asset: str) -> None:
    """Propose a plan by entries that are signed ahead and activate it."""
    wallet = await service.wallet(payer.public_key)
    asked = body(payer.public_key, keeper, asset)
    asked |= {"authorityMode": "presigned", "missedRuns": "skip"}
    made = await service.call(wallet, "POST", "", asked)
    assert made.status == 201, made.body
    proposal, session = made.json()["proposal"], made.json()["session"]
    await service.pay_for(proposal["id"], runs=2)
    entries = [
        authorize_entry(
            Entry.from_xdr(each["entryXdr"]),
            payer,
            each["expirationLedger"],
            Network.TESTNET.passphrase,
        ).to_xdr()
        for each in session["install"]["entries"]
    ]
    path = f"{proposal['id']}/activate"
    answer = await service.call(wallet, "POST", path, {"presignedEntriesXdr": entries})
    assert answer.status == 200, answer.body
