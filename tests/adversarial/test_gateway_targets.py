"""Cases 3.1 at the gateway: what a wrapper's upstream may be, whenever it is named."""

import pytest

from support.asgi import Answer
from support.outbound import SELLER
from support.paid_gateway import NAMES, ORIGIN, OTHER_NAME, UPSTREAM_URL, WRAPPERS, PaidGateway
from support.promises import case, promise
from support.upstream import answers

HOST = ORIGIN.removeprefix("https://")
REFUSED = [
    pytest.param("https://user:pw@example.com/", marks=case("GW-017")),
    pytest.param("https://a.example.com\\@evil.example/", marks=case("GW-017")),
    pytest.param("https://evil.example#@a.example.com/", marks=case("GW-017")),
    pytest.param("https://a.example.com%40evil.example/", marks=case("GW-017")),
    pytest.param("http://example.com/", marks=case("GW-018")),
    pytest.param("HTTPS://example.com/", marks=case("GW-018")),
    pytest.param("https:/example.com", marks=case("GW-018")),
    pytest.param("file:///etc/passwd", marks=case("GW-018")),
    pytest.param("https://example.com:22/", marks=case("GW-019")),
    pytest.param("https://example.com:6379/", marks=case("GW-019")),
    pytest.param("https://example.com:٤٤٣/", marks=case("GW-019")),
    pytest.param("https://example.com:99999/", marks=case("GW-019")),
    pytest.param("https://%65xample.com/", marks=case("GW-020")),
    pytest.param("https://127.0.0.1%00.example.com/", marks=case("GW-020")),
    pytest.param("https://exаmple.com/", marks=case("GW-020")),
    pytest.param(f"https://{'a' * 300}.com/", marks=case("GW-020")),
    pytest.param(f"https://{HOST}/", marks=case("GW-021")),
    pytest.param(f"https://{HOST.upper()}:8443/gateway/other", marks=case("GW-021")),
    pytest.param(f"https://{HOST}/gateway/city-weather", marks=case("GW-021")),
    pytest.param("https://127.0.0.1/gateway/other", marks=case("GW-021")),
    pytest.param("https://localhost/", marks=case("GW-021")),
    *(
        pytest.param(f"https://{name}/", marks=case("GW-024"))
        for name in dict.fromkeys(each.partition("=")[0] for each in NAMES)
    ),
    pytest.param("https://nowhere.example.com/", marks=case("GW-024")),
]


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


def code_of(answer: Answer) -> str:
    return str(answer.json()["error"]["code"])


@promise("outbound:https", "outbound:no-user-info", "outbound:public-targets-only")
@promise("outbound:no-local-names", "outbound:every-address-public", "wrapper:https-upstream")
@pytest.mark.parametrize("url", REFUSED)
async def test_upstream_that_may_not_be_called_is_refused_whenever_it_is_named(
    shop: PaidGateway, url: str
) -> None:
    created = await shop.send("POST", WRAPPERS, shop.body(upstreamUrl=url))
    assert (created.status, code_of(created)) == (400, "invalid_wrapper")
    wrapper = await shop.serve()
    path = f"{WRAPPERS}/{wrapper['id']}"
    changed = await shop.send("PATCH", path, {"upstreamUrl": url})
    assert (changed.status, code_of(changed)) == (400, "invalid_wrapper")
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    await shop.set_upstream(wrapper, url)
    checked = (await shop.send("POST", f"{path}/check")).json()
    assert checked["ready"] is False
    assert checked["settingsProblem"] is not None
    enabled = await shop.send("POST", f"{path}/enable")
    assert (enabled.status, code_of(enabled)) == (400, "invalid_wrapper")
    first = await shop.buy(wrapper, payment=payment)
    assert first.status in (400, 402, 503), "402: it was priced by settings of a moment ago"
    called = await shop.buy(wrapper, payment=payment)
    assert called.status in (400, 503), called.body
    assert shop.upstream.requests == []
    assert await shop.stage.rows() == 0


@case("GW-016")
async def test_upstream_with_the_certificate_of_another_name_gets_no_request(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve(upstreamUrl=f"https://{OTHER_NAME}/base")
    checked = (await shop.send("POST", f"{WRAPPERS}/{wrapper['id']}/check")).json()
    assert checked["upstream"]["problem"] == "The upstream cannot be called: certificate_refused."
    called = await shop.buy(wrapper)
    assert called.status == 502
    assert called.json()["error"]["details"]["attemptsLeft"] == 4
    assert shop.upstream.requests == []


@case("GW-022")
@promise("outbound:no-redirects")
@pytest.mark.parametrize("status", [302, 308])
async def test_redirect_is_not_followed_and_its_location_not_shown(
    shop: PaidGateway, status: int
) -> None:
    location = f"https://{SELLER}/private"
    shop.upstream.answer = answers(status=f"{status} Moved", headers=(f"Location: {location}",))
    wrapper = await shop.serve()
    checked = (await shop.send("POST", f"{WRAPPERS}/{wrapper['id']}/check")).json()
    assert checked["upstream"]["status"] == status
    called = await shop.buy(wrapper)
    assert called.status == 502
    assert location not in f"{called.headers} {called.body!r}"
    assert len(shop.upstream.requests) == 2


@case("GW-022")
async def test_refresh_to_the_upstream_is_not_passed_on(shop: PaidGateway) -> None:
    shop.upstream.answer = answers(headers=(f"Refresh: 0; url={UPSTREAM_URL}/private",))
    called = await shop.buy(await shop.serve())
    assert called.status == 200
    assert "refresh" not in called.headers


@case("GW-023")
async def test_proxies_of_the_environment_are_ignored_by_the_gateway(
    shop: PaidGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.upper(), "http://127.0.0.1:9")
    wrapper = await shop.serve()
    assert (await shop.send("POST", f"{WRAPPERS}/{wrapper['id']}/check")).json()[
        "settingsProblem"
    ] is None
    assert (await shop.buy(wrapper)).status == 200
