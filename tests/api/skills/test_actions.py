"""Every action of every skill is performed through the service, by its spec alone."""

import pytest

from farebox.kernel.networks import Network
from support.paid_gateway import PaidGateway
from support.promises import promise
from support.skill_calls import SkillCaller, actions_of
from support.skill_market import PlanMarket
from support.skill_performances import PERFORMANCES
from support.skill_stage import SkillStage


def test_every_action_has_a_performance_and_no_other(skill_caller: SkillCaller) -> None:
    assert PERFORMANCES.keys() == actions_of(skill_caller.specs)


@promise("automation:four-kinds")
@pytest.mark.parametrize("network", list(Network))
@pytest.mark.parametrize("key", sorted(PERFORMANCES), ids="/".join)
async def test_action_is_performed_and_its_output_fits_its_schema(
    shop: PaidGateway,
    skill_caller: SkillCaller,
    skill_markets: dict[Network, PlanMarket],
    key: tuple[str, str],
    network: Network,
) -> None:
    skill_caller.performed.clear()
    await PERFORMANCES[key](SkillStage(shop, network, skill_caller, skill_markets))
    assert key in skill_caller.performed
