"""A session on the real smart accounts: the recorded run passes, every change of it is refused."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pytest
from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionStatus

from farebox.stellar.simulation import SimulationRefused, read_simulation
from support.automation_ledger import AutomationLedger, authorizations, automation_ledger
from support.automation_market import INTERVAL, MONTH, SOLD, SWAP, AutomationMarket
from support.promises import promise
from support.session_specs import SessionSpec, path, signed_close
from support.smart_accounts import GENERATIONS, SmartAccount, one_pair
from testing.smart_accounts import external_signer

NAME: Final = "x4:447mdkve7vfsczx7"
Changes = dict[int, xdr.SCVal]


@dataclass(frozen=True, slots=True)
class Desk:
    """Guard, installer and verifier, and a market."""

    ledger: AutomationLedger
    guard: str
    installer: str
    verifier: str
    market: AutomationMarket

    def spec(self, account: str, life: int) -> SessionSpec:
        """Three swaps within this time."""
        now, calls = self.ledger.now, self.market.dca_calls()
        caps = ((self.ledger.asset, SOLD, 3 * SOLD),)
        return SessionSpec(
            account,
            "session",
            Keypair.random(),
            calls,
            caps,
            now,
            now + life,
            INTERVAL,
        )


@dataclass(frozen=True, slots=True)
class Session:
    """An installed session of one account."""

    desk: Desk
    account: SmartAccount
    spec: SessionSpec
    rules: tuple[int, ...]

    def run(self, changes: Changes | None = None, key: Keypair | None = None) -> Operation:
        """A swap that the delegate, or another key, has signed."""
        sign = self.account.by_delegate(key or self.spec.delegate, self.rules)
        market = self.desk.market
        args = market.swap_args(self.account.address, changes)
        return self.desk.ledger.signed(market.router, SWAP, args, sign)

    def transfer(self, to: str, amount: int) -> Operation:
        """A transfer as a root call, signed by the delegate under the token's rule."""
        sign = self.account.by_delegate(self.spec.delegate, self.rules[1:])
        parties = [scval.to_address(self.account.address), scval.to_address(to)]
        ledger = self.desk.ledger
        return ledger.signed(ledger.asset, "transfer", [*parties, scval.to_int128(amount)], sign)


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with automation_ledger() as ledger:
        guard, installer = ledger.deploy("session_guard"), ledger.deploy("session_installer")
        verifier, market = ledger.deploy("ed25519_verifier"), AutomationMarket.deploy(ledger)
        yield Desk(ledger, guard, installer, verifier, market)


def install(desk: Desk, account: SmartAccount, spec: SessionSpec) -> Operation:
    ledger = desk.ledger
    args = [
        scval.to_address(account.address),
        scval.to_address(desk.guard),
        scval.to_address(desk.verifier),
        spec.value(),
        scval.to_string(NAME),
        scval.to_uint32(ledger.sequence + 100_000),
    ]
    return ledger.signed(desk.installer, "install", args, account.by_owner)


@pytest.fixture
def session(desk: Desk, request: pytest.FixtureRequest) -> Session:
    """A session that the owner installed with one signature, on an account of generation C."""
    return installed(desk, getattr(request, "param", "c"))


@pytest.fixture(scope="module")
def unused(desk: Desk) -> Session:
    """A session for tests in which nothing lands; it outlives the jumps of the others."""
    return installed(desk, "c", life=12 * MONTH)


def installed(desk: Desk, generation: str, life: int = MONTH) -> Session:
    account = SmartAccount.deploy(desk.ledger, generation, desk.verifier)
    desk.ledger.give(desk.ledger.asset, account.address, 10 * SOLD)
    spec = desk.spec(account.address, life)
    ids = desk.ledger.land(install(desk, account, spec))
    rules = tuple(scval.from_uint32(each) for each in scval.from_vec(ids))
    return Session(desk, account, spec, rules)


