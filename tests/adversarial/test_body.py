"""Cases 1.1: the request body, its JSON and its members."""

import gzip
import zlib
from typing import Any, Final

import msgspec
import pytest

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import payment_rules as rules
from support.payments import Draft, Json, wrapper
from support.promises import case, promise
from support.stage import Stage

LIMIT: Final = 256 * 1024


VERSIONS: Final[list[object]] = [1, 3, 9, "2", True, None, 2.5, [2]]


SCHEMES: Final[list[object]] = ["upto", "EXACT", "exact ", "", None, 1]


NETWORKS: Final[list[object]] = [
    "eip155:84532", "stellar:mainnet", "stellar:*", "Stellar:testnet", "stellar:testnet\n",
    "stellar:test", "", None, 5,
]  # fmt: skip


NOT_OBJECTS: Final = (
    b"", b" ", b'{"paymentPayload": {', b'{"x402Version":2,}', b"\xef\xbb\xbf{}",
    '{"x402Version": 2}'.encode("utf-16"), b'{"x402Version": "\xff"}',
    b'{"x402Version": "\\ud800"}', b'{"x402Version": 2, "note": "\\udc00"}',
    b'{"x402Version": ' + b"[" * 2_000 + b"]" * 2_000 + b"}", b"[" * 100_000,
    b"null", b"[]", b'"x"', b"1",
)  # fmt: skip


@case("PV-001")
def test_body_that_is_not_a_json_object_is_no_json() -> None:
    rules.assert_all_refused(NOT_OBJECTS, Reason.INVALID_JSON)


@case("PV-001")
async def test_body_that_is_no_json_is_a_400(stage: Stage) -> None:
    for body in (b"", b"[" * 100_000, b"null"):
        await stage.assert_http_refusal(body, 400, Reason.INVALID_JSON)


@case("PV-002")
async def test_unusual_content_type_is_read_as_json_or_refused(stage: Stage) -> None:
    body = msgspec.json.encode((await stage.draft()).request())
    for content_type in (
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-7",
        "application/json; charset=",
        "APPLICATION/JSON",
        ";;;",
    ):
        headers = {"content-type": content_type} if content_type else {}
        for path in ("/verify", "/settle"):
            answer = await stage.client.request("POST", path, body=body, headers=headers)
            assert answer.status in (200, 415), content_type
            answered = answer.json()
            if answer.status == 415:
                reason = answered.get("invalidReason") or answered.get("errorReason")
                assert reason == Reason.UNSUPPORTED_MEDIA_TYPE, content_type


@case("PV-003")
@promise("limit:body-256-kb")
async def test_body_at_size_limit_is_read(stage: Stage) -> None:
    body = _padded((await stage.draft()).request(), LIMIT)
    assert (await stage.verify(body))["isValid"] is True


@case("PV-003")
@promise("limit:body-256-kb")
async def test_body_above_size_limit_is_a_413_for_any_content_length(stage: Stage) -> None:
    body = _padded((await stage.draft()).request(), LIMIT + 1)
    chunks = [body[at : at + 4_096] for at in range(0, len(body), 4_096)]
    for pieces in ([body], chunks):
        for claimed in (None, "10", str(LIMIT), str(LIMIT + 1)):
            headers = {"content-type": "application/json"}
            if claimed is not None:
                headers["content-length"] = claimed
            await stage.assert_http_refusal(pieces, 413, Reason.BODY_TOO_LARGE, headers)


@case("PV-003")
async def test_body_shorter_than_content_length_is_judged_as_received(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    headers = {"content-type": "application/json", "content-length": "200000"}
    body = msgspec.json.encode(draft.request())
    answer = await stage.client.request("POST", "/verify", body=body, headers=headers)
    assert answer.status in (200, 400)
    assert answer.json()


@case("PV-004")
async def test_compressed_body_is_a_415_and_not_decompressed(stage: Stage) -> None:
    bomb = gzip.compress(bytes(50_000_000), compresslevel=1)
    for encoding in ("gzip", "deflate", "br", "zstd", "identity, gzip", "x"):
        headers = {"content-type": "application/json", "content-encoding": encoding}
        packed = bomb if encoding == "gzip" else zlib.compress(b"{}")
        await stage.assert_http_refusal(packed, 415, Reason.UNSUPPORTED_MEDIA_TYPE, headers)


@case("PV-011")
@pytest.mark.parametrize("value", [None, [], "x", 1, True])
@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("paymentPayload", Reason.INVALID_PAYLOAD),
        ("paymentRequirements", Reason.INVALID_PAYMENT_REQUIREMENTS),
    ],
)
def test_request_without_payload_or_requirements_names_missing_member(
    member: str, reason: Reason, value: object
) -> None:
    body = rules.draft().request()
    rules.assert_refused(body | {member: value}, reason)
    del body[member]
    rules.assert_refused(body, reason)


@case("PV-011")
@pytest.mark.parametrize(
    ("path", "value"),
    [("payload", None), ("payload", "x"), ("payload", []), ("accepted", None), ("accepted", "x")],
)
def test_payload_without_required_members_is_refused(path: str, value: object) -> None:
    body = rules.draft().request()
    body["paymentPayload"][path] = value
    rules.assert_refused(body, Reason.INVALID_PAYLOAD)


