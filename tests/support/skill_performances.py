"""One function for each skill: it performs its actions through the whole service."""

import base64
import json
from collections.abc import Callable, Coroutine
from typing import Any, Final

from stellar_sdk import Keypair

from farebox.kernel.networks import Network
from support.contracts import wallet
from support.outbound import SELLER
from support.skill_calls import Json
from support.skill_plan_performances import PLAN_PERFORMANCES
from support.skill_stage import SkillStage
from support.stage import key_of
from support.upstream import answers
from support.wallet_payments import HashSigner, text_of
from support.wallet_sign_in import add_signatures
from support.web_auth import sign_challenge

RESOURCE: Final = f"https://{SELLER}/weather"


Performance = Callable[[SkillStage], Coroutine[Any, Any, None]]


async def discover(stage: SkillStage) -> None:
    """Find a wrapper by words and by filters, and describe what a stranger sells."""
    wrapper = await stage.serve(name="Quixotic tide tables")
    value = {"query": "quixotic tide tables", "network": stage.network.value, "limit": 5}
    output = await stage.perform("x402-discover", "search", value)
    assert [each["resource"] for each in output["resources"]] == [wrapper["endpoint"]]
    value = {"network": stage.network.value, "type": "http", "limit": 100, "offset": 0}
    output = await stage.perform("x402-discover", "browse", value)
    assert wrapper["endpoint"] in [each["resource"] for each in output["items"]]
    offer = await stage.shop.offer(wrapper)
    header = base64.b64encode(json.dumps(offer | {"resource": {"url": RESOURCE}}).encode())
    required = f"PAYMENT-REQUIRED: {header.decode()}"
    stage.shop.upstream.answer = answers(b"{}", status="402 Pay", headers=(required,))
    output = await stage.perform("x402-discover", "describe", {"url": RESOURCE, "method": "GET"})
    assert output["isValid"] is True, output
    assert output["offers"][0]["amount"] == offer["accepts"][0]["amount"]


async def quoted(stage: SkillStage) -> tuple[str, Json]:
    """The URL of a wrapper, and the terms of its 402."""
    url = (await stage.serve())["endpoint"]
    output = await stage.perform("x402-pay", "quote", {"url": url})
    return url, output["accepts"][0]


async def prepared(stage: SkillStage, slug: str, terms: Json) -> Json:
    """Prepare a payment for the payer; show what the spec says to show."""
    value = {"requirements": terms, "payer": stage.payer.address}
    output: Json = await stage.perform(slug, "prepare", value)
    assert terms["amount"] in output["statements"][0]
    return output


async def completed(stage: SkillStage, slug: str, terms: Json) -> Json:
    """Prepare, sign the hash with a plain key, and complete."""
    unsigned = await prepared(stage, slug, terms)
    signature = text_of(HashSigner(key_of(stage.payer)).sign(unsigned))
    value = {"entry": unsigned["entry"], "signature": signature, "requirements": terms}
    output: Json = await stage.perform(slug, "complete", value)
    return output


async def pay(stage: SkillStage) -> None:
    """Quote, prepare, complete and call, and call again with the same payment."""
    url, terms = await quoted(stage)
    payment = (await completed(stage, "x402-pay", terms))["paymentSignature"]
    value = {"url": url, "paymentSignature": payment}
    output = await stage.perform("x402-pay", "paid_call", value)
    assert (output["isPaid"], output["body"], output["nextAction"]) == (True, "sunny", "COMPLETE")
    again = await stage.perform("x402-pay", "paid_call", value)
    assert again["paymentResponse"] == output["paymentResponse"]
    assert await stage.shop.stage.rows() == 1


def both(request: Json) -> Json:
    """The input of verify and settle in the request of a stock client."""
    return {name: request[name] for name in ("paymentPayload", "paymentRequirements")}


async def facilitate(stage: SkillStage) -> None:
    """Verify a payment and settle it, twice with one key."""
    output = await stage.perform("x402-facilitate", "supported", {})
    assert stage.network.value in [each["network"] for each in output["kinds"]]
    draft = await stage.draft()
    output = await stage.perform("x402-facilitate", "verify", both(draft.request()))
    assert output == {"isValid": True, "payer": draft.payer}
    value = {**both(draft.request()), "idempotencyKey": f"order-{draft.nonce}"}
    output = await stage.perform("x402-facilitate", "settle", value)
    assert (output["success"], output["network"]) == (True, stage.network.value)
    assert await stage.perform("x402-facilitate", "settle", value) == output


