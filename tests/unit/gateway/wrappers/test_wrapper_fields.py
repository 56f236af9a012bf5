"""The rules of a wrapper's members."""

from typing import Any

import msgspec
import pytest

from farebox.gateway.wrapper import OtherPaths, Upstream, UpstreamAuth, WrapperLimits
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper, change_settings, make_settings
from farebox.kernel.amounts import MAX_BASE_UNITS
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from support.wrappers import ASSET, OTHER_ASSET, OTHER_PAY_TO, PAY_TO, change_fields, wrapper_fields

SECRET = "sec_" + "a" * 22
BEARER = {"auth_type": "bearer", "secret_id": SECRET}


def term(**members: str) -> dict[str, str]:
    terms = {"network": "stellar:testnet", "asset": ASSET, "amount": "10000", "payTo": PAY_TO}
    return terms | members


def route(**members: Any) -> dict[str, Any]:
    return {"method": "GET", "path": "/city/:name"} | members


def refused_member(**members: Any) -> str:
    with pytest.raises(InvalidWrapper) as refusal:
        make_settings(wrapper_fields(**members))
    assert refusal.value.code is ErrorCode.INVALID_WRAPPER
    return refusal.value.message.removeprefix("Look at ").partition(". ")[0]


def test_members_that_are_left_out_have_their_defaults() -> None:
    settings = make_settings(wrapper_fields())
    assert settings.upstream == Upstream("https://api.example.com/v1")
    assert settings.limits == WrapperLimits()
    assert (settings.method, settings.routes, settings.other_paths) == (None, (), OtherPaths.BASE)
    (only,) = settings.terms
    assert (only.network, only.asset, only.amount, only.pay_to) == (
        Network.TESTNET, ASSET, 10_000, PAY_TO,
    )  # fmt: skip


@pytest.mark.parametrize("member", ["name", "upstreamUrl", "asset", "amount", "payTo"])
def test_new_wrapper_without_a_required_member_is_refused(member: str) -> None:
    snake = {"upstreamUrl": "upstream_url", "payTo": "pay_to"}.get(member, member)
    assert refused_member(**{snake: None}) == member


def test_new_wrapper_without_any_terms_is_refused() -> None:
    names = ("network", "asset", "amount", "pay_to")
    assert refused_member(**dict.fromkeys(names)) == "accepts"


@pytest.mark.parametrize("amount", ["0", "-1", "1.5", "1e3", "", "01", " 1", "9" * 400])
def test_amount_that_is_no_canonical_number_is_refused_by_the_shape(amount: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="amount"):
        wrapper_fields(amount=amount)


def test_amount_beyond_a_token_amount_is_refused() -> None:
    assert make_settings(wrapper_fields(amount=str(MAX_BASE_UNITS))).terms[0].amount == (
        MAX_BASE_UNITS
    )
    assert refused_member(amount=str(MAX_BASE_UNITS + 1)) == "amount"


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"upstream_url": "http://api.example.com"}, "upstreamUrl"),
        ({"upstream_url": "https://10.0.0.1/"}, "upstreamUrl"),
        ({"upstream_url": "https://user@api.example.com/"}, "upstreamUrl"),
        ({"upstream_url": "https://api.example.com/a/../b"}, "upstreamUrl"),
        ({"upstream_url": "https://api.example.com/a#b"}, "upstreamUrl"),
        ({"asset": "C" + "A" * 55}, "asset"),
        ({"pay_to": "G" + "A" * 55}, "payTo"),
        ({"name": "caf\u00e9"}, "name"),
        ({"name": "   "}, "name"),
        ({"mime_type": "no type"}, "mimeType"),
        ({"tags": ["\u00e9"]}, "tags"),
        ({"auth_type": "bearer"}, "secretId"),
        ({"secret_id": SECRET}, "secretId"),
        ({"auth_type": "header", "secret_id": SECRET}, "authHeader"),
        (BEARER | {"auth_header": "x-key"}, "authHeader"),
        ({"accepts": [term()]}, "accepts"),
        ({"other_paths": "refused"}, "otherPaths"),
        ({"routes": [route(path="/../x")]}, "routes[0].path"),
        ({"routes": [route(path="/:x/a/:x")]}, "routes[0].path"),
        ({"routes": [route(amount="1", accepts=[term()])]}, "routes[0].accepts"),
        ({"routes": [route(), route(path="/CITY/:other")]}, "routes"),
        ({"routes": [route(input={"a": "b" * 2048})]}, "routes[0].input"),
    ],
)
def test_member_that_breaks_a_rule_is_named(members: dict[str, Any], member: str) -> None:
    assert refused_member(**members) == member


