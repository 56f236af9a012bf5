"""A mandate on the real host: the owner signs once, runs need the delegate's signature alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pytest
from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.auth import authorize_entry
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionStatus

from support.automation_ledger import AutomationLedger, Entry, automation_ledger
from support.automation_market import INTERVAL, MONTH, SOLD, AutomationMarket
from support.running_devnet import TESTNET
from support.session_specs import (
    ListedCall,
    SessionSpec,
    invocations,
    path,
    rule,
    signed_close,
    signed_run,
)
from testing.contracts import call, contract_of

LIFE: Final = 100_000  # ledgers that approvals live
Calls = Sequence[tuple[int, list[xdr.SCVal]]]


@dataclass(frozen=True, slots=True)
class Desk:
    """The factory, a keeper and a market."""

    ledger: AutomationLedger
    factory: str
    keeper: str
    market: AutomationMarket


@dataclass(frozen=True, slots=True)
class Mandate:
    """An opened mandate of a classic account."""

    desk: Desk
    owner: Keypair
    spec: SessionSpec
    address: str

    def run(self, calls: Calls, index: int = 1, *, late: bool = False) -> Operation:
        """A run that the delegate has signed, as anybody submits it."""
        until = self.desk.ledger.sequence + (-1 if late else 24)
        args = signed_run(self.address, self.spec, index, until, invocations(*calls))
        return call(self.address, "run", args)

    def swap(self, changes: dict[int, xdr.SCVal] | None = None) -> Calls:
        """The recorded calls, some arguments of the swap changed."""
        market = self.desk.market
        pay = [scval.to_address(self.address), scval.to_address(market.pair), scval.to_int128(SOLD)]
        return [(0, market.swap_args(self.address, changes)), (1, pay)]


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with automation_ledger() as ledger:
        factory = ledger.deploy("mandate_factory", scval.to_bytes(ledger.upload("mandate")))
        keeper = ledger.deploy("keeper", scval.to_bool(True), scval.to_uint64(0))
        yield Desk(ledger, factory, keeper, AutomationMarket.deploy(ledger))


def dca(desk: Desk, owner: Keypair) -> SessionSpec:
    """Three swaps within a month."""
    now, calls = desk.ledger.now, desk.market.dca_calls()
    caps = ((desk.ledger.asset, SOLD, 3 * SOLD), (desk.ledger.native, 0, 0))
    return SessionSpec(
        owner.public_key,
        "mandate",
        Keypair.random(),
        calls,
        caps,
        now,
        now + MONTH,
        INTERVAL,
    )


def opening(desk: Desk, owner: Keypair, spec: SessionSpec) -> Operation:
    """The call of the factory, with the owner's one signature."""
    ledger = desk.ledger
    until = ledger.sequence + LIFE

    def sign(entry: Entry) -> Entry:
        return authorize_entry(entry, owner, ledger.sequence + 24, TESTNET)

    return ledger.signed(desk.factory, "open", [spec.value(), scval.to_uint32(until)], sign)


@pytest.fixture
def owner(desk: Desk) -> Keypair:
    """A payer's account with some of the asset."""
    return desk.ledger.payer


@pytest.fixture
def mandate(desk: Desk, owner: Keypair) -> Mandate:
    return opened(desk, owner, dca(desk, owner))


def opened(desk: Desk, owner: Keypair, spec: SessionSpec) -> Mandate:
    ledger = desk.ledger
    place = ledger.read(desk.factory, "address_of", scval.to_bytes(spec.policy_id()))
    address = contract_of(ledger.land(opening(desk, owner, spec)))
    assert address == contract_of(place), "known before it exists"
    return Mandate(desk, owner, spec, address)


def refused(mandate: Mandate, operation: Operation, code: int) -> None:
    error = mandate.desk.ledger.refusal(operation)
    assert f"Error(Contract, #{code})" in error, error


def test_mandate_makes_its_run_once_an_interval_until_it_is_used_up(mandate: Mandate) -> None:
    ledger, owner = mandate.desk.ledger, mandate.owner.public_key
    for index in (1, 2, 5):
        held = ledger.balance(ledger.asset, owner)
        ledger.land(mandate.run(mandate.swap(), index))
        assert ledger.balance(ledger.asset, owner) == held - SOLD
        for token in (ledger.asset, ledger.native):
            assert ledger.balance(token, mandate.address) == 0
        ledger.pass_time(INTERVAL)
    refused(mandate, mandate.run(mandate.swap(), 6), 4012)
    allowance = ledger.read(
        ledger.asset, "allowance", scval.to_address(owner), scval.to_address(mandate.address)
    )
    assert scval.from_int128(allowance) == 0


