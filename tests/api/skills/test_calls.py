"""Every action is performed by its spec alone, and every error of it is produced by a request.

Actions of several skills are one endpoint: an error of it that their specs describe alike is
produced once. What follows from the kind of a plan is produced by a plan of each kind.
"""

import asyncio
import itertools
from functools import partial
from typing import Final

import pytest

from farebox.kernel.networks import Network
from support import node_proxy
from support.paid_gateway import PaidGateway
from support.promises import promise
from support.skill_calls import ErrorKey, SkillCaller, actions_of, errors_of
from support.skill_failure_table import FAILURES
from support.skill_market import PlanMarket
from support.skill_performances import PERFORMANCES, both
from support.skill_plan_failures import PLANNING
from support.skill_plan_performances import PLAN_PERFORMANCES
from support.skill_stage import SkillStage
from support.skills import FILES, spec_json
from support.stage import Stage
from testing.waiting import until

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
# plans of every kind live at once: most of their time is the wait for a first run
AT_ONCE: Final = [
    tuple(sorted(PLAN_PERFORMANCES)),
    *((slug,) for slug in sorted(PERFORMANCES.keys() - PLAN_PERFORMANCES.keys())),
]
SPECS: Final = {spec["slug"]: spec for spec in map(spec_json, FILES)}
# they follow from the kind and the mode of a plan, or from the arguments of a call
OWN_CODES: Final = {"PAID_CALL_FAILED", "duplicate_intent", "preflight_failed", "session_mismatch"}
# so do these; a proposal is checked as its preview is
OF_PREVIEW: Final = {*PLANNING, "network_unavailable"}


def described(key: ErrorKey) -> tuple[object, ...]:
    """How the spec describes an error: the endpoint, the code, the status and the place."""
    slug, name, code = key
    (action,) = [each for each in SPECS[slug]["actions"] if each["name"] == name]
    (at,) = [each for each in SPECS[slug]["endpoints"] if each["ref"] == action["endpoint"]]
    (error,) = [each for each in action["errors"] if each["code"] == code]
    is_own = code in OWN_CODES or (name == "preview" and code in OF_PREVIEW)
    own = (slug, name) if is_own else ()
    return at["method"], at["path"], at.get("tool"), code, error["http"], error["at"], own


def each_described_once() -> list[ErrorKey]:
    """The first of the errors that their specs describe alike."""
    return list({described(key): key for key in sorted(FAILURES, reverse=True)}.values())[::-1]


def test_every_skill_has_a_performance_and_no_other(skill_caller: SkillCaller) -> None:
    assert PERFORMANCES.keys() == skill_caller.specs.keys()


@promise("automation:four-kinds")
@pytest.mark.parametrize("network", list(Network))
@pytest.mark.parametrize("slugs", AT_ONCE, ids="+".join)
async def test_every_action_is_performed_and_its_output_fits_its_schema(
    shop: PaidGateway,
    skill_caller: SkillCaller,
    skill_markets: dict[Network, PlanMarket],
    slugs: tuple[str, ...],
    network: Network,
) -> None:
    skill_caller.performed.clear()
    stage = SkillStage(shop, network, skill_caller, skill_markets)
    async with asyncio.TaskGroup() as group:
        for slug in slugs:
            group.create_task(PERFORMANCES[slug](stage))
    assert skill_caller.performed == {
        each for each in actions_of(skill_caller.specs) if each[0] in slugs
    }


def test_every_error_has_a_request_and_no_other(skill_caller: SkillCaller) -> None:
    produced = FAILURES.keys() | WITHOUT_KEY | PENDING | NOT_SERVED
    assert produced == errors_of(skill_caller.specs)


@pytest.mark.parametrize("key", each_described_once(), ids="/".join)
@pytest.mark.usefixtures("shop")
async def test_error_is_produced_with_its_status_and_place(
    failing_stage: SkillStage, skill_caller: SkillCaller, key: ErrorKey
) -> None:
    slug, name, code = key
    failing = await FAILURES[key](failing_stage)
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
    key, *others = sorted(PENDING)
    assert [each for each in others if described(each) != described(key)] == []
    draft = await hasty.draft()
    node_proxy.hide_transactions(hasty.node())
    body = await caller.fail(*key, both(draft.request()))
    hasty.node().reset()
    await until(partial(_is_confirmed, hasty, body["transaction"]))


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
