"""The verdict on a game: what must hold of plans, whoever acted on them at the same time."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, Final

from farebox.automation.paymaster.budget_store import SpendScope
from farebox.automation.plans.proposal_state import TERMINAL_STATES
from farebox.automation.runs.run_state import (
    FINAL_RUN_STATES,
    LEASED_STATES,
    UNRESOLVED_STATES,
    WAITING_STATES,
)
from prove.outcome import Finding, findings_of
from prove.plan_chain import FEE
from prove.plan_rows import GameRows, Rows

Row = Mapping[str, Any]
_BUSY: Final = LEASED_STATES | UNRESOLVED_STATES
_HAPPENED: Final = ("succeeded", "submitted", "reconciling")  # or may have
_LIVE: Final = ("active", "paused")
_PLAN_STOPPED: Final = "plan_stopped"
_STOPPED: Final = (_PLAN_STOPPED, "target_upgraded")
# what follows where a paid run was left: of more repeated runs than are paid the last are skipped
_FROM_PAID: Final = {"credit.returned", "run.succeeded"}
_TIME_TO_ACTIVATE: Final = timedelta(days=7)
_LOSS: Final = (SpendScope.LOSS.value, SpendScope.NEW_OWNERS.value)


class GameViolation(StrEnum):
    """A rule that does not hold."""

    FAULT = "a use case fails"
    TWICE = "a leg that happened twice, or is not recorded as what it is"
    MONEY = "money that is lost or made"
    CONSUMED = "a run that is charged wrongly"
    DUE = "a plan without one due leg"
    HELD = "a leg that waits wrongly while its plan is paused"
    BUDGET = "budgets that differ from the envelopes"
    WAITS = "a run that waits although there is room"
    KEPT = "something that is kept or missing"
    CANCEL = "a cancelled plan that goes on"
    EXPIRED = "a plan that ends before its time"
    CUT = "a run of which a leg is sent after others were withdrawn"
    SKIPPED = "a run that is skipped after the resume"
    SEARCH = "a plan that is active while the outcome of a run is not known"
    STOPPED = "a plan that the operator's pause has left active"
    UNENDED = "a plan that does not end"


GameFinding = Finding[GameViolation]


def judge_books(rows: GameRows) -> list[GameFinding]:
    """Find every violation at a moment in which no process works."""
    found = []
    for plan in rows.plans:
        kinds = {
            GameViolation.TWICE: _find_wrong_legs(rows, plan),
            GameViolation.MONEY: _find_wrong_money(rows, plan),
            GameViolation.CONSUMED: _find_wrong_charges(rows, plan),
            GameViolation.DUE: _find_wrong_due(rows, plan),
            GameViolation.HELD: _find_wrong_waits(rows, plan),
            GameViolation.CANCEL: _find_wrong_cancel(rows, plan),
            GameViolation.STOPPED: _find_operators(rows, plan),
            GameViolation.EXPIRED: _find_too_early(rows, plan),
            GameViolation.CUT: _find_cut(rows, plan),
            GameViolation.SKIPPED: _find_skipped(rows, plan),
            GameViolation.SEARCH: _find_unknown(rows, plan),
            GameViolation.UNENDED: _find_left(rows, plan),
        }
        name = plan["id"]
        found += [
            GameFinding(violation, f"{name}: {why}")
            for violation, each in kinds.items()
            for why in each
        ]
    shared = {
        GameViolation.BUDGET: _find_wrong_budgets(rows),
        GameViolation.WAITS: _find_needless_waits(rows),
        GameViolation.KEPT: _find_kept(rows),
    }
    return [*found, *findings_of(shared)]


def judge_end(rows: GameRows) -> list[GameFinding]:
    """Find the plans that have not ended although everything was done that ends them."""
    left = [plan for plan in rows.plans if plan["status"] not in TERMINAL_STATES]
    ends = [f"{plan['id']} is {plan['status']}" for plan in left]
    return findings_of({GameViolation.UNENDED: ends})


def _find_wrong_legs(rows: GameRows, plan: Row) -> Iterator[str]:
    """A leg happens once, by an envelope that was recorded, and its row says so."""
    landed = Counter(rows.landed)
    for leg in _legs(rows, plan):
        attempts = rows.attempts_of(leg)
        times = sum(landed[each["tx_hash"]] for each in attempts)
        if times > 1:
            yield f"{_name(leg)} happened {times} times"
        if leg["state"] == "succeeded" and not times:
            yield f"{_name(leg)} succeeded and nothing has landed"
        if times and leg["state"] not in (*_HAPPENED, "abandoned"):
            yield f"{_name(leg)} has landed and is {leg['state']}"
        opened = sum(each["outcome"] in ("prepared", "sent") for each in attempts)
        if opened != (leg["state"] in UNRESOLVED_STATES):
            yield f"{_name(leg)} is {leg['state']} with {opened} open envelopes"


def _find_wrong_money(rows: GameRows, plan: Row) -> Iterator[str]:
    """What a plan has taken is what it gave back, what it holds, and the price of used runs."""
    own = [each for each in rows.credits if each["proposal_id"] == plan["id"]]
    taken = -sum(int(each["amount"]) for each in own if each["kind"] == "consume")
    returned = sum(int(each["amount"]) for each in own if each["kind"] == "return")
    used = taken - returned - int(plan["credit_held"]) - int(plan["setup_held"])
    prices = [int(each["per_run"]) for each in rows.payments if each["proposal_id"] == plan["id"]]
    consumed, least, most = plan["runs_consumed"], min(prices, default=0), max(prices, default=0)
    if not consumed * least <= used <= consumed * most:
        yield (
            f"{taken} taken, {returned} given back, {plan['credit_held']} held:"
            f" {used} for {consumed} runs at {least} to {most}"
        )
    left = plan["runs_credited"] - consumed
    if not left * least <= int(plan["credit_held"]) <= left * most:
        yield f"{plan['credit_held']} are held for {left} runs at {least} to {most}"


def _find_wrong_charges(rows: GameRows, plan: Row) -> Iterator[str]:
    """A run uses its credit once: when it is over and a leg happened, or when it was paused."""
    runs = rows.runs_of(plan).values()
    happened = [legs for legs in runs if any(leg["state"] == "succeeded" for leg in legs)]
    charged = sum(
        all(leg["state"] in FINAL_RUN_STATES for leg in legs)
        or any(leg["is_charged"] for leg in legs)
        for legs in happened
    )
    if plan["runs_consumed"] != charged:
        yield f"{plan['runs_consumed']} runs are charged, and {charged} have happened"
    whole = sum(all(leg["state"] == "succeeded" for leg in legs) for legs in happened)
    if plan["runs_succeeded"] != whole:
        yield f"{plan['runs_succeeded']} runs are told, and {whole} have succeeded"
    landed = sum(leg["state"] == "succeeded" for legs in happened for leg in legs)
    if plan["auths_used"] != landed:
        yield f"{plan['auths_used']} authorizations are counted, and {landed} were used"


def _find_wrong_due(rows: GameRows, plan: Row) -> Iterator[str]:
    """One leg of a plan is due or in progress, where one waits."""
    legs = _legs(rows, plan)
    busy = sum(leg["state"] in _BUSY for leg in legs)
    due = sum(leg["due_at"] is not None for leg in legs)
    waiting = sum(leg["state"] in WAITING_STATES for leg in legs)
    taken = sum(leg["state"] in _BUSY or leg["due_at"] is not None for leg in legs)
    if taken > 1:
        yield f"{busy} legs are in progress, and {due} are due"
    if plan["status"] in _LIVE and waiting and not due:
        yield f"{waiting} legs wait and none is due"
    yield from _find_late(rows, plan, legs)
    if plan["status"] in _LIVE and plan["overdue_at"] is None:
        yield f"it is {plan['status']} and nobody looks at it"


def _find_late(rows: GameRows, plan: Row, legs: Rows) -> Iterator[str]:
    """A leg that no error holds back does not wait for its deadline while its plan is active."""
    for leg in legs if plan["status"] == "active" and not plan["is_cancelling"] else ():
        is_free = leg["state"] in ("scheduled", "deferred") and leg["error_class"] is None
        if is_free and leg["due_at"] and leg["due_at"] > max(leg["deadline_at"], rows.now):
            yield f"{_name(leg)} waits past its deadline, and the plan is active"


def _find_wrong_waits(rows: GameRows, plan: Row) -> Iterator[str]:
    """While a plan is paused, only legs of a run that has begun wait, past their deadline."""
    if plan["status"] != "paused" or plan["is_cancelling"]:
        return
    for legs in rows.runs_of(plan).values():
        has_begun = any(
            leg["is_charged"] or leg["state"] in _HAPPENED or _was_busy(leg) for leg in legs
        )
        for leg in legs:
            if leg["state"] not in WAITING_STATES or _was_busy(leg):
                continue
            if not has_begun:
                yield f"{_name(leg)} waits, and nothing of its run has happened"
            if leg["due_at"] is not None and leg["due_at"] <= leg["deadline_at"]:
                yield f"{_name(leg)} can be claimed while its plan is paused"


def _was_busy(leg: Row) -> bool:
    """Whether a leg was in progress when its plan was paused: who claims it next stops it."""
    is_left = (
        leg["state"] == "scheduled" or leg["error_class"] or leg["state_reason"] == _NO_CHANNEL
    )
    return bool(leg["due_at"] is not None and leg["lease_epoch"] and is_left)


_NO_CHANNEL: Final = "no_channel"


def _find_wrong_cancel(rows: GameRows, plan: Row) -> Iterator[str]:
    """Nothing pauses or resumes a plan that is cancelled; it ends with its run in progress."""
    kinds = [kind for kind, _ in rows.events_of(plan)]
    after = kinds[kinds.index("plan.cancel") :] if "plan.cancel" in kinds else []
    if {"plan.pause", "plan.resume", "plan.activate"}.intersection(after):
        yield f"after the cancellation: {', '.join(after)}"
    is_open = any(leg["state"] not in FINAL_RUN_STATES for leg in _legs(rows, plan))
    if plan["is_cancelling"] and not is_open:
        yield "it is being cancelled, and nothing is left that ends it"
    if after and plan["status"] in _LIVE and not plan["is_cancelling"]:
        yield f"it was cancelled and is {plan['status']}"


def _find_operators(rows: GameRows, plan: Row) -> Iterator[str]:
    """Nobody resumes a plan that the operator has paused, before the operator releases it."""
    is_stopped = False
    for kind, data in rows.events_of(plan):
        if kind == "plan.resume" and is_stopped:
            yield "it was resumed while the operator had stopped it"
        if kind == "plan.pause":
            is_stopped = data["reason"] == "operator"
        elif kind == "plan.released":
            is_stopped = False


def _find_too_early(rows: GameRows, plan: Row) -> Iterator[str]:
    """A plan expires once its time has passed: paid and not activated, or at its end."""
    paid_at = rows.paid_at.get(plan["id"])
    for kind, data in rows.events_of(plan):
        if not kind.startswith("plan.expire"):
            continue
        if data["from"] in _LIVE and rows.now < plan["expires_at"]:
            yield f"it expired at {rows.now}, before its end"
        if data["from"] == "paid" and paid_at and rows.now < paid_at + _TIME_TO_ACTIVATE:
            yield f"it expired at {rows.now}, and was paid at {paid_at}"
        if data["from"] == "proposed" and paid_at:
            yield f"it expired as unpaid, and was paid at {paid_at}"


def _find_cut(rows: GameRows, plan: Row) -> Iterator[str]:
    """No envelope is made for a run of which a pause has withdrawn later legs."""
    for legs in rows.runs_of(plan).values():
        for leg in legs:
            withdrawn = [
                other["finished_at"]
                for other in legs
                if other["leg_index"] > leg["leg_index"]
                and other["state"] == "skipped"
                and other["state_reason"] != "leg_before_failed"
            ]
            late = [
                each
                for each in rows.attempts_of(leg)
                if withdrawn and each["prepared_at"] > min(withdrawn)
            ]
            if late:
                yield f"{_name(leg)} was sent after a later leg was withdrawn"


def _find_skipped(rows: GameRows, plan: Row) -> Iterator[str]:
    """A run that nothing has cut short is made once its plan is active; one that began waits."""
    is_active, is_cancelled, events = False, False, rows.events_of(plan)
    for number, (kind, data) in enumerate(events):
        if kind.startswith("plan.") and "to" in data:
            is_cancelled = is_cancelled or kind == "plan.cancel"
            is_active = data["to"] == "active"
        if kind != "run.skipped" or is_cancelled or data.get("reason") not in _STOPPED:
            continue
        place, legs = data["legIndex"], rows.runs_of(plan).get(data["runIndex"], ())
        leg = f"run {data['runIndex']} leg {place}"
        is_cut = any(each["leg_index"] > place and each["state"] == "skipped" for each in legs)
        is_paid = plan["credit_held"] or _FROM_PAID.intersection(k for k, _ in events[number:])
        if is_active and is_paid and not is_cut and data["reason"] == _PLAN_STOPPED:
            yield f"{leg} is skipped, and the plan is active"
        if any(each["leg_index"] < place and each["state"] == "succeeded" for each in legs):
            yield f"{leg} is skipped, and the run has begun"


def _find_unknown(rows: GameRows, plan: Row) -> Iterator[str]:
    """A plan with a run that was abandoned waits for the operator."""
    if plan["status"] != "active" or plan["is_cancelling"]:
        return
    kept = {each["run_id"] for each in rows.channels}
    for leg in _legs(rows, plan):
        if leg["state"] == "abandoned" and leg["id"] in kept:
            yield f"{_name(leg)} is abandoned, and the plan is active"


def _find_left(rows: GameRows, plan: Row) -> Iterator[str]:
    """A plan that has ended has no leg that waits, no paid run and no money."""
    if plan["status"] not in TERMINAL_STATES:
        return
    for leg in _legs(rows, plan):
        if leg["state"] not in FINAL_RUN_STATES:
            yield f"it is {plan['status']}, and {_name(leg)} is {leg['state']}"
    left = plan["runs_credited"] - plan["runs_consumed"]
    if left or plan["credit_held"]:
        yield f"it is {plan['status']}, and holds {plan['credit_held']} for {left} runs"


def spent_of(rows: GameRows) -> Counter[tuple[date, str, str]]:
    """What the envelopes have reserved and cost, by day, scope and name."""
    spent: Counter[tuple[date, str, str]] = Counter()
    for each in rows.attempts:
        day, is_known = each["budget_on"], each["outcome"] in ("success", "failed", "dead")
        cost = (each["fee_charged"] or 0) if is_known else each["fee_limit"]
        loss = 0 if each["outcome"] == "success" else cost
        spent[day, SpendScope.TOTAL.value, ""] += cost
        spent[day, SpendScope.OWNER.value, each["owner"]] += cost
        spent[day, SpendScope.LOSS.value, each["owner"]] += loss
        if each["is_new_owner"]:
            spent[day, SpendScope.NEW_OWNERS.value, ""] += loss
    return spent


def _find_wrong_budgets(rows: GameRows) -> Iterator[str]:
    """What is reserved is what open envelopes may cost and the others have cost."""
    counted = {(each["day"], each["scope"], each["name"]): each["stroops"] for each in rows.spend}
    for place, stroops in spent_of(rows).items():
        if counted.get(place, 0) != stroops:
            yield f"{place} is {counted.get(place, 0)}, and {stroops} by the envelopes"
    for place in counted.keys() - spent_of(rows).keys():
        if counted[place]:
            yield f"{place} is {counted[place]}, and there is no envelope"


def _find_needless_waits(rows: GameRows) -> Iterator[str]:
    """A run of an active plan does not wait for a budget in which there is room."""
    spent, today = spent_of(rows), rows.now.date()
    active = {
        plan["id"]
        for plan in rows.plans
        if plan["status"] == "active" and not plan["is_cancelling"]
    }
    for leg in rows.runs:
        is_waiting = leg["state"] == "deferred" and leg["error_code"] in (
            "budget_total",
            "budget_owner",
        )
        if not is_waiting or leg["proposal_id"] not in active or leg["due_at"] is None:
            continue
        if leg["due_at"] > rows.now and _has_room(rows, spent, today, leg["owner"]):
            yield f"{_name(leg)} waits until {leg['due_at']}, and there is room at {rows.now}"


def _has_room(
    rows: GameRows, spent: Counter[tuple[date, str, str]], today: date, owner: str
) -> bool:
    """Whether an envelope of an owner fits; a loss may be larger than its limit once."""
    for scope in SpendScope:
        name = owner if scope in (SpendScope.OWNER, SpendScope.LOSS) else ""
        used, limit = spent[today, scope.value, name], rows.budgets.limit(scope)
        is_first = scope.value in _LOSS and not used
        if limit and used + FEE > limit and not is_first:
            return False
    return True


def _find_kept(rows: GameRows) -> Iterator[str]:
    """Leases, channels and counts are those of the runs in progress."""
    busy = {leg["id"] for leg in rows.runs if leg["state"] in _BUSY}
    leased = {each["run_id"] for each in rows.leases}
    if busy != leased:
        yield f"{sorted(busy)} are in progress, and {sorted(leased)} are leased"
    for lease in rows.leases:
        if lease["until"] not in rows.granted.get(lease["holder"], ()):
            yield f"the lease of {lease['holder']} ends at {lease['until']}, which it never asked"
    running = Counter(leg["owner"] for leg in rows.runs if leg["state"] in _BUSY)
    for owner in rows.owners:
        if owner["running"] != running[owner["owner"]]:
            yield f"{owner['running']} runs of {owner['owner']} are counted as in progress"
    over = {
        leg["id"]
        for leg in rows.runs
        if leg["state"] in FINAL_RUN_STATES and leg["state"] != "abandoned"
    }
    for channel in rows.channels:
        if channel["run_id"] in over:
            yield f"{channel['run_id']} is over and keeps a channel"


def _legs(rows: GameRows, plan: Row) -> Rows:
    return [run for run in rows.runs if run["proposal_id"] == plan["id"]]


def _name(leg: Row) -> str:
    return f"run {leg['run_index']} leg {leg['leg_index']}"
