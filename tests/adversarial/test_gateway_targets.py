"""Cases 3.1 at the gateway: what a wrapper's upstream may be, whenever it is named."""

import pytest

from support.asgi import Answer
from support.outbound import SELLER
from support.paid_gateway import NAMES, ORIGIN, OTHER_NAME, UPSTREAM_URL, WRAPPERS, PaidGateway
from support.promises import case, promise
from support.upstream import answers

HOST = ORIGIN.removeprefix("https://")
REFUSED = (
    "https://user:pw@example.com/", "https://a.example.com\\@evil.example/",
    "https://evil.example#@a.example.com/", "https://a.example.com%40evil.example/",
    "http://example.com/", "HTTPS://example.com/", "https:/example.com", "file:///etc/passwd",
    "https://example.com:22/", "https://example.com:6379/", "https://example.com:٤٤٣/",
    "https://example.com:99999/", "https://%65xample.com/", "https://127.0.0.1%00.example.com/",
    "https://exаmple.com/", f"https://{'a' * 300}.com/", f"https://{HOST}/",
    f"https://{HOST.upper()}:8443/gateway/other", f"https://{HOST}/gateway/city-weather",
    "https://127.0.0.1/gateway/other", "https://localhost/", "https://nowhere.example.com/",
    *(f"https://{name}/" for name in dict.fromkeys(each.partition("=")[0] for each in NAMES)),
)  # fmt: skip
KEPT = (  # one for each kind of refusal
    "https://user:pw@example.com/", "http://example.com/", "https://example.com:22/",
    "https://%65xample.com/", f"https://{HOST.upper()}:8443/gateway/other",
    "https://mixed.example.com/", "https://nowhere.example.com/",
)  # fmt: skip


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


def code_of(answer: Answer) -> str:
    return str(answer.json()["error"]["code"])


@promise("outbound:https", "outbound:no-user-info", "outbound:public-targets-only")
@promise("outbound:no-local-names", "outbound:every-address-public", "wrapper:https-upstream")
@case("GW-017", "GW-018", "GW-019", "GW-020", "GW-021", "GW-024")
async def test_url_that_may_not_be_called_is_taken_by_no_wrapper(shop: PaidGateway) -> None:
    path = f"{WRAPPERS}/{(await shop.serve())['id']}"
    for url in REFUSED:
        created = await shop.send("POST", WRAPPERS, shop.body(upstreamUrl=url))
        assert (created.status, code_of(created)) == (400, "invalid_wrapper"), url
        changed = await shop.send("PATCH", path, {"upstreamUrl": url})
        assert (changed.status, code_of(changed)) == (400, "invalid_wrapper"), url
    assert shop.upstream.requests == []


@promise("outbound:https", "outbound:no-user-info", "outbound:public-targets-only")
@pytest.mark.parametrize("url", KEPT)
async def test_stored_upstream_that_may_not_be_called_is_neither_enabled_nor_called(
    shop: PaidGateway, url: str
) -> None:
    wrapper = await shop.serve()
    path = f"{WRAPPERS}/{wrapper['id']}"
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