@pytest.mark.parametrize(
    "name",
    ["a b", "a\r\nb", "a:b", "a_b", "Host", "Connection", "PAYMENT-SIGNATURE", "X-Farebox-Attempt"],
)
def test_credential_header_that_cannot_be_sent_is_refused(name: str) -> None:
    members = {"auth_type": "header", "secret_id": SECRET, "auth_header": name}
    assert refused_member(**members) == "authHeader"


@pytest.mark.parametrize(
    "second",
    [term(payTo=OTHER_PAY_TO), term(amount="5"), term(asset=OTHER_ASSET, payTo=OTHER_PAY_TO)],
)
def test_terms_that_contradict_each_other_are_refused(second: dict[str, str]) -> None:
    short = dict.fromkeys(("network", "asset", "amount", "pay_to"))
    assert refused_member(**short, accepts=[term(), second]) == "accepts"


def test_each_network_may_have_its_own_recipient_and_several_tokens() -> None:
    short = dict.fromkeys(("network", "asset", "amount", "pay_to"))
    accepts = [
        term(),
        term(asset=OTHER_ASSET, amount="5"),
        term(network="stellar:pubnet", payTo=OTHER_PAY_TO),
    ]
    assert len(make_settings(wrapper_fields(**short, accepts=accepts)).terms) == 3


def test_route_amount_needs_a_wrapper_with_one_term() -> None:
    accepts = [term(), term(asset=OTHER_ASSET)]
    short = dict.fromkeys(("network", "asset", "amount", "pay_to"))
    assert refused_member(**short, accepts=accepts, routes=[route(amount="1")]) == "routes"


def test_change_keeps_every_other_member() -> None:
    settings = make_settings(wrapper_fields(tags=["a"], description="b", **BEARER))
    changed = change_settings(settings, change_fields(amount="7", timeout_seconds=5))
    assert changed.terms[0].amount == 7
    assert changed.limits.timeout_s == 5
    assert (changed.tags, changed.description, changed.upstream) == (
        settings.tags, settings.description, settings.upstream,
    )  # fmt: skip


def test_short_change_of_several_terms_is_refused() -> None:
    short = dict.fromkeys(("network", "asset", "amount", "pay_to"))
    settings = make_settings(wrapper_fields(**short, accepts=[term(), term(asset=OTHER_ASSET)]))
    with pytest.raises(InvalidWrapper, match="accepts"):
        change_settings(settings, change_fields(amount="7"))


@pytest.mark.parametrize(
    ("url", "is_kept"),
    [
        ("https://api.example.com/v2?a=b", True),
        ("https://API.example.com:443/", True),
        ("https://api.example.com:8443/v1", False),
        ("https://thief.example.org/v1", False),
    ],
)
def test_another_host_of_the_upstream_removes_the_secret(url: str, is_kept: bool) -> None:
    settings = make_settings(wrapper_fields(**BEARER))
    upstream = change_settings(settings, change_fields(upstream_url=url)).upstream
    expected = Upstream(url, UpstreamAuth.BEARER, None, SECRET) if is_kept else Upstream(url)
    assert upstream == expected


def test_secret_named_again_with_another_host_stays() -> None:
    settings = make_settings(wrapper_fields(**BEARER))
    url = "https://other.example.org/"
    changed = change_settings(settings, change_fields(upstream_url=url, **BEARER))
    assert changed.upstream == Upstream(url, UpstreamAuth.BEARER, None, SECRET)


def test_secret_can_be_removed_by_a_change() -> None:
    settings = make_settings(wrapper_fields(**BEARER))
    changed = change_settings(settings, change_fields(secret_id=None))
    assert changed.upstream == Upstream("https://api.example.com/v1")
