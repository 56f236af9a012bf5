"""Accounts that are contracts pay through the facilitator, on the real host, and some may not."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from stellar_sdk import Keypair, StrKey, scval, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node
from support.contracts import FUNDS, Deed, Errand, Wallet, move, wallet
from support.entries import Credentials
from support.payments import Draft, Json
from support.promises import case, promise
from support.stage import HASH, NetworkStage, Stage, key_of, own_relayer, service

NEVER: Final = 2**32 - 1
SOON: Final = 25  # ledgers, five seconds of this network
NATIVE_UNITS: Final = 50
Failure = xdr.InvokeHostFunctionResultCode
OVER_ITS_LIMIT: Final = Failure.INVOKE_HOST_FUNCTION_RESOURCE_LIMIT_EXCEEDED
Act = Callable[[], Awaitable[None]]


@pytest.fixture(scope="module")
async def errands(testnet: NetworkStage) -> Wallet:
    """A wallet that runs an errand in its check, once it is told one; it has native coin too."""
    made = await wallet(testnet, "errand_wallet")
    giver = await testnet.ledger.account()
    await move(testnet, testnet.scene.native, giver, made.address, NATIVE_UNITS)
    return made


@case("PV-078")
@promise("signature:contract-accounts")
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
async def test_a_smart_wallet_pays_with_what_its_key_signed(
    stage: Stage, smart: Wallet, kind: Credentials
) -> None:
    ledger = stage.ledger()
    draft = await stage.draft(payer=smart.address, kind=kind)
    before = await ledger.balance(draft.asset, smart.address)
    payee_before = await ledger.balance(draft.asset, draft.pay_to)
    await stage.settled(draft.request(smart.envelope(draft)))
    assert await ledger.balance(draft.asset, smart.address) == before - draft.amount
    assert await ledger.balance(draft.asset, draft.pay_to) == payee_before + draft.amount


@case("PV-078")
async def test_a_smart_wallet_does_not_pay_with_another_key(stage: Stage, smart: Wallet) -> None:
    draft = await stage.draft(payer=smart.address)
    entry = smart.entry(draft, key=Keypair.random())
    body = draft.request(draft.envelope(entry))
    await stage.refused(body, Reason.SIMULATION_FAILED, payer=smart.address)


@case("PV-078")
async def test_a_smart_wallet_does_not_pay_what_its_key_did_not_sign(
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
    await stage.refused(body, Reason.SIMULATION_FAILED, payer=smart.address)


@case("PV-079")
async def test_a_wallet_that_announces_what_it_agreed_to_pays(
    stage: Stage, testnet: NetworkStage
) -> None:
    announcing = await wallet(testnet, "announcing_wallet")
    draft = await stage.draft(payer=announcing.address)
    tx_hash = await stage.settled(draft.request(announcing.envelope(draft)))
    assert await _said(stage, tx_hash) == [
        (announcing.address, "agreed"),
        (draft.asset, "transfer"),
    ]


@case("PV-080")
@pytest.mark.parametrize(
    ("function", "reason"),
    [("transfer", Reason.MULTIPLE_TRANSFERS), ("approve", Reason.EVENT_NOT_TRANSFER)],
)
async def test_a_wallet_that_moves_or_lends_another_token_on_the_side_is_refused(
    stage: Stage, testnet: NetworkStage, errands: Wallet, function: str, reason: Reason
) -> None:
    draft = await stage.draft(payer=errands.address)
    parties = (scval.to_address(errands.address), scval.to_address(draft.pay_to))
    until = (scval.to_uint32(draft.expires_at_ledger),) if function == "approve" else ()
    arguments = (*parties, scval.to_int128(5), *until)
    await _send(stage, errands, Errand(testnet.scene.native, function, arguments))
    await stage.refused(draft.request(errands.envelope(draft)), reason, payer=errands.address)
    native = await stage.ledger().balance(testnet.scene.native, errands.address)
    assert native == NATIVE_UNITS


@case("PV-080")
async def test_a_wallet_that_only_looks_at_another_token_pays(
    stage: Stage, testnet: NetworkStage, errands: Wallet
) -> None:
    draft = await stage.draft(payer=errands.address)
    look = Errand(testnet.scene.native, "balance", (scval.to_address(errands.address),))
    await _send(stage, errands, look)
    await stage.settled(draft.request(errands.envelope(draft)))


@case("PV-130")
@pytest.mark.parametrize(
    ("deed", "cause"),
    [(Deed.REFUSE, Failure.INVOKE_HOST_FUNCTION_TRAPPED), (Deed.TOIL, OVER_ITS_LIMIT)],
)
async def test_a_wallet_that_turns_before_its_payment_lands_has_failed_to_pay(
    stage: Stage, testnet: NetworkStage, deed: Deed, cause: Failure
) -> None:
    flip = await _flip(testnet, deed)
    draft = await stage.draft(payer=flip.address)
    turn = await _turning(stage, flip, at=0)
    assert await _fails_on_the_ledger(stage, draft, flip, turn) is cause


@case("PV-130")
async def test_a_wallet_that_turns_by_itself_needs_nobody_to_fail(
    stage: Stage, testnet: NetworkStage
) -> None:
    flip = await _flip(testnet, Deed.REFUSE)
    draft = await stage.draft(payer=flip.address)
    turns_at = await stage.ledger().latest() + SOON
    await (await _turning(stage, flip, at=turns_at))()

    async def time_passes() -> None:
        await stage.ledger().wait_past(turns_at)

    cause = await _fails_on_the_ledger(stage, draft, flip, time_passes)
    assert cause is Failure.INVOKE_HOST_FUNCTION_TRAPPED


@case("PV-080")
@pytest.mark.parametrize(
    ("deed", "reason"),
    [(Deed.REFUSE, Reason.SIMULATION_FAILED), (Deed.CLAIM, Reason.MULTIPLE_TRANSFERS)],
)
async def test_a_wallet_that_has_turned_is_refused_from_then_on(
    stage: Stage, testnet: NetworkStage, deed: Deed, reason: Reason
) -> None:
    flip = await _flip(testnet, deed, turns_at=0)
    draft = await stage.draft(payer=flip.address)
    await stage.refused(draft.request(flip.envelope(draft)), reason, payer=flip.address)


async def test_what_a_wallet_claims_only_on_the_ledger_does_not_undo_its_payment(
    stage: Stage, testnet: NetworkStage
) -> None:
    flip = await _flip(testnet, Deed.CLAIM)
    draft = await stage.draft(payer=flip.address)
    stage.node().on("sendTransaction", _after(await _turning(stage, flip, at=0)))
    tx_hash = await stage.settled(draft.request(flip.envelope(draft)))
    said = await _said(stage, tx_hash)
    assert said == [(flip.address, "transfer"), (draft.asset, "transfer")]


@pytest.mark.parametrize("deed", [Deed.REFUSE, Deed.CLAIM])
async def test_a_payer_that_costs_fees_for_nothing_is_stopped(
    stage: Stage, testnet: NetworkStage, deed: Deed
) -> None:
    """It passed simulation and then failed, or moved more: with either it uses up its allowance."""
    settings = stage.environment | await own_relayer(stage)
    settings["FAREBOX_PAYER_LOSS_STROOPS_TESTNET"] = "1"
    flip = await _flip(testnet, deed)
    async with service(settings) as client:
        wary = Stage(client, stage.networks, settings)
        draft = await wary.draft(payer=flip.address)
        stage.node().on("sendTransaction", _after(await _turning(stage, flip, at=0)))
        outcome = await wary.settle(draft.request(flip.envelope(draft)))
        stage.node().reset()
        assert HASH.match(outcome["transaction"])
        again = await wary.draft(payer=flip.address)
        body, verdict = again.request(flip.envelope(again)), {}
        for _ in range(100):
            verdict = await wary.verify(body)
            if verdict.get("invalidReason") == Reason.PAYER_STOPPED:
                break
            await asyncio.sleep(0.05)
        await wary.refused(body, Reason.PAYER_STOPPED, payer=flip.address, by_rule=True)
        honest = await wary.draft()
        await wary.settled(honest.request())


async def _flip(testnet: NetworkStage, deed: Deed, *, turns_at: int = NEVER) -> Wallet:
    arguments = (scval.to_uint32(turns_at), scval.to_uint32(deed))
    return await wallet(testnet, "flip_wallet", *arguments)


async def _turning(stage: Stage, flip: Wallet, *, at: int) -> Act:
    """What sets the ledger at which the wallet turns, once it is called."""
    somebody = await stage.ledger().account()

    async def turn() -> None:
        await stage.ledger().invoke(somebody, flip.address, "turn", scval.to_uint32(at))

    return turn


async def _fails_on_the_ledger(stage: Stage, draft: Draft, flip: Wallet, act: Act) -> Failure:
    """Verify accepts; with `act` before it lands, the settlement has failed for good.

    The answer is what the network gives as the cause.
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
    """Why the one call of a transaction failed; also when it is inside a fee bump."""
    told = xdr.TransactionResult.from_xdr(result).result
    if told.inner_result_pair is not None:
        results = told.inner_result_pair.result.result.results
    else:
        results = told.results
    assert results is not None
    (operation,) = results
    assert operation.tr is not None
    assert operation.tr.invoke_host_function_result is not None
    return operation.tr.invoke_host_function_result.code


def _after(act: Act) -> node.Step:
    """The call goes on to the network after something else has happened there."""

    async def step(call: node.Call, forward: node.Forward) -> Json:
        del call
        await act()
        return await forward()

    return step


async def _send(stage: Stage, errands: Wallet, errand: Errand) -> None:
    """Tell the wallet its errand."""
    key = key_of(stage.networks[Network.TESTNET].scene.payers[2])
    await stage.ledger().invoke(key, errands.address, "send", *errand.values())


async def _said(stage: Stage, tx_hash: str) -> list[tuple[str, str]]:
    """Contract and first topic of every event of a transaction, in order."""
    found = await stage.ledger().found(tx_hash)
    said = []
    for encoded in (
        each for operation in found["events"]["contractEventsXdr"] for each in operation
    ):
        event = xdr.ContractEvent.from_xdr_bytes(base64.b64decode(encoded))
        assert event.contract_id is not None
        assert event.body.v0 is not None
        contract = StrKey.encode_contract(event.contract_id.contract_id.hash)
        said.append((contract, scval.from_symbol(event.body.v0.topics[0])))
    return said