@case("PV-012")
@promise("payload:version-is-2", "version:x402-is-2")
@pytest.mark.parametrize("version", VERSIONS, ids=repr)
def test_other_x402_version_is_refused_in_payload_and_request(version: object) -> None:
    draft = rules.draft()
    inside, outside = draft.request(), draft.request()
    inside["paymentPayload"]["x402Version"] = version
    rules.assert_refused(inside, Reason.INVALID_X402_VERSION)
    outside["x402Version"] = version
    rules.assert_refused(outside, Reason.INVALID_X402_VERSION)


@case("PV-012")
def test_payload_without_version_is_refused() -> None:
    body = rules.draft().request()
    del body["paymentPayload"]["x402Version"]
    rules.assert_refused(body, Reason.INVALID_X402_VERSION)


@case("PV-013")
@promise("wire:one-wrapper-for-both", "verify:says-is-valid", "settle:says-success")
async def test_request_version_is_optional(stage: Stage) -> None:
    with_it, without = await stage.draft(), await stage.draft()
    await stage.assert_settles(with_it.request())
    bare = without.request()
    del bare["x402Version"]
    await stage.assert_settles(bare)


@case("PV-014")
@promise("settle:metadata-changes-no-outcome")
async def test_unknown_members_are_ignored(stage: Stage) -> None:
    draft = await stage.draft()
    more: Json = {"unknown": {"a": [1, {"b": None}]}, "extensions": {"bazaar": "not an object"}}
    body = draft.request() | more
    body["paymentRequirements"] |= more
    body["paymentRequirements"]["extra"] |= more
    body["paymentPayload"]["accepted"] |= more
    body["paymentPayload"]["payload"] |= more
    body["paymentPayload"] |= more | {"resource": {"url": "https://seller.test/", "x": []}}
    await stage.assert_settles(body)


@case("PV-015")
@promise("payload:scheme-is-exact", "upto:not-advertised")
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_other_scheme_is_refused_in_payload_and_requirements(scheme: object) -> None:
    draft = rules.draft()
    terms, other = draft.terms(), draft.terms(scheme=scheme)
    for accepted, required in ((terms, other), (other, terms), (other, other)):
        body = wrapper(accepted, required, draft.envelope())
        rules.assert_refused(body, Reason.UNSUPPORTED_SCHEME)


@case("PV-016")
@promise("payload:network-is-known", "version:networks-are-caip-2", "terms:network-is-named")
@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_other_network_is_refused_in_payload_and_requirements(network: object) -> None:
    draft = rules.draft()
    terms, other = draft.terms(), draft.terms(network=network)
    for accepted, required in ((terms, other), (other, terms), (other, other)):
        body = wrapper(accepted, required, draft.envelope())
        rules.assert_refused(body, Reason.INVALID_NETWORK, Reason.NETWORK_MISMATCH)


@case("PV-017")
@pytest.mark.parametrize("required", Network)
def test_payment_signed_for_other_network_is_refused(required: Network) -> None:
    other = Network.PUBNET if required is Network.TESTNET else Network.TESTNET
    draft = rules.draft(required)
    body = wrapper(draft.terms(network=other.value), draft.terms(), draft.envelope())
    rules.assert_refused(body, Reason.NETWORK_MISMATCH)


@case("PV-018")
async def test_unconfigured_network_is_refused_and_other_network_settles(
    testnet_only: Stage,
) -> None:
    elsewhere = await testnet_only.draft(Network.PUBNET)
    await testnet_only.assert_refused(elsewhere.request(), Reason.INVALID_NETWORK, by_rule=True)
    await testnet_only.assert_settles((await testnet_only.draft()).request())


@case("PV-019")
async def test_flat_payload_without_accepted_settles(stage: Stage) -> None:
    await stage.assert_settles(_flat(await stage.draft()))


@case("PV-019")
@pytest.mark.parametrize("member", ["scheme", "network"])
def test_flat_payload_needs_scheme_and_network(member: str) -> None:
    body = _flat(rules.draft())
    del body["paymentPayload"][member]
    rules.assert_refused(body, Reason.INVALID_PAYLOAD)


@case("PV-020")
@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("network", "stellar:pubnet", Reason.NETWORK_MISMATCH),
        ("scheme", "upto", Reason.UNSUPPORTED_SCHEME),
    ],
)
def test_conflicting_flat_and_accepted_terms_are_refused(
    member: str, value: str, reason: Reason
) -> None:
    draft = rules.draft()
    both = draft.request()
    both["paymentPayload"] |= {"scheme": "exact", "network": draft.network.value}
    both["paymentPayload"][member] = value
    rules.assert_refused(both, reason)


def _flat(draft: Draft) -> Json:
    """The payload as the specification's table shows it."""
    body = draft.request()
    payload: dict[str, Any] = body["paymentPayload"]
    del payload["accepted"]
    payload |= {"scheme": "exact", "network": draft.network.value}
    return body


def _padded(body: Json, size: int) -> bytes:
    """The body with an ignored member that brings it to exactly `size` bytes."""
    empty = len(msgspec.json.encode(body | {"padding": ""}))
    return msgspec.json.encode(body | {"padding": "x" * (size - empty)})
