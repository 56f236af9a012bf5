"""Cases 1.7 to 1.9: envelope fields, what the node simulates, how long a payment may take."""

import time
from collections.abc import Callable
from typing import Final

import pytest
from stellar_sdk import Keypair, TransactionEnvelope, scval

from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node
from support.accounts import ContractAccount, Wealth, entry_signed_as
from support.envelopes import time_bounds
from support.events import Kind, event, transfer_event, with_mux_id
from support.ledger import Ledger
from support.payments import Draft
from support.promises import case, promise
from support.stage import Stage, key_of

STRANGER: Final = Keypair.random().public_key
SIMULATE: Final = "simulateTransaction"
MAX_INT64: Final = 2**63 - 1
Events = Callable[[Draft], list[str]]


@case("PV-113")
@pytest.mark.parametrize("bounds", [(0, 1), (2**62, 0), (5, 4)])
async def test_the_clients_time_bounds_are_dropped(stage: Stage, bounds: tuple[int, int]) -> None:
    draft = await stage.draft()
    raw = draft.around([draft.operation()], conditions=time_bounds(*bounds))
    await stage.settled(draft.request(raw))


@case("PV-115", "PV-116")
@pytest.mark.parametrize("sequence", [0, 1, MAX_INT64])
async def test_the_clients_sequence_number_is_irrelevant(stage: Stage, sequence: int) -> None:
    draft = await stage.draft()
    raw = draft.around([draft.operation()], sequence=sequence)
    await stage.settled(draft.request(raw))


@case("PV-117")
async def test_a_simulation_error_is_a_refusal_without_the_nodes_words(stage: Stage) -> None:
    draft = await stage.draft()
    words = "HostError: Error(Contract, #10) at /var/lib/node secret words"
    stage.node().on(SIMULATE, node.fixed({"error": words, "latestLedger": 10**9}))
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)
    answer = await stage.client.post("/verify", draft.request())
    assert b"HostError" not in answer.body
    assert b"secret words" not in answer.body


@case("PV-117")
@promise("settle:verifies-again")
async def test_too_little_money_is_found_out_by_simulation(stage: Stage) -> None:
    draft = await stage.draft(amount=10**17)
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


@case("PV-118")
async def test_a_restore_asked_for_is_never_paid_for(stage: Stage) -> None:
    def needs_restore(result: node.Json) -> None:
        result["restorePreamble"] = {
            "minResourceFee": "90000",
            "transactionData": result["transactionData"],
        }

    draft = await stage.draft()
    stage.node().on(SIMULATE, node.result(needs_restore))
    reason = await stage.refused(draft.request(), Reason.RESTORE_REQUIRED, payer=draft.payer)
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
async def test_a_simulation_that_transfers_nothing_is_refused(stage: Stage, events: Events) -> None:
    await _refused_for_events(stage, events, Reason.NO_TRANSFER_EVENTS)


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
async def test_more_than_one_transfer_is_refused(stage: Stage, events: Events) -> None:
    await _refused_for_events(stage, events, Reason.MULTIPLE_TRANSFERS, Reason.EVENT_NOT_TRANSFER)


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
async def test_a_transfer_with_one_field_wrong_is_refused_by_that_field(
    stage: Stage, events: Events, reason: Reason
) -> None:
    await _refused_for_events(stage, events, reason)


@case("PV-122")
async def test_system_and_diagnostic_events_are_ignored(stage: Stage) -> None:
    def beside(draft: Draft) -> list[str]:
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

    draft = await stage.draft()
    stage.node().on(SIMULATE, _with_events(beside(draft)))
    assert (await stage.verify(draft.request()))["isValid"] is True


@case("PV-123")
@pytest.mark.parametrize("name", ["mint", "burn", "clawback", "approve", "set_admin", "anything"])
async def test_another_event_of_the_asset_is_refused(stage: Stage, name: str) -> None:
    await _refused_for_events(
        stage, lambda draft: [_moved(draft), _other(draft, name)], Reason.EVENT_NOT_TRANSFER
    )


@case("PV-123")
async def test_an_event_nobody_can_read_is_refused(stage: Stage) -> None:
    await _refused_for_events(
        stage,
        lambda draft: [_moved(draft), "AAAA////"],
        Reason.EVENT_NOT_TRANSFER,
        Reason.SIMULATION_FAILED,
    )


@case("PV-124")
async def test_a_transfer_of_three_topics_or_four_is_one(stage: Stage) -> None:
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
async def test_a_mux_id_nobody_asked_for_is_refused(stage: Stage) -> None:
    def muxed(draft: Draft) -> list[str]:
        data = with_mux_id(draft.amount, 7)
        return [transfer_event(draft.asset, draft.payer, draft.pay_to, data)]

    await _refused_for_events(stage, muxed, Reason.EVENT_MUXED_ID)


@case("PV-125")
@pytest.mark.parametrize("issuer", ["pays", "is paid"])
async def test_the_issuer_as_a_party_mints_or_burns_and_is_refused(
    stage: Stage, wealth: Wealth, issuer: str
) -> None:
    rich, poor = await wealth.pair(1_000)
    draft = await stage.draft(asset=wealth.asset, amount=10)
    if issuer == "pays":
        key = wealth.issuer
        body = draft.but(payer=key.public_key, signers=(key,), pay_to=poor).request()
    else:
        draft = draft.but(payer=rich, pay_to=wealth.issuer.public_key)
        body = draft.request(draft.envelope(entry_signed_as(draft, scval.to_vec([]))))
    await stage.refused(body, Reason.EVENT_NOT_TRANSFER)


