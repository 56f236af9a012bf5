"""The demo's parts inside this process: a payment, its log and their end."""

import asyncio
import time

import pytest

from farebox.local.demo import Ports, pay_once, start_demo
from farebox.local.demo_log import DemoLog
from farebox.local.faults import LocalFault


async def test_demo_stage_reports_payment_steps_and_ended_part() -> None:
    lines: list[str] = []
    story = DemoLog(lines.append, started_at=time.time())
    async with start_demo(story, Ports()) as stage:
        transaction = await pay_once(stage, story)
        ended = asyncio.create_task(stage.wait())
        await stage.service.stop()
        with pytest.raises(LocalFault, match="the service ended by itself"):
            await ended
        again = pay_once(stage, story)
        with pytest.raises(LocalFault, match="did not go through"):
            await again
        wallet = stage.wallet
    text = "\n".join(lines)
    assert f'"transaction": "{transaction}"' in text
    assert "99.95 USDC" in text
    assert wallet.seed.reveal() not in text
    assert not stage.folder.exists()
