"""`GET /v1/automations/{id}/session`: what the wallet signs for a plan, and nothing secret."""

import base64
import hashlib

from stellar_sdk import xdr

from farebox.kernel.addresses import ZERO_ACCOUNT
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from support.payments import Json
from support.proposing_stage import PLANS, ProposingStage, keeper_plan, payroll
from testing.plan_specs import in_time


async def presigned(proposing: ProposingStage, **changes: object) -> tuple[dict[str, str], Json]:
    """A plan of three weekly payments to two recipients."""
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    schedule = {"type": "interval", "everySeconds": 3600, "startAt": in_time(hours=1)}
    legs = [(payee.address, 10 + number) for number, payee in enumerate(scene.payees[:2])]
    terms = {"schedule": schedule, "runLimit": 3, "expiresAt": in_time(hours=6)}
    body = payroll(scene.asset, *legs, **terms | {"allowDuplicate": True} | changes)
    return wallet.headers, await proposing.propose(wallet, body)


async def test_every_leg_of_every_run_has_an_entry_of_exactly_its_call(
    proposing: ProposingStage,
) -> None:
    _, detail = await presigned(proposing)
    entries = detail["session"]["install"]["entries"]
    places = [(each["runIndex"], each["legIndex"]) for each in entries]
    assert places == [(run, leg) for run in range(3) for leg in range(2)]
    assert len({each["nonce"] for each in entries}) == 6
    network = hashlib.sha256(detail["session"]["networkPassphrase"].encode()).digest()
    for each in entries:
        entry = xdr.SorobanAuthorizationEntry.from_xdr(each["entryXdr"])
        credentials = entry.credentials.address
        assert credentials is not None
        assert credentials.nonce.int64 == int(each["nonce"])
        assert credentials.signature_expiration_ledger.uint32 == each["expirationLedger"]
        root = entry.root_invocation
        call = root.function.contract_fn
        assert call is not None
        assert root.sub_invocations == []
        assert call.function_name.sc_symbol == b"transfer"
        amount = call.args[2].i128
        assert amount is not None
        assert amount.lo.uint64 == 10 + each["legIndex"]
        preimage = xdr.HashIDPreimage.from_xdr(each["preimageXdr"])
        authorization = preimage.soroban_authorization
        assert authorization is not None
        assert authorization.network_id.hash == network
        assert authorization.invocation == root
    assert detail["session"]["state"] == "material_issued"
    assert detail["session"]["warnings"], "the owner is told that entries have no first moment"


async def test_material_is_the_same_when_it_is_read_again(proposing: ProposingStage) -> None:
    headers, detail = await presigned(proposing)
    plan = detail["proposal"]["id"]
    again = (await proposing.get(headers, f"/{plan}/session")).json()
    for name in ("policyId", "policySpecXdr", "permissions", "delegate"):
        assert again[name] == detail["session"][name]
    nonces, before = [
        [each["nonce"] for each in session["install"]["entries"]]
        for session in (again, detail["session"])
    ]
    assert nonces == before
    _, other = await presigned(proposing)
    assert not set(nonces) & {each["nonce"] for each in other["session"]["install"]["entries"]}


async def test_entry_ends_with_the_window_of_its_run(proposing: ProposingStage) -> None:
    """Under skip a run may be an hour late at most, under catch-up as late as the plan lives."""
    ledger = await proposing.stage.ledger().latest()
    _, skipping = await presigned(proposing, missedRuns="skip", maxLatenessSeconds=600)
    ends = [each["expirationLedger"] for each in skipping["session"]["install"]["entries"]]
    assert ledger < ends[0] == ends[1] < ends[2] == ends[3] < ends[4]
    _, catching = await presigned(proposing)
    late = {each["expirationLedger"] for each in catching["session"]["install"]["entries"]}
    assert len(late) == 1, "each may land until the plan ends"


