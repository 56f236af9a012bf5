"""The negative twins of a plan's run: one change each, and why the chain must refuse it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from stellar_sdk import scval, xdr
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionStatus

from e2e.automation_calls import MadeRun
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from testing.automation_cases import LEGS, MANDATE, OPEN, PRESIGNED, SESSION, SOLD, Case, Place
from testing.automation_chain import AutomationChain, Resources


class Change(StrEnum):
    """The one thing that differs from a run that passes."""

    ARGUMENT = "argument"
    RECIPIENT = "recipient"
    AMOUNT = "amount"
    CONTRACT = "contract"
    TOO_EARLY = "too early"
    ONCE_TOO_OFTEN = "once too often"
    AFTER_EXPIRY = "after expiry"
    AFTER_CLOSING = "after closing"


CONTENT: Final = (Change.ARGUMENT, Change.RECIPIENT, Change.AMOUNT, Change.CONTRACT)
_NOBODY: Final = "Nobody's signature stands for the run: the keeper decides by its own state alone."
GAPS: Final[Mapping[AuthorityMode, Mapping[Change, str]]] = MappingProxyType(
    {
        OPEN: {
            Change.ARGUMENT: f"{_NOBODY} Its one argument, the executor, may be anybody.",
            Change.RECIPIENT: f"{_NOBODY} The run moves no token of the owner.",
            Change.AMOUNT: f"{_NOBODY} The run moves no token of the owner.",
            Change.CONTRACT: f"{_NOBODY} Calling another contract is no use of the plan.",
            Change.ONCE_TOO_OFTEN: f"{_NOBODY} It has no number of runs, only its gap.",
            Change.AFTER_EXPIRY: f"{_NOBODY} It has no end.",
        },
        PRESIGNED: {
            Change.TOO_EARLY: "A signed entry has a last ledger and no first one: whoever holds it"
            " can use it at once (docs/automation.md, the worst case of the mode).",
            Change.AFTER_CLOSING: "The ledger knows nothing of a signed entry before it is used:"
            " cancelling destroys the service's copy, and the owner's own copy stays valid.",
        },
        MANDATE: {},
        SESSION: {},
    }
)
_SIGNATURE: Final = "Error(Auth"  # the signature is of another tree of calls
_CODES: Final[Mapping[Change, str]] = MappingProxyType(
    {
        Change.ARGUMENT: "Error(Contract, #4010)",
        Change.RECIPIENT: "Error(Contract, #4010)",
        Change.AMOUNT: "Error(Contract, #4010)",
        Change.TOO_EARLY: "Error(Contract, #4013)",
        Change.ONCE_TOO_OFTEN: "Error(Contract, #4012)",
        Change.AFTER_EXPIRY: "Error(Contract, #4004)",
        Change.AFTER_CLOSING: "Error(Contract, #4002)",
    }
)
EXPECTED: Final[Mapping[AuthorityMode, Mapping[Change, str]]] = MappingProxyType(
    {
        OPEN: {
            Change.TOO_EARLY: "Error(Contract, #2)",  # the keeper's gap has not passed
            Change.AFTER_CLOSING: "Error(Contract, #1)",  # its owner has switched it off
        },
        PRESIGNED: dict.fromkeys(
            (*CONTENT, Change.ONCE_TOO_OFTEN, Change.AFTER_EXPIRY), _SIGNATURE
        ),
        # a mandate's run names calls by their places: another contract is a place that is not there
        MANDATE: {**_CODES, Change.CONTRACT: "Error(Contract, #4009)"},
        # the account has no rule for another contract
        SESSION: {**_CODES, Change.CONTRACT: "Error(Contract, #3002)"},
    }
)


def changes_of(mode: AuthorityMode) -> list[Change]:
    """The twins of a mode, each of which the chain must refuse."""
    return [each for each in Change if each not in GAPS[mode]]


def changed_run(case: Case, change: Change, run: MadeRun, place: Place) -> MadeRun:
    """A run with one change of its content."""
    root, stranger = run.root, scval.to_address(place.stranger)
    if change is Change.CONTRACT:
        other = {
            place.keeper: place.other_keeper,
            place.router: place.other_router,
            place.asset: place.native,
        }
        return replace(run, root=replace(root, contract=other[root.contract], index=7))
    if change is Change.RECIPIENT:
        if run.nested is None:
            return replace(run, root=root.but(1, stranger))
        return replace(run, nested=run.nested.but(1, stranger))
    place_of, value = _changed_value(case, change, place)
    return replace(run, root=root.but(place_of, value))


def _changed_value(case: Case, change: Change, place: Place) -> tuple[int, xdr.SCVal]:
    """The argument that a change is of, and its other value."""
    more = scval.to_int128(SOLD + 1)
    if case.kind is PlanKind.DISBURSEMENT:
        # the amount of another recipient, or one that nobody gets
        units = LEGS[1] if change is Change.ARGUMENT else LEGS[0] + 1000
        return 2, scval.to_int128(units)
    if case.kind is PlanKind.CONTRACT_CALL:
        if change is Change.AMOUNT:
            return 2, more
        if case.mode is PRESIGNED:
            return 0, scval.to_address(place.stranger)  # as if somebody else paid
        return 1, scval.to_address(place.native)  # another token
    if change is Change.AMOUNT:
        return 0, more
    return 1, scval.to_int128(1)  # the least that the swap brings, below the owner's floor


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the chain did with a twin; `fault` is empty where it refused it for the right reason."""

    change: Change
    fault: str = ""


async def judge(
    chain: AutomationChain, case: Case, change: Change, twin: Operation, like: Resources
) -> Verdict:
    """Submit a twin with the resources of a run that passes; the chain must refuse it."""
    wanted = EXPECTED[case.mode][change]
    refusal = await chain.refusal(twin)
    status = await chain.land_with(twin, like)
    if status is not GetTransactionStatus.FAILED:
        return Verdict(change, f"{case.name}: {change}: the ledger has it as {status}")
    if wanted not in refusal:
        said = refusal.replace("\n", " ")[:600] or "nothing"
        return Verdict(change, f"{case.name}: {change}: expected {wanted}, refused by {said}")
    return Verdict(change)
