"""Cases 1.1: the request body, its JSON, and every spelling of the terms."""

import gzip
import zlib
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest
from stellar_sdk import Keypair, MuxedAccount, StrKey

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support.payments import Draft, Json, wrapper
from support.promises import case, promise
from support.stage import Stage

LIMIT: Final = 256 * 1024
PUBNET_USDC: Final = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"
VERSIONS: Final[list[object]] = [1, 3, 9, "2", True, None, 2.0, 2.5, [2]]
SCHEMES: Final[list[object]] = ["upto", "EXACT", "exact ", "", None, 1]
NETWORKS: Final[list[object]] = [
    "eip155:84532",
    "stellar:mainnet",
    "stellar:*",
    "Stellar:testnet",
    "stellar:testnet\n",
    "stellar:test",
    "",
    None,
    5,
]
AMOUNTS: Final = ["-10000", "+10000", " 10000", "10000 ", "010000", "10_000", "１００００", "1e4"]
AMOUNTS_ODD: Final = ["10000.0", "0x2710", "10000\n", "", "ten", "0", "-0", "00"]
TOO_LARGE: Final = [str(2**127), str(2**128), "1" + "0" * 40, "9" * 5_000]
NUMBERS: Final[list[object]] = [10_000, 10_000.0, True, None, ["10000"]]


@case("PV-001")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b'{"paymentPayload": {',
        b'{"x402Version":2,}',
        b"\xef\xbb\xbf{}",
        '{"x402Version": 2}'.encode("utf-16"),
        b'{"x402Version": "\xff"}',
        b"[" * 100_000,
        b"null",
        b"[]",
        b'"x"',
        b"1",
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_a_body_that_is_no_json_object_is_a_400(stage: Stage, body: bytes) -> None:
    await stage.turned_away(body, 400, Reason.INVALID_JSON)


@case("PV-002")
@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-7",
        "application/json; charset=",
        "APPLICATION/JSON",
        ";;;",
    ],
)
async def test_an_odd_content_type_is_read_as_json_or_refused(
    stage: Stage, content_type: str | None
) -> None:
    body = msgspec.json.encode((await stage.draft()).request())
    headers = {"content-type": content_type} if content_type else {}
    for path in ("/verify", "/settle"):
        answer = await stage.client.request("POST", path, body=body, headers=headers)
        assert answer.status in (200, 415)
        told = answer.json()
        if answer.status == 415:
            reason = told.get("invalidReason") or told.get("errorReason")
            assert reason == Reason.UNSUPPORTED_MEDIA_TYPE


@case("PV-003")
@promise("limit:body-256-kb")
async def test_a_body_of_exactly_the_limit_is_read(stage: Stage) -> None:
    body = _padded((await stage.draft()).request(), LIMIT)
    assert (await stage.verify(body))["isValid"] is True


@case("PV-003")
@promise("limit:body-256-kb")
@pytest.mark.parametrize("chunk", [LIMIT + 1, 1_024, 65_536])
@pytest.mark.parametrize("claimed", [None, "10", str(LIMIT), str(LIMIT + 1)])
async def test_one_byte_more_is_a_413_whatever_the_length_claims(
    stage: Stage, chunk: int, claimed: str | None
) -> None:
    body = _padded((await stage.draft()).request(), LIMIT + 1)
    pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)]
    headers = {"content-type": "application/json"}
    if claimed is not None:
        headers["content-length"] = claimed
    await stage.turned_away(pieces, 413, Reason.BODY_TOO_LARGE, headers)


