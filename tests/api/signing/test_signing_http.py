"""`/v1/payments/prepare` and `/v1/payments/complete`: shapes, refusals and outages."""

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from stellar_sdk import Keypair, MuxedAccount, scval, xdr

from farebox.kernel.networks import Network
from support.payments import Json
from support.planted_secrets import plant_secret
from support.promises import case, promise
from support.stage import Stage, key_of, own_relayer, service
from support.wallet_payments import (
    COMPLETE,
    PREPARE,
    HashSigner,
    ask_to_complete,
    code_of,
    complete,
    prepare,
    text_of,
)
from testing.contract_calls import address, invocation, transfer
from testing.entries import Credentials, unsigned_entry

_PAYLOAD: Final = "invalid_exact_stellar_payload_"
MUXED: Final = MuxedAccount(Keypair.random().public_key, 5).account_muxed
_READS: Final = ("simulateTransaction", "sendTransaction", "getTransaction")


async def prepared(stage: Stage) -> tuple[Json, Json, str]:
    """Terms, a payment prepared for them, and its signature."""
    draft = await stage.draft()
    terms = draft.terms()
    payment = await prepare(stage, terms, draft.payer)
    signer = HashSigner(key_of(stage.networks[draft.network].scene.payers[0]))
    return terms, payment, text_of(signer.sign(payment))


async def test_preparation_has_the_entry_the_hash_and_what_they_allow(stage: Stage) -> None:
    draft = await stage.draft()
    before = datetime.now(UTC)
    payment = await prepare(stage, draft.terms(), draft.payer)
    assert set(payment) == {
        *("entry", "hash", "preimage", "expirationLedger", "expiresAt"),
        *("network", "payer", "statements"),
    }
    preimage = base64.b64decode(payment["preimage"])
    assert hashlib.sha256(preimage).hexdigest() == payment["hash"]
    entry = xdr.SorobanAuthorizationEntry.from_xdr(payment["entry"])
    assert entry.credentials.address is not None
    expires = entry.credentials.address.signature_expiration_ledger.uint32
    assert payment["expirationLedger"] == expires > await stage.ledger().latest()
    assert datetime.fromisoformat(payment["expiresAt"]) > before
    assert (payment["network"], payment["payer"]) == (draft.network.value, draft.payer)
    assert all(part in payment["statements"][0] for part in (draft.payer, draft.pay_to, "10000"))
    assert str(expires) in payment["statements"][1]


@promise("facilitator:callers-need-no-network")
async def test_neither_route_calls_the_node_or_writes(stage: Stage) -> None:
    stage.node().calls.clear()
    terms, payment, signature = await prepared(stage)
    await complete(stage, payment, signature, terms)
    counts = stage.node().counts()
    assert [counts[method] for method in _READS] == [0, 0, 0]
    assert await stage.rows() == 0


REFUSED: list[tuple[Json, str, str]] = [
    ({"scheme": "upto"}, "unsupported_scheme", "requirements.scheme"),
    ({"network": "stellar:futurenet"}, "invalid_network", "requirements.network"),
    ({"amount": "1.5"}, "invalid_payment_requirements", "requirements.amount"),
    ({"amount": "0"}, "invalid_payment_requirements", "requirements.amount"),
    ({"amount": 1}, "invalid_payment_requirements", "requirements.amount"),
    ({"asset": "USDC"}, "invalid_payment_requirements", "requirements.asset"),
    ({"payTo": "GABC"}, "invalid_payment_requirements", "requirements.payTo"),
    ({"payTo": MUXED}, _PAYLOAD + "muxed_recipient_unsupported", "requirements.payTo"),
    (
        {"maxTimeoutSeconds": 0},
        "invalid_payment_requirements",
        "requirements.maxTimeoutSeconds",
    ),
    (
        {"extra": {}},
        "invalid_exact_stellar_fees_sponsored_unsupported",
        "requirements.extra.areFeesSponsored",
    ),
    ({"maxTimeoutSeconds": 1}, "invalid_exact_stellar_signature_expires_too_soon", ""),
]


@case("WA-002")
async def test_terms_that_would_be_refused_are_not_prepared(stage: Stage) -> None:
    draft = await stage.draft()
    for changes, code, member in REFUSED:
        body = {"requirements": draft.terms(**changes), "payer": draft.payer}
        answer = await stage.client.post(PREPARE, body)
        assert (answer.status, code_of(answer)) == (400, code), changes
        error = answer.json()["error"]
        assert error["message"].endswith(f"Look at {member}." if member else "."), changes
        assert error.get("details") == ({"field": member} if member else None), changes
        assert error["requestId"] == answer.headers["x-request-id"], changes


