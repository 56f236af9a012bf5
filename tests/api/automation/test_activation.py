"""Activation refuses whatever the owner did not authorize for this plan, and says which rule."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from stellar_sdk import Keypair, xdr

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Scene
from support.accounts import Multisig
from support.callers import Wallet, replica
from support.node_proxy import http
from support.plan_service import PlanService, sign_entry
from support.presigned_plans import Leg
from support.stage import key_of
from support.table_rows import in_row
from support.vault import VAULT_SETTING

FAULTS = {1: "check_not_boolean", 4: "contract_1", 5: "budget"}


@pytest.fixture(scope="module")
async def scene(kept_plans: PlanService) -> Scene:
    """One payer, and an account that may hold the asset."""
    return await kept_plans.stage.networks[Network.TESTNET].devnet.scene(payers=1, payees=1)


@pytest.fixture
async def owner(plans: PlanService, scene: Scene) -> Wallet:
    """The payer, signed in."""
    return await plans.wallet(scene.payers[0].address)


async def draft(plans: PlanService, owner: Wallet, scene: Scene, **changes: Any) -> StoredPlan:
    legs = [Leg(scene.payees[0].address)]
    return await plans.presigned_plan(owner, scene, scene.payers[0], legs, runs=2, **changes)


def of_code(body: dict[str, Any]) -> tuple[int, str, str]:
    error = body["error"]
    return body["http"], error["code"], error.get("details", {}).get("field", "")


async def refused(
    plans: PlanService, owner: Wallet, plan: StoredPlan, entries: list[str]
) -> tuple[int, str, str]:
    """Refuse entries without keeping any of them."""
    body = await plans.post(owner, plan, "activate", {"presignedEntriesXdr": entries})
    assert "error" in body, body
    rows = await plans.stage.query(
        "SELECT 1 FROM automation_presigned WHERE proposal_id = $1", plan.terms.id
    )
    assert (rows, (await plans.state(plan)).state.value) == ([], "paid")
    return of_code(body)


def changed_entry(
    unsigned: bytes, key: Keypair, *, nonce: int = 0, amount: int = 0, last: int | None = None
) -> str:
    """The entry with one thing changed, signed after the change."""
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(unsigned)
    credentials = entry.credentials.address
    assert credentials is not None
    credentials.nonce.int64 += nonce
    if last is not None:
        credentials.signature_expiration_ledger.uint32 = last
    call = entry.root_invocation.function.contract_fn
    assert call is not None
    if amount:
        value = call.args[2].i128
        assert value is not None
        value.lo.uint64 += amount
    return sign_entry(entry.to_xdr_bytes(), key)


async def test_entry_with_one_change_is_refused(
    plans: PlanService, owner: Wallet, scene: Scene
) -> None:
    plan, key = await draft(plans, owner, scene), key_of(scene.payers[0])
    latest = await plans.stage.ledger().latest()
    changes: tuple[tuple[dict[str, int], str], ...] = (
        ({"nonce": 1}, "session_mismatch"),
        ({"amount": 1}, "session_mismatch"),
        ({"last": latest + 10_000_000}, "session_mismatch"),
        ({"last": latest + 1_000}, "session_expires_too_soon"),
    )
    for change, code in changes:
        issued = await plans.issued(owner, plan)  # as of this ledger
        entries = [sign_entry(issued[0], key), changed_entry(issued[1], key, **change)]
        found = await refused(plans, owner, plan, entries)
        assert found == (409, code, "presignedEntriesXdr[1]"), change
    issued = await plans.issued(owner, plan)
    control = [sign_entry(issued[0], key), changed_entry(issued[1], key)]
    body = await plans.post(owner, plan, "activate", {"presignedEntriesXdr": control})
    assert body["http"] == 200, body


async def test_entry_of_another_signer_network_or_plan_is_refused(
    plans: PlanService, owner: Wallet, scene: Scene
) -> None:
    plan, key, stranger = (
        await draft(plans, owner, scene),
        key_of(scene.payers[0]),
        Keypair.random(),
    )
    first = "presignedEntriesXdr[0]"
    of_another_plan = (await plans.sign_all(owner, await draft(plans, owner, scene), key))[0]
    wrong: dict[str, Callable[[bytes], str]] = {
        "a stranger's signature": lambda issued: sign_entry(issued, stranger),
        "the other network": lambda issued: sign_entry(
            issued, key, passphrase=Network.PUBNET.passphrase
        ),
        "another plan": lambda _: of_another_plan,
    }
    for what, sign in wrong.items():
        issued = await plans.issued(owner, plan)  # as of this ledger
        good = [sign_entry(each, key) for each in issued]
        found = await refused(plans, owner, plan, [sign(issued[0]), good[1]])
        assert found == (409, "session_mismatch", first), what
    issued = await plans.issued(owner, plan)
    good = [sign_entry(each, key) for each in issued]
    unsigned = xdr.SorobanAuthorizationEntry.from_xdr_bytes(issued[0]).to_xdr()
    assert (await refused(plans, owner, plan, [unsigned, good[1]]))[2] == first
    assert await refused(plans, owner, plan, good[:1]) == (
        409,
        "session_mismatch",
        "presignedEntriesXdr",
    )
    twice = await refused(plans, owner, plan, [good[0], good[0], good[1]])
    assert twice == (409, "session_mismatch", "presignedEntriesXdr[1]")


async def test_signers_below_the_medium_threshold_are_refused(
    plans: PlanService, multisig: Multisig
) -> None:
    """Each signature verifies; only the network knows what the signers weigh."""
    scene = plans.stage.networks[Network.TESTNET].scene
    owner = await plans.wallet(multisig.address)
    party = replace(scene.payers[0], address=Address(multisig.address))
    legs = [Leg(scene.payees[0].address)]
    plan = await plans.presigned_plan(owner, scene, party, legs, runs=1)
    for signers in ([multisig.master], multisig.signers[:1]):
        entries = await plans.sign_all(owner, plan, *signers)
        assert (await refused(plans, owner, plan, entries))[:2] == (409, "session_mismatch")
    both = await plans.sign_all(owner, plan, *multisig.signers)
    control = await plans.post(owner, plan, "activate", {"presignedEntriesXdr": both})
    assert control["http"] == 200, control


async def test_plan_takes_only_what_its_mode_installs(
    plans: PlanService, owner: Wallet, scene: Scene
) -> None:
    presigned = await draft(plans, owner, scene)
    opened = await plans.open_plan(owner, await plans.some_keeper())
    entries = await plans.sign_all(owner, presigned, key_of(scene.payers[0]))
    mandate = await plans.open_plan(owner, await plans.some_keeper(), mode=AuthorityMode.MANDATE)
    for plan, body in (
        (presigned, {}),
        (presigned, {"installTxHash": "ab" * 32}),
        (opened, {"presignedEntriesXdr": entries}),
        (opened, {"mandateId": "C" + "A" * 55}),
        (mandate, {}),
    ):
        found = await plans.post(owner, plan, "activate", body)
        assert of_code(found)[:2] == (409, "session_mismatch"), body
    both = {"installTxHash": "ab" * 32, "mandateId": "C" + "A" * 55}
    assert of_code(await plans.post(owner, mandate, "activate", both))[:2] == (
        400,
        "invalid_request",
    )


@pytest.mark.parametrize("member", ["signedEntriesXdr", "presignedEntriesXdr"])
async def test_text_that_is_no_entry_is_an_invalid_request_in_every_mode(
    plans: PlanService, owner: Wallet, scene: Scene, member: str
) -> None:
    presigned = await draft(plans, owner, scene)
    mandate = await plans.open_plan(owner, await plans.some_keeper(), mode=AuthorityMode.MANDATE)
    (good, _) = await plans.sign_all(owner, presigned, key_of(scene.payers[0]))
    for plan in (presigned, mandate):
        for text in ("x", "AAAA", "", good + "\n", good[:-4]):
            found = await plans.post(owner, plan, "activate", {member: [good, text]})
            assert of_code(found) == (400, "invalid_request", f"{member}[1]"), text
        control = await plans.post(owner, plan, "activate", {member: [good, good]})
        assert of_code(control)[:2] == (409, "session_mismatch")


async def test_trailing_newline_is_no_part_of_a_hash_an_id_or_a_reason(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await plans.open_plan(owner, await plans.some_keeper())
    for verb, member, text in (
        ("activate", "installTxHash", "ab" * 32),
        ("activate", "mandateId", "C" + "A" * 55),
        ("cancel", "reason", "bye"),
    ):
        found = await plans.post(owner, plan, verb, {member: f"{text}\n"})
        assert of_code(found) == (400, "invalid_request", member)
    control = await plans.post(owner, plan, "cancel", {"reason": "bye"})
    assert control["http"] == 200, control


async def test_unpaid_or_active_plan_is_not_activated(plans: PlanService) -> None:
    owner, keeper = await plans.wallet(), await plans.some_keeper()
    unpaid = await plans.open_plan(owner, keeper, runs=0)
    body = await plans.post(owner, unpaid, "activate")
    assert of_code(body)[:2] == (409, "illegal_transition")
    assert "not paid" in body["error"]["message"]
    paid = await plans.open_plan(owner, keeper)
    assert (await plans.post(owner, paid, "activate"))["http"] == 200
    again = await plans.post(owner, paid, "activate")
    assert of_code(again)[:2] == (409, "illegal_transition")


async def test_target_that_would_fail_is_not_activated(plans: PlanService) -> None:
    """By its check or by its run; `test_preflight` and `test_open_runs` have every fault."""
    for fault, code in FAULTS.items():
        with in_row(code):
            owner, keeper = await plans.wallet(), await plans.faulty_keeper(fault)
            plan = await plans.open_plan(owner, keeper)
            body = await plans.post(owner, plan, "activate")
            assert of_code(body)[:2] == (409, "preflight_failed")
            assert code in body["error"]["message"]
            assert (await plans.state(plan)).state.value == "paid"


async def test_target_whose_code_has_changed_is_not_activated(plans: PlanService) -> None:
    owner, keeper = await plans.wallet(), await plans.some_keeper()
    plan = await plans.open_plan(owner, keeper, target_wasm_hash=bytes(32))
    body = await plans.post(owner, plan, "activate")
    assert of_code(body)[:2] == (409, "session_mismatch")
    assert "code has changed" in body["error"]["message"]


async def test_fee_above_the_plans_ceiling_is_refused(plans: PlanService) -> None:
    owner, keeper = await plans.wallet(), await plans.some_keeper()
    plan = await plans.open_plan(owner, keeper, max_fee=100)
    assert of_code(await plans.post(owner, plan, "activate"))[:2] == (409, "fee_ceiling")


async def test_plan_whose_runs_are_over_is_not_activated(
    plans: PlanService, owner: Wallet, scene: Scene
) -> None:
    plan = await draft(plans, owner, scene)
    entries = await plans.sign_all(owner, plan, key_of(scene.payers[0]))
    past = datetime.now(UTC) - timedelta(seconds=1)
    await plans.stage.query(
        "UPDATE automation_proposals SET expires_at = $2 WHERE id = $1", plan.terms.id, past
    )
    found = await refused(plans, owner, plan, entries)
    assert found[:2] == (409, "session_expires_too_soon")


async def test_network_that_is_down_answers_503_and_keeps_the_plan(plans: PlanService) -> None:
    owner, keeper = await plans.wallet(), await plans.some_keeper()
    plan = await plans.open_plan(owner, keeper)
    node = plans.stage.node()
    node.on_every_method(http(503))
    body = await plans.post(owner, plan, "activate")
    assert (body["http"], body["error"]["code"]) == (503, "network_unavailable"), body
    assert (await plans.state(plan)).state.value == "paid"
    paused = await plans.post(owner, plan, "cancel")
    assert paused["http"] == 200, "ending a plan needs no network"
    node.reset()
    await plans.until_available()


async def test_plan_of_another_owner_is_not_found(plans: PlanService) -> None:
    owner, stranger = await plans.wallet(), await plans.wallet()
    plan = await plans.open_plan(owner, await plans.some_keeper())
    unknown = "auto_" + "0" * 22
    verbs = ("activate", "pause", "resume", "cancel", "runs/0/retry")
    reads = ("runs", "runs/0", "events", "receipts")
    for method, names in (("POST", verbs), ("GET", reads)):
        for name in names:
            answers = [
                await plans.call(stranger, method, f"{each}/{name}", {})
                for each in (plan.terms.id, unknown, "auto_x", "%00")
            ]
            assert [answer.status for answer in answers] == [404] * 4, (method, name)
            bodies = {answer.json()["error"]["message"] for answer in answers}
            assert len(bodies) == 1
    assert (await plans.call(None, "GET", f"{plan.terms.id}/runs")).status == 401
    assert (await plans.state(plan)).state.value == "paid"


async def test_service_without_a_paymaster_answers_503(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await plans.open_plan(owner, await plans.some_keeper())
    url = Secret(plans.environment["FAREBOX_DATABASE_URL"])
    async with replica(url, VAULT_SETTING) as client:
        answer = await client.request(
            "POST",
            f"/v1/automations/{plan.terms.id}/activate",
            body=b"{}",
            headers=owner.headers,
        )
    assert (answer.status, answer.json()["error"]["code"]) == (503, "automation_unavailable")


async def test_two_activations_at_once_make_one_active_plan(
    plans: PlanService, owner: Wallet, scene: Scene
) -> None:
    plan = await draft(plans, owner, scene)
    body = {"presignedEntriesXdr": await plans.sign_all(owner, plan, key_of(scene.payers[0]))}
    found = await asyncio.gather(*(plans.post(owner, plan, "activate", body) for _ in range(4)))
    assert sorted(each["http"] for each in found) == [200, 409, 409, 409]
