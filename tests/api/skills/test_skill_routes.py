"""`/v1/skills` and `/llms.txt` over the service: lists, filters, versions, caching."""

import hashlib
from typing import Final

import pytest

from farebox.skills.spec import spec_schema
from support.asgi import AsgiClient
from support.paid_gateway import ORIGIN, PaidGateway
from support.promises import promise
from support.skill_calls import misfits
from support.skills import FILES, SKILLS

SPEC: Final = "/v1/skills/x402-pay/spec"
FOR_EVER: Final = "public, max-age=31536000, immutable"
NEWEST: Final = "public, max-age=300"
DOCUMENTS: Final = ("SKILL.md", "mcp-tools.json", "openapi.json")
ITEM: Final = {
    "slug", "version", "name", "summary", "category", "protocol", "networks", "actions", "status",
    "authMode", "safety", "specUrl", "sha256",
}  # fmt: skip


async def listed(client: AsgiClient, query: str = "") -> list[str]:
    """The slugs that a query string finds."""
    answer = await client.get(f"/v1/skills{query}")
    assert answer.status == 200, answer.body
    body = answer.json()
    assert body["total"] == len(body["items"])
    return [each["slug"] for each in body["items"]]


async def refused(client: AsgiClient, path: str) -> tuple[int, str]:
    """The status and the code of an error."""
    answer = await client.get(path)
    return answer.status, str(answer.json()["error"]["code"])


@promise("skills:list-filters", "version:v1-skills")
async def test_list_has_every_skill_with_all_its_members(shared_client: AsgiClient) -> None:
    answer = await shared_client.get("/v1/skills")
    items = answer.json()["items"]
    assert [each["slug"] for each in items] == sorted(SKILLS)
    assert {frozenset(each) for each in items} == {frozenset(ITEM)}
    (pay,) = [each for each in items if each["slug"] == "x402-pay"]
    assert pay["actions"] == ["quote", "prepare", "complete", "paid_call"]
    assert pay["safety"] == {"movesFunds": True, "requiresWalletSignature": True}
    assert pay["status"] == "available"
    path = pay["specUrl"].partition("/v1/")[2]
    spec = await shared_client.get(f"/v1/{path}")
    assert hashlib.sha256(spec.body).hexdigest() == pay["sha256"]


@promise("skills:list-filters")
@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("?protocol=SEP-10", ["wallet-auth"]),
        ("?network=stellar%3Apubnet&protocol=x402&action=settle", ["x402-facilitate"]),
        ("?query=xyzzy", []),
        ("?query=PREPARE+SETTLE&network=stellar:testnet", ["token-transfer"]),
        ("?action=settle&action=settle", ["token-transfer", "x402-facilitate"]),
    ],
)
async def test_filters_are_exact_and_may_be_combined(
    shared_client: AsgiClient, query: str, slugs: list[str]
) -> None:
    assert await listed(shared_client, query) == slugs


async def test_each_network_has_every_skill(shared_client: AsgiClient) -> None:
    for network in ("stellar:testnet", "stellar:pubnet"):
        assert await listed(shared_client, f"?network={network}") == sorted(SKILLS)


async def test_free_text_finds_words_of_metadata_and_actions(shared_client: AsgiClient) -> None:
    assert (await listed(shared_client, "?query=receipt"))[0] == "receipt-verify"
    assert "account-status" in await listed(shared_client, "?query=trustlines")
    assert "x402-sell" in await listed(shared_client, "?query=monetize+an+api")
    first = await listed(shared_client, "?query=payment")
    assert len(first) > 3
    assert first == await listed(shared_client, "?query=PAYMENT")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("?colour=red", "unknown_parameter"),
        ("?Query=pay", "unknown_parameter"),
        ("?limit=5", "unknown_parameter"),
        ("?query=", "empty_parameter"),
        ("?action=pay&action=settle", "repeated_parameter"),
        ("?query=%00", "control_characters"),
        ("?query=%ff", "invalid_query_string"),
        (f"?query={'x' * 201}", "query_too_long"),
        (f"?query={'x' * 20_000}", "query_string_too_long"),
        ("?" + "&".join(f"a{n}=1" for n in range(65)), "too_many_parameters"),
    ],
)
async def test_parameter_without_effect_or_sense_is_refused(
    shared_client: AsgiClient, query: str, code: str
) -> None:
    assert await refused(shared_client, f"/v1/skills{query}") == (400, code)


@promise("skills:schemas", "version:skill-specs")
@pytest.mark.parametrize("slug", sorted(SKILLS))
async def test_spec_is_the_packaged_file_and_fits_the_schema(
    shared_client: AsgiClient, slug: str
) -> None:
    answer = await shared_client.get(f"/v1/skills/{slug}/spec")
    assert answer.body == FILES[f"{slug}/1.0.0.json"]
    assert list(misfits(spec_schema(), answer.json())) == []
    digest = hashlib.sha256(answer.body).hexdigest()
    assert answer.headers["etag"] == f'"{digest}"'
    assert answer.headers["content-type"] == "application/json"