@case("WA-003")
async def test_operator_is_neither_payer_nor_recipient_and_pubnet_pays_no_self(
    stage: Stage,
) -> None:
    relayer = stage.relayer().public_key
    draft = await stage.draft()
    on_pubnet = await stage.draft(Network.PUBNET)
    for terms, payer, code in (
        (draft.terms(payTo=relayer), draft.payer, "facilitator_is_recipient"),
        (draft.terms(), relayer, "facilitator_is_payer"),
        (on_pubnet.terms(payTo=on_pubnet.payer), on_pubnet.payer, "payer_is_recipient"),
    ):
        answer = await stage.client.post(PREPARE, {"requirements": terms, "payer": payer})
        assert (answer.status, code_of(answer)) == (400, _PAYLOAD + code)


NO_PAYERS: list[tuple[Any, str]] = [
    (MUXED, "muxed_account_unsupported"),
    ("W" + "A" * 68, "muxed_account_unsupported"),
    ("GABC", "invalid_address"),
    ("", "invalid_address"),
    (7, "invalid_request"),
    (None, "invalid_request"),
]


@case("WA-004")
async def test_payer_that_cannot_pay_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    for payer, code in NO_PAYERS:
        answer = await stage.client.post(PREPARE, {"requirements": draft.terms(), "payer": payer})
        assert (answer.status, code_of(answer)) == (400, code), payer
        assert "payer" in answer.json()["error"]["message"], payer


OTHER_SHAPES = [b"", b"[]", b"null", b"{", b'{"requirements":{},"requirements":{}}', b"\xff{}"]


@case("WA-001")
@pytest.mark.parametrize("path", [PREPARE, COMPLETE])
async def test_body_of_another_shape_is_refused(stage: Stage, path: str) -> None:
    for body in OTHER_SHAPES:
        answer = await stage.client.post(path, body)
        assert (answer.status, code_of(answer)) == (400, "invalid_request"), body


@case("WA-001")
async def test_member_that_is_unknown_or_stands_twice_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    body = {"requirements": draft.terms(), "payer": draft.payer}
    answer = await stage.client.post(PREPARE, body | {"more": 1})
    assert code_of(answer) == "invalid_request"
    twice = f'{{"payer":"{draft.payer}","payer":"{draft.payer}","requirements":{{}}}}'
    assert code_of(await stage.client.post(PREPARE, twice.encode())) == "invalid_request"


async def _entries(stage: Stage) -> dict[str, str]:
    """Entries that cannot be completed, each base64."""
    draft = await stage.draft()
    call = transfer(draft.asset, draft.payer, draft.pay_to, draft.amount)
    latest = await stage.ledger().latest()

    def entry(kind: Credentials, signature: xdr.SCVal | None = None) -> str:
        made = unsigned_entry(
            invocation(call),
            address(draft.payer),
            nonce=1,
            expires_at_ledger=latest + 20,
            kind=kind,
            signature=signature or scval.to_void(),
        )
        return made.to_xdr()

    good = base64.b64decode(entry(Credentials.ADDRESS))
    muxed = unsigned_entry(
        invocation(call), address(MUXED or ""), nonce=1, expires_at_ledger=latest + 20
    )
    return {
        "text": "%%%",
        "empty": "",
        "cut": text_of(good[:-4]),
        "longer": text_of(good + bytes(4)),
        "large": "A" * 8_000,
        "signed": entry(Credentials.ADDRESS, scval.to_vec([])),
        "source account": entry(Credentials.SOURCE_ACCOUNT),
        "delegates": entry(Credentials.WITH_DELEGATES),
        "muxed": muxed.to_xdr(),
    }


@case("WA-005")
async def test_entry_that_cannot_be_completed_is_refused(stage: Stage) -> None:
    terms, _, signature = await prepared(stage)
    for name, text in (await _entries(stage)).items():
        answer = await ask_to_complete(stage, {"entry": text}, signature, terms)
        assert (answer.status, code_of(answer)) == (400, "invalid_entry"), name


@case("WA-007")
async def test_text_that_is_no_signature_is_refused(stage: Stage) -> None:
    terms, payment, _ = await prepared(stage)
    for signature in ("", "AA==", "zz", "A" * 90_000):
        answer = await ask_to_complete(stage, payment, signature, terms)
        assert (answer.status, code_of(answer)) == (400, "invalid_signature"), signature[:9]


async def test_public_key_that_is_no_account_is_refused(stage: Stage) -> None:
    terms, payment, signature = await prepared(stage)
    for key in ("", "GABC", MUXED, "CAAA"):
        answer = await ask_to_complete(stage, payment, signature, terms, publicKey=key)
        assert (answer.status, code_of(answer)) == (400, "invalid_signature"), key
        assert "publicKey" in answer.json()["error"]["message"], key


