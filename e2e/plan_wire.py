"""Plans as management clients propose them: where the clocks go back, and with types in full.

A keeper and a contract that takes addresses and 32 bytes are on the ledger of the test network.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from stellar_sdk import Keypair

from e2e.wire import JSON_TYPE, WireCase
from testing.automation_chain import NET, AutomationChain
from testing.machine import say
from testing.plan_service import create_channels, new_keeper
from testing.stage import Market

# of the southern half of the world, where it was met, and of the northern half
ZONES: Final = (
    "Australia/Sydney",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "America/New_York",
)
_PLANS: Final = "/v1/automations"
_TEN_MINUTES: Final = timedelta(minutes=10)
_SOON: Final = timedelta(days=1)
_HORIZON: Final = timedelta(days=169)  # a plan lives 170 days at most
_STEP: Final = timedelta(minutes=30)  # clocks are changed at a whole or a half hour
_RUNS: Final = 10  # as many as are shown


@dataclass(frozen=True, slots=True)
class PlanTargets:
    """What the plans call."""

    keeper: str
    captor: str  # its `status` takes two addresses and 32 bytes
    account: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """The moment at which the clocks of a zone go back, and by how much."""

    zone: str
    at: datetime
    shift: timedelta


async def prepare_plans(
    market: Market, settings: Mapping[str, str], folder: Path
) -> tuple[PlanTargets, dict[str, str]]:
    """Deploy the targets and create a channel; return what they are, and the service's settings.

    The third payer of the market is the paymaster.
    """
    say("deploying what plans call, and creating a channel of the paymaster")
    buyer, _, paymaster, *_ = market.scene.payers
    sender = Keypair.from_secret(buyer.secret.reveal())
    chain = AutomationChain(market.served.devnet, market.scene, [sender])
    targets = PlanTargets(
        await new_keeper(chain), await chain.deploy("upto_settlement"), market.pay_to
    )
    own = {f"FAREBOX_PAYMASTER_SECRET_{NET.name}": paymaster.secret.reveal()}
    await create_channels(market.served, {**settings, **own}, folder, "automation", 1)
    return targets, own


def plan_cases(targets: PlanTargets, key: str, now: datetime) -> Sequence[WireCase]:
    """Return the proposals of a management client that has this key."""
    repeats = [found for zone in ZONES if (found := find_repeat(zone, now))]
    if not repeats:  # from April to May
        say(f"no clock of {', '.join(ZONES)} goes back while a plan of today lives")
    own = (JSON_TYPE, ("authorization", f"Bearer {key}"))
    cases = [*_clock_cases(targets, repeats), *_type_cases(targets, now)]
    return [
        WireCase(path, status, "POST", own, json.dumps(body), says=says, judge=judge)
        for path, status, body, says, judge in cases
    ]


def find_repeat(zone: str, now: datetime) -> Repeat | None:
    """Find the first time that the clocks go back while a plan lives; None if they do not."""
    clock, end = ZoneInfo(zone), now + _HORIZON
    before = (now + _SOON).replace(minute=0, second=0, microsecond=0)
    while before < end:
        after = before + _STEP
        shift = before.astimezone(clock).utcoffset(), after.astimezone(clock).utcoffset()
        if shift[0] is not None and shift[1] is not None and shift[1] < shift[0]:
            return Repeat(zone, after, shift[0] - shift[1])
        before = after
    return None


def judge_runs(wanted: Sequence[datetime], body: Mapping[str, Any]) -> str:
    """Return the fault of the runs of a preview or a plan; "" when they are due at these times."""
    shown = body["schedule"] if "schedule" in body else body["proposal"]["nextRuns"]
    found = [datetime.fromisoformat(each["at"]) for each in shown]
    wrong = sorted(set(found) ^ set(wanted))
    is_right = not wrong and len(found) == len(wanted)
    return "" if is_right else f"runs at {[f'{each:%m-%d %H:%M}' for each in found]}"


_Proposal = tuple[str, int, dict[str, Any], tuple[str, ...], Any]


def _clock_cases(targets: PlanTargets, repeats: Sequence[Repeat]) -> Iterator[_Proposal]:
    """A wildcard keeps its interval in a repeated hour; a fixed time runs once."""
    for number, repeat in enumerate(repeats):
        begin = repeat.at - _RUNS // 2 * _TEN_MINUTES
        kept = [begin + number * _TEN_MINUTES for number in range(_RUNS)]
        body = _keeper_plan(targets, repeat, "*/10 * * * *", begin)
        yield f"{_PLANS}/preview", 200, body, (), partial(judge_runs, kept)
        if not number:
            again = {**body, "allowDuplicate": True}
            yield _PLANS, 201, again, (), partial(judge_runs, kept)
        first = repeat.at - repeat.shift
        wall = first.astimezone(ZoneInfo(repeat.zone))
        body = _keeper_plan(targets, repeat, f"{wall.minute} {wall.hour} * * *", first - _STEP)
        yield f"{_PLANS}/preview", 200, body, ("happens twice",), partial(judge_runs, [first])


def _keeper_plan(
    targets: PlanTargets, repeat: Repeat, expression: str, starts_at: datetime
) -> dict[str, Any]:
    """A plan that ends three hours after the clocks have gone back."""
    return {
        **_plan({"type": "cron", "expr": expression, "timezone": repeat.zone}),
        "spec": {"contract": targets.keeper, "autolayer": True, "effects": {}},
        "startsAt": starts_at.isoformat(),
        "expiresAt": (repeat.at + timedelta(hours=3)).isoformat(),
    }


def _plan(schedule: Mapping[str, object]) -> dict[str, Any]:
    return {
        "kind": "contract_call",
        "network": NET.value,
        "title": "Upkeep",
        "schedule": schedule,
        "runLimit": _RUNS,
    }


def _type_cases(targets: PlanTargets, now: datetime) -> Iterator[_Proposal]:
    """A type is taken as typed values have it and as a contract's interface is shown.

    A number beyond the bound of the schema is no request.
    """
    often = _plan({"type": "condition", "everySeconds": 2**31})
    often |= {"spec": {"contract": targets.keeper, "autolayer": True, "effects": {}}}
    yield f"{_PLANS}/preview", 400, often, ("invalid_request", "schedule.everySeconds"), None
    for address, of_bytes, status, says in (
        ("address", "bytes", 200, ()),
        ("Address", "BytesN<32>", 200, ()),
        ("Address", "bytes", 200, ()),
        ("Address", "BytesN<31>", 422, ("spec_mismatch", "spec.args[2].type")),
        ("Vec<Address>", "bytes", 422, ("spec_mismatch", "spec.args[0].type")),
    ):
        party = {"type": address, "value": targets.account}
        args = [party, party, {"type": of_bytes, "value": "ab" * 32}]
        start = (now + _SOON).replace(microsecond=0).astimezone(UTC)
        body = {
            **_plan({"type": "interval", "everySeconds": 3600, "startAt": start.isoformat()}),
            "spec": {"contract": targets.captor, "function": "status", "args": args, "effects": {}},
        }
        yield f"{_PLANS}/preview", status, body, says, None
