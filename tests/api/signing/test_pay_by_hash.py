"""Pay in three steps: prepare, sign 32 bytes with a plain key, complete."""

from typing import Final

import pytest
from stellar_sdk import Keypair, Signer, scval

from farebox.kernel.networks import Network
from farebox.x402.headers import decode_header
from support.contracts import Wallet, wallet
from support.paid_gateway import PaidGateway
from support.promises import case
from support.stage import Stage, key_of
from support.wallet_payments import HashSigner, complete, payment_body, prepare, text_of

RESOURCE: Final = {"url": "https://api.example.com/weather", "description": "Rain, by the hour."}
EXTENSIONS: Final = {"bazaar": {"info": {"input": {"type": "http"}}, "schema": {}}, "n": 1e3}


@pytest.mark.parametrize("network", list(Network))
async def test_classic_account_pays_with_a_signed_hash(stage: Stage, network: Network) -> None:
    party = await stage.another_payer(network)
    draft = await stage.draft(network, payer=party.address)
    ledger = stage.ledger(network)
    before = await ledger.balance(draft.asset, draft.pay_to)
    await stage.assert_settles(await payment_body(stage, draft, key_of(party)))
    assert await ledger.balance(draft.asset, draft.pay_to) == before + draft.amount


@pytest.mark.parametrize("network", list(Network))
async def test_contract_account_pays_with_a_signed_hash(stage: Stage, network: Network) -> None:
    smart = await wallet(stage.networks[network], "smart_wallet")
    draft = await stage.draft(network, payer=smart.address)
    terms = draft.terms()
    prepared = await prepare(stage, terms, smart.address)
    value = scval.to_bytes(HashSigner(smart.key).sign(prepared)).to_xdr()
    completed = await complete(stage, prepared, value, terms)
    payload = completed["paymentPayload"]
    await stage.assert_settles({"paymentPayload": payload, "paymentRequirements": terms})


@case("WA-009")
async def test_wrong_signature_of_a_contract_account_is_refused_by_the_verification(
    stage: Stage, smart: Wallet
) -> None:
    draft = await stage.draft(payer=smart.address)
    prepared = await prepare(stage, draft.terms(), smart.address)
    value = scval.to_bytes(HashSigner(Keypair.random()).sign(prepared)).to_xdr()
    completed = await complete(stage, prepared, value, draft.terms())
    body = {"paymentPayload": completed["paymentPayload"], "paymentRequirements": draft.terms()}
    await stage.assert_refused(body, payer=smart.address)


async def test_another_signer_of_the_account_pays_when_its_key_is_named(stage: Stage) -> None:
    party, other = await stage.another_payer(), Keypair.random()
    added = Signer.ed25519_public_key(other.public_key, 1)
    await stage.ledger().submit(key_of(party), lambda b: b.append_set_options_op(signer=added))
    draft = await stage.draft(payer=party.address)
    prepared = await prepare(stage, draft.terms(), party.address)
    signature = HashSigner(other).sign(prepared).hex()
    completed = await complete(
        stage, prepared, signature, draft.terms(), publicKey=other.public_key
    )
    payload = completed["paymentPayload"]
    await stage.assert_settles({"paymentPayload": payload, "paymentRequirements": draft.terms()})


async def test_prepared_payment_settles_once_and_two_preparations_settle_twice(
    stage: Stage,
) -> None:
    party = await stage.another_payer()
    draft = await stage.draft(payer=party.address)
    first = await payment_body(stage, draft, key_of(party))
    second = await payment_body(stage, draft, key_of(party))
    hashes = {await stage.assert_settles(first), await stage.assert_settles(second)}
    assert len(hashes) == 2
    again = await stage.settle(first)
    assert (again["success"], again["errorReason"]) == (False, "duplicate_settlement")


async def test_payload_has_requirements_resource_and_extensions_as_they_came(stage: Stage) -> None:
    party = await stage.another_payer()
    draft = await stage.draft(payer=party.address)
    terms = draft.terms(extra={"areFeesSponsored": True, "paymentFlow": "upfront"}, note="kept")
    prepared = await prepare(stage, terms, party.address)
    signature = text_of(HashSigner(key_of(party)).sign(prepared))
    completed = await complete(
        stage, prepared, signature, terms, resource=RESOURCE, extensions=EXTENSIONS
    )
    payload = completed["paymentPayload"]
    assert decode_header(completed["paymentSignature"]) == payload
    identifier = payload["extensions"].pop("payment-identifier")
    assert payload | {"payload": {}} == {
        "x402Version": 2,
        "accepted": terms,
        "payload": {},
        "resource": RESOURCE,
        "extensions": EXTENSIONS,
    }
    again = await complete(stage, prepared, signature, terms)
    other = again["paymentPayload"]["extensions"]["payment-identifier"]
    assert identifier["info"]["id"] != other["info"]["id"]


async def test_payment_signature_buys_from_the_gateway(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    offer = await shop.offer(wrapper, "/today")
    terms = offer["accepts"][0]
    party = await shop.stage.another_payer()
    prepared = await prepare(shop.stage, terms, party.address)
    signature = text_of(HashSigner(key_of(party)).sign(prepared))
    completed = await complete(
        shop.stage,
        prepared,
        signature,
        terms,
        resource=offer["resource"],
        extensions=offer.get("extensions"),
    )
    bought = await shop.buy(wrapper, "/today", payment=completed["paymentSignature"])
    assert (bought.status, bought.body) == (200, b"sunny")