@case("PV-003")
async def test_a_body_that_ends_before_its_claimed_length_is_judged_as_it_is(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    headers = {"content-type": "application/json", "content-length": "200000"}
    body = msgspec.json.encode(draft.request())
    answer = await stage.client.request("POST", "/verify", body=body, headers=headers)
    assert answer.status in (200, 400)
    assert answer.json()


@case("PV-004")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, gzip", "x"])
async def test_a_compressed_body_is_a_415_and_never_opened(stage: Stage, encoding: str) -> None:
    bomb = gzip.compress(bytes(50_000_000)) if encoding == "gzip" else zlib.compress(b"{}")
    headers = {"content-type": "application/json", "content-encoding": encoding}
    await stage.turned_away(bomb, 415, Reason.UNSUPPORTED_MEDIA_TYPE, headers)


@case("PV-011")
@pytest.mark.parametrize("value", [None, [], "x", 1, True])
@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("paymentPayload", Reason.INVALID_PAYLOAD),
        ("paymentRequirements", Reason.INVALID_PAYMENT_REQUIREMENTS),
    ],
)
async def test_half_a_wrapper_is_refused_by_the_name_of_the_missing_half(
    stage: Stage, member: str, reason: Reason, value: object
) -> None:
    body = (await stage.draft()).request()
    await stage.refused(body | {member: value}, reason, by_rule=True)
    del body[member]
    await stage.refused(body, reason, by_rule=True)


@case("PV-011")
@pytest.mark.parametrize(
    ("path", "value"),
    [("payload", None), ("payload", "x"), ("payload", []), ("accepted", None), ("accepted", "x")],
)
async def test_a_payload_without_its_own_parts_is_refused(
    stage: Stage, path: str, value: object
) -> None:
    body = (await stage.draft()).request()
    body["paymentPayload"][path] = value
    await stage.refused(body, Reason.INVALID_PAYLOAD, by_rule=True)


@case("PV-012")
@promise("payload:version-is-2", "version:x402-is-2")
@pytest.mark.parametrize("version", VERSIONS, ids=repr)
async def test_another_version_is_refused_in_the_payload_and_beside_it(
    stage: Stage, version: object
) -> None:
    draft = await stage.draft()
    inside, beside = draft.request(), draft.request()
    inside["paymentPayload"]["x402Version"] = version
    await stage.refused(inside, Reason.INVALID_X402_VERSION, by_rule=True)
    beside["x402Version"] = version
    await stage.refused(beside, Reason.INVALID_X402_VERSION, by_rule=True)


@case("PV-012")
async def test_a_payload_without_a_version_is_refused(stage: Stage) -> None:
    body = (await stage.draft()).request()
    del body["paymentPayload"]["x402Version"]
    await stage.refused(body, Reason.INVALID_X402_VERSION, by_rule=True)


@case("PV-013")
@promise("wire:one-wrapper-for-both", "verify:says-is-valid", "settle:says-success")
async def test_the_version_beside_the_wrapper_may_stand_or_be_left_out(stage: Stage) -> None:
    with_it, without = await stage.draft(), await stage.draft()
    await stage.settled(with_it.request())
    bare = without.request()
    del bare["x402Version"]
    await stage.settled(bare)


@case("PV-014")
@promise("settle:metadata-changes-no-outcome")
async def test_unknown_members_anywhere_are_ignored(stage: Stage) -> None:
    draft = await stage.draft()
    more: Json = {"unknown": {"a": [1, {"b": None}]}, "extensions": {"bazaar": "not an object"}}
    body = draft.request() | more
    body["paymentRequirements"] |= more
    body["paymentRequirements"]["extra"] |= more
    body["paymentPayload"]["accepted"] |= more
    body["paymentPayload"]["payload"] |= more
    body["paymentPayload"] |= more | {"resource": {"url": "https://seller.test/", "x": []}}
    await stage.settled(body)


@case("PV-015")
@promise("payload:scheme-is-exact", "upto:not-advertised")
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
async def test_another_scheme_is_refused_wherever_it_stands(stage: Stage, scheme: object) -> None:
    draft = await stage.draft()
    terms, other = draft.terms(), draft.terms(scheme=scheme)
    for accepted, required in ((terms, other), (other, terms), (other, other)):
        body = wrapper(accepted, required, draft.envelope())
        await stage.refused(body, Reason.UNSUPPORTED_SCHEME, by_rule=True)


@case("PV-016")
@promise("payload:network-is-known", "version:networks-are-caip-2", "terms:network-is-named")
@pytest.mark.parametrize("network", NETWORKS, ids=repr)
async def test_another_network_is_refused_wherever_it_stands(stage: Stage, network: object) -> None:
    draft = await stage.draft()
    terms, other = draft.terms(), draft.terms(network=network)
    for accepted, required in ((terms, other), (other, terms), (other, other)):
        body = wrapper(accepted, required, draft.envelope())
        await stage.refused(body, Reason.INVALID_NETWORK, Reason.NETWORK_MISMATCH, by_rule=True)