def refused(session: Session, operation: Operation, code: int) -> None:
    """The guard refuses the operation with this code."""
    error = session.desk.ledger.refusal(operation)
    assert f"Error(Contract, #{code})" in error, error
    read = read_simulation({"latestLedger": 1, "error": error})
    assert isinstance(read, SimulationRefused)
    assert read.contract_error == code


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_session_makes_its_run_once_an_interval_until_it_is_used_up(session: Session) -> None:
    ledger, account = session.desk.ledger, session.account.address
    for _ in range(3):
        held = ledger.balance(ledger.asset, account)
        coin = ledger.balance(ledger.native, account)
        ledger.land(session.run())
        assert ledger.balance(ledger.asset, account) == held - SOLD
        assert ledger.balance(ledger.native, account) >= coin + SOLD // 2
        ledger.pass_time(INTERVAL)
    refused(session, session.run(), 4012)


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_every_changed_argument_of_the_run_is_refused(session: Session) -> None:
    desk, ledger = session.desk, session.desk.ledger
    stranger = scval.to_address(desk.installer)
    changes: list[Changes] = [
        {0: scval.to_int128(SOLD + 1)},
        {0: scval.to_int128(SOLD - 1)},
        {1: scval.to_int128(SOLD // 2 - 1)},
        {4: scval.to_uint64(ledger.now + 3_600)},
    ]
    for change in changes:
        refused(session, session.run(change), 4010)
    # these the router refuses without the account, so the entry of the recorded run is used
    recorded = session.run()
    (entry,) = authorizations(recorded)
    for index, value in ((2, path(ledger.native, ledger.asset)), (3, stranger)):
        function = entry.root_invocation.function.contract_fn
        assert function is not None
        kept, function.args[index] = function.args[index], value
        signed = session.account.by_delegate(session.spec.delegate, session.rules)(entry)
        authorizations(recorded)[:] = [signed]
        assert "Error(Auth" in ledger.refusal(recorded)
        function.args[index] = kept
    ledger.land(session.run())


@promise("automation:exact-call")
def test_another_contract_or_function_is_refused(unused: Session) -> None:
    desk, ledger = unused.desk, unused.desk.ledger
    other = replace(desk.market, router=ledger.deploy("router", path(desk.market.pair)))
    elsewhere = replace(unused, desk=replace(desk, market=other))
    assert "#3002" in ledger.refusal(elsewhere.run()), "the account has no rule for it"
    sign = unused.account.by_delegate(unused.spec.delegate, unused.rules[1:])
    holder = scval.to_address(unused.account.address)
    burn = ledger.signed(ledger.asset, "burn", [holder, scval.to_int128(1)], sign)
    refused(unused, burn, 4009)
    spender = [holder, scval.to_address(desk.installer), scval.to_int128(1)]
    approve = [*spender, scval.to_uint32(ledger.sequence + 100)]
    refused(unused, ledger.signed(ledger.asset, "approve", approve, sign), 4009)


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_transfer_as_a_root_is_refused_before_and_after_a_run(session: Session) -> None:
    desk, ledger = session.desk, session.desk.ledger
    refused(session, session.transfer(desk.market.pair, SOLD), 4011)
    refused(session, session.transfer(desk.installer, SOLD), 4010)
    ledger.land(session.run())
    refused(session, session.transfer(desk.market.pair, SOLD), 4011)


def test_call_of_the_account_or_the_guard_by_the_delegate_is_refused(unused: Session) -> None:
    ledger, account = unused.desk.ledger, unused.account
    for rule_id in (0, *unused.rules):
        sign = account.by_delegate(unused.spec.delegate, [rule_id])
        remove = ledger.signed(
            account.address, "remove_context_rule", [scval.to_uint32(unused.rules[0])], sign
        )
        assert ledger.refusal(remove) != ""
    holder, id_ = scval.to_address(account.address), scval.to_bytes(unused.spec.policy_id())
    sign = account.by_delegate(unused.spec.delegate, unused.rules[:1])
    close = ledger.signed(unused.desk.guard, "close", [holder, id_, scval.to_void()], sign)
    assert "#3002" in ledger.refusal(close)


def test_run_too_early_or_after_the_plan_is_refused(session: Session) -> None:
    ledger = session.desk.ledger
    ledger.land(session.run())
    refused(session, session.run(), 4013)
    later = replace(session.spec, not_before=ledger.now + 3_600, delegate=Keypair.random())
    ids = ledger.land(install(session.desk, session.account, later))
    rules = tuple(scval.from_uint32(each) for each in scval.from_vec(ids))
    waiting = replace(session, spec=later, rules=rules)
    refused(waiting, waiting.run(), 4003)
    ledger.pass_time(MONTH + 1)
    refused(session, session.run(), 4004)


def test_run_without_the_delegates_signature_is_refused(unused: Session) -> None:
    ledger = unused.desk.ledger
    assert "#3016" in ledger.refusal(unused.run(key=Keypair.random())), "a signer of no rule"
    unsigned = unused.run()
    (entry,) = authorizations(unsigned)
    credentials = entry.credentials.address or entry.credentials.address_v2
    assert credentials is not None
    ids = scval.to_vec([scval.to_uint32(each) for each in unused.rules])
    nobody = scval.to_struct({"context_rule_ids": ids, "signers": scval.to_map({})})
    credentials.signature = nobody
    refused(unused, unsigned, 4005)


def test_closed_session_makes_no_run(session: Session) -> None:
    desk, ledger = session.desk, session.desk.ledger
    holder, id_ = (
        scval.to_address(session.account.address),
        scval.to_bytes(session.spec.policy_id()),
    )
    ledger.call(desk.guard, "close", holder, id_, signed_close(desk.guard, session.spec))
    refused(session, session.run(), 4002)


def test_removed_rules_end_the_session(session: Session) -> None:
    desk, ledger = session.desk, session.desk.ledger
    ids = scval.to_vec([scval.to_uint32(each) for each in session.rules])
    args = [scval.to_address(session.account.address), ids]
    ledger.land(ledger.signed(desk.installer, "remove", args, session.account.by_owner))
    assert "#3000" in ledger.refusal(session.run()), "the account has no such rule"
    refused(session, install(desk, session.account, session.spec), 4002)


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_one_removed_rule_closes_the_session(session: Session) -> None:
    ledger, account = session.desk.ledger, session.account
    args = [scval.to_uint32(session.rules[1])]
    ledger.land(ledger.signed(account.address, "remove_context_rule", args, account.by_owner))
    sign = account.by_delegate(session.spec.delegate, [session.rules[0], session.rules[0]])
    market = session.desk.market
    run = ledger.signed(market.router, SWAP, market.swap_args(account.address), sign)
    assert ledger.refusal(run) != ""
    sheet = ledger.read(
        session.desk.guard,
        "session",
        scval.to_address(account.address),
        scval.to_bytes(session.spec.policy_id()),
    )
    assert scval.from_struct(sheet)["closed"] == scval.to_bool(True)


def test_second_installation_is_refused(unused: Session) -> None:
    refused(unused, install(unused.desk, unused.account, unused.spec), 4007)


def test_guard_refuses_a_rule_for_everything(unused: Session) -> None:
    desk, ledger, account = unused.desk, unused.desk.ledger, unused.account
    spec = replace(unused.spec, delegate=Keypair.random())
    args = [
        scval.to_vec([scval.to_symbol("Default")]),
        scval.to_string(NAME),
        scval.to_uint32(ledger.sequence + 1_000),
        scval.to_vec([external_signer(desk.verifier, spec.delegate)]),
        one_pair(scval.to_address(desk.guard), spec.value()),
    ]
    wide = ledger.signed(account.address, "add_context_rule", args, account.by_owner)
    refused(unused, wide, 4006)


def test_refused_run_fails_on_the_ledger_as_well(session: Session) -> None:
    """Sent past the simulation, with the resources of a run that passes."""
    ledger, good = session.desk.ledger, session.run()
    held = ledger.balance(ledger.asset, session.account.address)
    bad = session.run({1: scval.to_int128(1)})
    assert ledger.land_prepared(bad, like=good) is GetTransactionStatus.FAILED
    assert ledger.balance(ledger.asset, session.account.address) == held
    assert ledger.land_prepared(good, like=good) is GetTransactionStatus.SUCCESS
