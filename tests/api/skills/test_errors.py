"""Every error of every action is produced by a request, with its status and at its place."""

import itertools
from functools import partial
from typing import Final

import pytest

from farebox.kernel.networks import Network
from support import node_proxy
from support.paid_gateway import PaidGateway
from support.skill_calls import SkillCaller, errors_of
from support.skill_failure_table import FAILURES
from support.skill_market import PlanMarket
from support.skill_performances import both
from support.skill_stage import SkillStage
from support.stage import Stage
from support.waiting import until

SETTLING: Final = ("token-transfer", "x402-facilitate")
# those that need a service of their own
WITHOUT_KEY: Final = {
    *((slug, "settle", "unauthenticated") for slug in SETTLING),
    ("x402-facilitate", "verify", "unauthenticated"),
}
PENDING: Final = {(slug, "settle", "settlement_pending") for slug in SETTLING}
NOT_SERVED: Final = {
    ("network-status", name, "not_served") for name in ("fees", "ledger", "protocol")
}


def test_every_error_has_a_request_and_no_other(skill_caller: SkillCaller) -> None:
    produced = FAILURES.keys() | WITHOUT_KEY | PENDING | NOT_SERVED
    assert produced == errors_of(skill_caller.specs)


@pytest.mark.parametrize("key", sorted(FAILURES), ids="/".join)
async def test_error_is_produced_with_its_status_and_place(
    shop: PaidGateway,
    skill_caller: SkillCaller,
    skill_markets: dict[Network, PlanMarket],
    key: tuple[str, str, str],
) -> None:
    slug, name, code = key
    stage = SkillStage(shop, Network.TESTNET, skill_caller, skill_markets)
    failing = await FAILURES[key](stage)
    await skill_caller.fail(slug, name, code, failing.value, failing.headers)


async def test_facilitator_that_asks_for_a_key_refuses_without_one(
    key_required_stage: Stage, skill_caller: SkillCaller
) -> None:
    caller = SkillCaller(key_required_stage.client, skill_caller.specs)
    body = both((await key_required_stage.draft()).request())
    addresses = (f"198.51.100.{number}" for number in itertools.count(1))
    for key in sorted(WITHOUT_KEY):
        await caller.fail(*key, body, {"x-forwarded-for": next(addresses)})
    assert caller.failed == WITHOUT_KEY


async def test_settlement_without_an_outcome_in_time_is_pending(
    hasty: Stage, skill_caller: SkillCaller
) -> None:
    caller = SkillCaller(hasty.client, skill_caller.specs)
    for key in sorted(PENDING):
        draft = await hasty.draft()
        node_proxy.hide_transactions(hasty.node())
        body = await caller.fail(*key, both(draft.request()))
        hasty.node().reset()
        await until(partial(_is_confirmed, hasty, body["transaction"]))
    assert caller.failed == PENDING


async def test_network_that_is_not_configured_is_not_served(
    testnet_only: Stage, skill_caller: SkillCaller
) -> None:
    caller = SkillCaller(testnet_only.client, skill_caller.specs)
    for key in sorted(NOT_SERVED):
        await caller.fail(*key, {})
    assert caller.failed == NOT_SERVED


async def _is_confirmed(stage: Stage, tx_hash: str) -> bool:
    shown = (await stage.client.get(f"/v1/settlements/{tx_hash}")).json()
    return bool(shown["status"] == "confirmed")
