"""One function for each action of each skill: it performs the action through the whole service."""

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Final

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


Performance = Callable[[SkillStage], Awaitable[None]]


async def search(stage: SkillStage) -> None:
    wrapper = await stage.serve(name="Quixotic tide tables")
    value = {"query": "quixotic tide tables", "network": stage.network.value, "limit": 5}
    output = await stage.perform("x402-discover", "search", value)
    assert [each["resource"] for each in output["resources"]] == [wrapper["endpoint"]]


async def browse(stage: SkillStage) -> None:
    wrapper = await stage.serve()
    value = {"network": stage.network.value, "type": "http", "limit": 100, "offset": 0}
    output = await stage.perform("x402-discover", "browse", value)
    assert wrapper["endpoint"] in [each["resource"] for each in output["items"]]


async def describe(stage: SkillStage) -> None:
    offer = await stage.shop.offer(await stage.serve())
    header = base64.b64encode(json.dumps(offer | {"resource": {"url": RESOURCE}}).encode())
    required = f"PAYMENT-REQUIRED: {header.decode()}"
    stage.shop.upstream.answer = answers(b"{}", status="402 Pay", headers=(required,))
    output = await stage.perform("x402-discover", "describe", {"url": RESOURCE, "method": "GET"})
    assert output["isValid"] is True, output
    assert output["offers"][0]["amount"] == offer["accepts"][0]["amount"]


async def quote(stage: SkillStage) -> None:
    await quoted(stage)


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


async def prepare_to_pay(stage: SkillStage) -> None:
    _, terms = await quoted(stage)
    await prepared(stage, "x402-pay", terms)


async def complete_payment(stage: SkillStage) -> None:
    _, terms = await quoted(stage)
    await completed(stage, "x402-pay", terms)


async def paid_call(stage: SkillStage) -> None:
    url, terms = await quoted(stage)
    payment = (await completed(stage, "x402-pay", terms))["paymentSignature"]
    value = {"url": url, "paymentSignature": payment}
    output = await stage.perform("x402-pay", "paid_call", value)
    assert (output["isPaid"], output["body"], output["nextAction"]) == (True, "sunny", "COMPLETE")
    again = await stage.perform("x402-pay", "paid_call", value)
    assert again["paymentResponse"] == output["paymentResponse"]
    assert await stage.shop.stage.rows() == 1


async def supported(stage: SkillStage) -> None:
    output = await stage.perform("x402-facilitate", "supported", {})
    assert stage.network.value in [each["network"] for each in output["kinds"]]


def both(request: Json) -> Json:
    """The input of verify and settle in the request of a stock client."""
    return {name: request[name] for name in ("paymentPayload", "paymentRequirements")}


async def verify(stage: SkillStage) -> None:
    draft = await stage.draft()
    output = await stage.perform("x402-facilitate", "verify", both(draft.request()))
    assert output == {"isValid": True, "payer": draft.payer}


async def settle(stage: SkillStage) -> None:
    draft = await stage.draft()
    value = {**both(draft.request()), "idempotencyKey": f"order-{draft.nonce}"}
    output = await stage.perform("x402-facilitate", "settle", value)
    assert (output["success"], output["network"]) == (True, stage.network.value)
    assert await stage.perform("x402-facilitate", "settle", value) == output


async def create(stage: SkillStage) -> None:
    output = await stage.manage("create", stage.shop.body(network=stage.network))
    assert output["enabled"] is False


async def created(stage: SkillStage) -> str:
    """The id of a new wrapper."""
    return str((await stage.shop.create(network=stage.network))["id"])


async def check(stage: SkillStage) -> None:
    stage.shop.upstream.answer = answers()  # the request is a HEAD
    output = await stage.manage("check", {"id": await created(stage)})
    assert output["ready"] is True, output


async def update(stage: SkillStage) -> None:
    changes = stage.shop.body(network=stage.network, amount="20000")
    output = await stage.manage("update", {"id": await created(stage), **changes})
    assert output["accepts"][0]["amount"] == "20000"


async def enable(stage: SkillStage) -> None:
    assert (await stage.manage("enable", {"id": await created(stage)}))["enabled"] is True


async def disable(stage: SkillStage) -> None:
    wrapper = await stage.serve()
    assert (await stage.manage("disable", {"id": wrapper["id"]}))["enabled"] is False


async def delete(stage: SkillStage) -> None:
    wrapper = await stage.serve()
    assert await stage.manage("delete", {"id": wrapper["id"]}) is None
    assert (await stage.shop.send("GET", f"/v1/wrappers/{wrapper['id']}")).status == 404


async def analytics(stage: SkillStage) -> None:
    wrapper = await stage.serve()
    assert (await stage.shop.buy(wrapper)).status == 200
    await stage.shop.analytics(wrapper, requests=2)
    output = await stage.manage("analytics", {"id": wrapper["id"], "days": 7})
    assert output["summary"]["successful"] == 1
    assert [each["amount"] for each in output["payments"]] == ["10000"]


async def challenged(stage: SkillStage, address: str) -> Json:
    """Ask for a challenge."""
    value = {"network": stage.network.value, "address": address}
    output: Json = await stage.perform("wallet-auth", "challenge", value)
    return output


async def challenge(stage: SkillStage) -> None:
    output = await challenged(stage, Keypair.random().public_key)
    assert "transactionXdr" in output


async def verify_sign_in(stage: SkillStage) -> None:
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


async def balances(stage: SkillStage) -> None:
    asset = stage.shop.stage.networks[stage.network].scene.asset
    value = {**of_account(stage), "asset": [asset]}
    output = await stage.perform("account-status", "balances", value)
    held = {each["contract"]: each for each in output["balances"]}
    assert int(held[asset]["balance"]) > 0


