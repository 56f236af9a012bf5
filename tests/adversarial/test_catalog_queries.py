"""Cases 2.2: queries of the catalog and their refusals."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final
from urllib.parse import quote

import pytest

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.listing_rows import OTHER_SELLER
from support.listings import SELLER, Listed, list_many
from support.promises import case, promise
from support.stage import Stage

BROWSE: Final = "/discovery/resources?"
MERCHANT: Final = f"/discovery/merchant?payTo={SELLER}&"
SEARCH: Final = "/discovery/search?query=specimen&"
PATHS: Final = (BROWSE, MERCHANT, SEARCH)
BY_OFFSET: Final = (BROWSE, MERCHANT)
DEEP_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Shelf:
    """A service with three HTTP listings of one seller, and a tool of another on pubnet."""

    client: AsgiClient
    names: tuple[str, ...]  # of the first seller, in the order they are shown

    async def ask(self, path: str) -> Answer:
        """What a path answers, never with a fault of ours."""
        answer = await self.client.get(path)
        assert answer.status in (200, 400), (path, answer.status, answer.body[:300])
        return answer

    async def shown(self, path: str) -> dict[str, Any]:
        """The body of a page."""
        answer = await self.ask(path)
        assert answer.status == 200, answer.body
        return answer.json()

    async def refused(self, path: str) -> str:
        """The code of a refusal, in the uniform body."""
        answer = await self.ask(path)
        assert answer.status == 400, answer.body
        error = answer.json()["error"]
        assert set(error) == {"code", "message", "requestId"}
        return str(error["code"])


@pytest.fixture
async def shelf(stage: Stage) -> AsyncIterator[Shelf]:
    """Listings that were not there before and are gone afterwards."""
    names = ("first", "second", "third")
    listed = [Listed(f"https://{n}.example/data", n, description="specimen") for n in names]
    tool = Listed(
        "https://tool.example/mcp",
        "tool",
        description="specimen",
        tool_name="tool",
        network=Network.PUBNET,
        pay_to=OTHER_SELLER,
    )
    async with Database(Secret(stage.environment["FAREBOX_DATABASE_URL"])) as database:
        ids = await list_many(database, [*listed, tool])
        yield Shelf(stage.client, names)
        async with database.connection() as db:
            await db.execute("DELETE FROM listings WHERE id = ANY ($1)", ids)
            await db.execute("DELETE FROM search_documents WHERE listing_id = ANY ($1)", ids)


def items(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The listings of a page of either kind."""
    return list(body.get("items", body.get("resources", [])))


def lasting(body: dict[str, Any]) -> dict[str, Any]:
    """The page without what the service finds out about its listings meanwhile."""
    for item in items(body):
        for name in ("tokens", "quality", "probe"):
            item.pop(name, None)
    return body


def total(body: dict[str, Any]) -> int:
    """How many there are in all; a search says it of one page alone."""
    return int(body["pagination"].get("total", len(items(body))))


def names(body: dict[str, Any]) -> list[str]:
    """What the listings of a page are called."""
    return [item["serviceName"] for item in items(body)]


@case("CT-049")
@promise("browse:limit-capped")
async def test_page_size_is_capped_and_returned(shelf: Shelf) -> None:
    for path in PATHS:
        for limit, used in (("1", 1), ("100", 100), ("101", 100), ("1000000000", 100), ("0002", 2)):
            body = await shelf.shown(f"{path}limit={limit}")
            assert body["pagination"]["limit"] == used
            assert len(items(body)) == min(used, total(await shelf.shown(path)))
        assert (await shelf.shown(path))["pagination"]["limit"] == 20


@case("CT-049")
async def test_invalid_limit_is_refused_with_a_code(shelf: Shelf) -> None:
    for path in PATHS:
        odd = ("0", "-1", "ten", "10abc", "1e1", "٣", "1.5", " 7", "1_000", "0x10", "NaN")
        for value in odd:
            assert await shelf.refused(f"{path}limit={quote(value)}") == "invalid_limit"
        assert await shelf.refused(f"{path}limit=") == "empty_parameter"
        assert await shelf.refused(f"{path}limit=1&limit=2") == "repeated_parameter"
        assert (await shelf.shown(f"{path}limit=1&limit=1"))["pagination"]["limit"] == 1


@case("CT-050")
@promise("browse:offset")
async def test_offset_is_validated_and_large_offset_is_cheap(shelf: Shelf) -> None:
    for path in BY_OFFSET:
        for value in ("-1", str(2**63), str(2**64), "1.5", "1e3", "9" * 5_000):
            assert await shelf.refused(f"{path}offset={value}") == "invalid_offset"
        for value in ("1000000", str(2**63 - 1)):
            began = perf_counter()
            body = await shelf.shown(f"{path}offset={value}")
            assert perf_counter() - began < DEEP_S
            assert items(body) == []
            assert body["pagination"]["offset"] == int(value)
            assert body["pagination"]["total"] >= 3
        whole = await shelf.shown(f"{MERCHANT}limit=3")
        second = await shelf.shown(f"{MERCHANT}limit=1&offset=1")
        assert names(whole) == list(shelf.names)
        assert names(second) == names(whole)[1:2]


