"""Cases of proposals: what was proposed is what the session allows, and nothing changes it."""

import base64
import hashlib
from typing import Any, Final

import pytest
from stellar_sdk import scval, xdr

from farebox.automation.plans.policy_id import compute_policy_id
from farebox.automation.plans.session_spec_xdr import read_spec, write_spec
from farebox.kernel.networks import Network
from support.callers import Wallet, send_request
from support.payments import Json
from support.promises import case
from support.proposing_stage import PLANS, ProposingStage, keeper_plan, payroll
from testing.plan_specs import in_time

CHANGES: Final = ("amount", "recipient", "token", "function")
SCHEDULE: Final = {"type": "once", "at": in_time(hours=2)}
EXPIRES: Final = in_time(hours=6)


def transfer(token: str, to: str, amount: int, function: str = "transfer") -> Json:
    """A plan that calls a token once, with an entry signed ahead."""
    arguments = [
        {"type": "address", "value": "$account"},
        {"type": "address", "value": to},
        {"type": "i128", "value": str(amount)},
    ]
    if function == "burn":
        arguments = [arguments[0], arguments[2]]
    effects = {"maxDebit": [{"token": token, "amount": str(amount)}]}
    spec = {"contract": token, "function": function, "args": arguments, "effects": effects}
    terms = {"schedule": SCHEDULE, "expiresAt": EXPIRES}
    return payroll(token, kind="contract_call", spec=spec, **terms)


def root_of(session: Json) -> xdr.SorobanAuthorizedInvocation:
    """The call that the plan's one entry authorizes, by the public SDK."""
    (entry,) = session["install"]["entries"]
    return xdr.SorobanAuthorizationEntry.from_xdr(entry["entryXdr"]).root_invocation


@case("VA-012")
async def test_no_request_changes_what_was_proposed(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.keeper()
    other, body = await proposing.keeper(), keeper_plan(keeper)
    made = await proposing.propose(wallet, body, idempotency_key="plan")
    plan = made["proposal"]["id"]
    edited = body | {"spec": body["spec"] | {"contract": other}, "id": plan}
    for method in ("PUT", "PATCH", "POST", "DELETE"):
        for path in (f"{PLANS}/{plan}", f"{PLANS}/{plan}/session"):
            answer = await send_request(proposing.client, method, path, wallet.headers, edited)
            assert answer.status in (404, 405), (method, path, answer.body)
    refused = await proposing.refusal(wallet.headers, edited)
    assert refused[:2] == (400, "invalid_request"), "an id is no member of a proposal"
    del edited["id"]
    again = await proposing.refusal(wallet.headers, edited, idempotency_key="plan")
    assert again[:2] == (409, "idempotency_key_reused")
    shown = (await proposing.get(wallet.headers, f"/{plan}")).json()
    for name in ("policyId", "spec", "delegate", "runLimit"):
        assert shown["proposal"][name] == made["proposal"][name]


@case("VA-012")
@pytest.mark.parametrize("change", CHANGES)
async def test_changed_plan_has_another_policy_and_asks_for_another_signature(
    proposing: ProposingStage, change: str
) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[2])
    first, second = scene.payees[0].address, scene.payees[1].address
    plans = {
        "amount": transfer(scene.asset, first, 8),
        "recipient": transfer(scene.asset, second, 7),
        "token": transfer(scene.native, first, 7),
        "function": transfer(scene.asset, first, 7, "burn"),
    }
    signed = await session_of(proposing, wallet, transfer(scene.asset, first, 7))
    equal = await session_of(proposing, wallet, transfer(scene.asset, first, 7))
    changed = await session_of(proposing, wallet, plans[change])
    assert root_of(equal) == root_of(signed), "control: an equal plan asks for the same call"
    assert root_of(changed) != root_of(signed)
    assert unkeyed(changed) != unkeyed(signed) == unkeyed(equal)
    nonces = [each["install"]["entries"][0]["nonce"] for each in (signed, equal, changed)]
    assert len(set(nonces)) == 3, "no signature of one plan is of use in another"


@case("VA-016")
async def test_policy_is_that_of_its_spec_in_whatever_order_it_was_sent(
    proposing: ProposingStage,
) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.keeper()
    body = keeper_plan(keeper, startsAt=in_time(days=1), expiresAt=in_time(days=30))
    body["allowDuplicate"] = True
    sessions = [(await proposing.propose(wallet, each))["session"] for each in (body, turned(body))]
    assert unkeyed(sessions[0]) == unkeyed(sessions[1])
    assert sessions[0]["policyId"] != sessions[1]["policyId"], "each plan has a key of its own"
    for session in sessions:
        raw = base64.b64decode(session["policySpecXdr"])
        network = hashlib.sha256(Network.TESTNET.passphrase.encode()).digest()
        digest = hashlib.sha256(b"x402.automation.policy.v1\0" + network + raw)
        assert digest.hexdigest() == session["policyId"]
        spec = read_spec(raw)
        assert write_spec(spec) == raw, "the spec has one form"
        assert compute_policy_id(Network.PUBNET, raw) != digest.digest()
    body["allowDuplicate"] = False
    assert (await proposing.refusal(wallet.headers, turned(body)))[1] == "duplicate_intent"
    once_more = turned(body | {"schedule": body["schedule"] | {"everySeconds": 3601}})
    await proposing.propose(wallet, once_more)


def turned(value: Any) -> Any:
    """The same JSON with the members of every object the other way round."""
    if isinstance(value, dict):
        return {name: turned(each) for name, each in reversed(value.items())}
    return value


def unkeyed(session: Json) -> Json:
    """The members of a spec but the plan's own key, by the public SDK."""
    value = xdr.SCVal.from_xdr(session["policySpecXdr"])
    members = dict(scval.from_struct(value))
    del members["delegate"]
    if session["mode"] == "presigned":
        del members["not_before"]  # when it was proposed
    return members


async def session_of(proposing: ProposingStage, wallet: Wallet, body: Json) -> Json:
    made = await proposing.propose(wallet, body | {"allowDuplicate": True})
    return dict(made["session"])
