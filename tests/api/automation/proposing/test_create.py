"""`POST /v1/automations`: whose plan it is, what is stored, and what comes again with its key."""

import asyncio
import base64
import hashlib

import pytest
from stellar_sdk import Keypair, scval, xdr

from farebox.automation.sealed_columns import DELEGATE_PURPOSE, DELEGATES
from farebox.kernel.caller import Grant
from farebox.kernel.networks import Network
from farebox.vault.sealing import SealBroken
from support.automation import sealer
from support.callers import OPERATOR, OPERATOR_KEY, bearer, create_key, sign_in_wallet
from support.planted_secrets import plant_secret
from support.promises import promise
from support.proposing_stage import PLANS, ProposingStage, hash_of, keeper_plan
from testing.plan_specs import in_time


@promise("automation:session-material")
async def test_proposal_of_a_keeper_has_schedule_quote_session_and_preflight(
    proposing: ProposingStage,
) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    detail = await proposing.propose(wallet, keeper_plan(keeper))
    proposal = detail["proposal"]
    assert proposal["status"] == "proposed"
    assert proposal["account"] == wallet.caller.address
    assert proposal["accountKind"] == "g"
    assert proposal["authorityMode"] == "open", "a target of the convention holds its authority"
    assert proposal["targetWasmHash"] == hash_of("keeper")
    assert proposal["authorizationLimit"] == 12
    assert len(proposal["nextRuns"]) == 10
    assert proposal["nextRuns"][0]["at"] == proposal["schedule"]["startAt"]
    quote = detail["quote"]
    assert (quote["isFree"], quote["total"], quote["revision"]) == (True, "0", 1)
    assert quote["paymentIdentifier"] == f"{proposal['id']}_1"
    session = detail["session"]
    assert (session["mode"], session["state"], session["install"]) == ("open", "none", None)
    preflight = detail["preflight"]
    assert preflight["ok"] is True, preflight
    assert int(preflight["estimatedFeeStroops"]) > 0
    assert {each["code"] for each in preflight["checks"]} == {
        "paymaster",
        "schedule",
        "code_unchanged",
        "account_exists",
        "check_answers",
        "dry_run",
    }
    again = await proposing.get(wallet.headers, f"/{proposal['id']}")
    shown = again.json()
    shown["quote"]["validUntil"] = quote["validUntil"]
    assert shown == detail | {"preflight": None}


@promise("automation:policy-id")
async def test_policy_id_is_that_of_the_shown_spec(proposing: ProposingStage) -> None:
    """By the public SDK's decoder, and the formula of the design."""
    detail = await proposing.propose(
        await proposing.wallet(), keeper_plan(await proposing.some_keeper())
    )
    session = detail["session"]
    raw = base64.b64decode(session["policySpecXdr"])
    network = hashlib.sha256(session["networkPassphrase"].encode()).digest()
    digest = hashlib.sha256(b"x402.automation.policy.v1\0" + network + raw).hexdigest()
    assert digest == session["policyId"] == detail["proposal"]["policyId"]
    members = scval.from_struct(xdr.SCVal.from_xdr_bytes(raw))
    assert scval.from_bytes(members["delegate"]) == bytes.fromhex(session["delegate"]["publicKey"])
    mirror = session["policySpec"]
    assert scval.from_uint32(members["max_uses"]) == mirror["maxUses"] == 12
    assert scval.from_uint64(members["interval"]) == mirror["intervalSeconds"]
    assert [each["function"] for each in mirror["calls"]] == ["autolayer_run"]
    assert session["delegate"]["address"] in session["permissions"][0]
    assert session["permissions"][-1].startswith("Worst case")