@case("CT-051")
@promise("browse:filter-extensions")
async def test_both_extension_filter_spellings_work_and_must_agree(shelf: Shelf) -> None:
    for path in PATHS:
        for query in (
            "extensions=bazaar",
            "extension=bazaar",
            "extension=bazaar&extensions=bazaar",
        ):
            assert names(await shelf.shown(path + query))
            assert "unappliedFilters" not in await shelf.shown(path + query)
        assert items(await shelf.shown(f"{path}extension=other")) == []
        refused = await shelf.refused(f"{path}extension=a&extensions=b")
        assert refused == "conflicting_parameters"


@case("CT-051")
async def test_unknown_parameter_is_named_and_ignored(shelf: Shelf) -> None:
    for path in PATHS:
        plain = await shelf.shown(path)
        body = await shelf.shown(f"{path}maxUsdPrice=1&color=red&color=blue&__proto__=1")
        assert body.pop("unappliedFilters") == ["maxUsdPrice", "color", "__proto__"]
        assert lasting(body) == lasting(plain)


@case("CT-051")
async def test_repeated_and_empty_filters_are_refused(shelf: Shelf) -> None:
    for path in PATHS:
        for name in ("type", "network", "scheme", "extensions"):
            assert await shelf.refused(f"{path}{name}=a&{name}=b") == "repeated_parameter"
            assert await shelf.refused(f"{path}{name}=") == "empty_parameter"
        assert await shelf.refused(f"{path}payTo={OTHER_SELLER}&payTo=x") == "repeated_parameter"


HOSTILE: Final = (
    "' OR '1'='1", "exact'; DROP TABLE listings; --", "%", "ex_ct", "$.bazaar", "[*]",
    '{"bazaar":1}',
    "*", "\\", "http\u202e", "\U0001f600" * 100, "{}", "NULL",
)  # fmt: skip


@case("CT-052")
async def test_filter_values_are_compared_exactly(shelf: Shelf) -> None:
    for path in PATHS:
        before = total(await shelf.shown(path))
        for name in ("type", "network", "scheme", "extensions"):
            for value in HOSTILE:
                body = await shelf.shown(f"{path}{name}={quote(value, safe='')}")
                assert items(body) == []
                assert total(body) == 0
        assert total(await shelf.shown(path)) == before > 0


@case("CT-052")
async def test_text_invalid_for_database_is_refused_before_the_query(shelf: Shelf) -> None:
    for path in PATHS:
        for name in ("type", "network", "scheme", "extensions"):
            assert await shelf.refused(f"{path}{name}=a%00") == "control_characters"
            assert await shelf.refused(f"{path}{name}=%ED%A0%80") == "invalid_query_string"
        assert await shelf.refused(f"{path}type={'x' * 20_000}") == "query_string_too_long"
        assert await shelf.refused(path + "a=1&" * 65) == "too_many_parameters"


@promise(
    "browse:shape", "browse:filter-type", "browse:filter-pay-to", "browse:filter-scheme",
    "browse:filter-network",
)  # fmt: skip
async def test_every_filter_narrows_the_result(shelf: Shelf) -> None:
    body = await shelf.shown(f"{BROWSE}payTo={SELLER}&limit=2")
    assert set(body) == {"x402Version", "items", "pagination"}
    assert body["x402Version"] == 2
    assert body["pagination"] == {"limit": 2, "offset": 0, "total": 3}
    assert names(await shelf.shown(f"{BROWSE}type=mcp&network=stellar:pubnet")) == ["tool"]
    assert items(await shelf.shown(f"{BROWSE}payTo={OTHER_SELLER}&type=http")) == []
    assert names(await shelf.shown(f"{BROWSE}scheme=exact&payTo={OTHER_SELLER}")) == ["tool"]
    for query in ("network=eip155:8453", "payTo=0xabc", "scheme=upto", "type=ftp"):
        nothing = await shelf.shown(BROWSE + query)
        assert nothing["items"] == []
        assert nothing["pagination"] == {"limit": 20, "offset": 0, "total": 0}


async def test_merchant_query_without_pay_to_is_refused(shelf: Shelf) -> None:
    assert await shelf.refused("/discovery/merchant") == "pay_to_required"
    body = await shelf.shown(f"/discovery/merchant?payTo={OTHER_SELLER.lower()}")
    assert body["payTo"] == OTHER_SELLER
    assert names(body) == ["tool"]
    unknown = await shelf.shown("/discovery/merchant?payTo=nobody")
    assert unknown == {
        "payTo": "nobody",
        "resources": [],
        "pagination": {"limit": 20, "offset": 0, "total": 0},
    }


@case("CT-063")
async def test_response_addresses_do_not_come_from_request_headers(shelf: Shelf) -> None:
    for path in PATHS:
        honest = await shelf.client.get(path)
        forged = {
            "host": "evil.example",
            "x-forwarded-host": "evil.example",
            "x-forwarded-proto": "gopher",
            "forwarded": "host=evil.example",
            "origin": "https://evil.example",
        }
        answer = await shelf.client.request("GET", path, headers=forged)
        assert lasting(answer.json()) == lasting(honest.json())
        assert b"evil" not in answer.body + repr(answer.headers).encode()
