"""Contract accounts pay through the facilitator on the real host; misbehaving ones are refused."""

import base64
from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from stellar_sdk import Keypair, StrKey, scval, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.contracts import FUNDS, FlipAction, SideCall, Wallet, wallet
from support.payments import Draft, Json
from support.promises import case, promise
from support.stage import HASH, NetworkStage, Stage, key_of, own_relayer, service
from support.table_rows import in_row
from testing.entries import Credentials
from testing.waiting import until

NEVER: Final = 2**32 - 1
SOON: Final = 100  # ledgers, twenty seconds of this network: a payment is verified before
NATIVE_UNITS: Final = 50
Failure = xdr.InvokeHostFunctionResultCode
OVER_ITS_LIMIT: Final = Failure.INVOKE_HOST_FUNCTION_RESOURCE_LIMIT_EXCEEDED
Act = Callable[[], Awaitable[None]]


@pytest.fixture(scope="module")
async def calling_wallet(testnet: NetworkStage) -> Wallet:
    """A wallet that runs the side_call it was sent during its check; it holds native coin too."""
    made = await wallet(testnet, "errand_wallet")
    giver = await testnet.ledger.account()
    await testnet.ledger.give(giver, testnet.scene.native, made.address, NATIVE_UNITS)
    return made


@case("PV-078")
@promise("signature:contract-accounts")
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
async def test_smart_wallet_pays_with_its_keys_signature(
    stage: Stage, smart: Wallet, kind: Credentials
) -> None:
    ledger = stage.ledger()
    draft = await stage.draft(payer=smart.address, kind=kind)
    before = await ledger.balance(draft.asset, smart.address)
    payee_before = await ledger.balance(draft.asset, draft.pay_to)
    await stage.assert_settles(draft.request(smart.envelope(draft)))
    assert await ledger.balance(draft.asset, smart.address) == before - draft.amount
    assert await ledger.balance(draft.asset, draft.pay_to) == payee_before + draft.amount


@case("PV-078")
async def test_smart_wallet_payment_with_another_key_is_refused(
    stage: Stage, smart: Wallet
) -> None:
    draft = await stage.draft(payer=smart.address)
    entry = smart.entry(draft, key=Keypair.random())
    body = draft.request(draft.envelope(entry))
    await stage.assert_refused(body, Reason.SIMULATION_FAILED, payer=smart.address)


@case("PV-078")
async def test_smart_wallet_payment_with_another_amount_is_refused(
    stage: Stage, smart: Wallet
) -> None:
    draft = await stage.draft(payer=smart.address)
    signed = smart.entry(draft.but(amount=draft.amount - 1, nonce=draft.nonce))
    signature = signed.credentials.address
    entry = smart.entry(draft)
    assert signature is not None
    assert entry.credentials.address is not None
    entry.credentials.address.signature = signature.signature
    body = draft.request(draft.envelope(entry))
    await stage.assert_refused(body, Reason.SIMULATION_FAILED, payer=smart.address)


@case("PV-079")
async def test_wallet_that_emits_its_own_event_pays(stage: Stage, testnet: NetworkStage) -> None:
    announcing = await wallet(testnet, "announcing_wallet")
    draft = await stage.draft(payer=announcing.address)
    tx_hash = await stage.assert_settles(draft.request(announcing.envelope(draft)))
    assert await _events_of(stage, tx_hash) == [
        (announcing.address, "agreed"),
        (draft.asset, "transfer"),
    ]


@case("PV-080")
@pytest.mark.parametrize(
    ("function", "reason"),
    [("transfer", Reason.MULTIPLE_TRANSFERS), ("approve", Reason.EVENT_NOT_TRANSFER)],
)
async def test_wallet_that_moves_or_approves_another_token_is_refused(
    stage: Stage, testnet: NetworkStage, calling_wallet: Wallet, function: str, reason: Reason
) -> None:
    draft = await stage.draft(payer=calling_wallet.address)
    parties = (scval.to_address(calling_wallet.address), scval.to_address(draft.pay_to))
    until = (scval.to_uint32(draft.expires_at_ledger),) if function == "approve" else ()
    arguments = (*parties, scval.to_int128(5), *until)
    await _send(stage, calling_wallet, SideCall(testnet.scene.native, function, arguments))
    await stage.assert_refused(
        draft.request(calling_wallet.envelope(draft)), reason, payer=calling_wallet.address
    )
    native = await stage.ledger().balance(testnet.scene.native, calling_wallet.address)
    assert native == NATIVE_UNITS


