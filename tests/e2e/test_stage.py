"""The demo's parts inside this process: their log and their end."""

import asyncio
import time

import pytest

from farebox.local.demo import Ports, pay_once, start_demo
from farebox.local.demo_log import DemoLog
from farebox.local.faults import LocalFault


async def test_demo_stage_reports_ended_part_and_failed_payment() -> None:
    lines: list[str] = []
    story = DemoLog(lines.append, started_at=time.time())
    async with start_demo(story, Ports()) as stage:
        ended = asyncio.create_task(stage.wait())
        await stage.service.stop()
        with pytest.raises(LocalFault, match="the service ended by itself"):
            await ended
        with pytest.raises(LocalFault, match="did not go through"):
            await pay_once(stage, story)
        wallet = stage.wallet
    assert wallet.seed.reveal() not in "\n".join(lines)
    assert not stage.folder.exists()
