"""Targets of automation: one that keeps the convention, and one for each way to break it."""

from collections.abc import Iterator
from typing import Final

import pytest
from stellar_sdk import scval

from support.automation_ledger import AutomationLedger, automation_ledger
from support.promises import promise
from testing.contracts import call

FAULTS: Final = {
    0: ("autolayer_check", "Error(Contract, #1)"),
    2: ("autolayer_check", "Budget"),
    4: ("autolayer_run", "Error(Contract, #1)"),
    5: ("autolayer_run", "Budget"),
}


@pytest.fixture(scope="module")
def ledger() -> Iterator[AutomationLedger]:
    with automation_ledger() as running:
        yield running


@promise("automation:no-security-boundary")
def test_keeper_counts_a_run_when_it_is_due_and_its_gap_has_passed(
    ledger: AutomationLedger,
) -> None:
    keeper = ledger.deploy("keeper", scval.to_bool(False), scval.to_uint64(60))
    executor = scval.to_address(ledger.payer.public_key)

    def is_due() -> bool:
        return scval.from_bool(ledger.read(keeper, "autolayer_check"))

    def refusal() -> str:
        return ledger.refusal(call(keeper, "autolayer_run", [executor]))

    assert is_due()
    assert scval.from_uint32(ledger.call(keeper, "autolayer_run", executor)) == 1
    assert not is_due()
    assert "#2" in refusal()
    ledger.pass_time(60)
    assert is_due()
    ledger.call(keeper, "arrange", scval.to_bool(False))
    assert not is_due()
    assert "#1" in refusal()
    state = scval.from_struct(ledger.read(keeper, "state"))
    assert state["count"] == scval.to_uint32(1)


def test_keeper_takes_what_it_is_fed(ledger: AutomationLedger) -> None:
    keeper = ledger.deploy("keeper", scval.to_bool(False), scval.to_uint64(0))
    parties = [scval.to_address(ledger.payer.public_key), scval.to_address(ledger.asset)]
    ledger.call(keeper, "feed", *parties, scval.to_int128(5))
    assert ledger.balance(ledger.asset, keeper) == 5


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_keeper_fails_or_does_not_end(ledger: AutomationLedger, fault: int) -> None:
    keeper = ledger.deploy("faulty_keeper", scval.to_uint32(fault))
    function, reason = FAULTS[fault]
    executor = [scval.to_address(ledger.payer.public_key)]
    arguments = executor if function == "autolayer_run" else []
    assert reason in ledger.refusal(call(keeper, function, arguments))


def test_faulty_keeper_returns_no_boolean(ledger: AutomationLedger) -> None:
    keeper = ledger.deploy("faulty_keeper", scval.to_uint32(1))
    assert ledger.read(keeper, "autolayer_check") == scval.to_uint32(1)


def test_upgraded_keeper_is_another_contract(ledger: AutomationLedger) -> None:
    keeper = ledger.deploy("keeper", scval.to_bool(False), scval.to_uint64(0))
    ledger.call(keeper, "upgrade", scval.to_bytes(ledger.upload("price_feed")))
    assert scval.from_uint32(ledger.read(keeper, "decimals")) == 14
