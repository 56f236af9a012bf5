"""One function for each action of the skills of automation, on a plan of each kind."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from farebox.kernel.networks import Network
from support.skill_calls import Json, Key
from support.skill_plans import (
    RUNS,
    SKILLS,
    Planner,
    PlanSkill,
    activated,
    in_time,
    paid,
    plan_of,
    planner,
    proposed,
)
from support.skill_stage import SkillStage
from support.waiting import until

PlanPerformance = Callable[[PlanSkill, SkillStage], Awaitable[None]]


async def limits(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    output = await stage.caller.perform(skill.slug, "limits", {}, owner.headers)
    (own,) = [each for each in output["networks"] if each["network"] == stage.network.value]
    assert own["isAvailable"] is True
    assert skill.mode in own["modes"]


async def preview(skill: PlanSkill, stage: SkillStage) -> None:
    owner, value = await planner(stage), plan_of(stage, skill)
    output = await stage.caller.perform(skill.slug, "preview", value, owner.headers)
    assert (output["authorityMode"], output["preflight"]["ok"]) == (skill.mode, True), output
    assert len(output["schedule"]) == output["quote"]["runs"] == RUNS


async def propose(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    output = await proposed(stage, skill, owner, idempotencyKey="plan-7")
    assert output["proposal"]["account"] == owner.key.public_key
    assert output["session"]["permissions"]


async def payment(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    made = await proposed(stage, skill, owner)
    output = await paid(stage, skill, owner, made)
    assert output["payment"]["amount"] == made["quote"]["total"]
    assert output["proposal"]["runsCredited"] == RUNS


async def session(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    made = await proposed(stage, skill, owner)
    output = await _read(skill, stage, owner, "session", made["proposal"]["id"])
    assert (output["mode"], output["account"]) == (skill.mode, owner.key.public_key)
    assert (output["install"] is None) == (skill.mode == "open")


async def activate(skill: PlanSkill, stage: SkillStage) -> None:
    output = await activated(stage, skill, await planner(stage))
    assert output["session"]["limits"]["runLimit"] == RUNS


async def status(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    made = await proposed(stage, skill, owner)
    output = await _read(skill, stage, owner, "status", made["proposal"]["id"])
    assert output["proposal"]["policyId"] == made["proposal"]["policyId"]


async def preflight(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    made = await proposed(stage, skill, owner)
    output = await _read(skill, stage, owner, "preflight", made["proposal"]["id"])
    assert output["ok"] is True, output


async def runs(skill: PlanSkill, stage: SkillStage) -> None:
    """A run that has succeeded has members of its own: one is waited for on one network."""
    owner, soon = await planner(stage), in_time(seconds=10)  # it is active by then
    schedule = {"type": "interval", "everySeconds": 60, "startAt": soon}
    made = await activated(stage, skill, owner, schedule=schedule, missedRuns="catch_up_all")
    plan_id = made["proposal"]["id"]

    async def first_state() -> str:
        page = await _read(skill, stage, owner, "runs", plan_id)
        return str(next(each["state"] for each in page["items"] if each["runIndex"] == 0))

    async def has_succeeded() -> bool:
        return await first_state() == "succeeded"

    if stage.network is Network.TESTNET:
        await until(has_succeeded, 45)
    else:
        assert await first_state()


async def pause(skill: PlanSkill, stage: SkillStage) -> None:
    await _paused(skill, stage, await planner(stage))


async def resume(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    plan_id = await _paused(skill, stage, owner)
    output = await _read(skill, stage, owner, "resume", plan_id)
    assert output["proposal"]["status"] == "active"


async def cancel(skill: PlanSkill, stage: SkillStage) -> None:
    owner = await planner(stage)
    made = await activated(stage, skill, owner)
    output = await _read(skill, stage, owner, "cancel", made["proposal"]["id"])
    assert output["proposal"]["status"] == "cancelled"


async def _paused(skill: PlanSkill, stage: SkillStage, owner: Planner) -> str:
    plan_id = str((await activated(stage, skill, owner))["proposal"]["id"])
    value = {"id": plan_id, "reason": "a holiday"}
    output = await stage.caller.perform(skill.slug, "pause", value, owner.headers)
    assert (output["proposal"]["status"], output["proposal"]["statusReason"]) == ("paused", "owner")
    return plan_id


async def _read(
    skill: PlanSkill, stage: SkillStage, owner: Planner, name: str, plan_id: str
) -> Json:
    """Perform an action that takes a plan's id alone."""
    output: Json = await stage.caller.perform(skill.slug, name, {"id": plan_id}, owner.headers)
    return output


_ACTIONS: Final[dict[str, PlanPerformance]] = {
    "activate": activate,
    "cancel": cancel,
    "limits": limits,
    "pause": pause,
    "payment": payment,
    "preflight": preflight,
    "preview": preview,
    "propose": propose,
    "resume": resume,
    "runs": runs,
    "session": session,
    "status": status,
}
PLAN_PERFORMANCES: Final[dict[Key, Callable[[SkillStage], Awaitable[None]]]] = {
    (skill.slug, name): partial(performance, skill)
    for skill in SKILLS
    for name, performance in _ACTIONS.items()
}