@case("PV-126", "PV-127")
async def test_a_token_that_moves_less_than_it_says_is_marked_where_any_token_may_be_paid(
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
async def test_a_token_that_moves_less_than_it_says_is_refused_where_money_has_value(
    asset_contracts_only: Stage, hollow: ContractAccount
) -> None:
    draft = await asset_contracts_only.draft(asset=hollow.address)
    await asset_contracts_only.refused(draft.request(), Reason.UNSUPPORTED_ASSET)
    await asset_contracts_only.settled((await asset_contracts_only.draft()).request())


@case("PV-128")
@promise("settle:verifies-again")
async def test_a_balance_emptied_after_verify_is_noticed_by_settle(stage: Stage) -> None:
    draft, ledger = await stage.draft(), stage.ledger()
    key = await _rich_account(stage)
    draft = draft.but(payer=key.public_key, signers=(key,))
    assert (await stage.verify(draft.request()))["isValid"] is True
    await _empty(ledger, key, draft)
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


@case("PV-130", "PV-146")
async def test_a_payment_that_lands_as_failed_has_failed_for_good(stage: Stage) -> None:
    draft, ledger = await stage.draft(), stage.ledger()
    key = await _rich_account(stage)
    draft = draft.but(payer=key.public_key, signers=(key,))

    async def empty_first(call: node.Call, forward: node.Forward) -> node.Json:
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
async def test_a_node_that_answers_about_the_past_is_unavailable(stage: Stage) -> None:
    def old(result: node.Json) -> None:
        result["latestLedger"] = 1

    await stage.ledger().wait_past(20)
    draft = await stage.draft()
    stage.node().on(SIMULATE, node.result(old))
    await stage.refused(draft.request(), Reason.NETWORK_UNAVAILABLE, payer=draft.payer)


@case("PV-133")
@pytest.mark.parametrize(
    "change",
    [
        {"latestLedger": None},
        {"latestLedger": "many"},
        {"transactionData": None},
        {"transactionData": ""},
        {"transactionData": "AAAA"},
        {"transactionData": "?"},
        {"transactionData": 7},
        {"events": "none"},
        {"events": [None]},
        {"events": [7]},
        {"events": {}},
    ],
    ids=repr,
)
async def test_a_simulation_that_makes_no_sense_fails_closed(
    stage: Stage, change: node.Json
) -> None:
    draft = await stage.draft()
    stage.node().on(SIMULATE, node.result(lambda result: result.update(change)))
    await stage.refused(draft.request(), payer=draft.payer)


@case("PV-133")
@pytest.mark.parametrize("member", ["latestLedger", "transactionData", "events"])
async def test_a_simulation_without_what_is_needed_fails_closed(stage: Stage, member: str) -> None:
    draft = await stage.draft()
    stage.node().on(SIMULATE, node.result(lambda result: result.pop(member)))
    await stage.refused(draft.request(), payer=draft.payer)


@case("PV-133")
async def test_unknown_members_of_an_answer_are_ignored(stage: Stage) -> None:
    draft = await stage.draft()
    more: node.Json = {"stateChanges": [{"odd": None}], "cost": {}, "new": [1], "result": None}
    stage.node().on(SIMULATE, node.result(lambda result: result.update(more)))
    assert (await stage.verify(draft.request()))["isValid"] is True


@case("PV-136")
async def test_the_last_ledger_there_can_be_is_too_far(stage: Stage) -> None:
    draft = await stage.draft(expires_at_ledger=2**32 - 1)
    await stage.refused(draft.request(), Reason.EXPIRATION_TOO_FAR, payer=draft.payer, by_rule=True)


@case("PV-140")
async def test_a_transaction_does_not_outlive_its_authorization(stage: Stage) -> None:
    left = 25  # ledgers, about five seconds of this network
    draft = await stage.draft(expires_at_ledger=await stage.ledger().latest() + left)
    await stage.settled(draft.request())
    (call,) = [c for c in stage.node().calls if c.method == "sendTransaction"]
    sent = TransactionEnvelope.from_xdr(call.params["transaction"], Network.TESTNET.passphrase)
    conditions = sent.transaction.preconditions
    assert conditions is not None
    assert conditions.time_bounds is not None
    assert conditions.time_bounds.max_time < time.time() + 20


async def _refused_for_events(stage: Stage, events: Events, *reasons: Reason) -> None:
    draft = await stage.draft()
    stage.node().on(SIMULATE, _with_events(events(draft)))
    await stage.refused(draft.request(), *reasons, payer=draft.payer)


def _with_events(events: list[str]) -> node.Step:
    return node.result(lambda result: result.update(events=events))


def _elsewhere() -> str:
    return "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"


async def _rich_account(stage: Stage) -> Keypair:
    """A payer of its own, to be emptied."""
    return key_of(await stage.another_payer())


async def _empty(ledger: Ledger, key: Keypair, draft: Draft) -> None:
    """Everything the payer has goes to the payee by another transaction of its own."""
    held = await ledger.balance(draft.asset, key.public_key)
    parties = (scval.to_address(key.public_key), scval.to_address(draft.pay_to))
    await ledger.invoke(key, draft.asset, "transfer", *parties, scval.to_int128(held))