@case("PV-017")
@pytest.mark.parametrize("required", Network)
async def test_a_payment_for_the_other_network_is_refused(stage: Stage, required: Network) -> None:
    other = Network.PUBNET if required is Network.TESTNET else Network.TESTNET
    draft = await stage.draft(required)
    body = wrapper(draft.terms(network=other.value), draft.terms(), draft.envelope())
    await stage.refused(body, Reason.NETWORK_MISMATCH, by_rule=True)


@case("PV-018")
async def test_a_network_that_is_not_configured_is_refused_and_the_other_served(
    testnet_only: Stage,
) -> None:
    elsewhere = await testnet_only.draft(Network.PUBNET)
    await testnet_only.refused(elsewhere.request(), Reason.INVALID_NETWORK, by_rule=True)
    await testnet_only.settled((await testnet_only.draft()).request())


@case("PV-019")
async def test_the_flat_payload_without_accepted_settles(stage: Stage) -> None:
    await stage.settled(_flat(await stage.draft()))


@case("PV-019")
@pytest.mark.parametrize("member", ["scheme", "network"])
async def test_the_flat_payload_needs_scheme_and_network(stage: Stage, member: str) -> None:
    body = _flat(await stage.draft())
    del body["paymentPayload"][member]
    await stage.refused(body, Reason.INVALID_PAYLOAD, by_rule=True)


@case("PV-020")
@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("network", "stellar:pubnet", Reason.NETWORK_MISMATCH),
        ("scheme", "upto", Reason.UNSUPPORTED_SCHEME),
    ],
)
async def test_two_spellings_that_disagree_are_refused(
    stage: Stage, member: str, value: str, reason: Reason
) -> None:
    draft = await stage.draft()
    both = draft.request()
    both["paymentPayload"] |= {"scheme": "exact", "network": draft.network.value}
    both["paymentPayload"][member] = value
    await stage.refused(both, reason, by_rule=True)