def test_every_changed_argument_of_the_run_is_refused(mandate: Mandate) -> None:
    ledger, desk = mandate.desk.ledger, mandate.desk
    for changes in (
        {0: scval.to_int128(SOLD + 1)},
        {0: scval.to_int128(SOLD - 1)},
        {1: scval.to_int128(SOLD // 2 - 1)},
        {2: path(ledger.native, ledger.asset)},
        {3: scval.to_address(desk.keeper)},
        {3: scval.to_address(mandate.owner.public_key)},
        {4: scval.to_uint64(ledger.now + 3_600)},
        {4: scval.to_uint64(ledger.now - 3_600)},
    ):
        refused(mandate, mandate.run(mandate.swap(changes)), 4010)
    swap, (_, pay) = mandate.swap()
    others = (scval.to_address(desk.market.pair), scval.to_address(desk.keeper))
    for index, value in enumerate((*others, scval.to_int128(SOLD + 1))):
        changed = list(pay)
        changed[index] = value
        refused(mandate, mandate.run([swap, (1, changed)]), 4010)
    ledger.land(mandate.run(mandate.swap()))


def test_run_that_the_delegate_did_not_sign_is_refused(mandate: Mandate) -> None:
    ledger = mandate.desk.ledger
    thief = replace(mandate, spec=replace(mandate.spec, delegate=Keypair.random()))
    until, calls = ledger.sequence + 24, invocations(*mandate.swap())
    genuine = signed_run(mandate.address, mandate.spec, 1, until, calls)
    forged = signed_run(thief.address, thief.spec, 1, until, calls)
    changed = [scval.to_uint32(2), *genuine[1:]]
    for args in ([*genuine[:3], forged[3]], changed):
        assert "Crypto" in ledger.refusal(call(mandate.address, "run", args))
    ledger.land(call(mandate.address, "run", genuine))


def test_run_too_early_too_late_or_with_a_used_index_is_refused(mandate: Mandate) -> None:
    ledger = mandate.desk.ledger
    refused(mandate, mandate.run(mandate.swap(), late=True), 4017)
    ledger.land(mandate.run(mandate.swap()))
    refused(mandate, mandate.run(mandate.swap(), 1), 4016)
    refused(mandate, mandate.run(mandate.swap(), 2), 4013)
    ledger.pass_time(MONTH + 1)
    refused(mandate, mandate.run(mandate.swap(), 2), 4004)


def test_calls_that_are_not_one_run_are_refused(mandate: Mandate) -> None:
    swap, pay = mandate.swap()
    for calls in ([], [pay], [swap, swap], [swap, pay, pay]):
        refused(mandate, mandate.run(calls), 4018)
    refused(mandate, mandate.run([(2, swap[1])]), 4009)


def test_closed_mandate_makes_no_run(mandate: Mandate) -> None:
    signature = signed_close(mandate.address, mandate.spec)
    mandate.desk.ledger.call(mandate.address, "close", signature)
    refused(mandate, mandate.run(mandate.swap()), 4002)


def test_mandate_is_not_opened_twice_or_by_a_stranger(mandate: Mandate) -> None:
    desk, ledger = mandate.desk, mandate.desk.ledger
    assert ledger.refusal(opening(desk, mandate.owner, mandate.spec)) != ""
    other = replace(mandate.spec, account=ledger.account().public_key)
    forged = opening(desk, mandate.owner, other)
    assert "Error(Auth" in ledger.refusal(forged), "signed by another account than the owner"


def test_keeper_runs_with_the_mandate_as_executor(desk: Desk, owner: Keypair) -> None:
    calls = (ListedCall(desk.keeper, "autolayer_run", (rule("Actor"),)),)
    spec = replace(dca(desk, owner), calls=calls, caps=())
    mandate = opened(desk, owner, spec)
    refused(mandate, mandate.run([(0, [scval.to_address(owner.public_key)])]), 4010)
    ledger = desk.ledger
    counted = ledger.land(mandate.run([(0, [scval.to_address(mandate.address)])]))
    assert scval.from_uint32(counted) == 1


def test_refused_run_fails_on_the_ledger_as_well(mandate: Mandate) -> None:
    """Sent past the simulation, with the resources of a run that passes."""
    ledger, owner = mandate.desk.ledger, mandate.owner.public_key
    good, held = mandate.run(mandate.swap()), ledger.balance(ledger.asset, mandate.owner.public_key)
    bad = mandate.run(mandate.swap({1: scval.to_int128(1)}))
    assert ledger.land_prepared(bad, like=good) is GetTransactionStatus.FAILED
    assert ledger.balance(ledger.asset, owner) == held
    assert ledger.land_prepared(good, like=good) is GetTransactionStatus.SUCCESS
