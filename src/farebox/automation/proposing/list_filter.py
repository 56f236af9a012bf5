"""The filters of a list of plans."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, TypeVar

from farebox.automation.plans.owned_proposal_store import ProposalFilter
from farebox.automation.plans.proposal_state import EXECUTING, ProposalState
from farebox.automation.plans.wire import PlanKind
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network

STATUSES: Final = (*(state.value for state in ProposalState), EXECUTING)

Member = TypeVar("Member", bound=StrEnum)


def read_filter(values_of: Callable[[str], set[str]]) -> ProposalFilter:
    """Read the filters; `values_of` gives the distinct values of a parameter.

    Raises:
        Refusal: `invalid_filter`.
    """
    status = _read_one(values_of("status"), "status")
    if status is not None and status not in STATUSES:
        raise _refusal("status", STATUSES)
    kind, network = (_read_one(values_of(name), name) for name in ("kind", "network"))
    return ProposalFilter(
        status,
        None if kind is None else _member(PlanKind, kind, "kind"),
        None if network is None else _member(Network, network, "network"),
    )


def _read_one(values: set[str], name: str) -> str | None:
    if len(values) > 1:
        raise Refusal(ErrorCode.INVALID_FILTER, f"{name} has one value.")
    return next(iter(values), None)


def _member(kind: type[Member], value: str, name: str) -> Member:
    try:
        return kind(value)
    except ValueError:
        raise _refusal(name, tuple(each.value for each in kind)) from None


def _refusal(name: str, values: tuple[str, ...]) -> Refusal:
    return Refusal(ErrorCode.INVALID_FILTER, f"{name} is one of {', '.join(values)}.")
