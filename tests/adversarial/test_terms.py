"""Cases 1.1 of the terms: schemes, networks, amounts, assets and recipients."""

from collections.abc import Callable
from typing import Final

import pytest
from stellar_sdk import Keypair, MuxedAccount, StrKey

from farebox.x402.reasons import Reason
from support import payment_rules as rules
from support.payments import Json, wrapper
from support.promises import case, promise
from support.stage import Stage

PUBNET_USDC: Final = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"


AMOUNTS: Final = ["-10000", "+10000", " 10000", "10000 ", "010000", "10_000", "１００００", "1e4"]


AMOUNTS_ODD: Final = ["10000.0", "0x2710", "10000\n", "", "ten", "0", "-0", "00"]


TOO_LARGE: Final = [str(2**127), str(2**128), "1" + "0" * 40, "9" * 5_000]


NUMBERS: Final[list[object]] = [10_000, 10_000.0, True, None, ["10000"]]


@case("PV-021")
@pytest.mark.parametrize(
    "change",
    [
        {"amount": "9999"}, {"amount": 10_000}, {"asset": PUBNET_USDC},
        {"payTo": Keypair.random().public_key},
        {"extra": {"areFeesSponsored": False}},
        {"extra": None},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_accepted_terms_that_differ_in_money_are_refused(change: Json) -> None:
    draft = rules.draft()
    body = wrapper(draft.terms(**change), draft.terms(), draft.envelope())
    rules.assert_refused(body, Reason.ACCEPTED_MISMATCH)


@case("PV-021")
async def test_accepted_timeout_is_replaced_by_required_timeout(stage: Stage) -> None:
    draft = await stage.draft()
    body = wrapper(draft.terms(maxTimeoutSeconds=3_600), draft.terms(), draft.envelope())
    await stage.assert_settles(body)


@case("PV-022")
@promise("terms:fees-are-sponsored")
@pytest.mark.parametrize(
    "extra",
    [{}, None, [], "x", *({"areFeesSponsored": v} for v in (False, "true", 1, None))],
    ids=repr,
)
def test_terms_without_sponsored_fees_are_refused(extra: object) -> None:
    draft = rules.draft()
    rules.assert_refused(draft.request(extra=extra), Reason.FEES_NOT_SPONSORED)
    bare = draft.request()
    del bare["paymentRequirements"]["extra"]
    rules.assert_refused(bare, Reason.FEES_NOT_SPONSORED)


@case("PV-026", "PV-111")
@promise("terms:amount-is-an-integer-string")
@pytest.mark.parametrize("amount", AMOUNTS + AMOUNTS_ODD, ids=repr)
def test_non_canonical_amount_is_refused(amount: str) -> None:
    draft = rules.draft()
    rules.assert_refused(draft.request(amount=amount), Reason.INVALID_PAYMENT_REQUIREMENTS)


@case("PV-026")
@pytest.mark.parametrize("amount", [-1, -(2**127)])
def test_negative_amount_is_refused_when_both_sides_agree(amount: int) -> None:
    draft = rules.draft(amount=amount)
    rules.assert_refused(draft.request(), Reason.INVALID_PAYMENT_REQUIREMENTS)
    hidden = draft.request(amount=str(abs(amount) % 2**127 or 1))
    rules.assert_refused(hidden, Reason.WRONG_AMOUNT)


@case("PV-028")
@promise("terms:amount-is-exact")
@pytest.mark.parametrize("amount", TOO_LARGE, ids=len)
def test_amount_beyond_i128_is_refused(amount: str) -> None:
    draft = rules.draft()
    rules.assert_refused(draft.request(amount=amount), Reason.INVALID_PAYMENT_REQUIREMENTS)


@case("PV-029")
@promise("terms:no-floating-point")
@pytest.mark.parametrize("amount", NUMBERS, ids=repr)
def test_amount_that_is_not_a_string_is_refused(amount: object) -> None:
    draft = rules.draft()
    rules.assert_refused(draft.request(amount=amount), Reason.INVALID_PAYMENT_REQUIREMENTS)


def _spoiled(good: str) -> list[object]:
    """A valid address in spellings that are none."""
    key = Keypair.random()
    last = "A" if good[-1] != "A" else "B"
    return [
        "",
        good.lower(),
        good[:-1] + last,
        " " + good,
        good + "\n",
        good + "=",
        good[:-1],
        "native",
        f"USDC:{key.public_key}",
        key.secret,
        StrKey.encode_pre_auth_tx(key.raw_public_key()),
        StrKey.encode_sha256_hash(key.raw_public_key()),
        StrKey.encode_claimable_balance(b"\0" + key.raw_public_key()),
        StrKey.encode_liquidity_pool(key.raw_public_key()),
        None,
        7,
    ]


@case("PV-030")
@promise("terms:asset-is-a-contract")
def test_asset_that_is_not_a_contract_id_is_refused() -> None:
    draft = rules.draft()
    muxed = MuxedAccount(draft.payer, 7).account_muxed
    for asset in (*_spoiled(draft.asset), draft.payer, muxed):
        body = draft.request(asset=asset)
        rules.assert_refused(body, Reason.INVALID_PAYMENT_REQUIREMENTS)


@case("PV-030")
async def test_contract_of_other_network_is_refused(stage: Stage) -> None:
    draft = await stage.draft(asset=PUBNET_USDC)
    await stage.assert_refused(draft.request(), Reason.ENTRY_MISSING, payer=draft.payer)


@case("PV-031")
@promise("terms:pay-to-is-an-account")
def test_recipient_that_is_not_a_plain_address_is_refused() -> None:
    draft = rules.draft()
    for pay_to in _spoiled(draft.pay_to):
        body = draft.request(payTo=pay_to)
        rules.assert_refused(body, Reason.INVALID_PAYMENT_REQUIREMENTS)


@pytest.mark.parametrize(
    "change",
    [
        lambda terms: terms.pop("maxTimeoutSeconds"),
        lambda terms: terms.update(maxTimeoutSeconds=0),
        lambda terms: terms.update(maxTimeoutSeconds=-1),
        lambda terms: terms.update(maxTimeoutSeconds=60.5),
        lambda terms: terms.update(maxTimeoutSeconds="60"),
        lambda terms: terms.update(maxTimeoutSeconds=2**64),
        lambda terms: terms.update(maxTimeoutSeconds=86_401),
        lambda terms: terms.update(maxTimeoutSeconds=None),
        lambda terms: terms.pop("payTo"),
        lambda terms: terms.pop("asset"),
        lambda terms: terms.pop("amount"),
    ],
)
def test_terms_with_missing_or_out_of_range_member_are_refused(
    change: Callable[[Json], object],
) -> None:
    body = rules.draft().request()
    change(body["paymentRequirements"])
    rules.assert_refused(body, Reason.INVALID_PAYMENT_REQUIREMENTS)
