"""The filters of a list of plans."""

import pytest

from farebox.automation.plans.owned_proposal_store import ProposalFilter
from farebox.automation.plans.wire import PlanKind
from farebox.automation.proposing.list_filter import read_filter
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network


def read(**values: str | set[str]) -> ProposalFilter:
    given = {name: each if isinstance(each, set) else {each} for name, each in values.items()}
    return read_filter(lambda name: given.get(name, set()))


def test_filter_without_parameters_takes_every_plan() -> None:
    assert read() == ProposalFilter()


def test_filter_has_status_kind_and_network() -> None:
    wanted = read(status="executing", kind="dca", network="stellar:pubnet")
    assert wanted == ProposalFilter("executing", PlanKind.DCA, Network.PUBNET)


@pytest.mark.parametrize(
    "values",
    [
        {"status": "running"},
        {"status": ""},
        {"kind": "DCA"},
        {"network": "testnet"},
        {"kind": {"dca", "rebalance"}},
    ],
)
def test_filter_refuses_values_that_no_plan_has(values: dict[str, str | set[str]]) -> None:
    with pytest.raises(Refusal) as refused:
        read(**values)
    assert refused.value.code is ErrorCode.INVALID_FILTER