async def created(stage: SkillStage) -> str:
    """The id of a new wrapper."""
    return str((await stage.shop.create(network=stage.network))["id"])


async def sell(stage: SkillStage) -> None:
    """A wrapper from its creation to its end."""
    own_slug = f"city-weather-{stage.network.label}"  # one used again is served from memory
    wrapper = await stage.manage("create", stage.shop.body(network=stage.network, slug=own_slug))
    assert wrapper["enabled"] is False
    own = {"id": wrapper["id"]}
    stage.shop.upstream.answer = answers()  # the request is a HEAD
    output = await stage.manage("check", own)
    assert output["ready"] is True, output
    changes = stage.shop.body(network=stage.network, amount="20000")
    output = await stage.manage("update", own | changes)
    assert output["accepts"][0]["amount"] == "20000"
    assert (await stage.manage("enable", own))["enabled"] is True
    stage.shop.upstream.answer = answers(b"sunny")
    assert (await stage.shop.buy(wrapper)).status == 200
    await stage.shop.analytics(wrapper, requests=2)
    output = await stage.manage("analytics", own | {"days": 7})
    assert output["summary"]["successful"] == 1
    assert [each["amount"] for each in output["payments"]] == ["20000"]
    assert (await stage.manage("disable", own))["enabled"] is False
    assert await stage.manage("delete", own) is None
    assert (await stage.shop.send("GET", f"/v1/wrappers/{wrapper['id']}")).status == 404


async def challenged(stage: SkillStage, address: str) -> Json:
    """Ask for a challenge."""
    value = {"network": stage.network.value, "address": address}
    output: Json = await stage.perform("wallet-auth", "challenge", value)
    return output


async def sign_in(stage: SkillStage) -> None:
    """Sign in with a key, and where a contract account can, with one."""
    key = Keypair.random()
    made = await challenged(stage, key.public_key)
    signed = add_signatures(made["transactionXdr"], stage.network, key)
    value = {"network": stage.network.value, "transactionXdr": signed}
    output = await stage.perform("wallet-auth", "verify", value)
    assert output["user"]["address"] == key.public_key
    if stage.network is Network.TESTNET:
        await _verify_contract_account(stage)


async def _verify_contract_account(stage: SkillStage) -> None:
    smart = await wallet(stage.shop.stage.networks[stage.network], "smart_wallet")
    made = await challenged(stage, smart.address)
    document = made["authorizationEntriesXdr"]
    signed = sign_challenge(document, smart.address, smart.key, stage.network)
    value = {"network": stage.network.value, "authorizationEntriesXdr": signed}
    output = await stage.perform("wallet-auth", "verify", value)
    assert output["user"]["address"] == smart.address


def of_account(stage: SkillStage) -> Json:
    """The payer's account."""
    return {"network": stage.network.value, "address": stage.payer.address}


async def look_at_account(stage: SkillStage) -> None:
    """The payer's balances, trustlines, reserves and signers."""
    asset = stage.shop.stage.networks[stage.network].scene.asset
    value = {**of_account(stage), "asset": [asset]}
    output = await stage.perform("account-status", "balances", value)
    held = {each["contract"]: each for each in output["balances"]}
    assert int(held[asset]["balance"]) > 0
    output = await stage.perform("account-status", "trustlines", of_account(stage))
    assert {each["asset"] for each in output["balances"]} >= {"native"}
    assert any("limit" in each or each["state"] == "no_trustline" for each in output["balances"])
    output = await stage.perform("account-status", "reserves", of_account(stage))
    assert int(output["minimumReserve"]) > 0
    output = await stage.perform("account-status", "signers", of_account(stage))
    assert output["signers"][0]["key"] == stage.payer.address


async def looked_at_network(stage: SkillStage, name: str) -> Json:
    """The network as an action of network-status shows it."""
    output = await stage.perform("network-status", name, {})
    (own,) = [each for each in output["networks"] if each["network"] == stage.network.value]
    assert own["available"] is True
    return dict(own)


