"""The effects of a run against those that its plan declares (3.10): before sending, and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from farebox.automation.plans.effects import Effects
from farebox.kernel.addresses import Address
from farebox.stellar.events import ContractEvent, EventKind, looks_like_token_movement
from farebox.stellar.token_events import MovementKind, TokenMovement, read_token_event


class EffectFault(StrEnum):
    """Why effects are refused."""

    UNDECLARED_DEBIT = "undeclared_debit"
    DEBIT_TOO_HIGH = "debit_too_high"
    CREDIT_TOO_LOW = "credit_too_low"
    APPROVAL = "approval"  # the account lets another spend its tokens
    UNREADABLE = "unreadable"  # an event of a token, and not of a known form


@dataclass(frozen=True, slots=True)
class EffectsMeasured:
    """The account's net change in each token, in base units; tokens without one are left out."""

    changes: tuple[tuple[Address, int], ...]


@dataclass(frozen=True, slots=True)
class EffectsRefused:
    """The effects are outside the plan's; `token` is the one they concern."""

    fault: EffectFault
    token: Address | None
    amount: int = 0


def judge_effects(
    events: Sequence[ContractEvent], account: Address, effects: Effects
) -> EffectsMeasured | EffectsRefused:
    """Measure what a run does to the account, and hold it against the plan.

    Events of failed calls and of the network move nothing. What other addresses do to each other
    is not the plan's matter. An approval of 0 takes authority away and is allowed.
    """
    changes: dict[Address, int] = {}
    for event in events:
        if event.kind is not EventKind.CONTRACT or not event.in_successful_call:
            continue
        movement = read_token_event(event)
        if movement is None:
            if looks_like_token_movement(event):
                return EffectsRefused(EffectFault.UNREADABLE, event.contract)
            continue
        if movement.amount < 0:
            return EffectsRefused(EffectFault.UNREADABLE, movement.token)
        if movement.kind is MovementKind.APPROVE:
            if movement.source == account and movement.amount:
                return EffectsRefused(EffectFault.APPROVAL, movement.token, movement.amount)
            continue
        change = _change_of(movement, account)
        changes[movement.token] = changes.get(movement.token, 0) + change
    measured = tuple(sorted((token, change) for token, change in changes.items() if change))
    return _judge_changes(measured, effects) or EffectsMeasured(measured)


def _change_of(movement: TokenMovement, account: Address) -> int:
    received = movement.amount if movement.recipient == account else 0
    return received - (movement.amount if movement.source == account else 0)


def _judge_changes(
    changes: Sequence[tuple[Address, int]], effects: Effects
) -> EffectsRefused | None:
    most = {each.token: each.amount for each in effects.max_debit}
    for token, change in changes:
        if change < 0 and token not in most:
            return EffectsRefused(EffectFault.UNDECLARED_DEBIT, token, -change)
        if change < 0 and -change > most[token]:
            return EffectsRefused(EffectFault.DEBIT_TOO_HIGH, token, -change)
    found = dict(changes)
    for each in effects.min_credit:
        if found.get(each.token, 0) < each.amount:
            received = found.get(each.token, 0)
            return EffectsRefused(EffectFault.CREDIT_TOO_LOW, each.token, received)
    return None
