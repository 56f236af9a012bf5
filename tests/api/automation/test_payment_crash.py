"""A process that is killed between the settlement of a payment for runs and their credit."""

import asyncio
from collections.abc import Mapping

import aiohttp
import pytest

from farebox.automation.plans.proposal_state import ProposalState
from support import node_proxy
from support.automation import RUNS
from support.paid_plans import PRICE, paid_plans, path_of
from support.payments import Json
from support.serve_process import ServeProcess
from support.stage import Stage, own_relayer
from testing.waiting import until


async def test_loop_credits_exactly_once_what_a_killed_process_had_sent(stage: Stage) -> None:
    async with paid_plans(stage) as shop:
        settings = shop.stage.environment | await own_relayer(stage)
        plan, before = await shop.propose(), await shop.revenue()
        payment = await shop.sign(await shop.offer(plan))
        path, headers = path_of(plan, "payment"), shop.owner.headers
        headers = dict(headers) | {"payment-signature": payment}
        reached, hold = asyncio.Event(), asyncio.Event()

        async def carried_out(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
            del call
            answer: Json = await forward()
            reached.set()
            await hold.wait()
            return answer

        stage.node().on("sendTransaction", carried_out)
        async with ServeProcess(settings) as process:
            paying = asyncio.ensure_future(_pay(process, path, headers))
            await asyncio.wait_for(reached.wait(), 30)
            await process.kill()
            with pytest.raises(aiohttp.ClientError):
                await paying
        hold.set()
        stage.node().reset()
        (row,) = await shop.payments(plan)
        assert row["state"] == "pending", "nothing is credited yet"
        await shop.pass_time(holds_only=True)

        async def is_paid() -> bool:
            return (await shop.read(plan)).state is ProposalState.PAID

        await until(is_paid, 60)
        again = await shop.send(plan, payment)
        assert (again.status, again.json()["payment"]["state"]) == (200, "confirmed")
        assert (await shop.read(plan)).counters.runs_credited == RUNS
        assert await shop.revenue() == before + RUNS * PRICE
        rows = await shop.stage.query("SELECT kind, amount FROM run_credits ORDER BY id")
        assert [tuple(each) for each in rows] == [
            ("purchase", RUNS * PRICE),
            ("consume", -RUNS * PRICE),
        ]


async def _pay(process: ServeProcess, path: str, headers: Mapping[str, str]) -> Json:
    """Pay, once the process has seen that its paymaster is funded."""

    async def answered() -> Json | None:
        body = await process.post(path, {}, headers)
        code = body.get("error", {}).get("code") if "error" in body else None
        return None if code == "automation_unavailable" else body

    return await until(answered)
