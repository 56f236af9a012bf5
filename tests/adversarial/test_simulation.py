"""Cases 1.7 to 1.9: envelope fields, simulations and time bounds."""

import time
from collections.abc import Callable
from typing import Final

import pytest
from stellar_sdk import Keypair, TransactionEnvelope, scval

from farebox.facilitator.verification.verdict import Accepted
from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support import payment_rules as rules
from support.accounts import ContractAccount, ContractToken, entry_signed_as
from support.events import Kind, event, transfer_event, with_mux_id
from support.ledger import Ledger
from support.payments import Draft
from support.promises import case, promise
from support.stage import Stage, key_of

STRANGER: Final = Keypair.random().public_key
SIMULATE: Final = "simulateTransaction"
Events = Callable[[Draft], list[str]]


@case("PV-117")
async def test_simulation_error_is_refused_without_node_message(stage: Stage) -> None:
    draft = await stage.draft()
    words = "HostError: Error(Contract, #10) at /var/lib/node secret words"
    stage.node().on(SIMULATE, node_proxy.fixed({"error": words, "latestLedger": 10**9}))
    await stage.assert_refused(draft.request(), Reason.INSUFFICIENT_FUNDS, payer=draft.payer)
    answer = await stage.client.post("/verify", draft.request())
    assert b"HostError" not in answer.body
    assert b"secret words" not in answer.body


@case("PV-117")
@promise("settle:verifies-again")
async def test_insufficient_balance_is_refused_by_simulation(stage: Stage) -> None:
    draft = await stage.draft(amount=10**17)
    await stage.assert_refused(draft.request(), Reason.INSUFFICIENT_FUNDS, payer=draft.payer)


@case("PV-118")
async def test_required_restore_is_refused_and_not_paid_for(stage: Stage) -> None:
    def needs_restore(result: node_proxy.Json) -> None:
        result["restorePreamble"] = {
            "minResourceFee": "90000",
            "transactionData": result["transactionData"],
        }

    draft = await stage.draft()
    stage.node().on(SIMULATE, node_proxy.result(needs_restore))
    reason = await stage.assert_refused(draft.request(), Reason.RESTORE_REQUIRED, payer=draft.payer)
    assert REGISTRY[reason].retry is Retry.LATER


def _moved(
    draft: Draft,
    *,
    contract: str | None = "",
    sender: str = "",
    recipient: str = "",
    amount: int | None = None,
) -> str:
    """The event the payment should have, with fields changed."""
    return transfer_event(
        draft.asset if contract == "" else contract,
        sender or draft.payer,
        recipient or draft.pay_to,
        draft.amount if amount is None else amount,
    )


def _reverted(draft: Draft) -> str:
    """The right transfer, inside a call that was rolled back."""
    parties = (scval.to_address(draft.payer), scval.to_address(draft.pay_to))
    topics = (scval.to_symbol("transfer"), *parties)
    data = scval.to_int128(draft.amount)
    return event(draft.asset, *topics, data=data, is_successful=False)


def _other(draft: Draft, name: str, *, asset: str | None = None) -> str:
    parties = (scval.to_address(draft.payer), scval.to_address(draft.pay_to))
    data = scval.to_int128(1)
    return event(asset or draft.asset, scval.to_symbol(name), *parties, data=data)


@case("PV-119")
@promise("verify:checks-transfer-event")
@pytest.mark.parametrize(
    "events",
    [
        lambda _: [],
        lambda draft: [_reverted(draft)],
    ],
)
def test_simulation_without_transfer_is_refused(events: Events) -> None:
    _refused_for_events(events, Reason.NO_TRANSFER_EVENTS)


@case("PV-120")
@promise("verify:checks-transfer-event")
@pytest.mark.parametrize(
    "events",
    [
        lambda draft: [_moved(draft)] * 2,
        lambda draft: [_moved(draft), _moved(draft, recipient=STRANGER)],
        lambda draft: [_moved(draft), _moved(draft, amount=1)],
        lambda draft: [_moved(draft), _moved(draft, contract=_elsewhere())],
    ],
)
def test_simulation_with_several_transfers_is_refused(events: Events) -> None:
    _refused_for_events(events, Reason.MULTIPLE_TRANSFERS, Reason.EVENT_NOT_TRANSFER)


