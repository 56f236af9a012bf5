"""Any forwarded headers give an address, and only those of a trusted proxy count."""

from ipaddress import ip_address, ip_network

from hypothesis import given, settings
from hypothesis import strategies as st

from farebox.web.client_address import client_address, client_name
from support.examples import examples

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
PROXY = "10.0.0.1"
SEEN = "203.0.113.7"
HEADERS = st.sampled_from([b"x-forwarded-for", b"forwarded", b"x-real-ip"])
ODD = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(
            [b"1.2.3.4", b"10.0.0.2", b"::1", b"for=", b'"', b",", b";", b" ", b"[", b"]", b":9"]
        ),
        max_size=30,
    ).map(b"".join),
)
LINES = st.lists(st.tuples(HEADERS, ODD), max_size=4)


@settings(max_examples=examples(150), deadline=None)
@given(lines=LINES)
def test_client_address_is_the_peer_or_after_a_trusted_proxy_any_address(
    lines: list[tuple[bytes, bytes]],
) -> None:
    assert client_address(SEEN, lines, TRUSTED) == SEEN
    assert client_address(PROXY, lines, ()) == PROXY
    found = client_address(PROXY, lines, TRUSTED)
    assert str(ip_address(found.partition("%")[0])) == found.partition("%")[0]
    assert client_name(found) != "unknown"


@settings(max_examples=examples(150), deadline=None)
@given(before=ODD)
def test_client_address_ignores_what_the_client_forwarded(before: bytes) -> None:
    appended = [(b"x-forwarded-for", before + b", " + SEEN.encode())]
    assert client_address(PROXY, appended, TRUSTED) == SEEN
    further = [(b"x-forwarded-for", before), (b"x-forwarded-for", SEEN.encode() + b", fd00::9")]
    assert client_address(PROXY, further, TRUSTED) == SEEN
    standard = [(b"forwarded", before + b", for=" + SEEN.encode())]
    assert client_address(PROXY, standard, TRUSTED) == SEEN
