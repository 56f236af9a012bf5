"""Who is paid for, and up to what: the rules alone."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farebox.facilitator.budgets.admission import Sending, Standing, admit
from farebox.facilitator.budgets.budget import (
    UNLIMITED,
    Budgets,
    Charge,
    Counter,
    OverBudget,
    Scope,
    judge_charge,
    utc_day,
)
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import Claim, Recording
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason
from support.manual_clock import START

DAY: Final = date(2026, 11, 21)
FREE: Final = Standing(is_held=True, source_is_busy=False, is_stopped=False)
ACCOUNTS: Final = [account_address(bytes([n]) * 32) for n in range(40)]
TOKENS: Final = [contract_address(bytes([n]) * 32) for n in range(3)]


def sending(
    nonce: int = 1,
    *,
    fee: int = 10,
    payer: int = 1,
    pay_to: int = 2,
    asset: int = 0,
    named: bool = False,
    caller: OwnerId | None = None,
    source: int | None = None,
) -> Sending:
    claim = Claim(
        identity=PaymentIdentity(Network.TESTNET, ACCOUNTS[payer], nonce),
        claim_id=UUID(int=nonce),
        request_digest=bytes(32),
        asset=TOKENS[asset],
        amount=BaseUnits(1),
        pay_to=ACCOUNTS[pay_to],
        expires_at_ledger=9,
        claimed_at=START,
        max_timeout_s=60,
        caller=caller,
    )
    sent = SentEnvelope(
        tx_hash=nonce.to_bytes(32),
        inner_hash=None,
        envelope=Secret(b""),
        source=account_address((nonce if source is None else source).to_bytes(32)),
        source_sequence=1,
        max_time=START,
        fee_limit=Stroops(fee),
        sent_after_ledger=1,
    )
    return Sending(claim, sent, epoch=0, day=DAY, asset_is_named=named)


def judged(item: Sending, budgets: Budgets, **counted: int) -> OverBudget | None:
    names = {counter.scope.value: counter for counter in item.charge().bearing()}
    before = {names[scope]: value for scope, value in counted.items()}
    return judge_charge(item.charge(), budgets, before, is_stopped=False)


@pytest.mark.parametrize(
    ("scope", "budgets"),
    [
        ("total", Budgets(total=Stroops(1000))),
        ("payer", Budgets(payer=Stroops(1000))),
        ("pay_to", Budgets(pay_to=Stroops(1000))),
        ("key", Budgets(key=Stroops(1000))),
        ("asset", Budgets(asset=Stroops(1000))),
        ("other_assets", Budgets(total=Stroops(10_000))),
    ],
)
def test_each_budget_admits_to_its_last_stroop_and_not_one_more(
    scope: str, budgets: Budgets
) -> None:
    item = sending(named=scope != "other_assets", caller=OwnerId("of a caller"))
    assert judged(item, budgets, **{scope: 990}) is None
    over = judged(item, budgets, **{scope: 991})
    assert over == OverBudget(Scope(scope))
    assert over.reason is Reason.SPONSOR_BUDGET_EXHAUSTED
    assert judged(item, UNLIMITED, **{scope: 10**15}) is None, "0 is off"


def test_only_a_payment_with_a_key_counts_for_one() -> None:
    scopes = [counter.scope for counter in sending().charge().spending()]
    assert scopes == [Scope.TOTAL, Scope.PAYER, Scope.PAY_TO, Scope.OTHER_ASSETS]
    assert Scope.KEY in [each.scope for each in sending(caller=OwnerId("k")).charge().spending()]


def test_assets_nobody_named_share_one_counter() -> None:
    one, other = (sending(asset=n).charge().spending()[-1] for n in (0, 1))
    assert one == other == Counter(Network.TESTNET, DAY, Scope.OTHER_ASSETS)
    named = sending(asset=1, named=True).charge().spending()[-1]
    assert named == Counter(Network.TESTNET, DAY, Scope.ASSET, TOKENS[1])


def test_a_payer_is_stopped_once_the_loss_is_reached_whatever_the_price() -> None:
    budgets = Budgets(payer_loss=Stroops(100))
    assert judged(sending(), budgets, payer_loss=99) is None
    over = judged(sending(fee=0), budgets, payer_loss=100)
    assert over == OverBudget(Scope.PAYER_LOSS)
    assert over.reason is Reason.PAYER_STOPPED
    assert judged(sending(), UNLIMITED, payer_loss=10**12) is None


def test_a_stopped_network_admits_nothing_not_even_for_nothing() -> None:
    over = judge_charge(sending(fee=0).charge(), UNLIMITED, {}, is_stopped=True)
    assert over == OverBudget(None)
    assert over.reason is Reason.SPONSOR_STOPPED


def test_a_cheaper_envelope_takes_the_place_of_a_dearer_one_at_the_edge() -> None:
    item, budgets = sending(fee=10), Budgets(total=Stroops(100))
    counted = {item.charge().spending()[0]: 100}
    assert judge_charge(item.charge(held=10), budgets, counted, is_stopped=False) is None
    over = judge_charge(item.charge(held=9), budgets, counted, is_stopped=False)
    assert over == OverBudget(Scope.TOTAL)


def test_a_day_is_one_of_utc() -> None:
    late = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    assert utc_day(late) == DAY
    assert utc_day(late + timedelta(seconds=1)) == date(2026, 11, 22)
    assert utc_day(late.astimezone(timezone(timedelta(hours=9)))) == DAY


def test_of_two_that_share_a_source_or_a_claim_the_first_is_written() -> None:
    items = [sending(1, source=7), sending(2, source=7), sending(1, source=8)]
    assert admit(items, [FREE] * 3, {}, [UNLIMITED] * 3) == [
        Recording.WRITTEN,
        Recording.SOURCE_BUSY,
        Recording.CLAIM_LOST,
    ]


def test_what_is_not_written_takes_no_room_from_the_next() -> None:
    items = [sending(1, fee=10), sending(2, fee=10), sending(3, fee=20), sending(4, fee=10)]
    lost = Standing(is_held=False, source_is_busy=False, is_stopped=False)
    budgets = Budgets(payer=Stroops(20))
    assert admit(items, [lost, FREE, FREE, FREE], {}, [budgets] * 4) == [
        Recording.CLAIM_LOST,
        Recording.WRITTEN,
        OverBudget(Scope.PAYER),
        Recording.WRITTEN,
    ]


_ITEMS: Final = st.lists(
    st.builds(
        sending,
        st.integers(1, 40),
        fee=st.integers(0, 60),
        payer=st.integers(1, 3),
        pay_to=st.integers(4, 6),
        asset=st.integers(0, 2),
        named=st.booleans(),
        caller=st.sampled_from((None, OwnerId("a"), OwnerId("b"))),
        source=st.integers(1, 30),
    ),
    max_size=30,
)
_LIMIT: Final = st.integers(0, 300).map(Stroops)
_BUDGETS: Final = st.builds(
    Budgets, total=_LIMIT, payer=_LIMIT, pay_to=_LIMIT, key=_LIMIT, asset=_LIMIT
)


@settings(deadline=None)
@given(items=_ITEMS, budgets=_BUDGETS, before=st.integers(0, 120))
def test_no_budget_is_ever_passed_and_nothing_that_fits_is_refused(
    items: list[Sending], budgets: Budgets, before: int
) -> None:
    total = Counter(Network.TESTNET, DAY, Scope.TOTAL)
    spent: dict[Counter, int] = {total: before}
    verdicts = admit(items, [FREE] * len(items), dict(spent), [budgets] * len(items))
    for item, verdict in zip(items, verdicts, strict=True):
        charge: Charge = item.charge()
        fits = all(
            charge.stroops == 0
            or not budgets.limit(each.scope)
            or spent.get(each, 0) + charge.stroops <= budgets.limit(each.scope)
            for each in charge.spending()
        )
        if verdict is Recording.WRITTEN:
            assert fits
            for each in charge.spending():
                spent[each] = spent.get(each, 0) + charge.stroops
        elif isinstance(verdict, OverBudget):
            assert not fits