@case("PV-021")
@pytest.mark.parametrize(
    "change",
    [
        {"amount": "9999"},
        {"amount": 10_000},
        {"asset": PUBNET_USDC},
        {"payTo": Keypair.random().public_key},
        {"extra": {"areFeesSponsored": False}},
        {"extra": None},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_accepted_terms_that_differ_in_money_are_refused(stage: Stage, change: Json) -> None:
    draft = await stage.draft()
    body = wrapper(draft.terms(**change), draft.terms(), draft.envelope())
    await stage.refused(body, Reason.ACCEPTED_MISMATCH, by_rule=True)


@case("PV-021")
async def test_another_timeout_accepted_is_judged_by_the_one_required(stage: Stage) -> None:
    draft = await stage.draft()
    body = wrapper(draft.terms(maxTimeoutSeconds=3_600), draft.terms(), draft.envelope())
    await stage.settled(body)


@case("PV-022")
@promise("terms:fees-are-sponsored")
@pytest.mark.parametrize(
    "extra",
    [{}, None, [], "x", *({"areFeesSponsored": v} for v in (False, "true", 1, None))],
    ids=repr,
)
async def test_fees_that_are_not_sponsored_are_refused(stage: Stage, extra: object) -> None:
    draft = await stage.draft()
    await stage.refused(draft.request(extra=extra), Reason.FEES_NOT_SPONSORED, by_rule=True)
    bare = draft.request()
    del bare["paymentRequirements"]["extra"]
    await stage.refused(bare, Reason.FEES_NOT_SPONSORED, by_rule=True)


@case("PV-026", "PV-111")
@promise("terms:amount-is-an-integer-string")
@pytest.mark.parametrize("amount", AMOUNTS + AMOUNTS_ODD, ids=repr)
async def test_an_amount_in_another_spelling_is_refused(stage: Stage, amount: str) -> None:
    draft = await stage.draft()
    await stage.refused(
        draft.request(amount=amount), Reason.INVALID_PAYMENT_REQUIREMENTS, by_rule=True
    )


@case("PV-026")
@pytest.mark.parametrize("amount", [-1, -(2**127)])
async def test_a_negative_amount_is_refused_even_when_both_sides_say_it(
    stage: Stage, amount: int
) -> None:
    draft = await stage.draft(amount=amount)
    await stage.refused(draft.request(), Reason.INVALID_PAYMENT_REQUIREMENTS, by_rule=True)
    hidden = draft.request(amount=str(abs(amount) % 2**127 or 1))
    await stage.refused(hidden, Reason.WRONG_AMOUNT, by_rule=True)


@case("PV-028")
@promise("terms:amount-is-exact")
@pytest.mark.parametrize("amount", TOO_LARGE, ids=len)
async def test_an_amount_beyond_an_i128_is_refused(stage: Stage, amount: str) -> None:
    draft = await stage.draft()
    await stage.refused(
        draft.request(amount=amount), Reason.INVALID_PAYMENT_REQUIREMENTS, by_rule=True
    )


@case("PV-029")
@promise("terms:no-floating-point")
@pytest.mark.parametrize("amount", NUMBERS, ids=repr)
async def test_an_amount_that_is_no_string_is_refused(stage: Stage, amount: object) -> None:
    draft = await stage.draft()
    await stage.refused(
        draft.request(amount=amount), Reason.INVALID_PAYMENT_REQUIREMENTS, by_rule=True
    )


def _spoiled(good: str) -> list[object]:
    """A valid address in spellings that are none."""
    key = Keypair.random()
    last = "A" if good[-1] != "A" else "B"
    return [
        "",
        good.lower(),
        good[:-1] + last,
        " " + good,
        good + "\n",
        good + "=",
        good[:-1],
        "native",
        f"USDC:{key.public_key}",
        key.secret,
        StrKey.encode_pre_auth_tx(key.raw_public_key()),
        StrKey.encode_sha256_hash(key.raw_public_key()),
        StrKey.encode_claimable_balance(b"\0" + key.raw_public_key()),
        StrKey.encode_liquidity_pool(key.raw_public_key()),
        None,
        7,
    ]


@case("PV-030")
@promise("terms:asset-is-a-contract")
async def test_an_asset_that_is_no_contract_id_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    muxed = MuxedAccount(draft.payer, 7).account_muxed
    for asset in (*_spoiled(draft.asset), draft.payer, muxed):
        body = draft.request(asset=asset)
        await stage.refused(body, Reason.INVALID_PAYMENT_REQUIREMENTS, by_rule=True)


@case("PV-030")
async def test_a_contract_of_the_other_network_only_is_refused(stage: Stage) -> None:
    draft = await stage.draft(asset=PUBNET_USDC)
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


@case("PV-031")
@promise("terms:pay-to-is-an-account")
async def test_a_recipient_that_is_no_plain_address_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    for pay_to in _spoiled(draft.pay_to):
        body = draft.request(payTo=pay_to)
        await stage.refused(body, Reason.INVALID_PAYMENT_REQUIREMENTS, by_rule=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda terms: terms.pop("maxTimeoutSeconds"),
        lambda terms: terms.update(maxTimeoutSeconds=0),
        lambda terms: terms.update(maxTimeoutSeconds=-1),
        lambda terms: terms.update(maxTimeoutSeconds=60.0),
        lambda terms: terms.update(maxTimeoutSeconds="60"),
        lambda terms: terms.update(maxTimeoutSeconds=2**64),
        lambda terms: terms.update(maxTimeoutSeconds=None),
        lambda terms: terms.pop("payTo"),
        lambda terms: terms.pop("asset"),
        lambda terms: terms.pop("amount"),
    ],
)
async def test_terms_with_a_member_missing_or_out_of_range_are_refused(
    stage: Stage, change: Callable[[Json], object]
) -> None:
    body = (await stage.draft()).request()
    change(body["paymentRequirements"])
    await stage.refused(body, Reason.INVALID_PAYMENT_REQUIREMENTS, by_rule=True)


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
