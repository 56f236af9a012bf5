"""A session on the real smart accounts: the recorded run passes, every change of it is refused."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pytest
from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionStatus

from support.automation_ledger import AutomationLedger, authorizations, automation_ledger
from support.session_specs import ListedCall, SessionSpec, eq, path, rule, signed_close
from support.smart_accounts import GENERATIONS, SmartAccount, one_pair, signer

SOLD: Final = 1_000
LIQUIDITY: Final = 10_000_000
MONTH: Final = 30 * 86_400
INTERVAL: Final = 60
NAME: Final = "x4:447mdkve7vfsczx7"
Changes = dict[int, xdr.SCVal]


@dataclass(frozen=True, slots=True)
class Market:
    """Guard, installer, verifier, and a market of the two tokens."""

    ledger: AutomationLedger
    guard: str
    installer: str
    verifier: str
    pair: str
    router: str

    def spec(self, account: str) -> SessionSpec:
        """Sell an amount of the asset for coin, at half of it at least."""
        asset, now = self.ledger.asset, self.ledger.now
        amount = scval.to_int128(SOLD)
        rate = (scval.to_uint32(0), scval.to_int128(1), scval.to_int128(2))
        swap = (
            eq(amount),
            rule("MinRate", *rate),
            eq(path(asset, self.ledger.native)),
            rule("Account"),
            rule("TimeWithin", scval.to_uint64(600)),
        )
        pay = (rule("Account"), eq(scval.to_address(self.pair)), eq(amount))
        calls = (
            ListedCall(self.router, "swap_exact_tokens_for_tokens", swap),
            ListedCall(asset, "transfer", pay, amount=2, under=0),
        )
        caps = ((asset, SOLD, 3 * SOLD),)
        return SessionSpec(
            account, "session", Keypair.random(), calls, caps, now, now + MONTH, INTERVAL
        )


@dataclass(frozen=True, slots=True)
class Session:
    """An installed session of one account."""

    market: Market
    account: SmartAccount
    spec: SessionSpec
    rules: tuple[int, ...]

    def swap_args(self, changes: Changes | None = None) -> list[xdr.SCVal]:
        """The arguments of the recorded swap, some of them changed."""
        ledger = self.market.ledger
        args = [
            scval.to_int128(SOLD),
            scval.to_int128(SOLD // 2),
            path(ledger.asset, ledger.native),
            scval.to_address(self.account.address),
            scval.to_uint64(ledger.now + 300),
        ]
        for index, value in (changes or {}).items():
            args[index] = value
        return args

    def run(self, changes: Changes | None = None, key: Keypair | None = None) -> Operation:
        """A swap that the delegate, or another key, has signed."""
        sign = self.account.by_delegate(key or self.spec.delegate, self.rules)
        ledger, router = self.market.ledger, self.market.router
        return ledger.signed(router, "swap_exact_tokens_for_tokens", self.swap_args(changes), sign)

    def transfer(self, to: str, amount: int) -> Operation:
        """A transfer as a root call, signed by the delegate under the token's rule."""
        sign = self.account.by_delegate(self.spec.delegate, self.rules[1:])
        parties = [scval.to_address(self.account.address), scval.to_address(to)]
        ledger = self.market.ledger
        return ledger.signed(ledger.asset, "transfer", [*parties, scval.to_int128(amount)], sign)


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with automation_ledger() as ledger:
        pair = ledger.deploy(
            "pool", scval.to_address(ledger.asset), scval.to_address(ledger.native)
        )
        for token in (ledger.asset, ledger.native):
            ledger.give(token, pair, LIQUIDITY)
        ledger.call(pair, "sync")
        yield Market(
            ledger,
            ledger.deploy("session_guard"),
            ledger.deploy("session_installer"),
            ledger.deploy("ed25519_verifier"),
            pair,
            ledger.deploy("router", path(pair)),
        )


def install(market: Market, account: SmartAccount, spec: SessionSpec) -> Operation:
    ledger = market.ledger
    args = [
        scval.to_address(account.address),
        scval.to_address(market.guard),
        scval.to_address(market.verifier),
        spec.value(),
        scval.to_string(NAME),
        scval.to_uint32(ledger.sequence + 100_000),
    ]
    return ledger.signed(market.installer, "install", args, account.by_owner)


