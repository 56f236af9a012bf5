"""The preflight: what stands in the way of a first run, and what breaks the convention."""

import pytest
from stellar_sdk import Asset, Keypair, scval

from farebox.kernel.networks import Network
from support.contracts import wasm_of
from support.payments import Json
from support.promises import promise
from support.proposing_stage import PLANS, ProposingStage, keeper_plan, payroll
from support.stage import key_of

# a fault of the keeper, the check that reports it, and words of its sentence
BROKEN = {
    0: ("check_failed", "never a no"),
    1: ("check_not_boolean", "no boolean"),
    2: ("check_too_expensive", "does not end"),
    3: ("check_changes_state", "changes the ledger"),
    4: ("dry_run", "fails as of now"),
    6: ("dry_run", "fails as of now"),
}


def failures(preflight: Json) -> dict[str, str]:
    """The checks that are not passed, by their codes."""
    return {each["code"]: each["detail"] for each in preflight["checks"] if not each["ok"]}


async def judge(proposing: ProposingStage, headers: dict[str, str], plan: str) -> Json:
    answer = await proposing.post(headers, None, f"{PLANS}/{plan}/preflight")
    assert answer.status == 200, answer.body
    return answer.json()


@promise("automation:contract-convention")
@pytest.mark.parametrize("fault", BROKEN)
async def test_author_is_told_which_rule_the_contract_breaks(
    proposing: ProposingStage, fault: int
) -> None:
    code, words = BROKEN[fault]
    wallet, keeper = await proposing.wallet(), await proposing.faulty_keeper(fault)
    detail = await proposing.propose(wallet, keeper_plan(keeper))
    found = failures(detail["preflight"])
    assert detail["preflight"]["ok"] is False
    assert words in found[code], found
    again = await judge(proposing, wallet.headers, detail["proposal"]["id"])
    assert words in failures(again)[code]


