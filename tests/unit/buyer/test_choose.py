from farebox.buyer.choose import BuyerPreferences, NoSuitableOption, choose, token_of
from farebox.buyer.offer import Offer, Option, read_offer
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import NATIVE
from support.offers import offer_header, option_json

BOTH = (Network.TESTNET, Network.PUBNET)
UPFRONT = {"areFeesSponsored": True, "paymentFlow": "upfront"}


def offer(*options: dict[str, object]) -> Offer:
    read = read_offer(offer_header(*options))
    assert isinstance(read, Offer)
    return read


def chosen(read: Offer, preferences: BuyerPreferences) -> Option:
    option = choose(read, preferences)
    assert isinstance(option, Option)
    return option


def refused(read: Offer, preferences: BuyerPreferences) -> str:
    option = choose(read, preferences)
    assert isinstance(option, NoSuitableOption)
    return option.sentence()


def test_choose_takes_the_first_option_on_a_reachable_network() -> None:
    read = offer(option_json(Network.PUBNET), option_json(amount="1"), option_json(amount="2"))
    assert chosen(read, BuyerPreferences((Network.TESTNET,))).terms.amount == 1
    assert chosen(read, BuyerPreferences(BOTH)).terms.network is Network.PUBNET


def test_choose_prefers_an_option_charged_after_the_work() -> None:
    read = offer(option_json(amount="1", extra=UPFRONT), option_json(amount="2"))
    assert chosen(read, BuyerPreferences(BOTH)).terms.amount == 2
    assert chosen(offer(option_json(extra=UPFRONT)), BuyerPreferences(BOTH)).is_charged_before_work


def test_choose_refuses_a_price_over_the_limit() -> None:
    read = offer(option_json(amount="500001"))
    assert (
        chosen(read, BuyerPreferences(BOTH, max_amount=BaseUnits(500_001))).terms.amount == 500_001
    )
    assert "0.0500001 USDC is more than 0.05 USDC" in refused(
        read, BuyerPreferences(BOTH, max_amount=BaseUnits(500_000))
    )


def test_choose_takes_another_token_than_usdc_only_when_named() -> None:
    native = NATIVE[Network.TESTNET].contract
    read = offer(option_json(asset=native))
    assert f"token {native}" in refused(read, BuyerPreferences(BOTH))
    assert chosen(read, BuyerPreferences(BOTH, asset=native)).terms.asset == native
    assert "USDC" not in token_of(chosen(read, BuyerPreferences(BOTH, asset=native))).show(1)


def test_unknown_token_is_shown_in_base_units_of_its_contract() -> None:
    contract = NATIVE[Network.PUBNET].contract  # another network's: unknown on this one
    option = chosen(offer(option_json(asset=contract)), BuyerPreferences(BOTH, asset=contract))
    assert token_of(option).show(7) == f"7 base units of {contract}"


def test_refusal_names_each_reason_once() -> None:
    read = offer(
        option_json(scheme="upto"), option_json(scheme="upto"), option_json(Network.PUBNET)
    )
    sentence = refused(read, BuyerPreferences((Network.TESTNET,)))
    assert sentence.count("scheme upto") == 1
    assert "stellar:pubnet (name it with --network" in sentence
