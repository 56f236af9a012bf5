"""Plans of each kind, proposed, signed, paid and activated by the skills of automation alone."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from stellar_sdk import Keypair
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.auth import authorize_entry

from support.paid_plans import signature
from support.skill_calls import Json
from support.skill_market import PlanMarket
from support.skill_stage import SkillStage
from support.stage import key_of
from support.wallet_sign_in import bearer, new_session
from testing.plan_specs import in_time, payments, portfolio, purchase, upkeep

RUNS: Final = 2
SOLD: Final = 1_000
_TITLES: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class PlanSkill:
    """A skill of plans: what its plans do here, and in which mode."""

    slug: str
    kind: str
    mode: str
    payload: Callable[[SkillStage, PlanMarket], Json]
    excess: Callable[[SkillStage, PlanMarket], Json]  # members by which the first run fails


@dataclass(frozen=True, slots=True)
class Planner:
    """An owner of plans: a wallet that has signed in and holds the scene's asset."""

    key: Keypair
    headers: dict[str, str]


_TOO_MUCH: Final = str(10**15)  # more than anybody holds
SKILLS: Final = (
    PlanSkill(
        "automation-contract-call",
        "contract_call",
        "open",
        lambda _, market: upkeep(market.keeper),
        lambda _, market: {"contract": market.faulty},
    ),
    PlanSkill(
        "automation-dca",
        "dca",
        "mandate",
        lambda stage, _: purchase(stage.scene.asset, stage.scene.native, SOLD),
        lambda *_: {"amountIn": _TOO_MUCH},
    ),
    PlanSkill(
        "automation-disbursement",
        "disbursement",
        "presigned",
        lambda stage, _: payments(
            stage.scene.asset, [(each.address, 100) for each in stage.scene.payees[:2]]
        ),
        lambda stage, _: {"legs": [{"to": stage.scene.payees[0].address, "amount": _TOO_MUCH}]},
    ),
    PlanSkill(
        "automation-rebalance",
        "rebalance",
        "mandate",
        lambda stage, market: portfolio(
            (stage.scene.asset, stage.scene.native), market.oracle, SOLD
        ),
        lambda _, market: {"oracle": market.keeper},
    ),
)


async def planner(stage: SkillStage) -> Planner:
    """A new owner on the network."""
    key = key_of(await stage.shop.stage.another_payer(stage.network))
    token = await new_session(stage.shop.client, key, stage.network)
    return Planner(key, bearer(token))


async def kept_planner(stage: SkillStage) -> Planner:
    """The owner of requests that are refused, signed in once."""
    if "planner" not in stage.kept:
        stage.kept["planner"] = await planner(stage)
    owner: Planner = stage.kept["planner"]
    return owner


def plan_of(stage: SkillStage, skill: PlanSkill, **changes: Any) -> Json:
    """The input of a proposal: two runs from an hour on."""
    body = {
        "kind": skill.kind,
        "network": stage.network.value,
        "title": f"Plan {next(_TITLES)}",
        "schedule": {"type": "interval", "everySeconds": 3600, "startAt": in_time(hours=1)},
        "spec": skill.payload(stage, stage.market),
        "runLimit": RUNS,
        "authorityMode": skill.mode,
        "expiresAt": in_time(hours=6),  # a devnet closes many ledgers in a week
    }
    return body | changes


async def proposed(stage: SkillStage, skill: PlanSkill, owner: Planner, **changes: Any) -> Json:
    """Propose a plan; the output."""
    value = plan_of(stage, skill, **changes)
    output: Json = await stage.caller.perform(skill.slug, "propose", value, owner.headers)
    assert output["proposal"]["status"] == "proposed"
    return output


async def kept_plan(stage: SkillStage, skill: PlanSkill) -> str:
    """The id of a plan that is not paid, which no request changes."""
    if skill.slug not in stage.kept:
        made = await proposed(stage, skill, await kept_planner(stage))
        stage.kept[skill.slug] = made["proposal"]["id"]
    return str(stage.kept[skill.slug])


async def paid(stage: SkillStage, skill: PlanSkill, owner: Planner, made: Json) -> Json:
    """Pay for the runs of a proposed plan, at the price that the service asks; the output."""
    value: Json = {"id": made["proposal"]["id"]}
    if not made["quote"]["isFree"]:
        offered = await stage.caller.call(skill.slug, "payment", value, owner.headers)
        assert offered.status == 402, offered.body
        value["paymentSignature"] = await _sign_payment(stage, offered.body)
    output: Json = await stage.caller.perform(skill.slug, "payment", value, owner.headers)
    assert output["proposal"]["status"] == "paid"
    return output


async def _sign_payment(stage: SkillStage, offer: Json) -> str:
    (terms,) = offer["accepts"]
    draft = await stage.draft(
        asset=terms["asset"],
        pay_to=terms["payTo"],
        amount=int(terms["amount"]),
        timeout_s=terms["maxTimeoutSeconds"],
    )
    return signature(offer, draft)


def signed(stage: SkillStage, session: Json, owner: Planner) -> Json:
    """What activation takes, by the mode of a session: the wallet has signed its entries."""
    install = session["install"]
    if install is None:
        return {}
    entries = [
        authorize_entry(
            stellar_xdr.SorobanAuthorizationEntry.from_xdr(each["entryXdr"]),
            owner.key,
            each["expirationLedger"],
            stage.network.passphrase,
        ).to_xdr()
        for each in install["entries"]
    ]
    member = "presignedEntriesXdr" if session["mode"] == "presigned" else "signedEntriesXdr"
    return {member: entries}


async def to_activate(stage: SkillStage, skill: PlanSkill, owner: Planner, made: Json) -> Json:
    """Sign the session of a paid plan: the input of activation."""
    value = {"id": made["proposal"]["id"]}
    session = await stage.caller.perform(skill.slug, "session", value, owner.headers)
    return value | signed(stage, session, owner)


async def activated(stage: SkillStage, skill: PlanSkill, owner: Planner, made: Json) -> Json:
    """Activate a paid plan; the output."""
    value = await to_activate(stage, skill, owner, made)
    output: Json = await stage.caller.perform(skill.slug, "activate", value, owner.headers)
    assert output["proposal"]["status"] in ("active", "executing")
    return output