@pytest.fixture
def session(market: Market, request: pytest.FixtureRequest) -> Session:
    """A session that the owner installed with one signature, on an account of generation C."""
    generation = getattr(request, "param", "c")
    account = SmartAccount.deploy(market.ledger, generation, market.verifier)
    market.ledger.give(market.ledger.asset, account.address, 10 * SOLD)
    spec = market.spec(account.address)
    ids = market.ledger.land(install(market, account, spec))
    rules = tuple(scval.from_uint32(each) for each in scval.from_vec(ids))
    return Session(market, account, spec, rules)


def refused(session: Session, operation: Operation, code: int) -> None:
    """The guard refuses the operation with this code."""
    error = session.market.ledger.refusal(operation)
    assert f"Error(Contract, #{code})" in error, error


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_session_makes_its_run_once_an_interval_until_it_is_used_up(session: Session) -> None:
    ledger, account = session.market.ledger, session.account.address
    for _ in range(3):
        held = ledger.balance(ledger.asset, account)
        coin = ledger.balance(ledger.native, account)
        ledger.land(session.run())
        assert ledger.balance(ledger.asset, account) == held - SOLD
        assert ledger.balance(ledger.native, account) >= coin + SOLD // 2
        ledger.pass_time(INTERVAL)
    refused(session, session.run(), 12)


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_every_changed_argument_of_the_run_is_refused(session: Session) -> None:
    market, ledger = session.market, session.market.ledger
    stranger = scval.to_address(market.installer)
    changes: list[Changes] = [
        {0: scval.to_int128(SOLD + 1)},
        {0: scval.to_int128(SOLD - 1)},
        {1: scval.to_int128(SOLD // 2 - 1)},
        {4: scval.to_uint64(ledger.now + 3_600)},
    ]
    for change in changes:
        refused(session, session.run(change), 10)
    # these the router refuses without the account, so the entry of the recorded run is used
    recorded = session.run()
    (entry,) = authorizations(recorded)
    for index, value in ((2, path(ledger.native, ledger.asset)), (3, stranger)):
        function = entry.root_invocation.function.contract_fn
        assert function is not None
        kept, function.args[index] = function.args[index], value
        signed = session.account.sign(entry, session.spec.delegate, session.rules)
        authorizations(recorded)[:] = [signed]
        assert "Error(Auth" in ledger.refusal(recorded)
        function.args[index] = kept
    ledger.land(session.run())


def test_another_contract_or_function_is_refused(session: Session) -> None:
    market, ledger = session.market, session.market.ledger
    other = replace(market, router=ledger.deploy("router", path(market.pair)))
    elsewhere = replace(session, market=other)
    assert "#3002" in ledger.refusal(elsewhere.run()), "the account has no rule for it"
    sign = session.account.by_delegate(session.spec.delegate, session.rules[1:])
    holder = scval.to_address(session.account.address)
    burn = ledger.signed(ledger.asset, "burn", [holder, scval.to_int128(1)], sign)
    refused(session, burn, 9)
    spender = [holder, scval.to_address(market.installer), scval.to_int128(1)]
    approve = [*spender, scval.to_uint32(ledger.sequence + 100)]
    refused(session, ledger.signed(ledger.asset, "approve", approve, sign), 9)


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_transfer_as_a_root_is_refused_before_and_after_a_run(session: Session) -> None:
    market, ledger = session.market, session.market.ledger
    refused(session, session.transfer(market.pair, SOLD), 11)
    refused(session, session.transfer(market.installer, SOLD), 10)
    ledger.land(session.run())
    refused(session, session.transfer(market.pair, SOLD), 11)


def test_call_of_the_account_or_the_guard_by_the_delegate_is_refused(session: Session) -> None:
    ledger, account = session.market.ledger, session.account
    for rule_id in (0, *session.rules):
        sign = account.by_delegate(session.spec.delegate, [rule_id])
        remove = ledger.signed(
            account.address, "remove_context_rule", [scval.to_uint32(session.rules[0])], sign
        )
        assert ledger.refusal(remove) != ""
    holder, id_ = scval.to_address(account.address), scval.to_bytes(session.spec.policy_id())
    sign = account.by_delegate(session.spec.delegate, session.rules[:1])
    close = ledger.signed(session.market.guard, "close", [holder, id_, scval.to_void()], sign)
    assert "#3002" in ledger.refusal(close)


def test_run_too_early_or_after_the_plan_is_refused(session: Session) -> None:
    ledger = session.market.ledger
    ledger.land(session.run())
    refused(session, session.run(), 13)
    later = replace(session.spec, not_before=ledger.now + 3_600, delegate=Keypair.random())
    ids = ledger.land(install(session.market, session.account, later))
    rules = tuple(scval.from_uint32(each) for each in scval.from_vec(ids))
    waiting = replace(session, spec=later, rules=rules)
    refused(waiting, waiting.run(), 3)
    ledger.pass_time(MONTH + 1)
    refused(session, session.run(), 4)


def test_run_without_the_delegates_signature_is_refused(session: Session) -> None:
    ledger = session.market.ledger
    assert "#3016" in ledger.refusal(session.run(key=Keypair.random())), "a signer of no rule"
    unsigned = session.run()
    (entry,) = authorizations(unsigned)
    credentials = entry.credentials.address or entry.credentials.address_v2
    assert credentials is not None
    ids = scval.to_vec([scval.to_uint32(each) for each in session.rules])
    nobody = scval.to_struct({"context_rule_ids": ids, "signers": scval.to_map({})})
    credentials.signature = nobody
    refused(session, unsigned, 5)


def test_closed_session_makes_no_run(session: Session) -> None:
    market, ledger = session.market, session.market.ledger
    holder, id_ = (
        scval.to_address(session.account.address),
        scval.to_bytes(session.spec.policy_id()),
    )
    ledger.call(market.guard, "close", holder, id_, signed_close(market.guard, session.spec))
    refused(session, session.run(), 2)


def test_removed_rules_end_the_session(session: Session) -> None:
    market, ledger = session.market, session.market.ledger
    ids = scval.to_vec([scval.to_uint32(each) for each in session.rules])
    args = [scval.to_address(session.account.address), ids]
    ledger.land(ledger.signed(market.installer, "remove", args, session.account.by_owner))
    assert "#3000" in ledger.refusal(session.run()), "the account has no such rule"
    refused(session, install(market, session.account, session.spec), 2)


@pytest.mark.parametrize("session", GENERATIONS, indirect=True)
def test_one_removed_rule_closes_the_session(session: Session) -> None:
    ledger, account = session.market.ledger, session.account
    args = [scval.to_uint32(session.rules[1])]
    ledger.land(ledger.signed(account.address, "remove_context_rule", args, account.by_owner))
    sign = account.by_delegate(session.spec.delegate, [session.rules[0], session.rules[0]])
    swap = session.swap_args()
    run = ledger.signed(session.market.router, "swap_exact_tokens_for_tokens", swap, sign)
    assert ledger.refusal(run) != ""
    sheet = ledger.read(
        session.market.guard,
        "session",
        scval.to_address(account.address),
        scval.to_bytes(session.spec.policy_id()),
    )
    assert scval.from_struct(sheet)["closed"] == scval.to_bool(True)


def test_second_installation_is_refused(session: Session) -> None:
    refused(session, install(session.market, session.account, session.spec), 7)


def test_guard_refuses_a_rule_for_everything(session: Session) -> None:
    market, ledger, account = session.market, session.market.ledger, session.account
    spec = replace(session.spec, delegate=Keypair.random())
    args = [
        scval.to_vec([scval.to_symbol("Default")]),
        scval.to_string(NAME),
        scval.to_uint32(ledger.sequence + 1_000),
        scval.to_vec([signer(market.verifier, spec.delegate)]),
        one_pair(scval.to_address(market.guard), spec.value()),
    ]
    wide = ledger.signed(account.address, "add_context_rule", args, account.by_owner)
    refused(session, wide, 6)


def test_refused_run_fails_on_the_ledger_as_well(session: Session) -> None:
    """Sent past the simulation, with the resources of a run that passes."""
    ledger, good = session.market.ledger, session.run()
    held = ledger.balance(ledger.asset, session.account.address)
    bad = session.run({1: scval.to_int128(1)})
    assert ledger.land_prepared(bad, like=good) is GetTransactionStatus.FAILED
    assert ledger.balance(ledger.asset, session.account.address) == held
    assert ledger.land_prepared(good, like=good) is GetTransactionStatus.SUCCESS