@case("PV-080")
async def test_wallet_that_reads_another_balance_pays(
    stage: Stage, testnet: NetworkStage, calling_wallet: Wallet
) -> None:
    draft = await stage.draft(payer=calling_wallet.address)
    look = SideCall(testnet.scene.native, "balance", (scval.to_address(calling_wallet.address),))
    await _send(stage, calling_wallet, look)
    await stage.assert_settles(draft.request(calling_wallet.envelope(draft)))


@case("PV-130")
@pytest.mark.parametrize(
    ("action", "cause"),
    [(FlipAction.REFUSE, Failure.INVOKE_HOST_FUNCTION_TRAPPED), (FlipAction.TOIL, OVER_ITS_LIMIT)],
)
async def test_settle_fails_when_the_wallet_changes_before_the_payment_lands(
    stage: Stage, testnet: NetworkStage, action: FlipAction, cause: Failure
) -> None:
    flip = await _flip(testnet, action)
    draft = await stage.draft(payer=flip.address)
    turn = await _turning(stage, flip, at=0)
    assert await _fails_on_the_ledger(stage, draft, flip, turn) is cause


@case("PV-130")
async def test_settle_fails_when_the_wallet_changes_by_time(
    stage: Stage, testnet: NetworkStage
) -> None:
    flip = await _flip(testnet, FlipAction.REFUSE)
    draft = await stage.draft(payer=flip.address)
    turns_at = await stage.ledger().latest() + SOON
    await (await _turning(stage, flip, at=turns_at))()

    async def time_passes() -> None:
        left = turns_at - await stage.ledger().latest()
        await testnet.devnet.jump(0, ledgers=max(left, 0) + 1)

    cause = await _fails_on_the_ledger(stage, draft, flip, time_passes)
    assert cause is Failure.INVOKE_HOST_FUNCTION_TRAPPED


@case("PV-080")
@pytest.mark.parametrize(
    ("action", "reason"),
    [(FlipAction.REFUSE, Reason.SIMULATION_FAILED), (FlipAction.CLAIM, Reason.MULTIPLE_TRANSFERS)],
)
async def test_changed_wallet_is_refused(
    stage: Stage, testnet: NetworkStage, action: FlipAction, reason: Reason
) -> None:
    flip = await _flip(testnet, action, turns_at=0)
    draft = await stage.draft(payer=flip.address)
    await stage.assert_refused(draft.request(flip.envelope(draft)), reason, payer=flip.address)


async def test_event_added_on_the_ledger_does_not_undo_a_payment(
    stage: Stage, testnet: NetworkStage
) -> None:
    flip = await _flip(testnet, FlipAction.CLAIM)
    draft = await stage.draft(payer=flip.address)
    stage.node().on("sendTransaction", _after(await _turning(stage, flip, at=0)))
    tx_hash = await stage.assert_settles(draft.request(flip.envelope(draft)))
    events = await _events_of(stage, tx_hash)
    assert events == [(flip.address, "transfer"), (draft.asset, "transfer")]


async def test_payer_is_stopped_after_its_failures_used_up_the_loss_limit(
    stage: Stage, testnet: NetworkStage
) -> None:
    """A payment that fails or moves more after its simulation uses up the payer's limit."""
    settings = stage.environment | await own_relayer(stage)
    settings["FAREBOX_PAYER_LOSS_STROOPS_TESTNET"] = "1"
    async with service(settings) as client:
        wary = Stage(client, stage.networks, settings)
        for action in (FlipAction.REFUSE, FlipAction.CLAIM):
            with in_row(action):
                await _assert_stopped(wary, await _flip(testnet, action))
        honest = await wary.draft()
        await wary.assert_settles(honest.request())