@case("PV-121")
@promise("verify:checks-transfer-event")
@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (lambda draft: [_moved(draft, sender=STRANGER)], Reason.EVENT_WRONG_FROM),
        (lambda draft: [_moved(draft, recipient=STRANGER)], Reason.EVENT_WRONG_TO),
        (lambda draft: [_moved(draft, amount=draft.amount - 1)], Reason.EVENT_WRONG_AMOUNT),
        (lambda draft: [_moved(draft, contract=_elsewhere())], Reason.EVENT_WRONG_ASSET),
        (lambda draft: [_moved(draft, contract=None)], Reason.EVENT_MISSING_CONTRACT_ID),
    ],
    ids=["from", "to", "amount", "asset", "no contract"],
)
def test_simulated_transfer_with_wrong_field_is_refused_by_that_field(
    events: Events, reason: Reason
) -> None:
    _refused_for_events(events, reason)


@case("PV-122")
def test_system_and_diagnostic_events_are_ignored() -> None:
    def other_events(draft: Draft) -> list[str]:
        noise = [
            event(
                draft.asset,
                scval.to_symbol("burn"),
                scval.to_address(draft.payer),
                data=scval.to_int128(9),
                kind=kind,
            )
            for kind in (Kind.SYSTEM, Kind.DIAGNOSTIC)
        ]
        return [*noise, _moved(draft)]

    draft = rules.draft()
    assert isinstance(rules.judge_events(draft, other_events(draft)), Accepted)


@case("PV-123")
@pytest.mark.parametrize("name", ["mint", "approve", "anything"])
def test_other_event_of_the_asset_is_refused(name: str) -> None:
    _refused_for_events(
        lambda draft: [_moved(draft), _other(draft, name)], Reason.EVENT_NOT_TRANSFER
    )


@case("PV-123")
def test_unreadable_event_is_refused() -> None:
    _refused_for_events(
        lambda draft: [_moved(draft), "AAAA////"],
        Reason.EVENT_NOT_TRANSFER,
        Reason.SIMULATION_FAILED,
    )


@case("PV-124")
async def test_transfer_event_has_three_or_four_topics(stage: Stage) -> None:
    draft = await stage.draft()
    scene = stage.networks[draft.network].scene
    name = scval.to_string(f"{scene.code}:{scene.issuer}")
    stage.node().on(SIMULATE, _with_events([_moved(draft)]))
    three = await stage.verify(draft.request())
    four_topics = transfer_event(draft.asset, draft.payer, draft.pay_to, draft.amount, name)
    stage.node().on(SIMULATE, _with_events([four_topics]))
    four = await stage.verify(draft.request())
    assert three["isValid"] is four["isValid"] is True
    assert three["extra"] == {"warnings": ["token_unverified"]}
    assert "extra" not in four


@case("PV-124")
def test_unexpected_mux_id_is_refused() -> None:
    def muxed(draft: Draft) -> list[str]:
        data = with_mux_id(draft.amount, 7)
        return [transfer_event(draft.asset, draft.payer, draft.pay_to, data)]

    _refused_for_events(muxed, Reason.EVENT_MUXED_ID)


@case("PV-125")
@pytest.mark.parametrize("issuer", ["pays", "is paid"])
async def test_issuer_as_party_is_refused(
    stage: Stage, contract_token: ContractToken, issuer: str
) -> None:
    rich, poor = await contract_token.pair(1_000)
    draft = await stage.draft(asset=contract_token.asset, amount=10)
    if issuer == "pays":
        key = contract_token.issuer
        body = draft.but(payer=key.public_key, signers=(key,), pay_to=poor).request()
    else:
        draft = draft.but(payer=rich, pay_to=contract_token.issuer.public_key)
        body = draft.request(draft.envelope(entry_signed_as(draft, scval.to_vec([]))))
    await stage.assert_refused(body, Reason.EVENT_NOT_TRANSFER)


@case("PV-126", "PV-127")
async def test_misreporting_token_is_marked_unverified_where_any_token_is_allowed(
    stage: Stage, hollow: ContractAccount
) -> None:
    draft = await stage.draft(asset=hollow.address)
    verdict = await stage.verify(draft.request())
    assert verdict == {
        "isValid": True,
        "payer": draft.payer,
        "extra": {"warnings": ["token_unverified"]},
    }


@case("PV-126", "PV-127")
async def test_misreporting_token_is_refused_on_pubnet(
    asset_contracts_only: Stage, hollow: ContractAccount
) -> None:
    draft = await asset_contracts_only.draft(asset=hollow.address)
    await asset_contracts_only.assert_refused(draft.request(), Reason.UNSUPPORTED_ASSET)
    await asset_contracts_only.assert_settles((await asset_contracts_only.draft()).request())