@promise("skills:versioned-registry")
async def test_named_version_may_be_kept_for_ever_and_the_newest_may_not(
    shared_client: AsgiClient,
) -> None:
    newest = await shared_client.get(SPEC)
    named = await shared_client.get(f"{SPEC}?version=1.0.0")
    assert newest.body == named.body
    assert newest.headers["etag"] == named.headers["etag"]
    assert newest.headers["cache-control"] == NEWEST
    assert named.headers["cache-control"] == FOR_EVER


@pytest.mark.parametrize("path", ["", "/x402-pay/spec", "/x402-pay/versions", "/x402-pay/SKILL.md"])
async def test_document_that_the_caller_has_is_not_sent_again(
    shared_client: AsgiClient, path: str
) -> None:
    first = await shared_client.get(f"/v1/skills{path}")
    etag = first.headers["etag"]
    for named in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        answer = await shared_client.request(
            "GET", f"/v1/skills{path}", headers={"if-none-match": named}
        )
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["etag"] == etag
    other = await shared_client.request(
        "GET", f"/v1/skills{path}", headers={"if-none-match": etag.strip('"')}
    )
    assert other.status == 200


async def test_versions_are_listed_with_their_digests(shared_client: AsgiClient) -> None:
    body = (await shared_client.get("/v1/skills/x402-pay/versions")).json()
    (version,) = body["items"]
    assert body["total"] == 1
    assert (version["version"], version["status"]) == ("1.0.0", "available")
    assert version["sha256"] == SKILLS["x402-pay"].latest.sha256
    assert version["specUrl"].endswith("/v1/skills/x402-pay/spec?version=1.0.0")


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_generated_documents_are_served(shared_client: AsgiClient, name: str) -> None:
    answer = await shared_client.get(f"/v1/skills/x402-pay/{name}?version=1.0.0")
    assert answer.status == 200
    media = "text/markdown; charset=utf-8" if name == "SKILL.md" else "application/json"
    assert answer.headers["content-type"] == media
    assert answer.headers["cache-control"] == NEWEST
    links = SKILLS["x402-pay"].latest.spec.links
    assert f"/v1/skills/x402-pay/{name}" in (links.skill_md, links.openapi, links.mcp)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/skills/x402-upto/spec", 404, "SKILL_NOT_FOUND"),
        ("/v1/skills/X402-PAY/spec", 404, "SKILL_NOT_FOUND"),
        ("/v1/skills/x402-upto/versions", 404, "SKILL_NOT_FOUND"),
        ("/v1/skills/x402-upto/SKILL.md", 404, "SKILL_NOT_FOUND"),
        (f"{SPEC}?version=9.9.9", 404, "SKILL_VERSION_NOT_FOUND"),
        (f"{SPEC}?version=latest", 404, "SKILL_VERSION_NOT_FOUND"),
        ("/v1/skills/x402-pay/SKILL.md?version=1.0", 404, "SKILL_VERSION_NOT_FOUND"),
        (f"{SPEC}?version=", 400, "empty_parameter"),
        (f"{SPEC}?versions=1.0.0", 400, "unknown_parameter"),
        ("/v1/skills/x402-pay/versions?version=1.0.0", 400, "unknown_parameter"),
        ("/v1/skills/x402-pay", 404, "not_found"),
        ("/v1/skills/x402-pay/spec/", 404, "not_found"),
    ],
)
async def test_unknown_skill_version_and_parameter_are_refused(
    shared_client: AsgiClient, path: str, status: int, code: str
) -> None:
    assert await refused(shared_client, path) == (status, code)


@pytest.mark.parametrize(
    "path", ["/v1/skills", SPEC, "/v1/skills/x402-pay/SKILL.md", "/llms.txt", "/v1/skills/no/spec"]
)
async def test_pages_of_other_origins_may_read(shared_client: AsgiClient, path: str) -> None:
    answer = await shared_client.request("GET", path, headers={"origin": "https://agent.example"})
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_credential_is_not_read(shared_client: AsgiClient) -> None:
    answer = await shared_client.request(
        "GET", "/v1/skills", headers={"authorization": "Bearer fbx_live_wrong"}
    )
    assert answer.status == 200


async def test_head_is_answered_and_other_methods_are_refused(shared_client: AsgiClient) -> None:
    assert (await shared_client.request("HEAD", SPEC)).status == 200
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert (await shared_client.request(method, SPEC)).status == 405


async def test_urls_are_those_of_the_configured_public_url(kept_shop: PaidGateway) -> None:
    items = (await kept_shop.client.get("/v1/skills")).json()["items"]
    assert all(each["specUrl"].startswith(f"{ORIGIN}/v1/skills/") for each in items)
    guide = await kept_shop.client.get("/llms.txt")
    assert guide.headers["content-type"] == "text/plain; charset=utf-8"
    assert f"({ORIGIN}/mcp)".encode() in guide.body
    assert b"Networks served here: stellar:testnet, stellar:pubnet." in guide.body
