"""The skills of automation say the same of what they share: a change of one is a change of all."""

from typing import Any, Final

import msgspec

from farebox.skills.spec import SkillAction, SkillSpec
from support.skills import SKILLS

FIRST, *OTHERS = [skill.latest.spec for slug, skill in SKILLS.items() if slug.startswith("auto")]
OF_ONE_KIND: Final = {"function_not_found", "target_upgraded"}  # of a named contract
OWN: Final = {"input", "output", "examples", "preconditions", "procedure", "errors"}


def shared_part(action: SkillAction) -> Any:
    """What an action says whatever the kind of the plan; its errors by their codes."""
    whole = msgspec.to_builtins(action)
    errors = {each["code"]: each for each in whole["errors"] if each["code"] not in OF_ONE_KIND}
    return {name: value for name, value in whole.items() if name not in OWN} | {"errors": errors}


def shared_members(spec: SkillSpec) -> Any:
    actions = [shared_part(each) for each in spec.actions]
    return actions, spec.endpoints, spec.limits, spec.networks, spec.auth_mode


def test_skills_of_plans_share_actions_errors_endpoints_and_limits() -> None:
    assert len(OTHERS) > 1
    assert [spec.slug for spec in OTHERS if shared_members(spec) != shared_members(FIRST)] == []


def test_runs_and_session_have_one_schema_in_every_skill() -> None:
    assert [
        (spec.slug, name)
        for spec in OTHERS
        for name in ("limits", "preflight", "runs", "session")
        if (spec.action(name).input, spec.action(name).output)
        != (FIRST.action(name).input, FIRST.action(name).output)
    ] == []


def test_there_is_a_skill_for_each_kind_of_plan() -> None:
    kinds = {
        each.action("propose").input["properties"]["kind"]["const"] for each in (FIRST, *OTHERS)
    }
    assert kinds == {"contract_call", "dca", "rebalance", "disbursement"}
