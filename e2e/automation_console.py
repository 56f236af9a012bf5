"""One plan of each kind through the console, in Chromium: the journeys are the console's own."""

from playwright.async_api import Error

from e2e.automation_stage import AutomationStage
from e2e.console_plan_forms import JOURNEYS
from e2e.console_plans import PlanTally, run_plans
from farebox.buyer.wallet import wallet_of
from farebox.local.development_wallet import WalletAccount, wallet_script
from testing.automation_chain import NET
from testing.browser import open_chromium, visit
from testing.console_stage import PlanScene
from testing.plan_service import new_keeper


async def run_console(stage: AutomationStage, *, quick: bool) -> PlanTally:
    """Propose, pay, sign and activate a plan of each kind, see its run, and cancel it.

    With `quick` of the first kind.
    """
    kinds = JOURNEYS[:1] if quick else JOURNEYS
    scene = PlanScene(
        chain=stage.chain,
        keeper=await new_keeper(stage.chain),
        oracle=stage.place.oracle,
        recipients=tuple(each.address for each in stage.recipients[-2:]),
    )
    async with open_chromium() as browser:
        owner = WalletAccount("Owner", wallet_of(stage.visitor.secret))
        visitor = await visit(browser, stage.service, scripts=[wallet_script((owner,), NET)])
        try:
            await visitor.open("/")
            await visitor.sign_in()
            tally = await run_plans(visitor, scene, kinds=kinds)
        except Error as error:
            tally = PlanTally(len(kinds), faults=[f"console: no sign-in: {error}"])
        finally:
            await visitor.close()
    tally.faults += [f"console: {each}" for each in visitor.record.console_errors[:3]]
    return tally