async def _assert_stopped(wary: Stage, flip: Wallet) -> None:
    """A wallet that changes before its payment lands is refused from then on."""
    draft = await wary.draft(payer=flip.address)
    wary.node().on("sendTransaction", _after(await _turning(wary, flip, at=0)))
    outcome = await wary.settle(draft.request(flip.envelope(draft)))
    wary.node().reset()
    assert HASH.match(outcome["transaction"])
    again = await wary.draft(payer=flip.address)
    body = again.request(flip.envelope(again))

    async def is_stopped() -> bool:
        return (await wary.verify(body)).get("invalidReason") == Reason.PAYER_STOPPED

    await until(is_stopped)
    await wary.assert_refused(body, Reason.PAYER_STOPPED, payer=flip.address, by_rule=True)


async def _flip(testnet: NetworkStage, action: FlipAction, *, turns_at: int = NEVER) -> Wallet:
    arguments = (scval.to_uint32(turns_at), scval.to_uint32(action))
    return await wallet(testnet, "flip_wallet", *arguments)


async def _turning(stage: Stage, flip: Wallet, *, at: int) -> Act:
    """An act that sets the ledger from which the wallet behaves differently."""
    caller = await stage.ledger().account()

    async def turn() -> None:
        await stage.ledger().invoke(caller, flip.address, "turn", scval.to_uint32(at))

    return turn


async def _fails_on_the_ledger(stage: Stage, draft: Draft, flip: Wallet, act: Act) -> Failure:
    """Verify accepts; with `act` before it lands, the settlement fails for good.

    Returns the cause that the network gives.
    """
    ledger, relayer = stage.ledger(), stage.relayer().public_key
    body = draft.request(flip.envelope(draft))
    coin_before = await ledger.native_balance(relayer)
    assert (await stage.verify(body))["isValid"] is True
    stage.node().on("sendTransaction", _after(act))
    outcome = await stage.settle(body)
    stage.node().reset()
    assert outcome["success"] is False
    assert outcome["errorReason"] == Reason.TRANSACTION_FAILED
    assert outcome["payer"] == flip.address
    assert HASH.match(outcome["transaction"])
    found = await ledger.found(outcome["transaction"])
    assert found["status"] == "FAILED"
    assert await ledger.balance(draft.asset, flip.address) == FUNDS
    assert await ledger.native_balance(relayer) < coin_before, "the network charges for a failure"
    assert await stage.settle(body) == outcome
    assert stage.node().counts()["sendTransaction"] == 0
    return _cause(found["resultXdr"])


def _cause(result: str) -> Failure:
    """The failure code of a transaction's one call, also inside a fee bump."""
    result_body = xdr.TransactionResult.from_xdr(result).result
    if result_body.inner_result_pair is not None:
        results = result_body.inner_result_pair.result.result.results
    else:
        results = result_body.results
    assert results is not None
    (operation,) = results
    assert operation.tr is not None
    assert operation.tr.invoke_host_function_result is not None
    return operation.tr.invoke_host_function_result.code


def _after(act: Act) -> node_proxy.Step:
    """Forward the call to the network after `act`."""

    async def step(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        del call
        await act()
        return await forward()

    return step


async def _send(stage: Stage, calling_wallet: Wallet, side_call: SideCall) -> None:
    """Send the wallet its side_call."""
    key = key_of(stage.networks[Network.TESTNET].scene.payers[2])
    await stage.ledger().invoke(key, calling_wallet.address, "send", *side_call.values())


async def _events_of(stage: Stage, tx_hash: str) -> list[tuple[str, str]]:
    """Contract and first topic of every event of a transaction, in order."""
    found = await stage.ledger().found(tx_hash)
    events = []
    for encoded in (
        each for operation in found["events"]["contractEventsXdr"] for each in operation
    ):
        event = xdr.ContractEvent.from_xdr_bytes(base64.b64decode(encoded))
        assert event.contract_id is not None
        assert event.body.v0 is not None
        contract = StrKey.encode_contract(event.contract_id.contract_id.hash)
        events.append((contract, scval.from_symbol(event.body.v0.topics[0])))
    return events
