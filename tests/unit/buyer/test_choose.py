from farebox.buyer.choose import NothingSuitable, Wishes, choose, token_of
from farebox.buyer.offer import Offer, Option, read_offer
from farebox.buyer.tokens import NATIVE
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from support.offers import offer_header, option_json

BOTH = (Network.TESTNET, Network.PUBNET)
UPFRONT = {"areFeesSponsored": True, "paymentFlow": "upfront"}


def offer(*options: dict[str, object]) -> Offer:
    read = read_offer(offer_header(*options))
    assert isinstance(read, Offer)
    return read


def chosen(read: Offer, wishes: Wishes) -> Option:
    option = choose(read, wishes)
    assert isinstance(option, Option)
    return option


def refused(read: Offer, wishes: Wishes) -> str:
    option = choose(read, wishes)
    assert isinstance(option, NothingSuitable)
    return option.sentence()


def test_the_sellers_first_option_on_a_network_within_reach_is_taken() -> None:
    read = offer(option_json(Network.PUBNET), option_json(amount="1"), option_json(amount="2"))
    assert chosen(read, Wishes((Network.TESTNET,))).terms.amount == 1
    assert chosen(read, Wishes(BOTH)).terms.network is Network.PUBNET


def test_an_option_charged_after_the_work_goes_before_one_charged_before_it() -> None:
    read = offer(option_json(amount="1", extra=UPFRONT), option_json(amount="2"))
    assert chosen(read, Wishes(BOTH)).terms.amount == 2
    assert chosen(offer(option_json(extra=UPFRONT)), Wishes(BOTH)).is_charged_before_work


def test_a_price_is_held_to_the_limit_in_base_units() -> None:
    read = offer(option_json(amount="500001"))
    assert chosen(read, Wishes(BOTH, at_most=BaseUnits(500_001))).terms.amount == 500_001
    assert "0.0500001 USDC is more than 0.05 USDC" in refused(
        read, Wishes(BOTH, at_most=BaseUnits(500_000))
    )


def test_a_dear_token_in_place_of_usdc_is_paid_only_when_named() -> None:
    native = NATIVE[Network.TESTNET].contract
    read = offer(option_json(asset=native))
    assert f"token {native}" in refused(read, Wishes(BOTH))
    assert chosen(read, Wishes(BOTH, asset=native)).terms.asset == native
    assert "USDC" not in token_of(chosen(read, Wishes(BOTH, asset=native))).show(1)


def test_an_unknown_token_is_shown_in_base_units_of_its_contract() -> None:
    contract = NATIVE[Network.PUBNET].contract  # another network's: unknown on this one
    option = chosen(offer(option_json(asset=contract)), Wishes(BOTH, asset=contract))
    assert token_of(option).show(7) == f"7 base units of {contract}"


def test_every_reason_is_named_once() -> None:
    read = offer(
        option_json(scheme="upto"), option_json(scheme="upto"), option_json(Network.PUBNET)
    )
    said = refused(read, Wishes((Network.TESTNET,)))
    assert said.count("scheme upto") == 1
    assert "stellar:pubnet (name it with --network" in said
