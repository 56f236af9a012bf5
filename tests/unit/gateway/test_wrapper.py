"""The price of a request to a wrapper."""

import itertools
from dataclasses import replace

import pytest

from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.wrapper import (
    METHODS,
    NotOffered,
    OtherPaths,
    PricedCall,
    PricedRoute,
    Upstream,
    WrapperSettings,
    WrapperTerm,
    price_call,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network

BASE = (WrapperTerm(Network.TESTNET, Address("C"), BaseUnits(100), Address("G")),)
DEAR = (WrapperTerm(Network.TESTNET, Address("C"), BaseUnits(900), Address("G")),)
CITY = PricedRoute("GET", RouteTemplate("/city/:name"), amount=BaseUnits(900))
REPORT = PricedRoute("POST", RouteTemplate("/report"))
EURO = (WrapperTerm(Network.PUBNET, Address("D"), BaseUnits(3), Address("H")),)
SETTINGS = WrapperSettings("weather", Upstream("https://api.example.com"), BASE)
ROUTED = replace(SETTINGS, routes=(CITY, REPORT))
CLOSED = replace(ROUTED, other_paths=OtherPaths.REFUSED)


def priced(settings: WrapperSettings, method: str, path: str) -> PricedCall:
    call = price_call(settings, method, path)
    assert isinstance(call, PricedCall)
    return call


@pytest.mark.parametrize("method", METHODS)
def test_wrapper_without_routes_sells_every_path_at_its_own_price(method: str) -> None:
    assert price_call(SETTINGS, method, "/any/path") == PricedCall(BASE)


def test_wrapper_with_a_method_sells_no_other() -> None:
    only_post = replace(SETTINGS, method="POST")
    assert price_call(only_post, "POST", "/") == PricedCall(BASE)
    assert price_call(only_post, "GET", "/") == NotOffered(("POST",))


def test_route_sets_the_price_or_leaves_the_wrapper_s() -> None:
    assert price_call(ROUTED, "GET", "/city/Oslo") == PricedCall(DEAR, CITY)
    assert price_call(ROUTED, "POST", "/report") == PricedCall(BASE, REPORT)


@pytest.mark.parametrize("path", ["/CITY/oslo", "/city/oslo/", "/City/Oslo//", "/city;a=1/oslo;b"])
def test_no_spelling_of_a_route_s_path_is_cheaper(path: str) -> None:
    assert price_call(ROUTED, "GET", path) == PricedCall(DEAR, CITY)


@pytest.mark.parametrize(
    "path",
    [
        "/city%2Foslo", "/city%5coslo", "/city\\oslo", "/city%252Foslo", "//city/oslo",
        "/city//oslo", "/%2563ity/oslo", "/city%20/oslo", "/city/oslo%3Fa", "/cit%79/oslo",
        "/city/%2Foslo", "/city./oslo", "/%c1%a3ity/oslo", "/city/oslo%2Fnorth", "/city/%6fslo",
        "/city%2f%2Foslo%23x/y", "/%u0063ity/oslo",
    ],
)  # fmt: skip
def test_no_spelling_that_an_upstream_may_take_for_a_route_s_path_is_cheaper(path: str) -> None:
    assert price_call(ROUTED, "GET", path) == PricedCall(DEAR, CITY)


def test_path_costs_what_the_dearest_of_its_readings_costs() -> None:
    cheap = PricedRoute("GET", RouteTemplate("/:name"), amount=BaseUnits(1))
    settings = replace(ROUTED, routes=(cheap, CITY))
    assert priced(settings, "GET", "/city").route is cheap
    assert priced(settings, "GET", "/city%2Foslo").route is CITY
    assert priced(settings, "GET", "/a%2Fb") == PricedCall(BASE)


def test_path_whose_readings_cost_what_cannot_be_compared_is_not_for_sale() -> None:
    abroad = PricedRoute("GET", RouteTemplate("/city/oslo"), terms=EURO)
    settings = replace(SETTINGS, routes=(abroad,))
    assert price_call(settings, "GET", "/city%2Foslo") == NotOffered()
    assert priced(settings, "GET", "/city/oslo").terms == EURO


def test_path_is_for_sale_when_all_its_readings_are() -> None:
    assert priced(CLOSED, "GET", "/city/oslo%20north").route is CITY
    assert price_call(CLOSED, "GET", "/city/oslo%2Fprivate") == NotOffered()
    assert price_call(CLOSED, "GET", "/city%2Foslo") == NotOffered()
    north = PricedRoute("GET", RouteTemplate("/city/:name/:part"), amount=BaseUnits(5))
    both = replace(CLOSED, routes=(CITY, north))
    assert priced(both, "GET", "/city/oslo%2Fnorth").route is CITY


def test_template_is_compared_by_the_meaning_of_its_escapes() -> None:
    settings = replace(
        ROUTED, routes=(PricedRoute("GET", RouteTemplate("/a%3Ab%C3%A9"), amount=BaseUnits(7)),)
    )
    for path in ("/a:b%c3%a9", "/a%3ab%C3%A9"):
        assert priced(settings, "GET", path).terms[0].amount == 7
    assert priced(settings, "GET", "/A%3AB%C3%89") == PricedCall(BASE)  # to some upstreams another


def shop(base: int, **amounts: int) -> WrapperSettings:
    """A wrapper whose routes are named `a__b` for `/a/b`, and `x_` for the parameter `:x`."""
    routes = tuple(
        PricedRoute("GET", RouteTemplate(_path_of(name)), amount=BaseUnits(amount))
        for name, amount in amounts.items()
    )
    return replace(SETTINGS, terms=(replace(BASE[0], amount=BaseUnits(base)),), routes=routes)


def _path_of(name: str) -> str:
    segments = (f":{each[:-1]}" if each.endswith("_") else each for each in name.split("__"))
    return "/" + "/".join(segments)


DEAR_PATH = shop(5, dear=100, any_=50)
CHEAP_PATH = shop(5, cheap=1, shut__a_=1)


@pytest.mark.parametrize(
    "path",
    [
        "/dear", "//dear", "/;x/dear", "/;/dear", "/%3b/dear", "/%3B/dear", "/+/dear", "/%20/dear",
        "/;a/;b/dear", "/;x//dear", "//;x/dear", "/dear/;x", "/;x/dear/;y/", "/%253b/dear",
        "/+;x/%20/dear", "/;x+/dear", "/%3bx%2f/dear", "/;/DEAR/", "/\\;x/dear", "/;%2fa/dear%3f",
        "/%c2%a0/dear", "/;x/d%65ar;y", "/;x/%2564ear",
    ],
)  # fmt: skip
def test_path_with_segments_that_an_upstream_drops_is_not_cheaper(path: str) -> None:
    assert priced(DEAR_PATH, "GET", path).terms[0].amount == 100


@pytest.mark.parametrize(
    ("path", "amount"),
    [
        ("/other", 50), ("/;x", 50), ("/Oslo", 50), ("/a/b", 5), ("/", 5), ("/+", 50),
        ("/a/;x", 50), ("/;x/;y", 5), ("/;x/other", 50),
    ],
)  # fmt: skip
def test_path_that_is_no_dear_one_costs_what_it_did(path: str, amount: int) -> None:
    assert priced(DEAR_PATH, "GET", path).terms[0].amount == amount


@pytest.mark.parametrize("path", ["/cheap", "/%63heap", "/che%61p", "/shut/Oslo", "/shut/a%20b"])
def test_path_of_a_route_costs_what_the_route_does(path: str) -> None:
    assert priced(CHEAP_PATH, "GET", path).terms[0].amount == 1
    closed = replace(CHEAP_PATH, other_paths=OtherPaths.REFUSED)
    assert priced(closed, "GET", path).terms[0].amount == 1


@pytest.mark.parametrize(
    "path",
    [
        "/CHEAP", "/cheap;x", "/cheap/", "/cheap//", "//cheap", "/cheap%20", "/cheap.", "/;x/cheap",
        "/%2563heap", "/cheap%3Fa", "/cheap%2f", "/SHUT/oslo", "/shut;x/oslo", "/shut/oslo/",
    ],
)  # fmt: skip
def test_path_that_an_upstream_may_tell_from_a_cheap_route_s_costs_no_less(path: str) -> None:
    assert priced(CHEAP_PATH, "GET", path) == PricedCall(CHEAP_PATH.terms)
    closed = replace(CHEAP_PATH, other_paths=OtherPaths.REFUSED)
    assert price_call(closed, "GET", path) == NotOffered()


@pytest.mark.parametrize(
    ("template", "path"),
    [("/secret", "/%C5%BFecret"), ("/stra%C3%9Fe", "/STRASSE"), ("/kelvin", "/%E2%84%AAelvin")],
)
def test_case_is_ignored_by_every_table_that_a_server_may_have(template: str, path: str) -> None:
    routes = tuple(
        PricedRoute("GET", RouteTemplate(each), amount=BaseUnits(amount))
        for each, amount in ((template, 100), ("/:any", 2))
    )
    settings = replace(shop(1), routes=routes)
    assert priced(settings, "GET", path).terms[0].amount == 100


def test_template_with_capitals_or_a_last_slash_has_its_price_as_it_is_written() -> None:
    routes = tuple(
        PricedRoute("GET", RouteTemplate(path), amount=BaseUnits(1)) for path in ("/Cheap", "/a/")
    )
    settings = replace(SETTINGS, routes=routes)
    for path, amount in (("/Cheap", 1), ("/cheap", 100), ("/a/", 1), ("/a", 100), ("/A/", 100)):
        assert priced(settings, "GET", path).terms[0].amount == amount


def test_path_that_is_not_forwarded_is_not_for_sale() -> None:
    assert price_call(ROUTED, "GET", "/city/..") == NotOffered()


def test_route_may_have_terms_of_its_own() -> None:
    settings = replace(SETTINGS, routes=(replace(REPORT, terms=EURO),))
    assert priced(settings, "POST", "/report").terms == EURO


def test_other_paths_cost_the_base_price_or_are_refused() -> None:
    assert price_call(ROUTED, "GET", "/other") == PricedCall(BASE)
    assert price_call(CLOSED, "GET", "/other") == NotOffered()
    assert price_call(CLOSED, "POST", "/city/oslo") == NotOffered(("GET",))


def test_route_with_the_most_fixed_segments_sets_the_price_whatever_the_order() -> None:
    oslo = PricedRoute("GET", RouteTemplate("/city/oslo"), amount=BaseUnits(90_000))
    for routes in itertools.permutations((CITY, oslo, REPORT)):
        settings = replace(ROUTED, routes=routes)
        for path in ("/city/oslo", "/city/%6fslo", "/CITY/Oslo"):
            assert priced(settings, "GET", path).route is oslo
        assert priced(settings, "GET", "/city/bergen").route is CITY


def test_first_of_the_routes_with_as_many_fixed_segments_sets_the_price() -> None:
    oslo = PricedRoute("GET", RouteTemplate("/:kind/oslo"))
    for routes in ((CITY, oslo), (oslo, CITY)):
        assert priced(replace(ROUTED, routes=routes), "GET", "/city/oslo").route is routes[0]


def test_route_of_another_method_sets_no_price() -> None:
    oslo = PricedRoute("POST", RouteTemplate("/city/oslo"), amount=BaseUnits(90_000))
    assert priced(replace(ROUTED, routes=(oslo, CITY)), "GET", "/city/oslo").route is CITY
