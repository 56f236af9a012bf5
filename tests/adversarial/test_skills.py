"""Case 7, skills: slugs and filters that try to leave the registry, and what is advertised."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from farebox.kernel.secret import Secret
from farebox.mcp.tools import TOOLS
from farebox.storage.pool import Database
from support.agent import Agent
from support.asgi import Answer, AsgiClient
from support.listings import Listed, list_many
from support.promises import case, promise
from support.skills import SKILLS
from support.stage import Stage

TARGETS: Final = (
    "etc/passwd", "proc/self/environ", "specs/SHA256SUMS", "../specs/x402-pay/1.0.0.json",
    "spec.py", "x402-pay/1.0.0", "pyproject.toml", "C:\\Windows\\win.ini", "\\\\host\\share",
    "file:///etc/passwd",
)  # fmt: skip
CLIMBS: Final = ("", "/", "../", "../../", "../../../../../../", "..\\..\\", "....//", "%2e%2e/")
ODD: Final = (
    ".", "..", "...", "~", "~root", "x402-pay.json", "x402-pay%00", "x402-pay\x00", "x402-pay\n",
    "x402-pay;ls", "$(id)", "`id`", "{slug}", "%s%n", "*", "[a-z]*", "x402-pay ", " x402-pay",
    "x402‑pay",  # a hyphen that does not break
    "ｘ402-pay",
    "x402-pay" * 40,
    "🂡",
)  # fmt: skip
TRICKS: Final = (*(climb + target for climb in CLIMBS for target in TARGETS), *ODD)
ADVERTISED: Final = (
    "/supported", "/v1/skills", "/llms.txt", "/openapi.json", "/.well-known/x402",
    "/v1/openapi.json", "/v1/errors", "/v1/networks", "/discovery/resources?limit=100",
    "/discovery/search?query=upto",
    *(
        f"/v1/skills/{slug}/{name}"
        for slug in SKILLS
        for name in ("spec", "versions", "SKILL.md", "mcp-tools.json", "openapi.json")
    ),
)  # fmt: skip
_UPTO: Final = re.compile(r"\bupto\b|\"up-to\"", re.IGNORECASE)
_opened: list[str] = []
_watching: list[bool] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event in ("open", "os.listdir", "os.scandir", "glob.glob"):
        _opened.append(str(arguments[0]))


sys.addaudithook(_watch)


@contextmanager
def watched() -> Iterator[list[str]]:
    """The files and folders that are opened within the block, by whatever code."""
    _opened.clear()
    _watching.append(True)
    try:
        yield _opened
    finally:
        _watching.clear()


def spellings(trick: str) -> Iterator[str]:
    """The paths that carry a trick: as a slug or a version, decoded once as the server does."""
    yield f"/v1/skills/{trick}/spec"
    yield f"/v1/skills/{trick}/SKILL.md"
    yield f"/v1/skills/x402-pay/spec?version={quote(trick, safe='')}"
    yield f"/v1/skills/x402-pay/mcp-tools.json?version={quote(trick, safe='')}"


async def send(client: AsgiClient, path: str) -> Answer:
    """Send a request whose path is used as it is, whichever characters it has."""
    path, mark, query = path.partition("?version=")
    clean = path.replace("?", "%3F")
    return await client.request("GET", clean + (f"?version={query}" if mark else ""))


@case("VA-017")
async def test_trick_in_slug_or_version_is_not_found_and_opens_no_file(
    shared_client: AsgiClient,
) -> None:
    assert len(TRICKS) >= 100
    wrong: list[tuple[str, int, bytes]] = []
    for path in spellings("x402-upto"):  # modules that are imported late are imported now
        assert (await send(shared_client, path)).status == 404
    with watched() as opened:
        for trick in TRICKS:
            for path in spellings(trick):
                answer = await send(shared_client, path)
                # a control character in a parameter is a 400
                if answer.status not in (404, 400) or b"root:" in answer.body:
                    wrong.append((path, answer.status, answer.body[:80]))
        assert opened == []
    assert wrong == []


def test_control_file_that_is_opened_is_noticed() -> None:
    with watched() as opened:
        Path("/dev/null").read_bytes()
    assert opened == ["/dev/null"]


@case("VA-017")
@pytest.mark.parametrize("name", ["query", "protocol", "network", "action"])
async def test_filter_with_odd_text_finds_nothing(shared_client: AsgiClient, name: str) -> None:
    for trick in ODD:
        answer = await shared_client.get(f"/v1/skills?{name}={quote(trick, safe='')}")
        if answer.status == 400:
            assert answer.json()["error"]["code"] in (
                "control_characters",
                "invalid_query_string",
                "query_too_long",
            ), trick
            continue
        assert answer.status == 200, trick
        # a query is words, whatever stands around them
        assert name == "query" or answer.json() == {"items": [], "total": 0}, trick


@case("VA-017")
async def test_unknown_network_and_slug_are_empty_and_not_found(
    shared_client: AsgiClient,
) -> None:
    answer = await shared_client.get("/v1/skills?network=stellar:futurenet")
    assert answer.json() == {"items": [], "total": 0}
    unknown = await shared_client.get("/v1/skills/x402-upto/spec")
    assert (unknown.status, unknown.json()["error"]["code"]) == (404, "SKILL_NOT_FOUND")


@case("VA-019")
async def test_upto_is_not_advertised(stage: Stage) -> None:
    for path in ADVERTISED:
        answer = await stage.client.get(path)
        assert answer.status == 200, path
        assert _UPTO.search(answer.body.decode()) is None, path


@case("VA-019")
@promise("upto:not-advertised")
async def test_upto_is_in_no_page_and_no_search_of_the_catalog(stage: Stage) -> None:
    """A listing that speaks of metering is there: its payment is still `exact`."""
    metered = Listed("https://metered.example/data", "metered", description="metered up to a cap")
    async with Database(Secret(stage.environment["FAREBOX_DATABASE_URL"])) as database:
        (own,) = await list_many(database, [metered])
        agent = Agent(stage.client)
        try:
            for path in ("/discovery/resources?payTo=", "/discovery/merchant?payTo="):
                page = await stage.client.get(path + metered.pay_to)
                assert b"metered.example" in page.body, "the control: there is something to find"
                assert _UPTO.search(page.body.decode()) is None
            nothing = (await stage.client.get("/discovery/resources?scheme=upto")).json()
            assert nothing["items"] == []
            found = await agent.call("search_services", {"query": "metered"})
            assert "metered.example" in repr(found), "the control"
            for query in ("metered", "upto", "scheme upto"):
                found = await agent.call("search_services", {"query": query})
                assert _UPTO.search(repr(found["structuredContent"])) is None
        finally:
            async with database.connection() as db:
                await db.execute("DELETE FROM listings WHERE id = $1", own)
                await db.execute("DELETE FROM search_documents WHERE listing_id = $1", own)


@case("VA-019")
async def test_upto_is_no_tool_and_no_payment(stage: Stage) -> None:
    assert _UPTO.search(repr(TOOLS)) is None
    listed = await Agent(stage.client).ask("tools/list")
    assert _UPTO.search(repr(listed)) is None
    assert len(listed["result"]["tools"]) == len(TOOLS)
    request = (await stage.draft()).request(scheme="upto")
    assert (await stage.verify(request))["invalidReason"] == "unsupported_scheme"
    assert (await stage.settle(request))["errorReason"] == "unsupported_scheme"
    for name in ("query", "action", "protocol"):
        found = (await stage.client.get(f"/v1/skills?{name}=upto")).json()
        assert found["total"] == 0


def test_control_upto_is_recognized() -> None:
    texts = ('{"scheme": "upto"}', "the scheme upto", "x402-upto/spec", '{"enum":["exact","upto"]}')
    for text in texts:
        assert _UPTO.search(text)
    assert _UPTO.search("at most, or up to 100") is None
