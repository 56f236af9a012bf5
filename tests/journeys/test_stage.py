"""The demo's parts inside this process: paid, told, and ended when one of them ends."""

import asyncio
import time

import pytest

from farebox.local.demo import Ports, open_stage, pay_once
from farebox.local.demo_story import Story
from farebox.local.faults import LocalFault


async def test_a_payment_is_told_step_by_step_and_a_part_that_ends_is_named() -> None:
    told: list[str] = []
    story = Story(told.append, started_at=time.time())
    async with open_stage(story, Ports()) as stage:
        transaction = await pay_once(stage, story)
        ended = asyncio.create_task(stage.ended())
        await stage.service.stop()
        with pytest.raises(LocalFault, match="the service ended by itself"):
            await ended
        again = pay_once(stage, story)
        with pytest.raises(LocalFault, match="did not go through"):
            await again
        wallet = stage.wallet
    text = "\n".join(told)
    assert f'"transaction": "{transaction}"' in text
    assert "99.95 USDC" in text
    assert wallet.seed.reveal() not in text
    assert not stage.folder.exists()
