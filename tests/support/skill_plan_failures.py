"""A request for each error of each action of the skills of automation."""

from collections.abc import Callable
from typing import Any, Final

from stellar_sdk import Keypair

from support import node_proxy
from support.skill_calls import ErrorKey, Json
from support.skill_failures import Failing, Failure, selling, sending, weakly
from support.skill_plans import (
    RUNS,
    SKILLS,
    PlanSkill,
    kept_plan,
    kept_planner,
    paid,
    plan_of,
    planner,
    proposed,
    to_activate,
)
from support.skill_stage import SkillStage
from testing.plan_specs import in_time

NO_PLAN: Final = {"id": "auto_" + "0" * 22}
_ELSEWHERE: Final = {"mandateId": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"}
_READ: Final = ("limits", "preflight", "runs", "session", "status")
_CHANGES: Final = ("cancel", "pause", "resume")
PLANNING: Final[dict[str, Json]] = {
    "account_not_proven": {"account": Keypair.random().public_key},
    "interval_too_short": {
        "schedule": {"type": "interval", "everySeconds": 5, "startAt": in_time(hours=1)}
    },
    "invalid_request": {"title": 5},
    "invalid_schedule": {"schedule": {"type": "cron", "expr": "monday", "timezone": "UTC"}},
    "limit_exceeded": {"runLimit": 100_000},
    "schedule_never_fires": {"schedule": {"type": "once", "at": in_time(days=-1)}},
    "spec_mismatch": {"maxLatenessSeconds": 0},
    "unsupported_account": {"authorityMode": "session"},  # of a G… account
}
Skilled = Callable[[PlanSkill], Failure]


def planning(skill: PlanSkill, **changes: Any) -> Failure:
    """A plan with members changed."""

    async def make(stage: SkillStage) -> Failing:
        return Failing(plan_of(stage, skill, **changes), (await kept_planner(stage)).headers)

    return make


def calling(skill: PlanSkill, **changes: Any) -> Failure:
    """A plan whose payload has members changed."""

    async def make(stage: SkillStage) -> Failing:
        spec = skill.payload(stage, stage.market) | changes
        value = plan_of(stage, skill, spec=spec)
        return Failing(value, (await kept_planner(stage)).headers)

    return make


def planning_without_node(skill: PlanSkill) -> Failure:
    """A plan while the network's node does not answer."""

    async def make(stage: SkillStage) -> Failing:
        owner = await kept_planner(stage)
        stage.shop.stage.node(stage.network).on_every_method(node_proxy.http(503))
        return Failing(plan_of(stage, skill), owner.headers)

    return make


def second_plan(skill: PlanSkill) -> Failure:
    """The same plan again, under another title."""

    async def make(stage: SkillStage) -> Failing:
        owner, value = await planner(stage), plan_of(stage, skill)
        await stage.caller.perform(skill.slug, "propose", value, owner.headers)
        return Failing(value | {"title": "Another"}, owner.headers)

    return make


def reused_key(skill: PlanSkill) -> Failure:
    """The key of another plan."""

    async def make(stage: SkillStage) -> Failing:
        owner = await planner(stage)
        await proposed(stage, skill, owner, idempotencyKey="plan-7")
        return Failing(plan_of(stage, skill, idempotencyKey="plan-7"), owner.headers)

    return make


def of_new_plan(skill: PlanSkill, **members: Any) -> Failure:
    """A refused request about a plan that is not paid."""

    async def make(stage: SkillStage) -> Failing:
        plan_id = await kept_plan(stage, skill)
        return Failing({"id": plan_id, **members}, (await kept_planner(stage)).headers)

    return make


def of_ended_plan(skill: PlanSkill) -> Failure:
    """A request about a plan that its owner has cancelled."""

    async def make(stage: SkillStage) -> Failing:
        owner = await planner(stage)
        value = {"id": (await proposed(stage, skill, owner))["proposal"]["id"]}
        await stage.caller.perform(skill.slug, "cancel", value, owner.headers)
        return Failing(value, owner.headers)

    return make


def other_session(skill: PlanSkill) -> Failure:
    """The activation of a paid plan by what another mode asks for."""

    async def make(stage: SkillStage) -> Failing:
        owner = await planner(stage)
        made = await proposed(stage, skill, owner)
        await paid(stage, skill, owner, made)
        other = _ELSEWHERE if skill.mode == "open" else {}
        return Failing({"id": made["proposal"]["id"], **other}, owner.headers)

    return make


def failing_run(skill: PlanSkill) -> Failure:
    """The activation of a plan whose first run fails; it was paid before that."""

    async def make(stage: SkillStage) -> Failing:
        owner = await planner(stage)
        spec = skill.payload(stage, stage.market) | skill.excess(stage, stage.market)
        made = await proposed(stage, skill, owner, spec=spec)
        await stage.shop.stage.query(
            "UPDATE automation_proposals SET status = 'paid', runs_credited = run_limit"
            " WHERE id = $1",
            made["proposal"]["id"],
        )
        return Failing(await to_activate(stage, skill, owner, made), owner.headers)

    return make


def _proposing(skill: PlanSkill) -> dict[str, Failure]:
    rules = {code: planning(skill, **changes) for code, changes in PLANNING.items()}
    own: dict[str, Failure] = {}
    if skill.kind == "contract_call":
        own = {
            "function_not_found": calling(skill, autolayer=False, function="nothing_of_the_kind"),
            "target_upgraded": calling(skill, expectedWasmHash="0" * 64),
        }
    return rules | own | {"network_unavailable": planning_without_node(skill)}


def _guarded(value: Json) -> dict[str, Failure]:
    return {"unauthenticated": sending(value), "scope_missing": weakly(value)}


def _failures(skill: PlanSkill) -> dict[str, dict[str, Failure]]:
    """The failures of a skill, by action and code."""
    proposing = _proposing(skill) | _guarded({"title": "A plan"})
    found = {
        "preview": proposing,
        "propose": proposing
        | {"duplicate_intent": second_plan(skill), "idempotency_key_reused": reused_key(skill)},
        **{name: _guarded(NO_PLAN) | {"not_found": selling(NO_PLAN)} for name in _READ},
    }
    found["limits"] = _guarded({})
    found["runs"] |= {
        "invalid_cursor": of_new_plan(skill, cursor="nonsense"),
        "invalid_limit": of_new_plan(skill, limit=0),
    }
    own = _guarded(NO_PLAN) | {"not_found": selling(NO_PLAN)}
    for name in _CHANGES:
        found[name] = own | {
            "illegal_transition": (of_ended_plan if name == "cancel" else of_new_plan)(skill),
            "invalid_request": of_new_plan(skill, reason=5),
        }
    found["payment"] = own | {
        "illegal_transition": of_ended_plan(skill),
        "invalid_payment_header": of_new_plan(skill, paymentSignature="%%%"),
        "invalid_request": of_new_plan(skill, runs="two"),
        "limit_exceeded": of_new_plan(skill, runs=RUNS + 1),
    }
    found["activate"] = own | {
        "illegal_transition": of_new_plan(skill),
        "invalid_request": of_new_plan(skill, mandateId="a mandate"),
        "preflight_failed": failing_run(skill),
        "session_mismatch": other_session(skill),
    }
    return found


PLAN_FAILURES: Final[dict[ErrorKey, Failure]] = {
    (skill.slug, name, code): failure
    for skill in SKILLS
    for name, failures in _failures(skill).items()
    for code, failure in failures.items()
}