async def look_at_network(stage: SkillStage) -> None:
    """The network's fees, its newest ledger and its protocol."""
    shown = (await looked_at_network(stage, "fees"))["fees"]
    assert int(shown["inclusionP99"]) <= int(shown["inclusionMax"])
    latest = await stage.shop.stage.ledger(stage.network).latest()
    sequence = (await looked_at_network(stage, "ledger"))["ledger"]["sequence"]
    assert abs(sequence - latest) < 100
    assert (await looked_at_network(stage, "protocol"))["protocolVersion"] >= 29


def of_token(stage: SkillStage) -> Json:
    """The contract of the scene's asset."""
    scene = stage.shop.stage.networks[stage.network].scene
    return {"network": stage.network.value, "contract": scene.asset}


async def inspect(stage: SkillStage) -> None:
    """The interface of a token and of a wallet, and what code the token runs."""
    built_in = await stage.perform("contract-inspect", "spec", of_token(stage))
    assert built_in["interface"] == "built_in"
    smart = await wallet(stage.shop.stage.networks[stage.network], "smart_wallet")
    value = {"network": stage.network.value, "contract": smart.address}
    output = await stage.perform("contract-inspect", "spec", value)
    assert "__check_auth" in [each["name"] for each in output["functions"]]
    output = await stage.perform("contract-inspect", "wasm_hash", of_token(stage))
    assert output["kind"] == "asset_contract"


async def track(stage: SkillStage) -> None:
    """The settlement of a payment, and the payment."""
    value = {"transaction": await stage.settled()}
    output = await stage.perform("transaction-track", "settlement_status", value)
    assert output["status"] == "confirmed"
    output = await stage.perform("transaction-track", "payment_status", value)
    assert (output["state"], output["receipt"]["success"]) == ("settled", True)


async def verify_receipt(stage: SkillStage) -> None:
    """Hold a receipt and forgeries of it against the payment."""
    wrapper = await stage.serve()
    bought = await stage.shop.buy(wrapper)
    receipt = json.loads(base64.b64decode(bought.headers["payment-response"]))
    value = {"transaction": receipt["transaction"]}
    output = await stage.perform("receipt-verify", "verify", value)
    assert output["state"] == "delivered"
    assert is_genuine(receipt, output)
    other = stage.shop.stage.relayer(stage.network).public_key
    for forgery in ({"payer": other}, {"network": "stellar:other"}, {"success": False}):
        assert not is_genuine(receipt | forgery, output)


def is_genuine(receipt: Json, output: Json) -> bool:
    """Compare a receipt with the payment, as the procedure of the action says."""
    names = ("success", "transaction", "network", "payer")
    return all(receipt[name] == output["receipt"][name] for name in names)


def own_terms(stage: SkillStage) -> Json:
    """The terms of a transfer that the user wants."""
    scene = stage.shop.stage.networks[stage.network].scene
    return {
        "scheme": "exact",
        "network": stage.network.value,
        "asset": scene.asset,
        "amount": "12345",
        "payTo": scene.payees[1].address,
        "maxTimeoutSeconds": 60,
        "extra": {"areFeesSponsored": True},
    }


async def transfer(stage: SkillStage) -> None:
    """Prepare a transfer, complete it and settle it."""
    terms = own_terms(stage)
    own = stage.shop.stage.ledger(stage.network)
    before = await own.balance(terms["asset"], terms["payTo"])
    payload = (await completed(stage, "token-transfer", terms))["paymentPayload"]
    value = {"paymentPayload": payload, "paymentRequirements": terms}
    output = await stage.perform("token-transfer", "settle", value)
    assert output["success"] is True, output
    assert await own.balance(terms["asset"], terms["payTo"]) == before + 12_345


PERFORMANCES: Final[dict[str, Performance]] = {
    **PLAN_PERFORMANCES,
    "account-status": look_at_account,
    "contract-inspect": inspect,
    "network-status": look_at_network,
    "receipt-verify": verify_receipt,
    "token-transfer": transfer,
    "transaction-track": track,
    "wallet-auth": sign_in,
    "x402-discover": discover,
    "x402-facilitate": facilitate,
    "x402-pay": pay,
    "x402-sell": sell,
}
