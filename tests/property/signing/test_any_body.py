"""No body gets a 5xx from the routes of signing, and no changed payment gets through."""

import base64
from functools import cache
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import scval, xdr

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.facilitator.verification.verdict import SignedTransfer
from farebox.kernel.addresses import contract_address
from farebox.signing.http import signing_endpoints
from farebox.x402.payment import Payment
from farebox.x402.wire import read_payment
from support.asgi import Answer, AsgiClient
from support.damaged_bytes import COPIES, damaged_copies
from support.examples import examples
from support.payments import Json
from support.promises import case
from support.signing import PAY_TO, PAYER, PAYER_KEY, USDC, Signing
from support.wallet_payments import COMPLETE, PREPARE, text_of

WALLET: Final = contract_address(bytes([9]) * 32)
TERMS: Final = {
    "scheme": "exact",
    "network": "stellar:testnet",
    "asset": USDC,
    "amount": "10000",
    "payTo": PAY_TO,
    "maxTimeoutSeconds": 60,
    "extra": {"areFeesSponsored": True},
}
_MANY: Final = settings(max_examples=examples(100), deadline=None)
json_values: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
    | st.sampled_from([PAYER, WALLET, USDC, "stellar:testnet", "stellar:pubnet", "exact", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*TERMS, "entry", "payer", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@cache
def client() -> AsgiClient:
    """The two routes, with the real rules and no node."""
    signing = Signing()
    endpoints = signing_endpoints(signing.preparation(), signing.completion())
    return AsgiClient(Application(Services(endpoints), stop=lambda: None))


async def prepared(payer: str = PAYER) -> Json:
    """A prepared payment."""
    answer = await client().post(PREPARE, {"requirements": TERMS, "payer": payer})
    assert answer.status == 200, answer.body
    return answer.json()


def signature_of(payment: Json) -> str:
    """The payer's signature of its hash."""
    return text_of(PAYER_KEY.sign(bytes.fromhex(payment["hash"])).signature)


def assert_sound(answer: Answer) -> None:
    """A 200, or a refusal with a code and a sentence, which names the member of its details."""
    assert answer.status in (200, 400), (answer.status, answer.body)
    if answer.status == 400:
        error = answer.json()["error"]
        assert set(error) - {"details"} == {"code", "message", "requestId"}
        assert "details" not in error or error["details"]["field"] in error["message"]
        assert error["code"]
        assert error["message"]


def changed(body: Json, member: str, value: object) -> Json:
    """The body with one member replaced; a dotted path goes into objects."""
    head, _, rest = member.partition(".")
    return {**body, head: changed(body[head], rest, value) if rest else value}


@case("WA-001")
@_MANY
@given(st.sampled_from([PREPARE, COMPLETE]), json_values)
async def test_any_json_gets_a_refusal(path: str, value: Any) -> None:
    assert_sound(await client().post(path, value))


@_MANY
@given(st.sampled_from([PREPARE, COMPLETE]), st.binary(max_size=200))
async def test_any_bytes_get_a_refusal(path: str, body: bytes) -> None:
    assert (await client().post(path, body)).status == 400


@_MANY
@given(
    st.sampled_from(["payer", "requirements", "more", *(f"requirements.{name}" for name in TERMS)]),
    json_values,
)
async def test_any_member_of_a_preparation_gets_an_answer(member: str, value: Any) -> None:
    body = {"requirements": TERMS, "payer": PAYER}
    assert_sound(await client().post(PREPARE, changed(body, member, value)))


@_MANY
@given(
    st.sampled_from(
        [
            *("entry", "signature", "publicKey", "requirements", "resource", "extensions", "more"),
            *(f"requirements.{name}" for name in TERMS),
        ]
    ),
    json_values,
)
async def test_any_member_of_a_completion_gets_an_answer(member: str, value: Any) -> None:
    payment = await prepared()
    body = {"entry": payment["entry"], "signature": signature_of(payment), "requirements": TERMS}
    assert_sound(await client().post(COMPLETE, changed(body, member, value)))


@case("WA-005")
@settings(max_examples=examples(320 // COPIES), deadline=None)
@given(data=st.data())
async def test_damaged_entry_is_refused_or_pays_the_terms(data: st.DataObject) -> None:
    payment, service = await prepared(), client()
    original, signed = base64.b64decode(payment["entry"]), signature_of(payment)
    for raw in data.draw(damaged_copies(st.just(original))):
        body = {"entry": text_of(raw), "signature": signed, "requirements": TERMS}
        answer = await service.post(COMPLETE, body)
        assert_sound(answer)
        assert answer.status == 400 or raw == original, "only the entry itself is completed"


@settings(max_examples=examples(320 // COPIES), deadline=None)
@given(data=st.data())
async def test_completed_payment_of_any_contract_signature_is_exactly_the_transfer(
    data: st.DataObject,
) -> None:
    payment, service = await prepared(WALLET), client()
    value = scval.to_map({scval.to_symbol("s"): scval.to_bytes(bytes(64))}).to_xdr_bytes()
    for raw in data.draw(damaged_copies(st.just(value))):
        body = {"entry": payment["entry"], "signature": text_of(raw), "requirements": TERMS}
        answer = await service.post(COMPLETE, body)
        assert_sound(answer)
        if answer.status == 200:
            _is_the_transfer(answer.json()["paymentPayload"], signature=raw)


def _is_the_transfer(payload: Json, *, signature: bytes) -> None:
    body = {"paymentPayload": payload, "paymentRequirements": TERMS}
    read = read_payment(msgspec.json.encode(body))
    assert isinstance(read, Payment)
    transfer = Signing().verifier(read.terms.network).examine(read)
    assert isinstance(transfer, SignedTransfer)
    assert transfer.payer == WALLET
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(transfer.entry.raw)
    assert entry.credentials.address is not None
    assert entry.credentials.address.signature.to_xdr_bytes() == signature
