"""The rules of the sponsor budgets: what is charged to which counter, and when it is refused."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farebox.facilitator.budgets.budget import (
    UNLIMITED,
    BudgetRefusal,
    Budgets,
    BudgetScope,
    Charge,
    Counter,
    EnvelopeEntry,
    RecordingPreconditions,
    admit,
    judge_charge,
    utc_day,
)
from farebox.facilitator.settlement import PaymentIdentity, Recording
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import SHARED, Caller, CallerKind, OwnerId, budget_owner
from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support.claims import claim, signed_envelope

DAY: Final = date(2026, 11, 21)
FREE: Final = RecordingPreconditions(is_held=True, source_is_busy=False, is_stopped=False)
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
    budget_owner: OwnerId = SHARED,
    source: int | None = None,
) -> EnvelopeEntry:
    claimed = claim(
        identity=PaymentIdentity(Network.TESTNET, ACCOUNTS[payer], nonce),
        asset=TOKENS[asset],
        pay_to=ACCOUNTS[pay_to],
        budget_owner=budget_owner,
    )
    account = account_address((nonce if source is None else source).to_bytes(32))
    sent = signed_envelope(nonce, source=account, fee=fee)
    return EnvelopeEntry(claimed, sent, epoch=0, day=DAY, asset_is_named=named)


def judged(item: EnvelopeEntry, budgets: Budgets, **counted: int) -> BudgetRefusal | None:
    names = {counter.scope.value: counter for counter in item.charge().counters()}
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
def test_budget_admits_up_to_its_last_stroop_and_no_more(scope: str, budgets: Budgets) -> None:
    item = sending(named=scope != "other_assets")
    assert judged(item, budgets, **{scope: 990}) is None
    over = judged(item, budgets, **{scope: 991})
    assert over == BudgetRefusal(BudgetScope(scope))
    assert over.reason is Reason.SPONSOR_BUDGET_EXHAUSTED
    assert judged(item, UNLIMITED, **{scope: 10**15}) is None, "0 is off"


def test_unestablished_caller_spends_from_the_shared_budget() -> None:
    own, free = OwnerId("user_1"), OwnerId("user_2")
    assert budget_owner(Caller(own, CallerKind.KEY, is_established=True)) == own
    assert budget_owner(Caller(free, CallerKind.KEY)) == budget_owner(None) == SHARED
    for owner in (own, SHARED):
        (key,) = [
            counter
            for counter in sending(budget_owner=owner).charge().spend_counters()
            if counter.scope is BudgetScope.KEY
        ]
        assert key.name == owner


def test_assets_not_named_by_the_operator_share_one_counter() -> None:
    one, other = (sending(asset=n).charge().spend_counters()[-1] for n in (0, 1))
    assert one == other == Counter(Network.TESTNET, DAY, BudgetScope.OTHER_ASSETS)
    named = sending(asset=1, named=True).charge().spend_counters()[-1]
    assert named == Counter(Network.TESTNET, DAY, BudgetScope.ASSET, TOKENS[1])


def test_payer_is_refused_at_any_fee_when_its_loss_limit_is_reached() -> None:
    budgets = Budgets(payer_loss=Stroops(100))
    assert judged(sending(), budgets, payer_loss=99) is None
    over = judged(sending(fee=0), budgets, payer_loss=100)
    assert over == BudgetRefusal(BudgetScope.PAYER_LOSS)
    assert over.reason is Reason.PAYER_STOPPED
    assert judged(sending(), UNLIMITED, payer_loss=10**12) is None


def test_pending_envelopes_count_as_loss_except_the_one_being_replaced() -> None:
    budgets = Budgets(payer_loss=Stroops(25))
    items = [sending(n, fee=10, payer=1 + (n == 5)) for n in range(1, 6)]
    assert admit(items, [FREE] * 5, {}, [budgets] * 5) == [
        *[Recording.WRITTEN] * 3,
        BudgetRefusal(BudgetScope.PAYER_LOSS),
        Recording.WRITTEN,
    ]
    counted = {items[0].charge().loss_counter(): 30}
    replacing = items[0].charge(held=10, at_risk=10)
    assert judge_charge(replacing, budgets, counted, is_stopped=False) is None
    further = items[0].charge(held=10)
    assert judge_charge(further, budgets, counted, is_stopped=False) == BudgetRefusal(
        BudgetScope.PAYER_LOSS
    )


def test_stopped_network_refuses_even_a_charge_of_zero() -> None:
    over = judge_charge(sending(fee=0).charge(), UNLIMITED, {}, is_stopped=True)
    assert over == BudgetRefusal(None)
    assert over.reason is Reason.SPONSOR_STOPPED


def test_replacement_is_admitted_at_the_limit_when_it_costs_no_more() -> None:
    item, budgets = sending(fee=10), Budgets(total=Stroops(100))
    counted = {item.charge().spend_counters()[0]: 100}
    assert judge_charge(item.charge(held=10), budgets, counted, is_stopped=False) is None
    over = judge_charge(item.charge(held=9), budgets, counted, is_stopped=False)
    assert over == BudgetRefusal(BudgetScope.TOTAL)


def test_budget_day_is_the_day_in_utc() -> None:
    late = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    assert utc_day(late) == DAY
    assert utc_day(late + timedelta(seconds=1)) == date(2026, 11, 22)
    assert utc_day(late.astimezone(timezone(timedelta(hours=9)))) == DAY


def test_admit_writes_the_first_of_two_entries_with_one_source_or_claim() -> None:
    items = [sending(1, source=7), sending(2, source=7), sending(1, source=8)]
    assert admit(items, [FREE] * 3, {}, [UNLIMITED] * 3) == [
        Recording.WRITTEN,
        Recording.SOURCE_BUSY,
        Recording.CLAIM_LOST,
    ]


def test_entry_that_is_not_written_spends_no_budget() -> None:
    items = [sending(1, fee=10), sending(2, fee=10), sending(3, fee=20), sending(4, fee=10)]
    lost = RecordingPreconditions(is_held=False, source_is_busy=False, is_stopped=False)
    budgets = Budgets(payer=Stroops(20))
    assert admit(items, [lost, FREE, FREE, FREE], {}, [budgets] * 4) == [
        Recording.CLAIM_LOST,
        Recording.WRITTEN,
        BudgetRefusal(BudgetScope.PAYER),
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
        budget_owner=st.sampled_from((SHARED, OwnerId("a"), OwnerId("b"))),
        source=st.integers(1, 30),
    ),
    max_size=30,
)
_LIMIT: Final = st.integers(0, 300).map(Stroops)
_BUDGETS: Final = st.builds(
    Budgets, total=_LIMIT, payer=_LIMIT, pay_to=_LIMIT, key=_LIMIT, asset=_LIMIT, payer_loss=_LIMIT
)


@settings(deadline=None)
@given(items=_ITEMS, budgets=_BUDGETS, before=st.integers(0, 120))
def test_admit_never_exceeds_a_budget_and_refuses_nothing_that_fits(
    items: list[EnvelopeEntry], budgets: Budgets, before: int
) -> None:
    total = Counter(Network.TESTNET, DAY, BudgetScope.TOTAL)
    spent: dict[Counter, int] = {total: before}
    verdicts = admit(items, [FREE] * len(items), dict(spent), [budgets] * len(items))
    for item, verdict in zip(items, verdicts, strict=True):
        charge: Charge = item.charge()
        lost = spent.get(charge.loss_counter(), 0)
        fits = not 0 < budgets.payer_loss <= lost and all(
            charge.stroops == 0
            or not budgets.limit(each.scope)
            or spent.get(each, 0) + charge.stroops <= budgets.limit(each.scope)
            for each in charge.spend_counters()
        )
        if verdict is Recording.WRITTEN:
            assert fits
            for each in charge.counters():
                spent[each] = spent.get(each, 0) + charge.stroops
        elif isinstance(verdict, BudgetRefusal):
            assert not fits
