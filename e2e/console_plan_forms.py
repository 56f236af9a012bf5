"""The plans that are made in the console: what they act on, and how their form is filled in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from playwright.async_api import Locator

from testing.console_stage import PlanScene

RECIPIENTS: Final = 2  # 6 runs of them are the 12 entries that may be signed ahead


async def _fill_call(form: Locator, scene: PlanScene) -> None:
    await form.get_by_role("textbox", name="Contract", exact=True).fill(scene.keeper)
    await form.get_by_label("It follows the autolayer convention").check()


async def _fill_disbursement(form: Locator, scene: PlanScene) -> None:
    await _fill_token(form, "Token", scene.chain.scene.asset)
    recipients = form.get_by_role("textbox", name="Recipients")
    first = scene.recipients[0]
    await recipients.fill(f"{first},0.5,Anna\n{first},1,again")
    await form.get_by_text("This recipient is there before.").wait_for()
    lines = [
        f'{each},0.25,"Invoice {number}"'
        for number, each in enumerate(scene.recipients[:RECIPIENTS])
    ]
    await recipients.fill("\n".join(lines))


async def _fill_token(form: Locator, label: str, contract: str) -> None:
    """Choose a token by its contract: from the list, if it is there."""
    choice = form.get_by_label(label, exact=True)
    if await choice.locator(f'option[value="{contract}"]').count():
        await choice.select_option(contract)
    else:
        await choice.select_option("other")
        await form.get_by_label(f"{label}: its contract").fill(contract)


async def _fill_dca(form: Locator, scene: PlanScene) -> None:
    tokens = scene.chain.scene
    await _fill_token(form, "Pay with", tokens.asset)
    await form.get_by_label("Amount of a run").fill("1")
    await _fill_token(form, "Buy", tokens.native)
    await form.get_by_label("At least", exact=True).fill("0.5")
    await form.get_by_label("for", exact=True).fill("1")


async def _fill_rebalance(form: Locator, scene: PlanScene) -> None:
    await form.get_by_label("Oracle (SEP-40)").fill(scene.oracle)
    tokens = scene.chain.scene
    for number, token in enumerate((tokens.asset, tokens.native), start=1):
        group = form.get_by_role("group", name=f"Token {number}")
        await _fill_token(group, "Token", token)
        await group.get_by_label("Most to sell in a run").fill("1")


@dataclass(frozen=True, slots=True)
class PlanJourney:
    """A kind of plan, by the name that the form gives it, and how it is made here."""

    name: str
    fill: Callable[[Locator, PlanScene], Awaitable[None]]
    mode: str = ""  # the one that the service chooses
    runs: int = 10
    is_paid_across_a_reload: bool = False


JOURNEYS: Final = (
    PlanJourney("Contract call", _fill_call, "open", is_paid_across_a_reload=True),
    PlanJourney("Disbursement", _fill_disbursement, "presigned", runs=6),
    PlanJourney("Regular purchase", _fill_dca),
    PlanJourney("Rebalancing", _fill_rebalance),
)
