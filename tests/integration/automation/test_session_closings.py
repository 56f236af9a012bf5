"""Sessions of plans that are over, closed by the service."""

import pytest

from farebox.app.automation_network import AutomationNetwork
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.sessions import closings
from support.automation_world import soon
from support.installing import begin, cancel, feeding, signed
from support.session_desk import SessionDesk, by_key


async def test_session_that_cannot_be_closed_delays_no_other(
    desk: SessionDesk, network: AutomationNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closings, "_BATCH", 1)
    sessions, plans = network.sessions, [await feeding(desk), await feeding(desk)]
    for plan in plans:
        material = await sessions.materials.material(plan, soon())
        given = signed(material, by_key(desk.payer))
        assert isinstance(await sessions.installations.activate(plan, given), Installed)
        await begin(desk, plan)
        await cancel(desk, plan)
    broken, other = plans  # the older one first
    async with desk.world.database.transaction() as db:
        await db.execute(
            "UPDATE automation_sessions SET mandate_id = $2 WHERE proposal_id = $1",
            broken.terms.id,
            desk.keeper,
        )
    for _ in plans:
        await sessions.closings.run_once()
    assert not await sessions.installations.is_installed(other)