@case("PV-128")
@promise("settle:verifies-again")
async def test_settle_refuses_balance_emptied_after_verify(stage: Stage) -> None:
    draft, ledger = await stage.draft(), stage.ledger()
    key = await _rich_account(stage)
    draft = draft.but(payer=key.public_key, signers=(key,))
    assert (await stage.verify(draft.request()))["isValid"] is True
    await _empty(ledger, key, draft)
    await stage.assert_refused(draft.request(), Reason.INSUFFICIENT_FUNDS, payer=draft.payer)


@case("PV-130", "PV-146")
async def test_payment_landed_as_failed_stays_failed(stage: Stage) -> None:
    draft, ledger = await stage.draft(), stage.ledger()
    key = await _rich_account(stage)
    draft = draft.but(payer=key.public_key, signers=(key,))

    async def empty_first(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
        del call
        await _empty(ledger, key, draft)
        return await forward()

    stage.node().on("sendTransaction", empty_first)
    outcome = await stage.settle(draft.request())
    assert outcome["errorReason"] == Reason.TRANSACTION_FAILED
    assert (await ledger.found(outcome["transaction"]))["status"] == "FAILED"
    stage.node().reset()
    assert await stage.settle(draft.request()) == outcome
    assert await stage.settle(draft.request(maxTimeoutSeconds=901)) == outcome
    assert stage.node().counts()["sendTransaction"] == 0


@case("PV-132")
async def test_stale_node_makes_network_unavailable(stage: Stage) -> None:
    def old(result: node_proxy.Json) -> None:
        result["latestLedger"] = 1

    await stage.ledger().wait_past(20)
    draft = await stage.draft()
    stage.node().on(SIMULATE, node_proxy.result(old))
    await stage.assert_refused(draft.request(), Reason.NETWORK_UNAVAILABLE, payer=draft.payer)


@case("PV-133")
async def test_inconsistent_or_incomplete_simulation_is_refused(stage: Stage) -> None:
    """`unit/stellar/test_simulation.py` has every member that is missing or of another type."""
    draft = await stage.draft()
    stage.node().on(SIMULATE, node_proxy.result(lambda result: result.update(events=[None])))
    await stage.assert_refused(draft.request(), payer=draft.payer)
    stage.node().on(SIMULATE, node_proxy.result(lambda result: result.pop("latestLedger")))
    await stage.assert_refused(draft.request(), payer=draft.payer)


@case("PV-133")
async def test_unknown_members_of_simulation_are_ignored(stage: Stage) -> None:
    draft = await stage.draft()
    more: node_proxy.Json = {
        "stateChanges": [{"odd": None}],
        "cost": {},
        "new": [1],
        "result": None,
    }
    stage.node().on(SIMULATE, node_proxy.result(lambda result: result.update(more)))
    assert (await stage.verify(draft.request()))["isValid"] is True


@case("PV-140")
async def test_transaction_does_not_outlive_its_authorization(stage: Stage) -> None:
    left = 50  # ledgers, about ten seconds of this network; the last two are too few to send in
    draft = await stage.draft(expires_at_ledger=await stage.ledger().latest() + left)
    await stage.assert_settles(draft.request())
    (call,) = [c for c in stage.node().calls if c.method == "sendTransaction"]
    sent = TransactionEnvelope.from_xdr(call.params["transaction"], Network.TESTNET.passphrase)
    conditions = sent.transaction.preconditions
    assert conditions is not None
    assert conditions.time_bounds is not None
    assert conditions.time_bounds.max_time < time.time() + 20


def _refused_for_events(events: Events, *reasons: Reason) -> None:
    draft = rules.draft()
    assert rules.judge_events(draft, events(draft)) in reasons


def _with_events(events: list[str]) -> node_proxy.Step:
    return node_proxy.result(lambda result: result.update(events=events))


def _elsewhere() -> str:
    return "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"


async def _rich_account(stage: Stage) -> Keypair:
    """A payer of its own, to be emptied."""
    return key_of(await stage.another_payer())


async def _empty(ledger: Ledger, key: Keypair, draft: Draft) -> None:
    """Everything the payer has goes to the payee by another transaction of its own."""
    held = await ledger.balance(draft.asset, key.public_key)
    await ledger.give(key, draft.asset, draft.pay_to, held)