async def test_account_of_another_is_not_proven(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    stranger = Keypair.random().public_key
    refused = (403, "account_not_proven", "")
    assert await proposing.refusal(wallet.headers, keeper_plan(keeper, account=stranger)) == refused
    elsewhere = await sign_in_wallet(proposing.database, network=Network.PUBNET)
    assert await proposing.refusal(elsewhere.headers, keeper_plan(keeper)) == refused
    for network in ("stellar:pubnet", "stellar:testnet"):  # served for plans, and not
        body = keeper_plan(keeper) | {"network": network}
        other = elsewhere if network == "stellar:testnet" else wallet
        for path in (PLANS, f"{PLANS}/preview"):
            assert await proposing.refusal(other.headers, body, path) == refused, (path, network)
        listed = await proposing.get(other.headers, f"?network={network}")
        assert (listed.status, listed.json()["error"]["code"]) == refused[:2], network
    own = keeper_plan(keeper, account=wallet.caller.address)
    assert (await proposing.propose(wallet, own))["proposal"]["account"] == wallet.caller.address


async def test_key_needs_the_scope_of_automation(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    with_scope, without = [
        bearer((await create_key(proposing.client, wallet.headers, scopes=[scope]))["key"])
        for scope in (Grant.AUTOMATION.value, Grant.READ.value)
    ]
    body = keeper_plan(keeper)
    assert (await proposing.refusal(without, body))[:2] == (403, "scope_missing")
    assert (await proposing.refusal({}, body))[:2] == (401, "unauthenticated")
    answer = await proposing.post(with_scope, body)
    assert answer.status == 201, answer.body
    assert answer.json()["proposal"]["account"] == wallet.caller.address


async def test_operator_proposes_open_plans_only(proposing: ProposingStage) -> None:
    operator, keeper = bearer(OPERATOR_KEY), await proposing.some_keeper()
    answer = await proposing.post(operator, keeper_plan(keeper))
    assert answer.status == 201, answer.body
    detail = answer.json()
    assert detail["proposal"]["account"] is None
    assert detail["preflight"]["ok"] is True
    rows = await proposing.stage.query(
        "SELECT owner FROM automation_proposals WHERE id = $1", detail["proposal"]["id"]
    )
    assert rows[0]["owner"] == OPERATOR
    presigned = keeper_plan(keeper, authorityMode="presigned", allowDuplicate=True)
    refused = await proposing.refusal(operator, presigned)
    assert refused == (422, "unsupported_account", "authorityMode")
    named = keeper_plan(keeper, account=Keypair.random().public_key)
    assert (await proposing.refusal(operator, named))[:2] == (403, "account_not_proven")


async def test_second_equal_plan_is_refused_unless_it_is_allowed(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    body = keeper_plan(keeper)
    first = await proposing.propose(wallet, body)
    backwards = dict(reversed(body.items()))
    status, code, _ = await proposing.refusal(wallet.headers, backwards)
    assert (status, code) == (409, "duplicate_intent")
    second = await proposing.propose(wallet, body | {"allowDuplicate": True})
    assert second["proposal"]["policyId"] != first["proposal"]["policyId"]
    other = keeper_plan(keeper, schedule=body["schedule"] | {"everySeconds": 7200})
    await proposing.propose(wallet, other)
    await proposing.stage.query(
        "UPDATE automation_proposals SET status = 'cancelled', overdue_at = NULL WHERE owner = $1",
        wallet.owner,
    )
    await proposing.propose(wallet, body)


async def test_same_key_returns_the_plan_it_made(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    body = keeper_plan(keeper)
    first = await proposing.propose(wallet, body, idempotency_key="one")
    again = await proposing.propose(wallet, dict(reversed(body.items())), idempotency_key="one")
    assert again["proposal"]["id"] == first["proposal"]["id"]
    other = await proposing.refusal(wallet.headers, body | {"runLimit": 11}, idempotency_key="one")
    assert other[:2] == (409, "idempotency_key_reused")
    stranger = await proposing.wallet()
    theirs = await proposing.propose(stranger, body, idempotency_key="one")
    assert theirs["proposal"]["id"] != first["proposal"]["id"]
    for key in ("", "two words", "x" * 256, "ü"):
        refused = await proposing.refusal(wallet.headers, body, idempotency_key=key)
        assert refused[:2] == (400, "invalid_request"), key


async def test_requests_at_once_with_one_key_make_one_plan(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    body = keeper_plan(keeper)
    made = await asyncio.gather(
        *(proposing.propose(wallet, body, idempotency_key="at-once") for _ in range(4))
    )
    assert len({each["proposal"]["id"] for each in made}) == 1
    rows = await proposing.stage.query(
        "SELECT count(*) AS n FROM automation_proposals WHERE owner = $1", wallet.owner
    )
    assert rows[0]["n"] == 1


async def test_owner_has_twenty_open_plans_at_most(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    body = keeper_plan(keeper, allowDuplicate=True)
    await proposing.propose(wallet, body)
    await proposing.stage.query(
        """
        INSERT INTO automation_proposals
        SELECT (jsonb_populate_record(p, jsonb_build_object(
            'id', 'auto_' || lpad(n::text, 22, '0'),
            'policy_id', '\\x' || encode(sha256(n::text::bytea), 'hex')))).*
        FROM automation_proposals p, generate_series(1, 19) n WHERE p.owner = $1
        """,
        wallet.owner,
    )
    status, code, _ = await proposing.refusal(wallet.headers, body)
    assert (status, code) == (422, "limit_exceeded")
    await proposing.stage.query(
        "UPDATE automation_proposals SET status = 'expired', overdue_at = NULL"
        " WHERE id = (SELECT id FROM automation_proposals WHERE owner = $1 LIMIT 1)",
        wallet.owner,
    )
    await proposing.propose(wallet, body)


async def test_creation_leaves_an_audit_event_and_an_event_of_the_plan(
    proposing: ProposingStage,
) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    body = keeper_plan(keeper)
    plan = (await proposing.propose(wallet, body))["proposal"]["id"]
    (audited,) = await proposing.stage.query(
        "SELECT action, subject FROM audit_trail WHERE owner = $1", wallet.owner
    )
    assert dict(audited) == {"action": "automation.proposed", "subject": plan}
    (event,) = await proposing.stage.query(
        "SELECT number, kind FROM automation_events WHERE proposal_id = $1", plan
    )
    assert dict(event) == {"number": 1, "kind": "plan.create"}
    (session,) = await proposing.stage.query(
        "SELECT mode, state FROM automation_sessions WHERE proposal_id = $1", plan
    )
    assert dict(session) == {"mode": "open", "state": "material_issued"}
    assert (await proposing.refusal(wallet.headers, body))[1] == "duplicate_intent"
    rows = await proposing.stage.query("SELECT FROM audit_trail WHERE owner = $1", wallet.owner)
    assert len(rows) == 1, "a refusal leaves none"


@promise("automation:fresh-delegate")
async def test_each_proposal_has_a_key_of_its_own(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    body = keeper_plan(keeper, allowDuplicate=True)
    made = [(await proposing.propose(wallet, body))["proposal"] for _ in range(2)]
    assert len({each["delegate"] for each in made}) == 2
    assert len({each["policyId"] for each in made}) == 2, "the key is part of the policy"


@promise("automation:delegate-sealed")
async def test_delegate_key_is_stored_sealed_for_its_plan_alone_and_answered_nowhere(
    proposing: ProposingStage,
) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    answer = await proposing.post(wallet.headers, keeper_plan(keeper))
    plan = answer.json()["proposal"]["id"]
    (row,) = await proposing.stage.query(
        "SELECT delegate, delegate_key FROM automation_proposals WHERE id = $1", plan
    )
    paths = (f"/{plan}", f"/{plan}/session", "")
    bodies = [answer.body, *[(await proposing.get(wallet.headers, path)).body for path in paths]]
    bodies.append((await proposing.post(wallet.headers, None, f"{PLANS}/{plan}/preflight")).body)
    own = {"owner": wallet.owner, "purpose": DELEGATE_PURPOSE, "record": plan}
    for member in own:
        with pytest.raises(SealBroken):
            sealer(DELEGATES).open(row["delegate_key"], **(own | {member: "another"}))
    raw = sealer(DELEGATES).open(row["delegate_key"], **own).reveal()
    key = Keypair.from_raw_ed25519_seed(raw)
    assert key.raw_public_key() == row["delegate"], "control: it is the plan's own key"
    plant_secret(key.secret)  # looked for in every log and plain column afterwards
    for body in bodies:
        for form in (raw.hex(), base64.b64encode(raw).decode(), key.secret):
            assert form.encode() not in body
        for form in (row["delegate_key"].hex(), base64.b64encode(row["delegate_key"]).decode()):
            assert form.encode() not in body
    assert row["delegate"].hex().encode() in bodies[0], "control: the public key is shown"


async def test_plan_once_ends_a_week_after_it_is_due(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    at = in_time(hours=2)
    body = keeper_plan(keeper, schedule={"type": "once", "at": at}, runLimit=1)
    proposal = (await proposing.propose(wallet, body))["proposal"]
    assert [each["at"] for each in proposal["nextRuns"]] == [at]
    assert proposal["expiresAt"][:10] == in_time(days=7, hours=2)[:10]
