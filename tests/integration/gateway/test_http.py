"""The gateway over HTTP before a payment: offers, and requests that cannot be paid for."""

from farebox.kernel.caller import Caller, CallerKind
from farebox.storage.pool import Database
from support.gateway import ORIGIN, Opened, code_of, sent
from support.payment_headers import required
from support.wrappers import wrappers_of

PRIVATE = "private, no-store"


async def test_unpaid_request_gets_the_offer_and_reaches_nobody(opened: Opened) -> None:
    async with opened() as at:
        answer = await at.offer("/a?q=1")
        assert (answer.status, required(answer)) == (402, answer.json())
        assert required(answer)["resource"]["url"] == f"{ORIGIN}{at.url}/a"
        assert answer.headers["cache-control"] == PRIVATE
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "PAYMENT-REQUIRED" in answer.headers["access-control-expose-headers"]
        assert (sent(at), at.settler.settled) == ([], [])


async def test_head_is_answered_like_an_unpaid_get_without_a_body(opened: Opened) -> None:
    async with opened() as at:
        offered = await at.offer()
        answer = await at.pay(method="HEAD")
        assert (answer.status, answer.body) == (402, b"")
        assert answer.headers["payment-required"] == offered.headers["payment-required"]
        assert answer.headers["content-length"] == str(len(offered.body))
        assert (sent(at), at.settler.settled) == ([], [])


async def test_preflight_is_answered_here(opened: Opened) -> None:
    async with opened() as at:
        wanted = {"access-control-request-headers": "payment-signature, x-own"}
        answer = await at.client.request("OPTIONS", at.url, headers=wanted)
        assert (answer.status, answer.body) == (204, b"")
        assert "content-length" not in answer.headers
        assert answer.headers["access-control-allow-headers"] == "payment-signature, x-own"
        assert "PATCH" in answer.headers["access-control-allow-methods"]
        assert sent(at) == []


async def test_slug_without_an_enabled_wrapper_is_not_found(opened: Opened) -> None:
    async with opened() as at:
        slug = at.wrapper.slug
        wrong = ("unheard-of", "UNHEARD-OF", f"{slug}x", "%77eather", "a" * 10_000, "a_b")
        for path in ("", "/", *(f"/{each}" for each in wrong)):
            for method in ("GET", "POST"):
                answer = await at.client.request(method, "/gateway" + path)
                assert (answer.status, code_of(answer)) == (404, "not_found"), path[:20]


async def test_disabled_and_deleted_wrapper_is_not_found(
    opened: Opened, database: Database
) -> None:
    async with opened() as at:
        caller = Caller(at.wrapper.owner, CallerKind.SESSION)
        for change in (wrappers_of(database).disable, wrappers_of(database).delete):
            await change(caller, "r", at.wrapper.id)
            answer = await at.offer()
            assert (answer.status, code_of(answer)) == (404, "not_found")


async def test_slug_has_one_spelling(opened: Opened) -> None:
    async with opened() as at:
        for path in (at.url.upper().replace("/GATEWAY", "/gateway"), f"/gateway/%{ord('c'):x}ity"):
            assert (await at.client.get(path)).status == 404
        assert (await at.client.get(f"{at.url}/")).status == 402


async def test_method_that_is_not_sold_is_not_allowed(opened: Opened) -> None:
    async with opened() as at:
        for method in ("TRACE", "CONNECT", "PROPFIND"):
            answer = await at.client.request(method, at.url)
            assert answer.status == 405, method
            assert "GET" in answer.headers["allow"]


async def test_method_and_path_of_the_wrapper_are_sold_alone(opened: Opened) -> None:
    routes = [{"method": "GET", "path": "/city/:name", "amount": "5"}]
    async with opened(routes=routes, other_paths="refused") as at:
        offered = await at.offer("/city/oslo")
        assert required(offered)["accepts"][0]["amount"] == "5"
        refused = await at.client.request("POST", f"{at.url}/city/oslo")
        assert (refused.status, refused.headers["allow"]) == (405, "GET")
        assert (await at.offer("/other")).status == 404


async def test_path_that_may_leave_the_upstream_is_refused(opened: Opened) -> None:
    async with opened() as at:
        for path in ("/..", "/%2e%2e/a", "/a%2f..", "/%20..", "/a\\..\\b"):
            answer = await at.offer(path)
            assert (answer.status, code_of(answer)) == (400, "not_forwarded"), path