async def test_public_key_of_a_contract_payer_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    payer = draft.asset  # any contract
    payment = await prepare(stage, draft.terms(), payer)
    value = scval.to_bytes(bytes(64)).to_xdr()
    answer = await ask_to_complete(stage, payment, value, draft.terms(), publicKey=draft.payer)
    assert (answer.status, code_of(answer)) == (400, "invalid_signature")


@case("WA-007")
async def test_signature_that_does_not_verify_has_its_own_code(stage: Stage) -> None:
    terms, payment, _ = await prepared(stage)
    wrong = text_of(HashSigner(Keypair.random()).sign(payment))
    answer = await ask_to_complete(stage, payment, wrong, terms)
    assert (answer.status, code_of(answer)) == (400, _PAYLOAD + "invalid_signature")


@case("WA-006")
async def test_entry_of_other_terms_is_refused_with_the_reason_of_the_verification(
    stage: Stage,
) -> None:
    terms, payment, signature = await prepared(stage)
    answer = await ask_to_complete(stage, payment, signature, terms | {"amount": "10001"})
    assert (answer.status, code_of(answer)) == (400, _PAYLOAD + "wrong_amount")


@case("WA-011")
@pytest.mark.parametrize("member", ["resource", "extensions"])
async def test_resource_and_extensions_are_objects(stage: Stage, member: str) -> None:
    terms, payment, signature = await prepared(stage)
    values: list[Any] = [1, "text", [], True]
    for value in values:
        answer = await ask_to_complete(stage, payment, signature, terms, **{member: value})
        assert (answer.status, code_of(answer)) == (400, "invalid_request"), value


async def test_null_resource_is_left_out(stage: Stage) -> None:
    terms, payment, signature = await prepared(stage)
    done = await complete(stage, payment, signature, terms, resource=None, extensions=None)
    own = {"x402Version", "accepted", "payload", "extensions"}  # the payment's own identifier
    assert set(done["paymentPayload"]) == own


async def test_network_that_is_not_served_is_refused(testnet_only: Stage) -> None:
    draft = await testnet_only.draft(Network.PUBNET)
    body = {"requirements": draft.terms(), "payer": draft.payer}
    answer = await testnet_only.client.post(PREPARE, body)
    assert (answer.status, code_of(answer)) == (400, "invalid_network")


@case("WA-012")
async def test_unavailable_node_is_a_503_with_retry_after(stage: Stage) -> None:
    terms, payment, signature = await prepared(stage)
    away = stage.environment | await own_relayer(stage)
    away |= {f"FAREBOX_RPC_URL_{each.label.upper()}": "http://127.0.0.1:9" for each in Network}
    async with service(away, is_ready=False) as client:
        body = {"requirements": terms, "payer": payment["payer"]}
        for path, sent in (
            (PREPARE, body),
            (
                COMPLETE,
                {"entry": payment["entry"], "signature": signature, "requirements": terms},
            ),
        ):
            answer = await client.post(path, sent)
            assert (answer.status, code_of(answer)) == (503, "service_unavailable")
            assert int(answer.headers["retry-after"]) > 0


@case("WA-013")
async def test_neither_signature_nor_entry_is_logged(
    log_text: Callable[[], str], stage: Stage
) -> None:
    async with service(stage.environment | await own_relayer(stage)) as client:
        logged = Stage(client, stage.networks, stage.environment)
        terms, payment, signature = await prepared(logged)
        for each in (signature, payment["entry"]):
            plant_secret(each)
        await complete(logged, payment, signature, terms)
        await ask_to_complete(logged, payment, signature, terms | {"amount": "1"})
        await ask_to_complete(logged, payment, signature + "=", terms)
    assert "wrong_amount" in log_text()


@pytest.mark.parametrize("path", [PREPARE, COMPLETE])
async def test_pages_of_other_origins_may_call_both_routes(stage: Stage, path: str) -> None:
    preflight = await stage.client.request(
        "OPTIONS", path, headers={"origin": "https://wallet.example"}
    )
    assert preflight.status == 204
    refused = await stage.client.post(path, b"{")
    assert refused.headers["access-control-allow-origin"] == "*"


async def test_routes_of_payments_by_hash_are_not_shadowed(stage: Stage) -> None:
    answer = await stage.client.get("/v1/payments/" + "0" * 64)
    assert (answer.status, code_of(answer)) == (404, "not_found")
    assert (await stage.client.get(PREPARE)).status == 405
