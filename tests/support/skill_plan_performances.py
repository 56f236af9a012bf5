"""The actions of the skills of automation, on a plan of each kind."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from farebox.kernel.networks import Network
from support.skill_calls import Json
from support.skill_plans import (
    RUNS,
    SKILLS,
    Planner,
    PlanSkill,
    activated,
    paid,
    plan_of,
    planner,
    proposed,
)
from support.skill_stage import SkillStage
from testing.plan_specs import in_time
from testing.waiting import until


async def live(skill: PlanSkill, stage: SkillStage) -> None:
    """A plan from its preview to its end."""
    owner = await planner(stage)
    await _look_ahead(skill, stage, owner)
    made = await _propose(skill, stage, owner)
    plan_id = str(made["proposal"]["id"])
    await _read_proposed(skill, stage, owner, made)
    output = await paid(stage, skill, owner, made)
    assert output["payment"]["amount"] == made["quote"]["total"]
    assert output["proposal"]["runsCredited"] == RUNS
    output = await activated(stage, skill, owner, made)
    assert output["session"]["limits"]["runLimit"] == RUNS
    await _read_runs(skill, stage, owner, plan_id)
    value = {"id": plan_id, "reason": "a holiday"}
    output = await stage.caller.perform(skill.slug, "pause", value, owner.headers)
    assert (output["proposal"]["status"], output["proposal"]["statusReason"]) == ("paused", "owner")
    output = await _read(skill, stage, owner, "resume", plan_id)
    assert output["proposal"]["status"] == "active"
    output = await _read(skill, stage, owner, "cancel", plan_id)
    assert output["proposal"]["status"] == "cancelled"


async def _look_ahead(skill: PlanSkill, stage: SkillStage, owner: Planner) -> None:
    output = await stage.caller.perform(skill.slug, "limits", {}, owner.headers)
    (own,) = [each for each in output["networks"] if each["network"] == stage.network.value]
    assert own["isAvailable"] is True
    assert skill.mode in own["modes"]
    value = plan_of(stage, skill)
    output = await stage.caller.perform(skill.slug, "preview", value, owner.headers)
    assert (output["authorityMode"], output["preflight"]["ok"]) == (skill.mode, True), output
    assert len(output["schedule"]) == output["quote"]["runs"] == RUNS


async def _propose(skill: PlanSkill, stage: SkillStage, owner: Planner) -> Json:
    """Propose a plan; on the network where its first run is waited for, it is due soon.

    A proposal that takes longer than that would have its first run a minute later.
    """
    changes: dict[str, Any] = {"idempotencyKey": "plan-7"}
    if stage.network is Network.TESTNET:
        soon = {"type": "interval", "everySeconds": 60, "startAt": in_time(seconds=5)}
        changes |= {"schedule": soon, "missedRuns": "catch_up_all"}  # due before it is active, too
    output = await proposed(stage, skill, owner, **changes)
    assert output["proposal"]["account"] == owner.key.public_key
    assert output["session"]["permissions"]
    return output


async def _read_proposed(skill: PlanSkill, stage: SkillStage, owner: Planner, made: Json) -> None:
    plan_id = made["proposal"]["id"]
    output = await _read(skill, stage, owner, "session", plan_id)
    assert (output["mode"], output["account"]) == (skill.mode, owner.key.public_key)
    assert (output["install"] is None) == (skill.mode == "open")
    output = await _read(skill, stage, owner, "status", plan_id)
    assert output["proposal"]["policyId"] == made["proposal"]["policyId"]
    output = await _read(skill, stage, owner, "preflight", plan_id)
    assert output["ok"] is True, output


async def _read_runs(skill: PlanSkill, stage: SkillStage, owner: Planner, plan_id: str) -> None:
    """A run that has succeeded has members of its own: one is waited for on one network."""

    async def first_state() -> str:
        page = await _read(skill, stage, owner, "runs", plan_id)
        return str(next(each["state"] for each in page["items"] if each["runIndex"] == 0))

    async def has_succeeded() -> bool:
        return await first_state() == "succeeded"

    if stage.network is Network.TESTNET:
        await until(has_succeeded, 45)
    else:
        assert await first_state()


async def _read(
    skill: PlanSkill, stage: SkillStage, owner: Planner, name: str, plan_id: str
) -> Json:
    """Perform an action that takes a plan's id alone."""
    output: Json = await stage.caller.perform(skill.slug, name, {"id": plan_id}, owner.headers)
    return output


PLAN_PERFORMANCES: Final[dict[str, Callable[[SkillStage], Coroutine[Any, Any, None]]]] = {
    skill.slug: partial(live, skill) for skill in SKILLS
}
