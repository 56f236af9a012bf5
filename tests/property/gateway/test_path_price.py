"""No decoration of a dear path makes it cheaper, whatever the upstream repairs."""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.upstream_url import is_path_confined
from farebox.gateway.wrapper import (
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

TERMS = (WrapperTerm(Network.TESTNET, Address("C"), BaseUnits(5), Address("G")),)
ROUTES = tuple(
    PricedRoute("GET", RouteTemplate(path), amount=BaseUnits(amount))
    for path, amount in (("/dear", 100), ("/:any", 50), ("/:any/:other", 1), ("/cheap", 1))
)
SETTINGS = WrapperSettings("shop", Upstream("https://api.example.com"), TERMS, routes=ROUTES)

parameters = st.text(";=ab1%+", max_size=4).map(lambda text: f";{text}")
blanks = st.sampled_from(["", "+", "%20", "%c2%a0", "+%20"])
slashes = st.sampled_from(["/", "//", "\\", "%2f", "%5C", "/\\"])


def encoded(text: str, times: int) -> str:
    """A text whose characters are escapes, encoded so many times."""
    for number in range(times):
        text = quote(text, safe="") if number else "".join(f"%{ord(each):02x}" for each in text)
    return text


letters = st.tuples(st.booleans(), st.integers(0, 3))
names = st.tuples(*[letters] * 4).map(
    lambda chosen: "".join(
        encoded(each.upper() if is_upper else each, times)
        for each, (is_upper, times) in zip("dear", chosen, strict=True)
    )
)
# what some upstream drops: nothing, blanks or a parameter, whose semicolon may be encoded
dropped = st.tuples(blanks, st.one_of(st.just(""), parameters), st.integers(0, 2)).map(
    lambda parts: parts[0] + parts[1].replace(";", encoded(";", parts[2]))
)
segments = st.tuples(slashes, dropped).map("".join)
decorated = st.tuples(
    st.lists(segments, max_size=3).map("".join),
    slashes,
    blanks,
    names,
    dropped,
    st.lists(segments, max_size=3).map("".join),
    st.sampled_from(["", "%3fa", "%23", "%253F/b", "%3f/../x"]),
).map(lambda parts: "/" * (not "".join(parts).startswith("/")) + "".join(parts))


@given(decorated)
def test_no_decoration_of_a_dear_path_is_cheaper(path: str) -> None:
    call = price_call(SETTINGS, "GET", path)
    if isinstance(call, PricedCall):
        assert call.terms[0].amount >= 100
    else:
        assert not is_path_confined(path)


@given(st.sampled_from([".", "..", "%2e", "%2e.", "%252e", "..;x", "+.", ".%20"]), segments)
def test_decoration_with_a_dot_segment_is_refused(dots: str, segment: str) -> None:
    assert not is_path_confined(f"/{dots}{segment.replace('%3f', '')}/dear")
