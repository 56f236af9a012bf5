"""The RPC client, the ledger clock and the fees against the real Soroban host."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from stellar_sdk import (
    FeeBumpTransactionEnvelope,
    InvokeHostFunction,
    Keypair,
    TransactionBuilder,
    TransactionEnvelope,
    scval,
    xdr,
)

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from farebox.stellar.fees import FeePlan, FeePolicy, plan_fees
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc import (
    LedgerStatus,
    RpcUnavailable,
    SendResponse,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.start_check import FaultCode, check_accounts, check_node
from support.source_account_transfer import transfer
from testing.waiting import until

PASSPHRASE = Network.TESTNET.passphrase


@pytest.fixture
async def rpc(devnet: Devnet) -> AsyncIterator[HttpSorobanRpc]:
    async with HttpSorobanRpc(Network.TESTNET, Secret(devnet.rpc_url)) as client:
        yield client


@pytest.fixture
async def scene(devnet: Devnet) -> Scene:
    return await devnet.scene(payers=1, payees=1)


async def priced(rpc: HttpSorobanRpc, scene: Scene, *, sequence: int) -> TransactionEnvelope:
    """A transfer with the resources of its simulation and the fee of the plan."""
    draft = transfer(scene, sequence=sequence, fee=100)
    simulation = await rpc.simulate(draft.to_xdr())
    data = simulation.result["transactionData"]
    fee = simulation.result["minResourceFee"]
    assert isinstance(data, str)
    assert isinstance(fee, str)
    plan = plan_fees(int(fee), await rpc.fee_stats(), FeePolicy(), fee_bumped=False)
    assert isinstance(plan, FeePlan)
    return transfer(scene, sequence=sequence, fee=plan.envelope_fee, data=data)


async def landed(rpc: HttpSorobanRpc, tx_hash: str) -> TransactionFound:
    async def found() -> TransactionFound | None:
        answer = await rpc.get_transaction(tx_hash)
        return answer if isinstance(answer, TransactionFound) else None

    return await until(found)


async def following(rpc: HttpSorobanRpc, scene: Scene) -> int:
    used = await rpc.account_sequence(scene.payers[0].address)
    assert used is not None
    return used + 1


async def test_transfer_is_simulated_priced_sent_and_read_back(
    rpc: HttpSorobanRpc, scene: Scene
) -> None:
    sequence = await following(rpc, scene)
    envelope = await priced(rpc, scene, sequence=sequence)
    answer = await rpc.send(envelope.to_xdr())
    assert (answer.status, answer.hash) == (SendStatus.PENDING, envelope.hash_hex())
    found = await landed(rpc, envelope.hash_hex())
    assert (found.status, found.result_code) == (LedgerStatus.SUCCESS, "txSUCCESS")
    assert (found.operation_code, found.hash) == ("invokeSUCCESS", envelope.hash_hex())
    assert 0 < found.fee_charged <= envelope.transaction.fee
    (of_call,) = found.contract_events
    event = xdr.ContractEvent.from_xdr(of_call[0])
    assert event.body.v0 is not None
    assert scval.from_symbol(event.body.v0.topics[0]) == "transfer"
    assert await following(rpc, scene) == sequence + 1


async def test_simulate_returns_the_error_of_a_failed_simulation(
    rpc: HttpSorobanRpc, scene: Scene
) -> None:
    draft = transfer(scene, sequence=1, fee=100)
    (operation,) = draft.transaction.operations
    assert isinstance(operation, InvokeHostFunction)
    operation.auth = []  # no authorization
    simulation = await rpc.simulate(draft.to_xdr())
    assert isinstance(simulation.result["error"], str)


async def test_send_of_a_used_sequence_returns_bad_sequence(
    rpc: HttpSorobanRpc, scene: Scene
) -> None:
    sequence = await following(rpc, scene)
    envelope = await priced(rpc, scene, sequence=sequence)
    await rpc.send(envelope.to_xdr())
    await landed(rpc, envelope.hash_hex())
    answer = await rpc.send(envelope.to_xdr())
    assert answer.status is SendStatus.TRY_AGAIN_LATER, "an included envelope is banned"
    other = transfer(
        scene, sequence=sequence, fee=envelope.transaction.fee + 1, data=_data(envelope)
    )
    answer = await rpc.send(other.to_xdr())
    assert (answer.status, answer.result_code) == (SendStatus.ERROR, "txBAD_SEQ")


def _data(envelope: TransactionEnvelope) -> str:
    data = envelope.transaction.soroban_data
    assert data is not None
    return data.to_xdr()


@pytest.mark.parametrize("fee", [100, None], ids=["less than the resources", "no inclusion fee"])
async def test_send_with_a_low_fee_returns_its_result_code(
    rpc: HttpSorobanRpc, scene: Scene, fee: int | None
) -> None:
    envelope = await priced(rpc, scene, sequence=await following(rpc, scene))
    data = envelope.transaction.soroban_data
    assert data is not None
    low = transfer(
        scene,
        sequence=envelope.transaction.sequence,
        fee=data.resource_fee.int64 + 99 if fee is None else fee,
        data=data.to_xdr(),
    )
    answer: SendResponse = await rpc.send(low.to_xdr())
    code = "txINSUFFICIENT_FEE" if fee is None else "txSOROBAN_INVALID"
    assert (answer.status, answer.result_code) == (SendStatus.ERROR, code)


async def test_get_transaction_finds_a_fee_bump_by_either_hash(
    rpc: HttpSorobanRpc, scene: Scene
) -> None:
    inner = await priced(rpc, scene, sequence=await following(rpc, scene))
    data = inner.transaction.soroban_data
    assert data is not None
    plan = plan_fees(data.resource_fee.int64, None, FeePolicy(), fee_bumped=True)
    assert isinstance(plan, FeePlan)
    assert plan.bump_fee is not None
    payer = scene.payees[0]
    bump: FeeBumpTransactionEnvelope = TransactionBuilder.build_fee_bump_transaction(
        payer.address, inner.transaction.fee, inner, PASSPHRASE
    )
    bump.transaction.fee = plan.bump_fee
    bump.sign(payer.secret.reveal())
    assert (await rpc.send(bump.to_xdr())).status is SendStatus.PENDING
    by_outer = await landed(rpc, bump.hash_hex())
    assert (by_outer.status, by_outer.operation_code) == (LedgerStatus.SUCCESS, "invokeSUCCESS")
    assert 0 < by_outer.fee_charged <= plan.bump_fee
    by_inner = await landed(rpc, inner.hash_hex())
    assert replace(by_inner, hash=by_outer.hash) == by_outer
    assert by_outer.inner_hash == inner.hash_hex()


async def test_get_transaction_of_an_unknown_hash_returns_the_retained_ledgers(
    rpc: HttpSorobanRpc,
) -> None:
    answer = await rpc.get_transaction("00" * 32)
    assert isinstance(answer, TransactionNotFound)
    assert answer.oldest_ledger <= answer.latest_ledger
    assert answer.oldest_close_at <= answer.latest_close_at


async def test_send_of_no_envelope_raises_with_the_json_rpc_code(rpc: HttpSorobanRpc) -> None:
    with pytest.raises(RpcUnavailable) as caught:
        await rpc.send("AAAA")
    assert caught.value.code == -32602


async def test_ledger_clock_learns_the_cadence_from_the_history(rpc: HttpSorobanRpc) -> None:
    async def is_long_enough() -> bool:
        health = await rpc.health()
        return health.latest_close_at - health.oldest_close_at >= timedelta(seconds=20)

    await until(is_long_enough, within_s=60)
    clock = LedgerClock(Network.TESTNET, rpc, SystemClock())
    clock.learn_cadence(await rpc.health(), target_s=None)
    assert await clock.poll()
    assert clock.now().cadence_s == pytest.approx(0.2, abs=0.1)


async def test_network_state_reads_fees_and_settings(rpc: HttpSorobanRpc) -> None:
    state = NetworkState(Network.TESTNET, rpc, SystemClock())
    await state.refresh()
    assert state.fees is not None
    assert state.settings_are_understood
    assert state.settings is not None
    assert state.settings.transaction.size_bytes == 132_096
    assert state.settings.ledger.transaction_bytes == 266_240
    assert state.settings.fees.per_transaction_kb == 406


async def test_node_and_funded_account_pass_the_start_check(
    rpc: HttpSorobanRpc, scene: Scene
) -> None:
    funded, absent = scene.payers[0].address, Address(Keypair.random().public_key)
    assert await check_node(Network.TESTNET, rpc, funded) == ()
    assert await check_node(Network.TESTNET, rpc, absent) == (), "no account, no conclusion"
    assert [fault.code for fault in await check_node(Network.PUBNET, rpc, funded)] == [
        FaultCode.WRONG_NETWORK
    ]
    assert await check_accounts(Network.TESTNET, rpc, [funded]) == ()
    faults = await check_accounts(Network.TESTNET, rpc, [absent], floor=Stroops(1))
    assert [fault.code for fault in faults] == [FaultCode.ACCOUNT_MISSING]


async def test_gives_events_is_true_on_the_devnet(rpc: HttpSorobanRpc, scene: Scene) -> None:
    oldest = (await rpc.health()).oldest_ledger
    assert await rpc.gives_events(from_ledger=oldest) is True


async def test_devnet_with_its_own_authority_is_reached_only_with_that_authority(
    tmp_path: Path,
) -> None:
    options = DevnetOptions(passphrase=PASSPHRASE, close_ms=None, tls=tmp_path)
    async with await start_devnet(options) as devnet:
        url = Secret(devnet.rpc_url)
        async with HttpSorobanRpc(Network.TESTNET, url, authority=devnet.authority) as rpc:
            assert (await rpc.network()).passphrase == PASSPHRASE
        async with HttpSorobanRpc(Network.TESTNET, url) as rpc:
            with pytest.raises(RpcUnavailable) as caught:
                await rpc.network()
    assert caught.value.certainly_not_sent