async def trustlines(stage: SkillStage) -> None:
    output = await stage.perform("account-status", "trustlines", of_account(stage))
    assert {each["asset"] for each in output["balances"]} >= {"native"}
    assert any("limit" in each or each["state"] == "no_trustline" for each in output["balances"])


async def reserves(stage: SkillStage) -> None:
    output = await stage.perform("account-status", "reserves", of_account(stage))
    assert int(output["minimumReserve"]) > 0


async def signers(stage: SkillStage) -> None:
    output = await stage.perform("account-status", "signers", of_account(stage))
    assert output["signers"][0]["key"] == stage.payer.address


async def looked_at_network(stage: SkillStage, name: str) -> Json:
    """The network as an action of network-status shows it."""
    output = await stage.perform("network-status", name, {})
    (own,) = [each for each in output["networks"] if each["network"] == stage.network.value]
    assert own["available"] is True
    return dict(own)


async def fees(stage: SkillStage) -> None:
    shown = (await looked_at_network(stage, "fees"))["fees"]
    assert int(shown["inclusionP99"]) <= int(shown["inclusionMax"])


async def ledger(stage: SkillStage) -> None:
    latest = await stage.shop.stage.ledger(stage.network).latest()
    shown = (await looked_at_network(stage, "ledger"))["ledger"]["sequence"]
    assert abs(shown - latest) < 100


async def protocol(stage: SkillStage) -> None:
    assert (await looked_at_network(stage, "protocol"))["protocolVersion"] >= 29


def of_token(stage: SkillStage) -> Json:
    """The contract of the scene's asset."""
    scene = stage.shop.stage.networks[stage.network].scene
    return {"network": stage.network.value, "contract": scene.asset}


async def contract_spec(stage: SkillStage) -> None:
    built_in = await stage.perform("contract-inspect", "spec", of_token(stage))
    assert built_in["interface"] == "built_in"
    smart = await wallet(stage.shop.stage.networks[stage.network], "smart_wallet")
    value = {"network": stage.network.value, "contract": smart.address}
    output = await stage.perform("contract-inspect", "spec", value)
    assert "__check_auth" in [each["name"] for each in output["functions"]]


async def wasm_hash(stage: SkillStage) -> None:
    output = await stage.perform("contract-inspect", "wasm_hash", of_token(stage))
    assert output["kind"] == "asset_contract"


async def settlement_status(stage: SkillStage) -> None:
    tx_hash = await stage.settled()
    value = {"transaction": tx_hash}
    output = await stage.perform("transaction-track", "settlement_status", value)
    assert output["status"] == "confirmed"


async def payment_status(stage: SkillStage) -> None:
    tx_hash = await stage.settled()
    output = await stage.perform("transaction-track", "payment_status", {"transaction": tx_hash})
    assert (output["state"], output["receipt"]["success"]) == ("settled", True)


async def verify_receipt(stage: SkillStage) -> None:
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


async def prepare_transfer(stage: SkillStage) -> None:
    await prepared(stage, "token-transfer", own_terms(stage))


async def complete_transfer(stage: SkillStage) -> None:
    await completed(stage, "token-transfer", own_terms(stage))


async def settle_transfer(stage: SkillStage) -> None:
    terms = own_terms(stage)
    own = stage.shop.stage.ledger(stage.network)
    before = await own.balance(terms["asset"], terms["payTo"])
    payload = (await completed(stage, "token-transfer", terms))["paymentPayload"]
    value = {"paymentPayload": payload, "paymentRequirements": terms}
    output = await stage.perform("token-transfer", "settle", value)
    assert output["success"] is True, output
    assert await own.balance(terms["asset"], terms["payTo"]) == before + 12_345


PERFORMANCES: Final[dict[tuple[str, str], Performance]] = {
    **PLAN_PERFORMANCES,
    ("account-status", "balances"): balances,
    ("account-status", "reserves"): reserves,
    ("account-status", "signers"): signers,
    ("account-status", "trustlines"): trustlines,
    ("contract-inspect", "spec"): contract_spec,
    ("contract-inspect", "wasm_hash"): wasm_hash,
    ("network-status", "fees"): fees,
    ("network-status", "ledger"): ledger,
    ("network-status", "protocol"): protocol,
    ("receipt-verify", "verify"): verify_receipt,
    ("token-transfer", "complete"): complete_transfer,
    ("token-transfer", "prepare"): prepare_transfer,
    ("token-transfer", "settle"): settle_transfer,
    ("transaction-track", "payment_status"): payment_status,
    ("transaction-track", "settlement_status"): settlement_status,
    ("wallet-auth", "challenge"): challenge,
    ("wallet-auth", "verify"): verify_sign_in,
    ("x402-discover", "browse"): browse,
    ("x402-discover", "describe"): describe,
    ("x402-discover", "search"): search,
    ("x402-facilitate", "settle"): settle,
    ("x402-facilitate", "supported"): supported,
    ("x402-facilitate", "verify"): verify,
    ("x402-pay", "complete"): complete_payment,
    ("x402-pay", "paid_call"): paid_call,
    ("x402-pay", "prepare"): prepare_to_pay,
    ("x402-pay", "quote"): quote,
    ("x402-sell", "analytics"): analytics,
    ("x402-sell", "check"): check,
    ("x402-sell", "create"): create,
    ("x402-sell", "delete"): delete,
    ("x402-sell", "disable"): disable,
    ("x402-sell", "enable"): enable,
    ("x402-sell", "update"): update,
}