async def test_plan_that_outlives_every_authorization_is_refused(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    schedule = {"type": "interval", "everySeconds": 3600, "startAt": in_time(hours=1)}
    body = payroll(
        scene.asset,
        (scene.payees[0].address, 5),
        schedule=schedule,
        expiresAt=in_time(days=169),
    )
    refused = await proposing.refusal(wallet.headers, body)
    assert refused == (422, "limit_exceeded", "expiresAt")


async def test_plan_without_an_end_ends_while_its_authorizations_can_live(
    proposing: ProposingStage,
) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    schedule = {"type": "interval", "everySeconds": 3600, "startAt": in_time(hours=1)}
    body = payroll(scene.asset, (scene.payees[0].address, 5), schedule=schedule, runLimit=3)
    del body["expiresAt"]
    detail = await proposing.propose(wallet, body | {"allowDuplicate": True})
    assert in_time(days=2) < detail["proposal"]["expiresAt"] < in_time(days=169)
    assert len(detail["session"]["install"]["entries"]) == 3


async def test_sheet_names_every_recipient_and_the_worst_case(proposing: ProposingStage) -> None:
    _, detail = await presigned(proposing)
    scene = proposing.stage.networks[Network.TESTNET].scene
    sheet = "\n".join(detail["session"]["permissions"])
    for payee in scene.payees[:2]:
        assert payee.address in sheet
    assert "Worst case" in sheet
    caps = detail["session"]["limits"]["caps"]
    assert caps == [{"token": scene.asset, "perRun": "11", "total": "63"}]


async def test_plan_of_another_is_answered_like_an_unknown_one(proposing: ProposingStage) -> None:
    wallet, stranger = await proposing.wallet(), await proposing.wallet()
    body = keeper_plan(await proposing.some_keeper())
    plan = (await proposing.propose(wallet, body))["proposal"]["id"]
    for record in (plan, new_id("auto"), "auto_1", "nothing"):
        for path in (f"/{record}", f"/{record}/session"):
            answer = await proposing.get(stranger.headers, path)
            assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")
        refused = await proposing.refusal(stranger.headers, None, f"{PLANS}/{record}/preflight")
        assert refused[:2] == (404, "not_found")
    assert (await proposing.get(wallet.headers, f"/{plan}/session")).status == 200


async def test_preview_writes_nothing_and_shows_what_would_be(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    body = keeper_plan(keeper, startsAt=in_time(minutes=5), expiresAt=in_time(days=9))
    before = await proposing.count("automation_proposals"), await proposing.count("audit_trail")
    answer = await proposing.post(wallet.headers, body, f"{PLANS}/preview")
    assert answer.status == 200, answer.body
    shown = answer.json()
    assert shown["authorityMode"] == "open"
    assert len(shown["schedule"]) == 10
    assert shown["preflight"]["ok"] is True
    assert shown["quote"]["paymentIdentifier"] == ""
    assert shown["limits"]["runLimit"] == 12
    after = await proposing.count("automation_proposals"), await proposing.count("audit_trail")
    assert after == before
    made = await proposing.propose(wallet, body)
    assert made["proposal"]["nextRuns"] == shown["schedule"]
    raw = base64.b64decode(made["session"]["policySpecXdr"])
    assert raw, "a preview's key is not the plan's"
    key, none = made["proposal"]["delegate"], ZERO_ACCOUNT
    unkeyed = [each.replace(key, none) for each in made["session"]["permissions"]]
    assert unkeyed[1:] == shown["permissions"][1:]
    assert none in shown["permissions"][0]


async def test_list_is_filtered_and_paged(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.some_keeper()
    made = [
        (
            await proposing.propose(
                wallet, keeper_plan(keeper, title=f"plan {n}", allowDuplicate=True)
            )
        )["proposal"]["id"]
        for n in range(3)
    ]
    first = (await proposing.get(wallet.headers, "?limit=2")).json()
    assert [each["id"] for each in first["items"]] == made[:0:-1]
    cursor = first["pagination"]["nextCursor"]
    rest = (await proposing.get(wallet.headers, f"?limit=2&cursor={cursor}")).json()
    assert [each["id"] for each in rest["items"]] == made[:1]
    assert rest["pagination"]["nextCursor"] is None
    for query, count in (
        ("?status=proposed", 3),
        ("?status=active", 0),
        ("?status=executing", 0),
        ("?kind=contract_call&network=stellar:testnet", 3),
        ("?kind=dca", 0),
    ):
        items = (await proposing.get(wallet.headers, query)).json()["items"]
        assert len(items) == count, query
    for query in ("?status=lost", "?kind=", "?network=testnet", "?kind=dca&kind=rebalance"):
        answer = await proposing.get(wallet.headers, query)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_filter"), query
    answer = await proposing.get(wallet.headers, "?network=stellar:pubnet")
    assert (answer.status, answer.json()["error"]["code"]) == (403, "account_not_proven")


async def test_limits_are_those_in_force(proposing: ProposingStage) -> None:
    shown = (await proposing.get((await proposing.wallet()).headers, "/limits")).json()
    assert shown["openPlansPerOwner"] == 20
    assert shown["shortestIntervalSeconds"] == 60
    networks = {each["network"]: each for each in shown["networks"]}
    testnet = networks["stellar:testnet"]
    assert testnet["isAvailable"] is True
    assert testnet["isFree"] is True
    assert {"open", "presigned"} <= set(testnet["modes"])
    assert networks["stellar:pubnet"]["isAvailable"] is False


async def feeding(proposing: ProposingStage, amount: int) -> tuple[dict[str, str], Json]:
    """A plan whose target takes a token by its own call, with entries signed ahead."""
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet, keeper = await proposing.wallet_of(scene.payers[0]), await proposing.some_keeper()
    spec = {
        "contract": keeper,
        "function": "feed",
        "args": [
            {"type": "address", "value": "$account"},
            {"type": "address", "value": scene.asset},
            {"type": "i128", "value": str(amount)},
        ],
        "effects": {"maxDebit": [{"token": scene.asset, "amount": str(amount)}]},
    }
    terms = {"authorityMode": "presigned", "runLimit": 2, "expiresAt": in_time(hours=6)}
    return wallet.headers, keeper_plan(keeper, spec=spec, **terms)


async def test_transfer_below_a_call_is_signed_ahead_with_it(proposing: ProposingStage) -> None:
    headers, body = await feeding(proposing, 40)
    answer = await proposing.post(headers, body)
    assert answer.status == 201, answer.body
    detail = answer.json()
    assert detail["preflight"]["ok"], detail["preflight"]
    entries = detail["session"]["install"]["entries"]
    assert [each["runIndex"] for each in entries] == [0, 1]
    for each in entries:
        root = xdr.SorobanAuthorizationEntry.from_xdr(each["entryXdr"]).root_invocation
        (nested,) = root.sub_invocations
        paid = nested.function.contract_fn
        assert paid is not None
        assert paid.function_name.sc_symbol == b"transfer"
        amount = paid.args[2].i128
        assert amount is not None
        assert amount.lo.uint64 == 40
        assert nested.sub_invocations == []
    assert "40" in "\n".join(detail["session"]["permissions"])


async def test_call_that_cannot_be_recorded_is_not_signed_ahead(proposing: ProposingStage) -> None:
    headers, body = await feeding(proposing, 10**17)
    answer = await proposing.post(headers, body)
    error = answer.json()["error"]
    assert (answer.status, error["code"]) == (422, "spec_mismatch")
    assert error["details"]["field"] == "authorityMode"
    assert "fails as of now (user_funds)" in error["message"]