async def test_check_that_says_no_is_no_failure(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.keeper()
    ledger = proposing.stage.ledger()
    await ledger.invoke(await ledger.account(), keeper, "arrange", scval.to_bool(False))
    preflight = (await proposing.propose(wallet, keeper_plan(keeper)))["preflight"]
    details = {each["code"]: each["detail"] for each in preflight["checks"]}
    assert preflight["ok"] is True
    assert details["check_answers"] == "A run now would do nothing."
    assert "Not tried" in details["dry_run"]
    assert preflight["estimatedFeeStroops"] is None


async def test_code_that_has_changed_is_found(proposing: ProposingStage) -> None:
    wallet, keeper = await proposing.wallet(), await proposing.keeper()
    plan = (await proposing.propose(wallet, keeper_plan(keeper)))["proposal"]["id"]
    assert failures(await judge(proposing, wallet.headers, plan)) == {}
    ledger = proposing.stage.ledger()
    owner = await ledger.account()
    other = await ledger.upload(owner, wasm_of("faulty_keeper"))
    await ledger.invoke(owner, keeper, "upgrade", scval.to_bytes(other))
    found = failures(await judge(proposing, wallet.headers, plan))
    assert "no longer has the code" in found["code_unchanged"]


async def test_wallet_that_is_not_on_the_ledger_is_found(proposing: ProposingStage) -> None:
    wallet, keeper = (
        await proposing.wallet(Keypair.random().public_key),
        await proposing.some_keeper(),
    )
    preflight = (await proposing.propose(wallet, keeper_plan(keeper)))["preflight"]
    assert "is not on the ledger" in failures(preflight)["account_exists"]


async def test_payroll_reports_each_recipient(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    known, absent = scene.payees[0].address, Keypair.random().public_key
    untrusting = (await proposing.stage.ledger().account()).public_key
    body = payroll(scene.asset, (known, 5), (absent, 6), (untrusting, 7))
    preflight = (await proposing.propose(wallet, body))["preflight"]
    recipients = [each for each in preflight["checks"] if each["code"] == "recipient"]
    assert [each["ok"] for each in recipients] == [True, False, False]
    assert "not on the ledger" in recipients[1]["detail"]
    assert "no trustline" in recipients[2]["detail"]
    effects = [{"token": scene.asset, "amount": "-5"}]
    assert preflight["firstRun"] == {"at": body["schedule"]["at"], "effects": effects}
    assert int(preflight["estimatedFeeStroops"]) > 0


async def test_native_payment_of_one_coin_creates_its_recipient(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    legs = ((Keypair.random().public_key, 10_000_000), (Keypair.random().public_key, 9_999_999))
    preflight = (await proposing.propose(wallet, payroll(scene.native, *legs)))["preflight"]
    recipients = [each for each in preflight["checks"] if each["code"] == "recipient"]
    assert [each["ok"] for each in recipients] == [True, False]


async def test_balance_that_does_not_cover_a_run_is_found(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    ledger, poor = proposing.stage.ledger(), Keypair.random()
    await ledger.fund(poor.public_key)
    asset = Asset(scene.code, scene.issuer)
    await ledger.submit(poor, lambda builder: builder.append_change_trust_op(asset))
    await ledger.give(key_of(scene.payers[0]), scene.asset, poor.public_key, 99)
    wallet = await proposing.wallet(poor.public_key)
    payee = scene.payees[0].address
    short = (await proposing.propose(wallet, payroll(scene.asset, (payee, 100))))["preflight"]
    assert set(failures(short)) == {"balance", "dry_run"}
    assert "of 99" in failures(short)["balance"]
    enough = (await proposing.propose(wallet, payroll(scene.asset, (payee, 99))))["preflight"]
    assert failures(enough) == {}


async def test_effects_that_are_not_declared_are_found(proposing: ProposingStage) -> None:
    """A call of a token's transfer whose plan declares less than it moves."""
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    arguments = [
        {"type": "address", "value": "$account"},
        {"type": "address", "value": scene.payees[0].address},
        {"type": "i128", "value": "50"},
    ]

    def plan(most: str) -> Json:
        spec = {
            "contract": scene.asset,
            "function": "transfer",
            "args": arguments,
            "effects": {"maxDebit": [{"token": scene.asset, "amount": most}]},
        }
        return payroll(scene.asset, kind="contract_call", spec=spec)

    less = (await proposing.propose(wallet, plan("49")))["preflight"]
    assert "debit_too_high" in failures(less)["effects"]
    enough = (await proposing.propose(wallet, plan("50")))["preflight"]
    assert failures(enough) == {}


async def test_fee_above_the_plans_own_limit_is_found(proposing: ProposingStage) -> None:
    scene = proposing.stage.networks[Network.TESTNET].scene
    wallet = await proposing.wallet_of(scene.payers[0])
    body = payroll(scene.asset, (scene.payees[0].address, 5), maxFeeStroops="100")
    assert set(failures((await proposing.propose(wallet, body))["preflight"])) == {"fee_ceiling"}


async def test_call_that_needs_another_account_is_found(proposing: ProposingStage) -> None:
    """A plan that would feed a keeper with what another account has."""
    scene, keeper = proposing.stage.networks[Network.TESTNET].scene, await proposing.some_keeper()
    wallet = await proposing.wallet_of(scene.payers[0])
    arguments = [
        {"type": "address", "value": scene.payers[1].address},
        {"type": "address", "value": scene.asset},
        {"type": "i128", "value": "50"},
    ]
    spec = {"contract": keeper, "function": "feed", "args": arguments, "effects": {}}
    body = payroll(scene.asset, kind="contract_call", spec=spec)
    found = failures((await proposing.propose(wallet, body))["preflight"])
    assert scene.payers[1].address in found["authority"]


async def test_entry_that_would_not_cover_the_call_is_found(proposing: ProposingStage) -> None:
    """What is signed ahead is the root call, and the call moves the account's tokens below it."""
    scene, keeper = proposing.stage.networks[Network.TESTNET].scene, await proposing.some_keeper()
    wallet = await proposing.wallet_of(scene.payers[0])
    arguments = [
        {"type": "address", "value": "$account"},
        {"type": "address", "value": scene.asset},
        {"type": "i128", "value": "50"},
    ]
    spec = {"contract": keeper, "function": "feed", "args": arguments, "effects": {}}
    body = payroll(scene.asset, kind="contract_call", spec=spec)
    found = failures((await proposing.propose(wallet, body))["preflight"])
    assert set(found) == {"authority", "effects"}
    assert "undeclared_debit" in found["effects"]
