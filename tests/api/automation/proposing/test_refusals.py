"""Every rule that refuses a proposal: its status, its code and the member it names."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.kernel.addresses import contract_address
from farebox.kernel.networks import Network
from support.node_proxy import http
from support.payments import Json
from support.plan_stage import until_paid_for
from support.promises import promise
from support.proposing_stage import (
    PLANS,
    ProposingStage,
    hash_of,
    keeper_plan,
    payroll,
)
from support.stage import Stage, own_relayer, service
from support.table_rows import in_row
from support.vault import VAULT_SETTING
from testing.plan_specs import in_time

_DEBIT = "spec.effects.maxDebit[0].amount"
CRON = {"type": "cron", "expr": "0 8 * * 1", "timezone": "Europe/Paris"}


def every(seconds: int) -> Json:
    return {"type": "interval", "everySeconds": seconds, "startAt": in_time(minutes=5)}


def refused_times() -> dict[str, tuple[Json, str, str]]:
    """Changes of a plan that is taken, and their refusal, as of now; one of each kind.

    `test_check_schedule` and `test_plan_rules` have every value that is refused.
    """
    in_two_months = f"0 8 15 {(datetime.now(UTC).month + 1) % 12 + 1} *"
    return {
        "never due": (
            {"schedule": CRON | {"expr": "0 8 30 2 *"}},
            "invalid_schedule",
            "schedule.expr",
        ),
        "never due in the window": (
            {"schedule": CRON | {"expr": in_two_months}, "expiresAt": in_time(minutes=1)},
            "schedule_never_fires",
            "schedule",
        ),
        "polls below half a minute": (
            {"schedule": {"type": "condition", "everySeconds": 29}},
            "interval_too_short",
            "schedule.everySeconds",
        ),
        "1,001 runs": ({"runLimit": 1_001}, "limit_exceeded", "runLimit"),
        "two runs of what is due once": (
            {"schedule": {"type": "once", "at": in_time(hours=1)}, "runLimit": 2},
            "limit_exceeded",
            "runLimit",
        ),
        "past the horizon": ({"expiresAt": in_time(days=171)}, "limit_exceeded", "expiresAt"),
        "an end before its start": (
            {"startsAt": in_time(days=3), "expiresAt": in_time(days=2)},
            "schedule_never_fires",
            "startsAt",
        ),
        "a fee above the operator's": (
            {"maxFeeStroops": "5000001"},
            "limit_exceeded",
            "maxFeeStroops",
        ),
        "as late as the next run": (
            {"maxLatenessSeconds": 3600},
            "spec_mismatch",
            "maxLatenessSeconds",
        ),
    }


@pytest.fixture(scope="module")
async def keeper(kept_proposing: ProposingStage) -> str:
    return await kept_proposing.some_keeper()


async def previewed(proposing: ProposingStage, body: object) -> tuple[int, str, str]:
    """The refusal of a preview, which has every rule of a proposal."""
    wallet = await proposing.some_wallet()
    with in_row(body):
        return await proposing.refusal(wallet.headers, body, f"{PLANS}/preview")


async def test_schedule_or_limit_is_refused(proposing: ProposingStage, keeper: str) -> None:
    for case, (changes, code, field) in refused_times().items():
        refused = await previewed(proposing, keeper_plan(keeper, **changes))
        assert refused == (422, code, field), case


async def test_control_plan_without_those_changes_is_taken(
    proposing: ProposingStage, keeper: str
) -> None:
    wallet = await proposing.wallet()
    for changes in (
        {},
        {"schedule": every(60), "runLimit": 1_000},
        {"schedule": {"type": "condition", "everySeconds": 30}},
        {"schedule": CRON, "expiresAt": in_time(days=169)},
        {"startsAt": in_time(days=2), "expiresAt": in_time(days=3)},
        {"maxFeeStroops": "5000000", "maxLatenessSeconds": 3599},
    ):
        body = keeper_plan(keeper, **changes)
        answer = await proposing.post(wallet.headers, body, f"{PLANS}/preview")
        assert answer.status == 200, (changes, answer.body)


def feed(keeper: str, *args: Json, function: str = "feed") -> Json:
    """A call of a function of the keeper that takes an address, a token and an amount."""
    spec = {"contract": keeper, "function": function, "args": list(args), "effects": {}}
    terms = {"authorityMode": "presigned", "expiresAt": in_time(hours=20)}
    return keeper_plan(keeper, spec=spec, **terms)


def typed(kind: str, value: object) -> Json:
    return {"type": kind, "value": value}


async def test_arguments_that_do_not_fit_the_interface_are_refused(
    proposing: ProposingStage, keeper: str
) -> None:
    account, token = typed("address", "$account"), typed("address", keeper)
    wallet = await proposing.wallet()
    fitting = feed(keeper, account, token, typed("i128", "5"))
    taken = await proposing.post(wallet.headers, fitting, f"{PLANS}/preview")
    assert taken.status == 200, taken.body
    cases = (
        (feed(keeper, function="sow"), "function_not_found", "spec.function"),
        (feed(keeper, account, token), "spec_mismatch", "spec.args"),
        (feed(keeper, account, token, typed("u128", "5")), "spec_mismatch", "spec.args[2].type"),
        (feed(keeper, account, token, typed("i128", "5.0")), "spec_mismatch", "spec.args[2].value"),
        (feed(keeper, account, token, typed("i128", 5)), "spec_mismatch", "spec.args[2].value"),
        (
            feed(keeper, account, token, typed("i128", "$price")),
            "spec_mismatch",
            "spec.args[2].value",
        ),
        (
            feed(keeper, account, typed("address", "G"), typed("i128", "5")),
            "spec_mismatch",
            "spec.args[1].value",
        ),
    )
    for body, code, field in cases:
        assert await previewed(proposing, body) == (422, code, field)


def _nested(depth: int) -> list[Any]:
    return [_nested(depth - 1)] if depth > 1 else []


async def test_payload_of_another_shape_is_refused_with_its_member(
    proposing: ProposingStage, keeper: str
) -> None:
    spec = {"contract": keeper, "autolayer": True, "effects": {}}
    cases: tuple[tuple[Any, str], ...] = (
        ({"spec": spec | {"gas": 1}}, "spec"),
        ({"spec": {"contract": keeper}}, "spec.effects"),
        ({"spec": spec | {"contract": 7}}, "spec.contract"),
        ({"spec": spec | {"contract": None}}, "spec.contract"),
        ({"spec": spec | {"contract": "C" * 57}}, "spec.contract"),
        ({"spec": spec | {"function": "a b"}}, "spec.function"),
        ({"spec": spec | {"function": "feed\n"}}, "spec.function"),
        ({"spec": spec | {"expectedWasmHash": "ab" * 32 + "\n"}}, "spec.expectedWasmHash"),
        ({"spec": spec | {"effects": {"maxDebit": [{"token": keeper}]}}}, _DEBIT),
        ({"spec": []}, "spec"),
        ({"spec": None}, "spec"),
        ({"spec": spec | {"args": [typed("u32", 1)] * 33}}, "spec.args"),
        ({"spec": spec | {"args": [typed("vec", _nested(33))]}}, "spec.args[0]"),
        ({"schedule": {"type": "moon"}}, "schedule.type"),
        ({"schedule": CRON | {"seconds": 1}}, "schedule"),
        ({"schedule": {"type": "cron", "expr": "0 8 * * 1"}}, "schedule.timezone"),
        ({"schedule": CRON | {"expr": 8}}, "schedule.expr"),
        ({"schedule": "monthly"}, "schedule"),
        ({"schedule": {"type": "once", "at": "tomorrow"}}, "schedule.at"),
        ({"schedule": {"type": "once", "at": "2030-01-01T00:00:00"}}, "schedule.at"),
        ({"schedule": every(5) | {"everySeconds": "60"}}, "schedule.everySeconds"),
        ({"kind": "mining"}, "kind"),
        ({"title": ""}, "title"),
        ({"title": "a\x00b"}, "title"),
        ({"title": "a\n"}, "title"),
        ({"maxFeeStroops": "5000000\n"}, "maxFeeStroops"),
        ({"runLimit": -1}, "runLimit"),
        ({"colour": "red"}, ""),
        ({"network": "stellar:moon"}, "network"),
    )
    for changes, field in cases:
        refused = await previewed(proposing, keeper_plan(keeper, **changes))
        assert refused == (400, "invalid_request", field), changes
    headers = (await proposing.wallet()).headers
    for body in (b"", b"[]", b"{", b"\xff", b'{"kind":' * 10_000):
        answer = await proposing.client.request("POST", PLANS, body=body, headers=headers)
        assert answer.status == 400, (body[:20], answer.body)


async def test_number_beyond_the_bound_of_the_schema_is_an_invalid_request(
    proposing: ProposingStage, keeper: str
) -> None:
    for schedule, member in (
        (every(-1), "everySeconds"),
        (every(2**31), "everySeconds"),
        ({"type": "condition", "everySeconds": 2**64}, "everySeconds"),
        (CRON | {"expr": "0" * 129}, "expr"),
        (CRON | {"timezone": "E" * 65}, "timezone"),
    ):
        refused = await previewed(proposing, keeper_plan(keeper, schedule=schedule))
        assert refused == (400, "invalid_request", f"schedule.{member}"), schedule


async def test_every_slippage_that_the_schema_excludes_is_an_invalid_request(
    proposing: ProposingStage, keeper: str
) -> None:
    spec = {
        "venue": "soroswap",
        "tokenIn": keeper,
        "tokenOut": keeper,
        "amountIn": "1",
        "slippageBps": 0,
        "minRate": {"num": "1", "den": "2"},
    }
    body = json.dumps(keeper_plan(keeper, kind="dca", spec=spec))
    headers = (await proposing.wallet()).headers
    for slippage in ("501", "-1", "50.5", '"500"', "1e400", "null", "[]"):
        text = body.replace('"slippageBps": 0', f'"slippageBps": {slippage}').encode()
        answer = await proposing.client.request("POST", PLANS, body=text, headers=headers)
        error = answer.json().get("error", {})
        found = (answer.status, error.get("code"), error.get("details"))
        assert found == (400, "invalid_request", {"field": "spec.slippageBps"}), slippage


async def test_payload_of_the_right_shape_that_breaks_a_rule_is_unprocessable(
    proposing: ProposingStage, keeper: str
) -> None:
    """The control: what the schema takes and a rule does not."""
    spec = {"contract": keeper, "autolayer": True, "effects": {}}
    for own, field in (
        ({"contract": "C" * 56}, "spec.contract"),
        ({"function": "feed"}, "spec.function"),
    ):
        refused = await previewed(proposing, keeper_plan(keeper, spec=spec | own))
        assert refused == (422, "spec_mismatch", field)


async def test_contract_that_is_not_there_or_has_other_code_is_refused(
    proposing: ProposingStage, keeper: str
) -> None:
    nobody = contract_address(bytes([66]) * 32)
    absent = {"contract": nobody, "autolayer": True, "effects": {}}
    refused = await previewed(proposing, keeper_plan(nobody, spec=absent))
    assert refused == (422, "spec_mismatch", "spec.contract")
    pinned = {"contract": keeper, "autolayer": True, "effects": {}, "expectedWasmHash": "ab" * 32}
    refused = await previewed(proposing, keeper_plan(keeper, spec=pinned))
    assert refused == (422, "target_upgraded", "spec.expectedWasmHash")
    right = pinned | {"expectedWasmHash": hash_of("keeper")}
    body = keeper_plan(keeper, spec=right)
    answer = await proposing.post((await proposing.wallet()).headers, body, f"{PLANS}/preview")
    assert answer.status == 200, answer.body


@promise("automation:contract-convention")
async def test_target_without_the_convention_is_refused(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    body = keeper_plan(scene.asset)
    assert await previewed(proposing, body) == (422, "function_not_found", "spec.contract")
    condition = {"type": "condition", "everySeconds": 60}
    paid = payroll(scene.asset, (scene.payees[0].address, 5), schedule=condition)
    assert await previewed(proposing, paid) == (422, "spec_mismatch", "schedule.type")


async def test_recipients_that_cannot_be_meant_are_refused(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    payer, payee = scene.payers[0], scene.payees[0].address
    wallet = await proposing.wallet_of(payer)
    relayer = Keypair.from_secret(
        proposing.environment["FAREBOX_RELAYER_SECRET_TESTNET"]
    ).public_key
    many = [(Keypair.random().public_key, 1) for _ in range(13)]
    cases = (
        (payroll(scene.asset, (payee, 5), (payee, 5)), "spec_mismatch", "spec.legs"),
        (payroll(scene.asset, (payer.address, 5)), "spec_mismatch", "spec.legs[0].to"),
        (payroll(scene.asset, (relayer, 5)), "spec_mismatch", "spec.legs[0].to"),
        (payroll(scene.asset, (payee, 0)), "spec_mismatch", "spec.legs[0].amount"),
        (payroll(scene.asset, *many), "limit_exceeded", "runLimit"),
    )
    for body, code, field in cases:
        refused = await proposing.refusal(wallet.headers, body, f"{PLANS}/preview")
        assert refused == (422, code, field)


async def test_mode_that_is_not_offered_is_refused_by_name(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    body = payroll(scene.asset, (scene.payees[0].address, 5), authorityMode="session")
    refused = await proposing.refusal(wallet.headers, body)
    assert refused == (422, "unsupported_account", "authorityMode")


async def test_network_without_paymaster_says_so(proposing: ProposingStage, keeper: str) -> None:
    wallet = await proposing.wallet(network=Network.PUBNET)
    body = keeper_plan(keeper, network=Network.PUBNET.value)
    for path in (PLANS, f"{PLANS}/preview"):
        answer = await proposing.post(wallet.headers, body, path)
        assert answer.json()["error"]["code"] == "automation_unavailable"
        assert (answer.status, answer.headers["retry-after"]) == (503, "60")


async def test_unfunded_paymaster_says_so(stage: Stage, kept_proposing: ProposingStage) -> None:
    """A service of its own: its paymaster has no account, and so no channels."""
    own = {"FAREBOX_PAYMASTER_SECRET_TESTNET": Keypair.random().secret}
    environment = kept_proposing.environment | await own_relayer(stage) | own | VAULT_SETTING
    wallet, keeper = await kept_proposing.wallet(), await kept_proposing.keeper()
    async with service(environment) as client:
        answer = await client.post(PLANS, keeper_plan(keeper), wallet.headers)
        assert answer.status == 503, answer.body
        assert answer.json()["error"]["code"] == "automation_unavailable"
        limits = await client.request("GET", f"{PLANS}/limits", headers=wallet.headers)
        shown = {each["network"]: each["isAvailable"] for each in limits.json()["networks"]}
        assert shown == {"stellar:testnet": False, "stellar:pubnet": False}


async def test_network_that_is_down_says_so_and_reads_go_on(
    proposing: ProposingStage, keeper: str
) -> None:
    wallet, network = await proposing.wallet(), proposing.stage.networks[Network.TESTNET]
    plan = (await proposing.propose(wallet, keeper_plan(keeper)))["proposal"]["id"]
    network.node.on_every_method(http(502))
    try:
        refused = await proposing.refusal(wallet.headers, keeper_plan(keeper, runLimit=2))
        assert refused[:2] == (503, "network_unavailable")
        judged = await proposing.refusal(wallet.headers, None, f"{PLANS}/{plan}/preflight")
        assert judged[:2] == (503, "network_unavailable")
        assert (await proposing.get(wallet.headers, f"/{plan}")).status == 200
        assert (await proposing.get(wallet.headers)).status == 200
    finally:
        network.node.reset()
        await until_paid_for(proposing.client)


async def test_free_accounts_share_a_quota_by_their_address(
    proposing: ProposingStage, keeper: str
) -> None:
    wallet = await proposing.wallet()
    made = await proposing.propose(wallet, keeper_plan(keeper))
    query = proposing.stage.query
    await query(
        """
        INSERT INTO automation_proposals
        SELECT (jsonb_populate_record(p, jsonb_build_object(
            'id', 'auto_' || lpad('q' || n, 22, '0'), 'owner', 'user_of_many',
            'policy_id', '\\x' || encode(sha256(('q' || n)::bytea), 'hex')))).*
        FROM automation_proposals p, generate_series(1, 50) n WHERE p.id = $1
        """,
        made["proposal"]["id"],
    )
    another = await proposing.wallet()
    refused = await proposing.refusal(another.headers, keeper_plan(keeper))
    assert refused[:2] == (409, "quota_reached")
    await query("UPDATE users SET was_on_ledger = true WHERE id = $1", another.owner)
    await proposing.propose(another, keeper_plan(keeper))
    await query("DELETE FROM automation_proposals WHERE owner = 'user_of_many'")


@pytest.mark.usefixtures("one_minute")
async def test_owner_proposes_only_so_often(
    stage: Stage, kept_proposing: ProposingStage, keeper: str
) -> None:
    environment = kept_proposing.environment | await own_relayer(stage)
    wallet = await kept_proposing.wallet()
    async with service(environment | {"FAREBOX_CHANGES_PER_MINUTE": "1"}) as client:
        await until_paid_for(client)
        first = await client.post(PLANS, keeper_plan(keeper), wallet.headers)
        assert first.status == 201, first.body
        second = await client.post(PLANS, keeper_plan(keeper, runLimit=2), wallet.headers)
        assert second.status == 429
        assert int(second.headers["retry-after"]) >= 1
